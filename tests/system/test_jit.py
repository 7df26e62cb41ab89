"""Compiled code: its cache on disk, and the cases in which plain Python runs."""

from collections import Counter


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


def test_plain_python_takes_few_steps_for_each_part(monkeypatch):
    from pycupc.system import jit

    monkeypatch.setattr(jit, "_plain_steps", Counter())
    half = jit.MOST_PLAIN_STEPS // 2
    taken = [(half, "a", True), (half, "a", True), (1, "a", False), (half, "b", True), (2 * half, "b", False)]
    for steps, part, wanted in taken:
        with jit.plain_if_small(steps, part) as plain:
            assert plain == wanted, (steps, part)
    with jit.always_compiled(), jit.plain_if_small(0, "c") as plain:
        assert not plain
    with jit.plain_if_small(0, "c") as plain:
        assert plain


def test_an_inlined_function_is_plain_python_for_python_and_compiled_for_compiled_code():
    from pycupc.system.jit import compiled, jit_inlined

    @jit_inlined
    def kind(x):
        return x if isinstance(x, list) else [x]  # no compiled code can return either

    @jit_inlined
    def twice(x):
        return x + x

    def four_times(x):
        return twice(twice(x))

    assert kind([1]) == kind(1) == [1]
    assert four_times("ab") == "abababab"
    assert compiled(four_times)(1.5) == 6.0
    assert not twice.signatures
