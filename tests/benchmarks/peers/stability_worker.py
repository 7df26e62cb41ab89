"""A loop of a Python peer over resamples, in the peer's own environment: ``python stability_worker.py FOLDER``.

FOLDER holds job.json ({"peer", "alpha"}) and resamples.npz ("X", "rows"); leaves out.json (seconds of each resample,
versions) and out.npz ("graphs": row to column). It does not import pycupc.
"""

import importlib.metadata
import json
import logging
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from worker import PACKAGES  # beside this script


def main(folder):
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    job = json.loads((folder / "job.json").read_text())
    with np.load(folder / "resamples.npz") as z:
        X, resamples = z["X"], z["rows"]
    seconds, graphs = [], []
    for rows in resamples:
        run, graph = PACKAGES[job["peer"]](X[rows], job["alpha"])
        began = time.perf_counter()
        out = run()
        seconds.append(time.perf_counter() - began)
        graphs.append(graph(out))
    np.savez(folder / "out.npz", graphs=np.array(graphs))
    versions = {job["peer"]: importlib.metadata.version(job["peer"])}
    (folder / "out.json").write_text(json.dumps({"seconds": seconds, "versions": versions}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
