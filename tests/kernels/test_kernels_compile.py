"""Every kernel compiles through NVRTC, without a device and without a warning.

For the oldest architecture and for 9.0: both sides of each condition on __CUDA_ARCH__. Hot loops do not spill.
"""

import pytest
from kernel_sources import FILES, compile_nvrtc, find_nvrtc, reported, resources_in, source

from pycupc.engines.gpu.every_kernel import every_kernel

MANY_NEIGHBOURS = ("search_pairs<3>", "search_pairs<5>", "search_pairs<7>", "search_pairs<8>", "search_pairs<12>")
#: One block of 256 threads at a time on a multiprocessor, with 128 sums each.
ONE_BLOCK = "pick_pairs"
#: Files whose machine code takes seconds.
LONG = ["missing/tests", "pruning/search_pairs", "pruning/bounded_walk", "discrete/sets"]
#: The kernels on a matrix for each row are those of the other folders with another address of C, twice the same loops;
#: of the kernels that may spill, the committed report has the registers.
QUICK = [file for file in FILES if not file.startswith(("rows/", "cupc/")) and file not in LONG]


@pytest.fixture(scope="module")
def nvrtc():
    library = find_nvrtc()
    if library is None:
        pytest.skip("no NVRTC (pip install nvidia-cuda-nvrtc-cu12)")
    return library


@pytest.mark.parametrize(
    ("file", "arch"), [*((file, "compute_70") for file in FILES), *((file, "compute_90") for file in LONG)]
)
def test_compiles_without_a_warning(nvrtc, file, arch):
    works, log = compile_nvrtc(nvrtc, source(file).encode(), file, arch)
    if "invalid value for --gpu-architecture" in log:
        pytest.skip(f"this NVRTC is too new for {arch}")
    assert works, log
    assert log.strip("\0 \n") == ""


def may_not_spill(file: str, name: str) -> bool:
    """Whether spills of a kernel are limited.

    Not of the kernels for ill-conditioned data, which live in the canonical formula, of those of cuPC, and of those of
    pruning for rows of many neighbours, whose vectors take most registers: they spill around a call per node, not per
    test.
    """
    return "true" not in name and name not in MANY_NEIGHBOURS and not file.startswith("cupc/")


def check_spills(file: str, name: str, registers: int, stores: int, loads: int) -> None:
    """Spills of a hundred bytes sit around the calls of the canonical formula; more means the hot loop spills."""
    assert registers <= (255 if name.startswith(ONE_BLOCK) else 128), name
    if may_not_spill(file, name):
        assert stores <= 128, name
        assert loads <= 256, name


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        *(pytest.param(file, may_not_spill, id=file) for file in QUICK),
        *(pytest.param(file, lambda *_: True, marks=pytest.mark.slow, id=f"all of {file}") for file in FILES),
    ],
)
def test_hot_loops_do_not_spill(nvrtc, file, wanted):
    works, log = compile_nvrtc(nvrtc, source(file, wanted).encode(), file, "sm_90")
    assert works, log
    assert "warning" not in log
    found = resources_in(log)
    assert len(found) >= 1
    for name, *numbers, _ in found:
        check_spills(file, name, *numbers)


def test_resource_report_covers_all_files():
    """Every kernel that an engine asks for, with numbers within the limits."""
    report = reported()
    assert {file for file, _ in report} == set(FILES)
    assert {(f"rows/{file}" if rows else file, name) for (file, name), rows in every_kernel()} == set(report)
    for (file, name), (*numbers, _) in report.items():
        check_spills(file, name, *numbers)
