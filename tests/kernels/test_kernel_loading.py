"""Loading kernels, without a device: compiling is announced, kernels are kept, failures are explained."""

import logging
import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from pycupc.engines.gpu import device_tuning, kernels
from pycupc.engines.protocol import EngineError


class CompileException(Exception):
    pass


class Toolkit:
    """What `Kernels` takes from CuPy; compiling takes `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.modules: list[str] = []
        self.seconds = seconds
        compiler = SimpleNamespace(CompileException=CompileException)
        self.cuda = SimpleNamespace(driver=None, compiler=compiler, Device=lambda index: nullcontext())

    def RawModule(self, code: str, options: tuple[str, ...], name_expressions: tuple[str, ...] | None) -> object:
        time.sleep(self.seconds)
        self.modules.append(code)
        if "no CUDA" in code:
            raise CompileException("expected a declaration")
        assert f"-I{kernels.KERNEL_DIR}" in options
        return SimpleNamespace(
            get_function=lambda name: SimpleNamespace(kernel=SimpleNamespace(ptr=1), shared_size_bytes=0)
        )


WANTED = [("graph/inspect", "inspect"), ("schur/sets", "schur_sets<2, false>")]


@pytest.mark.parametrize(("notice_after", "lines"), [(0.1, 1), (60.0, 0)])
def test_only_what_takes_long_is_announced(monkeypatch, caplog, notice_after, lines):
    monkeypatch.setattr(device_tuning, "NOTICE_AFTER", notice_after)
    toolkit = Toolkit(0.2)
    loader = kernels.Kernels(toolkit, 0)
    with caplog.at_level(logging.INFO, logger="pycupc"):
        loader.load(WANTED, False, "compiling for level 2, once per machine")
        loader.load(WANTED, False, "compiling for level 2, once per machine")
    assert [r.message for r in caplog.records] == ["compiling for level 2, once per machine"] * lines
    assert len(toolkit.modules) == 2
    assert loader.missing(WANTED, False) == []
    assert loader.missing(WANTED, True) == WANTED[1:]
    assert loader.get(*WANTED[0]) is loader.loaded[(*WANTED[0], False)]


def test_kernels_are_compiled_side_by_side_and_ahead_each_once(monkeypatch):
    monkeypatch.setattr(kernels, "available_cores", lambda: 8)
    toolkit, began = Toolkit(0.3), time.monotonic()
    loader = kernels.Kernels(toolkit, 0)
    wanted = [*WANTED, *(("schur/sets", f"schur_sets<{suffix}, true>") for suffix in (2, 3, 4))]
    loader.load_ahead(wanted[1:], False)
    loader.load_ahead(wanted[1:], False)
    assert time.monotonic() - began < 0.2
    loader.load(wanted, False, "")
    assert time.monotonic() - began < 1.0
    assert len(toolkit.modules) == len(wanted) == len(loader.loaded)


def test_kernels_without_template_arguments_share_the_code_of_their_file(monkeypatch):
    monkeypatch.setattr(kernels, "available_cores", lambda: 8)
    toolkit = Toolkit(0.1)
    loader = kernels.Kernels(toolkit, 0)
    wanted = [*(("graph/neighbours", name) for name in ("level0", "count_neighbours", "list_neighbours")), WANTED[1]]
    loader.load_ahead(wanted, False)
    assert loader.loading_ahead
    loader.load([*wanted, ("graph/neighbours", "weakest_evidence"), ("graph/removals", "settle")], False, "")
    loader.load([("graph/removals", name) for name in ("settle", "finish")], True, "")
    assert len(toolkit.modules) == 4  # removals once more, for a graph with a matrix for each row
    assert len(loader.loaded) == 8
    assert not loader.loading_ahead


def test_what_fails_ahead_is_told_where_it_is_needed(monkeypatch, tmp_path):
    monkeypatch.setattr(kernels, "KERNEL_DIR", tmp_path)
    (tmp_path / "broken.cu").write_text("this is no CUDA")
    toolkit = Toolkit(0.0)
    loader = kernels.Kernels(toolkit, 0)
    loader.load_ahead([("broken", "broken")], False)
    with pytest.raises(EngineError, match="does not compile here"):
        loader.load([("broken", "broken")], False, "")
    assert loader.missing([("broken", "broken")], False)


def test_a_file_that_is_missing_or_broken(monkeypatch, tmp_path):
    monkeypatch.setattr(kernels, "KERNEL_DIR", tmp_path)
    (tmp_path / "broken.cu").write_text("this is no CUDA")
    loader = kernels.Kernels(Toolkit(0.0), 0)
    with pytest.raises(EngineError, match=r"nothing\.cu cannot be read"):
        loader.get("nothing", "nothing")
    with pytest.raises(EngineError, match=r"kernel broken of broken\.cu does not compile here: expected a declaration"):
        loader.get("broken", "broken")


def test_options_change_with_the_headers(monkeypatch, tmp_path):
    """CuPy's cache ignores included files: a change in any folder must change the options."""
    monkeypatch.setattr(kernels, "KERNEL_DIR", tmp_path)
    seen = set()
    for text in ("one", "two"):
        (tmp_path / "common").mkdir(exist_ok=True)
        (tmp_path / "common" / "a.cuh").write_text(text)
        kernels.source_options.cache_clear()
        seen.add(kernels.source_options())
    kernels.source_options.cache_clear()
    assert len(seen) == 2
