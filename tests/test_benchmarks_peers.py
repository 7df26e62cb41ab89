"""Benchmarks of other implementations: whole calls in R, and a library with cuPC's entry point."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pycupc

sys.path.insert(0, str(Path(__file__).resolve().parent))

from benchmarks import __main__ as menu
from benchmarks import peers, record, report, workloads


def test_whole_calls_in_r(tmp_path, monkeypatch):
    def in_r(w, method, threads, **how):
        fit = pycupc.pc({"C": w.C, "n": w.n}, alpha=w.alpha, engine="cpu", numCores=1)
        graph = fit.graph.astype(np.int32)
        if method == "pc":  # one edge fewer than ours
            x, y = np.argwhere(graph)[0]
            graph[x, y] = graph[y, x] = 0
        return {"seconds": [3.0, 0.2, 0.1, 0.3], "graph": graph, "versions": {"R": "R version 4", "pcalg": "2"}}

    monkeypatch.setattr(peers, "pcalg", in_r)
    words = ["--data", str(tmp_path), "--out", str(tmp_path), "--threads", "1"]
    assert menu.main(["r", "--quick", *words, "--sets", "std_40_3_200", "std_50_3_200", "--limit", "0.3"]) == 0
    first, second = record.read(tmp_path, "r")["rows"]
    assert first["runs"]["cu_pc"]["cpdag_differs"] == 0
    assert first["runs"]["pc"]["cpdag_differs"] in (1, 2)
    assert second["runs"]["pc"].keys() >= {"not_started", "seconds_at_measured_rate"}  # at the rate of the first set
    report.write_all(tmp_path)
    text = (tmp_path / "BENCHMARKS.md").read_text()
    assert "| 3 | 0.2 |" in text  # the first call apart
    assert " (estimated)" in text


def test_whole_calls_of_one_function(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "pcalg", lambda w, method, threads, **how: {"seconds": [3.0, 0.2]})
    words = ["--data", str(tmp_path), "--out", str(tmp_path), "--threads", "1", "--sets", "std_40_3_200"]
    assert menu.main(["r", *words, "--engines", "cu_pc"]) == 0
    (row,) = record.read(tmp_path, "r")["rows"]
    assert list(row["runs"]) == ["cu_pc"]
    report.write_all(tmp_path)
    assert "| 3 | 0.2 |" in (tmp_path / "BENCHMARKS.md").read_text()


def test_whole_calls_without_pcalg(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "has_r_package", lambda _: False)
    words = ["--data", str(tmp_path), "--out", str(tmp_path), "--threads", "1", "--sets", "std_40_3_200"]
    assert menu.main(["r", "--quick", *words]) == 0
    (row,) = record.read(tmp_path, "r")["rows"]
    assert row["runs"]["cu_pc"] == {"absent": "no Rscript with the R package pcalg"}
    report.write_all(tmp_path)
    assert "Whole calls in R" not in (tmp_path / "BENCHMARKS.md").read_text()


def test_parallel_pc_reports_the_faster_of_its_two_ways(monkeypatch):
    runs = {
        "ParallelPC": {"seconds": [3.0, 5.0, 4.0], "graph": "same"},
        "ParallelPC, mem.efficient": {"seconds": [2.0], "graph": "same"},
    }
    monkeypatch.setattr(peers, "pcalg", lambda w, method, threads, **how: runs[method])
    got = peers.parallel_pc(None, 2)
    assert got["seconds"] == [2.0]
    assert got["mem_efficient"] == {"FALSE": [3.0, 5.0, 4.0], "TRUE": [2.0]}
    runs["ParallelPC, mem.efficient"] = {"too_slow": 10}
    got = peers.parallel_pc(None, 2)
    assert got["seconds"] == [3.0, 5.0, 4.0]
    assert got["mem_efficient"]["TRUE"] == {"too_slow": 10}
    runs["ParallelPC"] = {"absent": "not there"}
    runs["ParallelPC, mem.efficient"] = {"absent": "not there"}
    assert peers.parallel_pc(None, 2) == {"absent": "not there"}


@pytest.mark.r
@pytest.mark.skipif(not peers.has_r_package("ParallelPC"), reason="needs an R with the package ParallelPC")
def test_parallel_pc_agrees(tmp_path):
    w = workloads.load("std_40_3_200", tmp_path)
    fit = pycupc.pc({"C": w.C, "n": w.n}, alpha=w.alpha, engine="cpu")
    out = peers.parallel_pc(w, 2, repeats=1)
    assert out["tests"] == fit.n_edgetests
    assert (out["graph"] == fit.graph).all()
    assert out["versions"].keys() == {"R", "pcalg", "ParallelPC"}


STUB = """
#include <math.h>
void Skeleton(double *C, int *P, int *G, double *Th, int *l, int *maxlevel, double *pMax, int *SepSet) {
    int p = *P;
    for (int i = 0; i < p * p; i++)
        if (i / p != i % p && fabs(atanh(C[i])) < Th[0]) G[i] = 0;
    SepSet[p * p * 14 - 1] = 1;
    pMax[p * p - 1] = *maxlevel;
    *l = 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_library_with_cupcs_entry_point(tmp_path):
    (tmp_path / "stub.c").write_text(STUB)
    library = tmp_path / "stub.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, tmp_path / "stub.c", "-lm"], check=True)
    w = workloads.load("std_40_3_200", tmp_path)
    out = peers.cupc_library(library, w, repeats=1)
    ours = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=w.alpha, m_max=0, engine="cpu").skeleton
    assert (out["graph"] == ours).all()
    assert len(out["seconds"]) == 1
    assert peers.summary(out, ours)["edges_only_there"] == 0
