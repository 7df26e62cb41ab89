"""What the machine refuses: address space beyond a limit, and what a command says then."""

import os
import subprocess
import sys

import pytest
from common import ROOT

from pycupc import cli

ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_limit_on_the_address_space_is_seen():
    program = """
import resource, numpy as np, pycupc
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
from pycupc.system import machine
assert machine.free_memory() < 6 << 30, machine.free_memory()
pycupc.pc(np.broadcast_to(np.random.default_rng(0).standard_normal((3, 1)), (3, 40_000)) + np.eye(3, 40_000), m_max=0,
        engine_options={"correlations": "dense"})
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert "EngineError: 40,000 variables need about 12.8 GB on engine 'cpu' and" in done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not limit the address space")
@pytest.mark.parametrize("megabytes", [100, 290, 320, 380, 440, 500, 560, 620, 800])
def test_no_limit_on_memory_ends_in_a_traceback(tmp_path, megabytes):
    """Where the libraries, their threads or the data find no room: OpenBLAS would hang, LLVM end the process."""
    command = f"ulimit -v {megabytes * 1000}; exec {sys.executable} -m pycupc run --example --plot none --quiet --out o"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=300, cwd=tmp_path, env=ENV)
    assert (done.returncode, done.stderr) == (0, "") or done.returncode == cli.DEVICE, done.stderr
    assert "Traceback" not in done.stderr
    assert megabytes > 350 or done.stderr.endswith("left of the limit on memory (ulimit -v); the libraries need 350\n")
    assert (done.returncode == 0) == (tmp_path / "o").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not limit the address space")
def test_plot_needs_room_for_the_libraries_of_pictures(tmp_path):
    """Between 400 and 450 MB OpenBLAS waits for ever, or ends the process itself."""
    command = f"ulimit -v 450000; exec {sys.executable} -m pycupc plot results"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=300, cwd=tmp_path, env=ENV)
    assert done.returncode == cli.DEVICE
    assert done.stderr.endswith("left of the limit on memory (ulimit -v); the libraries need 650\n")
