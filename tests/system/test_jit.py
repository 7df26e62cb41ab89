"""Compiled code that is kept on disk."""


def test_compiled_code_of_other_sources_is_thrown_away(tmp_path):
    from pycupc.system.jit import forget_stale_code

    cache, source = tmp_path / "cache", tmp_path / "source.py"
    cache.mkdir()
    source.write_text("1")
    for name in ("a.nbi", "a.1.nbc"):
        (cache / name).write_bytes(b"")
    assert forget_stale_code(cache, [source])  # compiled from who knows what
    assert not (cache / "a.nbi").exists()
    assert (cache / "a.1.nbc").exists()  # Numba overwrites it; only the index leads to it
    (cache / "b.nbi").write_bytes(b"")
    assert not forget_stale_code(cache, [source])
    assert (cache / "b.nbi").exists()
    source.write_text("2")
    assert forget_stale_code(cache, [source])
    assert not (cache / "b.nbi").exists()
    (cache / "pycupc-sources.sha256").write_bytes(b"\xff\xfe")  # a damaged stamp
    (cache / "b.nbi").write_bytes(b"")
    assert forget_stale_code(cache, [source])
    assert not (cache / "b.nbi").exists()
    assert not forget_stale_code(tmp_path / "missing", [source])
