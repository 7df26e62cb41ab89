"""The same answer from an MPIPoolExecutor: three MPI processes on this machine."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

_RUN = """
import sys
sys.path[:0] = [{root!r}, {here!r}]
import pycupc
from stability_data import gaussian

if __name__ == "__main__":
    from mpi4py.futures import MPIPoolExecutor

    call = {{"n_resamples": 12, "scheme": "complementary", "random_state": 9}}
    data = gaussian(n=60, p=6)
    with MPIPoolExecutor() as executor:
        found = pycupc.stability(data, executor=executor, **call)
        print(executor.num_workers, found == pycupc.stability(data, **call))
"""


@pytest.mark.usefixtures("libraries_of_python")
def test_mpi_pool(tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    mpiexec = shutil.which("mpiexec", path=sysconfig.get_path("scripts"))
    if mpiexec is None:
        pytest.skip("mpich is not installed")
    script = tmp_path / "run.py"
    script.write_text(_RUN.format(root=str(HERE.parent), here=str(HERE)))
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", script]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.stdout.split() == ["2", "True"], run.stderr
