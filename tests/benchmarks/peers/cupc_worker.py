"""Time a library with cuPC's C entry point: ``python cupc_worker.py FOLDER``. On an error it ends its process.

FOLDER holds C.npy and job.json ({"library", "thresholds", "room", "repeats", "budget"}); leaves out.json, out.npz.
"""

import ctypes
import json
import sys
import time
from pathlib import Path

import numpy as np


def main(folder):
    job = json.loads((folder / "job.json").read_text())
    library = ctypes.CDLL(job["library"])
    doubles, ints = (np.ctypeslib.ndpointer(dtype=t, flags="C_CONTIGUOUS") for t in (np.float64, np.int32))
    library.Skeleton.argtypes = [doubles, ints, ints, doubles, ints, ints, doubles, ints]
    library.Skeleton.restype = None
    given = np.load(folder / "C.npy")
    p = len(given)
    thresholds = np.array(job["thresholds"])
    seconds, began = [], time.perf_counter()
    for i in range(job["repeats"] + 1):  # the first wakes the device up
        C, G = given.copy(), np.ones((p, p), dtype=np.int32)
        np.fill_diagonal(G, 0)
        level, most = np.zeros(1, np.int32), np.full(1, len(thresholds) - 1, np.int32)
        p_max, sets = np.zeros((p, p)), np.full(p * p * job["room"], -1, np.int32)
        t = time.perf_counter()
        library.Skeleton(C, np.array([p], np.int32), G, thresholds, level, most, p_max, sets)
        seconds.append(time.perf_counter() - t)
        if i and time.perf_counter() - began > job["budget"]:
            break
    np.savez(folder / "out.npz", graph=(G > 0).astype(np.int8))
    out = {"times": seconds[1:], "last_level": int(level[0])}
    (folder / "out.json").write_text(json.dumps(out))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
