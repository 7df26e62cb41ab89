"""What the package finds out about the machine: cores, memory, and whether a GPU can be used."""

import contextlib
import importlib.util
import os
import re
import sys
from types import ModuleType, SimpleNamespace

import pytest

from pycupc.cli import doctor_command
from pycupc.r.messages import in_r
from pycupc.system import machine

EXTRAS = "pip install 'pycupc[gpu]' for an NVIDIA driver of CUDA 12, 'pycupc[gpu13]' for one of CUDA 13"


class FakeRuntime:
    """CUDA's runtime with one device; a name in `failing` raises instead."""

    def __init__(self, failing=(), major=9):
        self.failing, self.major = failing, major

    def _answer(self, name, value):
        if name in self.failing:
            raise RuntimeError(f"{name} failed")
        return value

    def getDeviceCount(self):
        return self._answer("count", 1)

    def getDeviceProperties(self, device):
        return self._answer("properties", {"name": b"Test GPU", "major": self.major, "minor": 0})

    def memGetInfo(self):
        return self._answer("memory", (2**30, 2**32))

    def driverGetVersion(self):
        return 12080

    runtimeGetVersion = driverGetVersion


@pytest.fixture
def fake_cupy(monkeypatch):
    """Installs a CuPy of this test's making, and forgets what was found out about the real one."""

    def install(failing=(), major=9):
        runtime = FakeRuntime(failing, major)
        cupy, cuda = ModuleType("cupy"), ModuleType("cupy.cuda")
        cuda.runtime, cuda.Device = runtime, lambda device: contextlib.nullcontext()
        cuda.nvrtc = SimpleNamespace(getVersion=lambda: runtime._answer("nvrtc", (12, 8)))
        cupy.cuda = cuda
        cupy.__spec__ = importlib.util.spec_from_loader("cupy", None)
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
        return runtime

    monkeypatch.setattr(machine, "_usable", {})
    return install


@pytest.mark.parametrize(
    ("failing", "major", "device", "reason"),
    [
        (["count"], 9, 0, r"no CUDA device, or a driver too old for this CuPy \(count failed\); check with nvidia-smi"),
        ([], 9, 1, "CUDA device 1 does not exist; 1 found"),
        ([], 9, -1, "CUDA device -1 does not exist; 1 found"),
        (["nvrtc"], 9, 0, r"NVRTC, CUDA's run-time compiler, cannot be loaded \(nvrtc failed\); " + "pip install"),
        (["properties"], 9, 0, r"CUDA device 0 does not respond \(properties failed\); check with nvidia-smi"),
        ([], 6, 0, "CUDA device 0 has compute capability 6.0; 7.0 or newer is needed"),
    ],
)
def test_a_gpu_that_cannot_be_used_has_a_reason_and_a_remedy(fake_cupy, failing, major, device, reason):
    fake_cupy(failing, major)
    works, detail = machine.gpu_works(device)
    assert not works
    with pytest.raises(ValueError, match=reason):
        raise ValueError(detail)


def test_a_gpu_that_works_is_described_and_remembered(fake_cupy):
    """One that fails is asked once more."""
    runtime = fake_cupy(["count"])
    assert not machine.gpu_works()[0]
    want = True, "Test GPU, compute capability 9.0, NVRTC 12.8"
    for failing in ([], ["count"]):
        runtime.failing = failing
        assert machine.gpu_works() == want


def test_missing_cupy_and_several_cupys(monkeypatch):
    monkeypatch.setattr(machine, "_usable", {})
    with monkeypatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda name: None)
        patch.setattr(machine, "has_driver", lambda: True)
        assert machine.gpu_works() == (False, f"CuPy is not installed; {EXTRAS}")
    monkeypatch.setattr(machine, "version_of", lambda name: "14.0" if name in machine.CUPY[:1] else None)
    assert machine.several_cupys() is None
    monkeypatch.setattr(machine, "version_of", lambda name: "14.0" if name in machine.CUPY[:2] else None)
    assert machine.several_cupys() == (
        "cupy-cuda12x and cupy-cuda13x are installed and overwrite each other; uninstall all of them, then " + EXTRAS
    )


def test_the_gpu_after_a_fork(fake_cupy, monkeypatch):
    """CUDA does not work in a process that was forked from one that has used it; "auto" takes the CPU there."""
    fake_cupy()
    assert machine.gpu_works()[0]
    monkeypatch.setattr("os.getpid", lambda: -1)
    works, detail = machine.gpu_works()
    assert not works
    assert "was used before this process was forked" in detail
    assert "spawn" in detail
    assert "parallel::makeCluster()" in in_r(detail, ())


def test_cupy_that_cannot_be_imported(fake_cupy, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "cupy", None)  # the import raises ModuleNotFoundError
    works, detail = machine.gpu_works()
    assert not works
    assert detail.startswith("CuPy cannot be imported (ModuleNotFoundError: ")
    assert "pip install 'pycupc[gpu]'" in detail


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for the driver on Linux only")
def test_without_a_driver_cupy_is_not_imported(monkeypatch):
    monkeypatch.setattr(machine, "_usable", {})
    monkeypatch.setattr(machine, "_DRIVERS", {sys.platform: "libnothing.so.1"})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    works, detail = machine.gpu_works()
    assert not works
    assert detail.startswith("no NVIDIA driver: libnothing.so.1 cannot be loaded; check with nvidia-smi")
    assert "cupy" not in sys.modules


