"""Write results onto a disk that is full at every point in turn: `python full_disk.py DISK ELSEWHERE`.

Run by test_faults.py. DISK is a small file system of its own; ELSEWHERE is on another one, and the folder for temporary
files.
"""

import os
import shutil
import sys
import warnings
from pathlib import Path

import pycupc
from pycupc import cli
from pycupc.cli.run import FILES
from pycupc.data import load_example

STEP = 4096 * 3


def main(disk: Path, elsewhere: Path) -> None:
    os.chdir(disk)
    (disk / "mine.txt").write_text("mine")
    fit = pycupc.pc(pycupc.SuffStat.from_data(load_example()), alpha=0.01)
    room = 0

    def pc_on_a_full_disk(*_, **__):
        (disk / "ballast").write_bytes(bytes(max(0, shutil.disk_usage(disk).free - room)))
        return fit

    pycupc.pc = pc_on_a_full_disk
    whole = kept = 0
    names = {kind.name for kind in FILES if not kind.form} | {"manifest.json"}
    for room in range(0, 24 * STEP, STEP):
        code = cli.main(["run", "--example", "--out", "out", "--quiet", "--plot", "none"])
        assert (disk / "mine.txt").read_text() == "mine"
        assert [name for name in os.listdir(disk) if name.startswith(".")] == []
        there, place = disk / "out", elsewhere / "out-2"
        assert there.exists() != place.exists(), (room, code)
        assert code == (cli.OK if there.exists() else cli.DEVICE)
        folder = there if there.exists() else place
        written = {f.name for f in folder.iterdir()}
        assert written == names, written ^ names
        assert pycupc.PcAlgo.load(folder / "result.npz") == fit
        whole, kept = whole + (folder == there), kept + (folder == place)
        shutil.rmtree(folder)
        (disk / "ballast").unlink()
    print(f"{whole} whole, {kept} kept elsewhere")
    assert whole > 1
    assert kept > 5


if __name__ == "__main__":
    warnings.simplefilter("error")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
