"""The kernel-based test on a device: its kernel on the host, NumPy in the place of CuPy."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from common import refused
from gpu_on_host import HostDevice, Memory, build
from kernel_cases import KINDS, by_size, keys_of, smooth

import pycupc
from pycupc import KCI
from pycupc.engines import select
from pycupc.engines.gpu import device_tuning, kernel_tests
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernel_matrices import KernelMatrices
from pycupc.engines.gpu.kernel_tests import DeviceKernelTest, KernelRounds, interval
from pycupc.engines.protocol import EngineError
from pycupc.independence.kernel import test as kernel_test
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

    @staticmethod
    def empty(shape):
        return np.full(shape, np.nan).view(Memory)

    @staticmethod
    def zeros(shape):
        return np.zeros(shape).view(Memory)

    @staticmethod
    def empty_like(values):
        return np.full_like(values, np.nan)


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    files = {
        "kernel_test/invert": ("invert_factors",),
        "kernel_test/matrices": ("fill_kernels", "centre_kernels"),
        "kernel_test/moments": ("moments",),
    }
    return HostDevice(build(tmp_path_factory.mktemp("kernels"), 64, files))


def matrices_of(device, n):
    columns = np.random.default_rng(n).normal(size=(2, n))
    return KernelMatrices(device, HostArrays(), columns, np.zeros((2, 1, n)), 64)


@pytest.fixture
def on_host(device, monkeypatch):
    """Makes a `KernelTest` of the device."""
    monkeypatch.setattr(kernel_tests, "DeviceKernelTest", lambda test, dev: DeviceKernelTest(test, dev, HostArrays()))
    return lambda test: DeviceKernelTest(test, device, HostArrays())


def gemm(handle, a_transposed, b_transposed, m, n, k, alpha, a, lda, by_a, b, ldb, by_b, beta, c, ldc, by_c, count):
    """cuBLAS's product of matrices by columns, at addresses."""

    def at(address, rows, columns, ld, number):
        flat = np.ctypeslib.as_array((ctypes.c_double * (ld * columns)).from_address(address + 8 * number))
        return flat.reshape(columns, ld).T[:rows]

    alpha, beta = (ctypes.c_double.from_address(of).value for of in (alpha, beta))
    for i in range(count):
        A = at(a, k, m, lda, i * by_a).T if a_transposed else at(a, m, k, lda, i * by_a)
        B = at(b, n, k, ldb, i * by_b).T if b_transposed else at(b, k, n, ldb, i * by_b)
        C = at(c, m, n, ldc, i * by_c)
        C[...] = alpha * A @ B + beta * C


@pytest.mark.parametrize("a_transposed", [False, True])
@pytest.mark.parametrize("b_transposed", [False, True])
def test_products_are_asked_for_as_cublas_counts(device, monkeypatch, a_transposed, b_transposed):
    cublas = SimpleNamespace(dgemmStridedBatched=gemm)
    monkeypatch.setattr(device.cp.cuda, "cublas", cublas, raising=False)
    monkeypatch.setattr(device.cp.cuda, "get_cublas_handle", lambda: 0, raising=False)
    whole = np.random.default_rng(0).normal(size=(3, 4, 20, 20)).view(Memory)
    for rows, columns, inner in ((3, 5, 7), (1, 4, 6), (6, 1, 2), (4, 4, 1)):
        A = whole[0, :, 2 : 2 + inner, 1 : 1 + rows].swapaxes(1, 2) if a_transposed else whole[0, :, :rows, :inner]
        B = whole[1, :, :columns, :inner].swapaxes(1, 2) if b_transposed else whole[1, :, 3 : 3 + inner, :columns]
        out = whole[2].copy()[:, 4 : 4 + rows, 5 : 5 + columns]
        expected = -2.0 * A @ B + 0.5 * out
        Device.product(device, A, B, out, -2.0, 0.5)
        np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.parametrize("n", [5, 64, 65, 150, 300, 600])
def test_inverses(device, n):
    rng = np.random.default_rng(n)
    G = rng.normal(size=(3, n, n))
    M = (G @ G.swapaxes(1, 2) + np.eye(n)).view(Memory)
    M[1] = 1e3 * np.outer(M[1, 0], M[1, 0]) / (M[1, 0] @ M[1, 0]) + 1e-3 * np.eye(n)
    M[2] = -np.eye(n)
    found = M.copy()
    matrices_of(device, n).invert(found)
    np.testing.assert_allclose(found[:2], np.linalg.inv(M[:2]), rtol=1e-8, atol=1e-7)
    assert np.isnan(found[2]).any()


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
                V = np.column_stack([np.minimum(x, y), np.maximum(x, y), S])
                low, high = device._on_device(device._of_size(S.shape[1]), V)
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


def test_most_that_truncation_takes(device):
    rng = np.random.default_rng(2)
    matrices = matrices_of(device, 60)
    Q = np.linalg.qr(rng.normal(size=(60, 60)))[0]
    value = 10.0 ** -np.linspace(0, 9, 60)
    matrices.x.matrices[0], matrices.x.size[0] = (Q * value) @ Q.T, np.linalg.norm(value)
    tau = matrices.threshold(matrices.x, 0)
    lost = ((Q * np.where(value <= tau, value, 0)) @ Q.T).diagonal()
    matrices.sharpen(np.array([0, 0]))
    most = matrices.x.lost[0]
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


