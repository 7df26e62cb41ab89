"""The GPU engines on data of realistic size: the known skeletons, counts and separating sets.

The data are looked for where `tests/conftest.py` expects the shared folder, or in the folder that PYCUPC_DATA names
(``python -m tests.benchmarks prepare`` makes one).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import pycupc

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("PYCUPC_DATA") or ROOT.parent / "shared" / "data")
SETS = [
    ("nci60", 0.01),
    ("nci60", 0.05),
    ("mcc", 0.01),
    ("mcc", 0.05),
    ("tcga_brca_jive", 0.01),
    ("tcga_brca_jive", 0.05),
    ("saureus", 0.01),
    ("saureus", 0.05),
    ("riboflavin", 0.01),
    ("stock_logret", 0.01),
    ("std_1000_20_1000", 0.05),
    ("std_1000_100_2000", 0.05),
]


@pytest.mark.gpu
@pytest.mark.parametrize("engine", ["gpu", "cupc-e", "cupc-s"])
@pytest.mark.parametrize(("name", "alpha"), SETS, ids=lambda v: str(v))
def test_gpu_engine_is_exact(name, alpha, engine, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tests"))
    from benchmarks import workloads

    if not (DATA / "expected" / f"{name}_alpha{alpha:g}.npz").exists():
        pytest.skip(f"no expected answer of {name} at {alpha:g} in {DATA}")
    work = workloads.load(name, DATA, alpha)
    fit = pycupc.skeleton({"C": work.C, "n": work.n}, alpha=alpha, engine=engine)
    assert work.expected.differences(workloads.Answer.of(fit)) == {}
