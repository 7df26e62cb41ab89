"""The Python side of a computation for R (pycupc/r/transport.py), without R."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from pycupc.engines.cpu import CpuEngine
from pycupc.r.transport import Job


def options(**changed):
    given = {"alpha": 0.05, "NAdelete": True, "m_max": np.inf, "numCores": 1, "engine": "cpu", "quirks": False}
    given |= {"labels": list("abcdef"), "progress": False, "pMax": True, "test": "gaussCItest", "n": 100}
    return given | changed


@pytest.mark.parametrize("wanted", [True, False])
def test_p_values_are_sought_in_the_thread_that_r_can_interrupt(monkeypatch, wanted):
    sought = []

    class Unfinished:
        def __init__(self, z):
            self.z = z

        def __call__(self):
            sought.append(threading.current_thread())
            return self.z

    monkeypatch.setattr(CpuEngine, "unfinished_z", lambda engine: Unfinished(engine.edges()[2]))
    job = Job("skeleton")
    try:
        job.put("C", np.where(np.eye(6), 1.0, 0.4).tobytes())
        job._vectors = {}  # as if memory were shared: R would fetch pMax afterwards
        job.start(options(pMax=wanted))
        while (event := job.step()) is None or event["kind"] != "reply":
            pass
        assert event["error"] is None
        assert len(sought) == wanted
        assert threading.current_thread() not in sought
    finally:
        job.close()