def test_too_many_observations_are_refused_with_the_number_that_fits(device, monkeypatch):
    monkeypatch.setattr(type(device), "free_memory", lambda self, enough=0: 10**6)
    X = smooth(np.random.default_rng(0), 150)
    fits = "KCI of 150 observations needs about .* GB .* up to 102 observations fit"
    refused(fits, pycupc.pc, X, KCI(), engine=KernelRounds(device), error=EngineError)
    assert pycupc.pc(X, KCI(), engine=KernelRounds(device), m_max=0).n_edgetests == [23]


def test_the_memory_of_a_device_is_given_back(device, monkeypatch):
    freed, pool = [], device.cp.get_default_memory_pool()
    monkeypatch.setattr(pool, "free_bytes", lambda: 1 << 40)
    monkeypatch.setattr(pool, "free_all_blocks", lambda: freed.append(True))
    pycupc.pc(smooth(np.random.default_rng(0), 40), KCI(), engine=KernelRounds(device), m_max=0)
    assert freed


@pytest.fixture
def with_gpu(on_host, device, monkeypatch):
    """A machine whose GPU is the device on the host; runs of 600 numbers are worth it."""
    monkeypatch.setattr(select, "gpu_works", lambda number: (True, "a device"))
    engine = SimpleNamespace(name="gpu", for_test=lambda test: KernelRounds(device))
    monkeypatch.setattr("pycupc.engines.gpu.GpuEngine", lambda *algorithm, **options: engine)
    monkeypatch.setattr(kernel_test, "NUMBERS_FOR_GPU", 600)


@pytest.mark.parametrize(
    ("function", "how"),
    [
        (pycupc.pc, {}),
        (pycupc.pc, {"conservative": True}),
        (pycupc.pc, {"tiers": [1, 1, 1, 2, 2, 2]}),
        (pycupc.skeleton, {"tiers": [1, 1, 1, 2, 2, 2]}),
        (pycupc.fci, {}),
        (pycupc.fci, {"tiers": [1, 1, 1, 2, 2, 2], "selectionBias": False}),
        (pycupc.rfci, {}),
    ],
)
def test_auto_takes_a_gpu_and_the_answer_stays(with_gpu, function, how):
    X = smooth(np.random.default_rng(3), 100)
    gpu, cpu = (function(X, KCI(), alpha=0.2, engine=engine, **how) for engine in ("auto", "cpu"))
    assert gpu.engine == "gpu (auto: a device)"
    assert gpu.sparse_graph == cpu.sparse_graph
    assert gpu.n_edgetests == cpu.n_edgetests
    assert gpu.sepset.cells() == cpu.sepset.cells()
    np.testing.assert_allclose(gpu.pMax, cpu.pMax, atol=1e-9)


def test_auto_takes_the_cpu_for_small_runs_and_runs_in_parts(with_gpu, tmp_path):
    X = smooth(np.random.default_rng(3), 100)
    assert pycupc.pc(X[:, :5], KCI(), alpha=0.2).engine == "cpu (auto: fewer than 6 variables)"
    assert pycupc.pc(X, KCI(), alpha=0.2, m_max=0).engine == "cpu (auto: kernel data)"
    assert pycupc.pc(X, KCI(), alpha=0.2, checkpoint=tmp_path / "run").engine == "cpu (auto: kernel data)"
    with ThreadPoolExecutor(1) as executor:
        assert pycupc.pc(X, KCI(), alpha=0.2, executor=executor).engine == "cpu (auto: kernel data)"


def test_workers_of_a_gpu_run_make_the_tests_of_the_cpu(with_gpu, monkeypatch):
    monkeypatch.setattr("pycupc.engines.divided.PART_SECONDS", 1e-9)
    X = smooth(np.random.default_rng(3), 100)
    cpu = pycupc.pc(X, KCI(), alpha=0.2)
    with ThreadPoolExecutor(2) as executor:
        gpu = pycupc.pc(X, KCI(), alpha=0.2, executor=executor, engine="gpu")
    assert (cpu.graph == gpu.graph).all()
    assert cpu.sepset.cells() == gpu.sepset.cells()
    np.testing.assert_allclose(gpu.pMax, cpu.pMax, atol=1e-9)


def test_a_checkpoint_on_a_gpu_is_refused_before_it_is_written(with_gpu, tmp_path):
    X = smooth(np.random.default_rng(3), 100)
    words = "a checkpoint of kernel data needs engine='cpu', got engine='gpu', which finds p-values after the levels"
    refused(words, pycupc.pc, X, KCI(), engine="gpu", checkpoint=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_gpu_pays_from_20_000_numbers_on():
    for n, p in ((40, 500), (500, 40), (1000, 20), (1001, 20), (30_000, 1)):
        assert KernelTest(KernelData.of(np.random.default_rng(0).normal(size=(n, 2))), 0.05, KCI()).gpu_pays_from == p
