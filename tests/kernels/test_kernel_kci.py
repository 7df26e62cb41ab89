"""The kernel-based test on a device: its kernel on the host, NumPy in the place of CuPy."""

import numpy as np
import pytest
from gpu_on_host import HostDevice, Memory, build
from kernel_cases import KINDS, by_size, keys_of, smooth

import pycupc
from pycupc import KCI
from pycupc.engines.gpu import device_tuning, kernel_tests
from pycupc.engines.gpu.kernel_tests import DeviceKernelTest, KernelRounds, interval
from pycupc.independence.kernel.kci import KernelData, tail
from pycupc.independence.kernel.test import KernelTest

pytestmark = pytest.mark.filterwarnings("ignore:constant columns", "ignore:identical columns", "ignore:column")


class HostArrays:
    """NumPy, whose arrays look like arrays of a device."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def asarray(values):
        return np.asarray(values).view(Memory)


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    return HostDevice(build(tmp_path_factory.mktemp("kernels"), 64, {"kernel_test/factors": ("invert_blocks",)}))


@pytest.fixture
def on_host(device, monkeypatch):
    """Makes a `KernelTest` of the device."""
    monkeypatch.setattr(kernel_tests, "DeviceKernelTest", lambda test, dev: DeviceKernelTest(test, dev, HostArrays()))
    return lambda test: DeviceKernelTest(test, device, HostArrays())


@pytest.mark.parametrize("n", [5, 64, 65, 150])
def test_inverse_factors(on_host, n):
    rng = np.random.default_rng(n)
    test = on_host(KernelTest(KernelData.of(rng.normal(size=(n, 3))), 0.05, KCI()))
    G = rng.normal(size=(3, n, n))
    M = (G @ G.swapaxes(1, 2) + np.eye(n)).view(Memory)
    X = test._inverse_factors(M.copy())
    np.testing.assert_allclose(X.swapaxes(1, 2) @ X, np.linalg.inv(M), rtol=1e-8, atol=1e-9)
    assert (np.triu(X, 1) == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_hold_the_p_value_and_decisions_are_those_of_the_cpu(on_host, kind):
    for seed, n in enumerate((40, 130)):
        rng = np.random.default_rng([seed, n])
        data, keys = KernelData.of(KINDS[kind](rng, n)), keys_of(rng, n)
        for alpha in (0.01, 0.3):
            test = KernelTest(data, alpha, KCI())
            device = on_host(test)
            for _, x, y, S in by_size([key for key in keys if key[2]]):
                p, high = test.p_of_tests(x, y, S), device.p_of_tests(x, y, S)
                assert (device.decided(high) == test.decided(p)).all()
                low, high = device._on_device(np.column_stack([np.minimum(x, y), np.maximum(x, y), S]))
                known = np.isfinite(low + high + p)
                assert (low[known] <= p[known] + 1e-9).all()
                assert (p[known] <= high[known] + 1e-9).all()


def test_intervals_hold_all_tails_of_a_box():
    rng = np.random.default_rng(0)
    T, mean, norm = rng.uniform(0.5, 2, (3, 400))
    widths = rng.uniform(0, 0.2, (2, 400))
    low, high = interval(T, (mean * (1 - widths[0]), mean), (norm * (1 - widths[1]), norm))
    for _ in range(20):
        m, f = mean * (1 - widths[0] * rng.random(400)), norm * (1 - widths[1] * rng.random(400))
        p = tail(T, m, 2 * f**2)
        assert (low <= p).all()
        assert (p <= high).all()


def test_most_that_truncation_takes(on_host):
    rng = np.random.default_rng(2)
    test = on_host(KernelTest(KernelData.of(rng.normal(size=(60, 3))), 0.05, KCI()))
    Q = np.linalg.qr(rng.normal(size=(60, 60)))[0]
    value = 10.0 ** -np.linspace(0, 9, 60)
    A, tau = (Q * value) @ Q.T, 3e-5
    lost = ((Q * np.where(value <= tau, value, 0)) @ Q.T).diagonal()
    most = test._most_lost(A[None].view(Memory), np.array([tau]))[0]
    assert (most >= lost).all()
    assert most.sum() < 8 * lost.sum()


@pytest.mark.parametrize("room", [1, 1 << 30])
def test_runs_are_those_of_the_cpu(on_host, device, monkeypatch, room):
    monkeypatch.setattr(device_tuning, "KERNEL_BYTES", room)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = smooth(rng, int(rng.integers(40, 140)))
        if seed == 1:
            X[:, 5] = X[:, 0]
        how = {"alpha": 0.2, "NAdelete": bool(seed % 2)}
        cpu, gpu = pycupc.pc(X, KCI(), **how), pycupc.pc(X, KCI(), engine=KernelRounds(device), **how)
        assert (cpu.graph == gpu.graph).all()
        assert cpu.n_edgetests == gpu.n_edgetests
        assert cpu.sepset.cells() == gpu.sepset.cells()
        np.testing.assert_allclose(gpu.pMax, cpu.pMax, atol=1e-9)
        cpu, gpu = pycupc.fci(X, KCI(), **how), pycupc.fci(X, KCI(), engine=KernelRounds(device), **how)
        assert np.array_equal(cpu.amat_pag(), gpu.amat_pag())
