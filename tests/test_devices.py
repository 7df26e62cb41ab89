"""One run on several devices, made up on the host: the answer is that of one."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from conftest import assert_same
from gpu_on_host import HostEngine, build, loaded, observations
from test_kernel_sieve import FILES as OF_ROWS

import pycupc
from pycupc.engines.base import EngineError
from pycupc.engines.gpu import schur, tuning
from pycupc.engines.gpu.devices import DevicesEngine, on_devices

FILES = OF_ROWS | {
    "graph/share": ("choose_rows", "join_findings", "join_states"),
    "rows/share": ("choose_rows", "join_findings", "join_states"),
    "schur/level1": ("level1",),
    "schur/sets": tuple(name for (_, ill), (_, name) in schur.SETS.items() if not ill),
}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """Three copies, since each has the state of one running kernel."""
    folder = tmp_path_factory.mktemp("kernels")
    first = build(folder, 256, FILES)
    others = [shutil.copytree(folder, tmp_path_factory.mktemp("copy") / "of") for _ in range(2)]
    return [first, *(loaded(other, FILES) for other in others)]


def engine_of(libraries, n=2, **options):
    return DevicesEngine([HostEngine(own, **options) for own in libraries[:n]])


def compare(engine, X, alpha, levels, **options):
    fit, expected = (pycupc.skeleton(X, alpha=alpha, engine=e, **options) for e in (engine, "cpu"))
    assert_same(fit, expected)
    assert len(fit.n_edgetests) >= levels
    np.testing.assert_allclose(fit.pMax, expected.pMax, rtol=1e-6, atol=1e-300)


@pytest.mark.parametrize("correlations", ["dense", "rows"])
@pytest.mark.parametrize("long", [False, True])
def test_the_answer_is_that_of_one_device(libraries, monkeypatch, correlations, long):
    if long:
        monkeypatch.setattr(tuning, "LONG_LEVEL", 0)
        monkeypatch.setattr(tuning, "PARTS", (2, 2))
    fixed = np.eye(18)[::-1] > 0
    for n, seed in ((2, 0), (3, 1)):
        engine = engine_of(libraries, n, correlations=correlations)
        compare(engine, observations(seed, 18, 60, 0.5), 0.3, 4)
        compare(engine, observations(seed, 18, 200, 0.3), 0.1, 3, fixedEdges=fixed, fixedGaps=np.eye(18, k=3) + np.eye(18, k=-3) > 0)


def test_a_device_that_fails_ends_the_run(libraries, monkeypatch):
    engine = engine_of(libraries)
    X = observations(0, 12, 60, 0.5)
    expected = pycupc.skeleton(X, alpha=0.3, engine=engine)

    def fail(*args):
        raise EngineError("out of device memory")

    for number in (0, 1):
        with monkeypatch.context() as patch, pytest.raises(EngineError, match="out of device memory"):
            patch.setattr(engine._engines[number].device.scratch, "take", fail)
            pycupc.skeleton(X, alpha=0.3, engine=engine)
        assert pycupc.skeleton(X, alpha=0.3, engine=engine) == expected


def test_refusals(libraries):
    for wrong in ("both", [0, 0], [], [-1], [0.5], 2):
        with pytest.raises(ValueError, match="devices must be 'all' or a list of different numbers"):
            on_devices(wrong, lambda number: None)
    assert on_devices([3], str) == "3"
    codes = np.random.default_rng(0).integers(0, 2, (50, 3))
    with pytest.raises(EngineError, match="several devices share tests of correlations only; take one for discrete"):
        pycupc.skeleton(codes, alpha=0.1, indepTest="disCItest", engine=engine_of(libraries))