def test_doctor_describes_the_gpu_in_the_same_words(fake_cupy, monkeypatch):
    monkeypatch.setattr(machine, "several_cupys", lambda: None)
    fake_cupy()
    found = doctor_command.examine(engines=False, r=False)["gpu"]
    assert found == {
        "devices": [{"name": "Test GPU", "compute_capability": "9.0", "memory_gib": 4.0, "free_gib": 1.0}],
        "driver": 12080,
        "runtime": 12080,
        "problem": None,
    }
    assert "name Test GPU, compute_capability" in doctor_command.report(doctor_command.examine(engines=False, r=False))
    fake_cupy(["memory"])
    assert (
        doctor_command.examine(engines=False, r=False)["gpu"]["problem"]
        == "a CUDA device does not respond: memory failed"
    )
    machine._usable.clear()
    fake_cupy(["count"])
    assert doctor_command.examine(engines=False, r=False)["gpu"]["problem"] == machine.gpu_works()[1]


def test_cores_and_memory_are_those_of_the_system(monkeypatch):
    assert 1 <= machine.available_cores() <= (os.cpu_count() or 1)
    physical = machine.physical_memory()
    assert physical is None or 2**28 < machine.free_memory() <= physical
    assert machine.processor_name()


def grouped(monkeypatch, folder, cgroup, files):
    """Let the process be in these control groups; `files` are those of their file system, M is a MiB."""
    (folder / "proc/self").mkdir(parents=True)
    (folder / "proc/self/cgroup").write_text(cgroup)
    for name, text in files.items():
        (folder / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "groups" / name).write_text(re.sub(r"(\d+)M", lambda found: str(int(found[1]) << 20), text) + "\n")
    monkeypatch.setattr(machine, "_PROC", folder / "proc")
    monkeypatch.setattr(machine, "_CGROUP", folder / "groups")
    for name in ("_memory_groups", "_cores_of_groups"):
        monkeypatch.setattr(machine, name, getattr(machine, name).__wrapped__)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)


VERSION_2 = "0::/user/job\n", {
    "user/job/memory.max": "max",
    "user/job/memory.current": "30M",
    "user/job/cpu.max": "250000 100000",
    "user/memory.max": "100M",
    "user/memory.current": "60M",
    "user/memory.stat": "anon 5\ninactive_file 10M",
    "user/cpu.max": "max 100000",
}  # fmt: skip
VERSION_1 = "5:cpuacct,cpu:/job\n4:memory:/job\n0::/\n", {
    "memory/job/memory.limit_in_bytes": "100M",
    "memory/job/memory.usage_in_bytes": "60M",
    "memory/job/memory.stat": "inactive_file 5\ntotal_inactive_file 10M",
    "memory/memory.limit_in_bytes": "9223372036854771712",
    "memory/memory.usage_in_bytes": "12345",
    "cpuacct,cpu/job/cpu.cfs_quota_us": "250000",
    "cpuacct,cpu/job/cpu.cfs_period_us": "100000",
    "cpuacct,cpu/cpu.cfs_quota_us": "-1",
    "cpuacct,cpu/cpu.cfs_period_us": "100000",
}  # fmt: skip
CONTAINER = "4:memory:/docker/abc\n1:cpu:/docker/abc\n", {  # whose own group is at the root
    "memory/memory.limit_in_bytes": "100M",
    "memory/memory.usage_in_bytes": "50M",
    "cpu/cpu.cfs_quota_us": "250000",
    "cpu/cpu.cfs_period_us": "100000",
}  # fmt: skip
NO_LIMITS = "0::/\nnonsense\n", {"memory.max": "max", "cpu.max": "max 100000", "odd": ""}


@pytest.mark.parametrize("groups", [VERSION_2, VERSION_1, CONTAINER, NO_LIMITS])
def test_limits_of_control_groups(monkeypatch, tmp_path, groups):
    grouped(monkeypatch, tmp_path, *groups)
    assert machine.available_cores() == (64 if groups is NO_LIMITS else 3)
    if groups is NO_LIMITS:
        assert machine._memory_groups() == ()
    else:
        assert machine.free_memory() == 50 << 20


def test_systems_that_do_not_provide_the_numbers(monkeypatch):
    monkeypatch.setattr(machine, "_linux_field", lambda path, name: None)
    monkeypatch.delattr(os, "sysconf", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert machine.physical_memory() is None
    assert machine.free_memory() == 2**62
    assert machine.available_cores() == (os.cpu_count() or 1)


def test_products_use_one_thread_until_the_last_of_several_users_has_ended():
    pytest.importorskip("numpy").linalg.inv([[1.0]])  # loads OpenBLAS
    machine._openblas.cache_clear()

    def numbers():
        return [get() for _, get in machine._openblas("scipy.linalg" in sys.modules)]

    before = numbers()
    if not before:
        pytest.skip("NumPy without OpenBLAS")
    with machine.single_products():
        with machine.single_products():
            pass
        assert set(numbers()) <= {1}
    assert numbers() == before
