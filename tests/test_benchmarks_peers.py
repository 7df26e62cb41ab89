"""Benchmarks of other implementations: whole calls in R, and a library with cuPC's entry point."""

import shutil
import subprocess

import numpy as np
import pytest
from benchmarks import __main__ as menu
from benchmarks import peers, record, workloads

import pycupc


def whole_calls(folder, *words):
    folders = ["--data", str(folder), "--out", str(folder), "--threads", "1", "--quick"]
    assert menu.main(["r", *folders, "--sets", "std_40_3_200", "std_50_3_200", *words]) == 0
    return {(row["set"], row["engine"]): row for row in record.read(folder, "r")}


def test_whole_calls_in_r(tmp_path, monkeypatch):
    def in_r(w, method, threads, effort):
        graph = pycupc.pc({"C": w.C, "n": w.n}, alpha=w.alpha, engine="cpu", numCores=1).graph.astype(np.int32)
        if method == "pc":  # one edge fewer than ours
            x, y = np.argwhere(graph)[0]
            graph[x, y] = graph[y, x] = 0
        return {"times": [3.0, 0.2, 0.1, 0.3], "graph": graph, "version": "R 4, pcalg 2"}

    monkeypatch.setattr(peers, "pcalg", in_r)
    rows = whole_calls(tmp_path, "--limit", "0.1")
    ours, theirs = rows["std_40_3_200", "cu_pc"], rows["std_40_3_200", "pc"]
    assert (ours["first"], ours["seconds"], ours["runs"], ours["cpdag_differs"]) == (3, 0.2, 3, 0)
    assert theirs["cpdag_differs"] == theirs["edges_only_here"] == 1
    late = rows["std_50_3_200", "pc"]  # at the rate of the first set
    assert (late["outcome"], late["estimate"]) == (
        "estimated",
        pytest.approx(0.2 * late["tests"] / theirs["tests"], rel=1e-5),
    )
    assert len(whole_calls(tmp_path, "--engines", "cu_pc")) == 2


def test_whole_calls_without_pcalg(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "has_r_package", lambda _: False)
    row = whole_calls(tmp_path)["std_40_3_200", "cu_pc"]
    assert (row["outcome"], row["why"]) == ("not installed", "no Rscript with the R package pcalg")


def test_parallel_pc_reports_the_faster_of_its_two_ways(monkeypatch):
    ways = {"ParallelPC": {"times": [3.0, 5.0, 4.0]}, "ParallelPC, mem.efficient": {"times": [2.0]}}
    monkeypatch.setattr(peers, "pcalg", lambda w, method, threads, effort: ways[method])
    assert peers.parallel_pc(None, 2, None) == {"times": [2.0], "processes": "mem.efficient TRUE"}
    ways["ParallelPC, mem.efficient"] = {"outcome": "stopped", "limit": 10}
    assert peers.parallel_pc(None, 2, None)["processes"] == "mem.efficient FALSE"
    ways["ParallelPC"] = {"outcome": "not installed"}
    assert peers.parallel_pc(None, 2, None) == {"outcome": "not installed"}


@pytest.mark.r
@pytest.mark.skipif(not peers.has_r_package("ParallelPC"), reason="needs an R with the package ParallelPC")
def test_parallel_pc_agrees(tmp_path):
    w = workloads.load("std_40_3_200", tmp_path)
    fit = pycupc.pc({"C": w.C, "n": w.n}, alpha=w.alpha, engine="cpu")
    out = peers.parallel_pc(w, 2, peers.Effort(1))
    assert out["tests"] == tuple(fit.n_edgetests)
    assert (out["graph"] == fit.graph).all()


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
    out = peers.cupc_library(library, w, peers.Effort(1))
    ours = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=w.alpha, m_max=0, engine="cpu").skeleton
    assert (out["graph"] == ours).all()
    assert len(out["times"]) == 1
    assert peers.summary(out, ours)["edges_only_there"] == 0
