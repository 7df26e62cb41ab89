"""The bridge to R through rpy2. reticulate is not loaded here: a process that holds both crashes."""

import builtins
import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
from common import ROOT, refused

import pycupc
from pycupc.r import RBridgeError, bridge, from_r, pcalg_pc, pcalg_skeleton, to_r
from pycupc.results.comparison import compare
from pycupc.results.pagalgo import PagAlgo

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning:rpy2")


@pytest.fixture(scope="module")
def r():
    """R itself, with a problem S in it."""
    try:
        with bridge.r_session() as robjects:
            bridge.require_packages(robjects, "graph")
    except RBridgeError as error:
        pytest.skip(str(error))
    robjects.r("set.seed(1); X <- matrix(rnorm(3000), 300); X[, 4] <- X[, 1] + X[, 2] + X[, 4]")
    robjects.r("X[, 7] <- X[, 4] + X[, 7]; X[, 9] <- X[, 7] - X[, 4] + X[, 9]; X[, 2] <- X[, 2] + X[, 10]")
    robjects.r("S <- list(C = cor(X), n = 300)")
    return robjects.r


@pytest.fixture(scope="module")
def pcalg(r):
    try:
        bridge.require_packages(bridge.load_rpy2(), "pcalg")
    except RBridgeError as error:
        pytest.skip(str(error))
    return r


CALLS = {
    "pc": "pcalg::pc(S, pcalg::gaussCItest, .05, p = 10)",
    "labels": "pcalg::pc(S, pcalg::gaussCItest, .05, labels = letters[1:10])",
    "skeleton": "pcalg::skeleton(S, pcalg::gaussCItest, .05, p = 10)",
    "stable.fast": 'pcalg::pc(S, pcalg::gaussCItest, .05, p = 10, skel.method = "stable.fast")',
    "conservative": "pcalg::pc(S, pcalg::gaussCItest, .2, p = 10, conservative = TRUE)",
    "majority": "pcalg::pc(S, pcalg::gaussCItest, .2, p = 10, maj.rule = TRUE, solve.confl = TRUE)",
    "retry": 'pcalg::pc(S, pcalg::gaussCItest, .3, p = 10, u2pd = "retry")',
    "empty": "pcalg::pc(list(C = diag(5), n = 100), pcalg::gaussCItest, .05, p = 5)",
    "m.max": "pcalg::skeleton(S, pcalg::gaussCItest, .05, p = 10, m.max = 0)",
    "gaps": "pcalg::pc(S, pcalg::gaussCItest, .05, p = 10, "
    "fixedGaps = outer(1:10, 1:10, function(i, j) abs(i - j) == 3))",
}


@pytest.mark.r
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_r_to_python_to_r_is_identical(pcalg, call):
    there = pcalg(call)
    here = from_r(there)
    assert pcalg["identical"](there, to_r(here))[0]
    assert (here.method, here.oriented) == (("skeleton", False) if "::skeleton" in call else ("pc", True))
    assert (here.engine_name, here.orientation) == ("R", None)


@pytest.mark.r
def test_fields_are_what_the_table_says(pcalg):
    pcalg(f"fit <- {CALLS['labels']}")
    fit = from_r(pcalg["fit"])
    assert fit.labels == tuple("abcdefghij")
    cells = np.array(pcalg('as(fit@graph, "matrix")'))
    np.testing.assert_array_equal(fit.graph, cells)  # not its transpose
    assert (cells != cells.T).any()
    for x in range(10):
        for y in range(10):
            stored = pcalg(f"s <- fit@sepset[[{x + 1}]][[{y + 1}]]; if (is.null(s)) -99L else s")
            there = None if list(stored) == [-99] else tuple(v - 1 for v in stored)
            assert fit.sepset[x][y] == there
    assert fit.n_edgetests == [int(v) for v in pcalg("fit@n.edgetests")]
    assert fit.max_ord == pcalg("fit@max.ord")[0]
    np.testing.assert_array_equal(fit.pMax, np.array(pcalg("fit@pMax")))
    assert fit.call.startswith("pcalg::pc(suffStat = S")


@pytest.mark.r
def test_our_result_becomes_a_pcalgo_that_pcalg_takes(pcalg):
    data = from_r(pcalg("S"))
    fit = pycupc.pc(data, alpha=0.05)
    pcalg.assign("ours", to_r(fit))
    pcalg(f"theirs <- {CALLS['pc']}")
    for slot in ("graph", "sepset", "n.edgetests", "max.ord", "n", "zMin"):
        assert pcalg(f"identical(ours@{slot}, theirs@{slot})")[0], slot
    assert pcalg("isTRUE(all.equal(ours@pMax, theirs@pMax, tolerance = 1e-8))")[0]
    assert pcalg('is.call(ours@call) && inherits(ours, "pcAlgo")')[0]
    assert pcalg("identical(pcalg::idaFast(1, 4, cov(X), ours@graph), pcalg::idaFast(1, 4, cov(X), theirs@graph))")[0]
    skeleton = pycupc.skeleton(data, alpha=0.05)
    pcalg.assign("ours", to_r(skeleton))
    assert pcalg(f"identical(ours@graph, {CALLS['skeleton']}@graph)")[0]


@pytest.mark.r
def test_pcalg_runs_from_python_and_agrees(pcalg):
    data = from_r(pcalg("S"))
    options = [{}, {"conservative": True}, {"maj_rule": True, "solve_confl": True}, {"m_max": 1}]
    options += [{"fixedGaps": np.eye(10)[::-1] == 1}]
    for option in options:
        assert compare(pcalg_pc(data, 0.1, **option), pycupc.pc(data, alpha=0.1, **option)), option
    assert compare(pcalg_skeleton(data, 0.1), pycupc.skeleton(data, alpha=0.1))
    assert pcalg_pc(data, 0.1).labels == tuple(str(i + 1) for i in range(10))
    fast = compare(pcalg_pc(data, 0.1, skel_method="stable.fast"), pycupc.pc(data, alpha=0.1))
    assert fast.parts["skeleton"]
    assert not fast.parts["separating sets"]
    refused("pcalg::pc has no argument engine", pcalg_pc, data, 0.1, engine="cpu", error=TypeError)
    refused("labels must name all 10 variables, got 3", pcalg_pc, data, 0.1, labels=["a", "b", "c"])


@pytest.mark.r
def test_suffstat_both_ways(r):
    data = from_r(r("S"))
    assert (data.p, data.n, data.labels) == (10, 300, None)
    np.testing.assert_array_equal(data.C, np.array(r("S$C")))
    assert r["identical"](to_r(data), r("S"))[0]
    named = from_r(r("local({C <- S$C; dimnames(C) <- list(letters[1:10], letters[1:10]); list(C = C, n = 300)})"))
    assert named.labels == tuple("abcdefghij")


@pytest.mark.r
def test_the_numbers_of_pairs_of_a_suffstat_are_kept(pcalg):
    r = pcalg
    r("P <- list(C = S$C, n = matrix(300, 10, 10), n_rule = 'min'); P$n[1, 2] <- P$n[2, 1] <- 150; diag(P$n) <- 0")
    pairs = from_r(r("P"))
    assert pairs.pair_n.matrix[0, 1] == 150
    assert pairs.pair_n.rule == "min"
    assert r["identical"](to_r(pairs), r("P"))[0]
    with pytest.raises(ValueError, match="pcalg's test takes one number of observations"):
        pcalg_pc(pairs, 0.05)
    with pytest.raises(ValueError, match="n must be a number or a matrix"):
        from_r(r("list(C = S$C, n = c(300, 150))"))
    assert pcalg_pc(from_r(r("S")), 0.05, labels=np.array(list("abcdefghij"))).labels == tuple("abcdefghij")


@pytest.mark.r
def test_a_graph_alone_is_converted(r):
    fit = from_r(r('graph::graphNEL(c("a", "b"), list(a = "b", b = character(0)), "directed")'))
    assert fit.labels == ("a", "b")
    assert fit.graph.tolist() == [[0, 1], [0, 0]]
    r("weighted <- matrix(c(0, 0, 0, 0.3, 0, 0, 2, 0.5, 0), 3)")  # as the graphs of pcalg::randomDAG()
    assert from_r(r('as(weighted, "graphNEL")')).graph.tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]


@pytest.mark.r
@pytest.mark.parametrize(
    "call",
    [
        "pcalg::fci(S, pcalg::gaussCItest, .2, labels = letters[1:10])",
        "pcalg::fci(S, pcalg::gaussCItest, .05, p = 10, doPdsep = FALSE)",
        "pcalg::rfci(S, pcalg::gaussCItest, .1, p = 10)",
        "pcalg::fci(list(C = diag(5), n = 100), pcalg::gaussCItest, .05, p = 5, maj.rule = TRUE)",
    ],
)
def test_fcialgo_both_ways(pcalg, call):
    pcalg(f"fci <- {call}")
    fit = from_r(pcalg["fci"])
    assert isinstance(fit, PagAlgo)
    assert fit.method == ("rfci" if "rfci" in call else "fci")
    np.testing.assert_array_equal(fit.amat_pag(), np.array(pcalg("fci@amat")))
    np.testing.assert_array_equal(fit.pMax, np.array(pcalg("fci@pMax")))
    assert fit.n_edgetests_pdsep == np.array(pcalg("fci@n.edgetestsPDSEP")).tolist()
    assert fit.max_ord_pdsep == pcalg("fci@max.ordPDSEP")[0]
    assert pcalg["identical"](to_r(fit), pcalg["fci"])[0]
    assert compare(fit, from_r(pcalg["fci"]))
    fit.save(file := os.path.join(pcalg("tempdir()")[0], "fit.npz"))
    again = type(fit).load(file)
    assert compare(fit, again)
    assert again == fit


@pytest.mark.r
def test_errors_name_the_wrong_object(r):
    with pytest.raises(
        TypeError, match="robject must be an R suffStat list, pcAlgo, graphNEL or fciAlgo; got an object of class"
    ):
        from_r(r("1:3"))
    refused("n is missing", from_r, r("list(C = diag(3))"), error=TypeError)
    refused("must be a numeric matrix, got STRSXP", from_r, r('list(C = matrix("a", 2, 2), n = 3)'), error=TypeError)
    refused("fit must be a PcAlgo, a PagAlgo or a SuffStat, got int", to_r, 3, error=TypeError)


@pytest.mark.r
def test_a_sparse_object_of_the_r_package_is_converted(pcalg):
    pcalg(f"sparse <- full <- {CALLS['gaps']}")
    fit = from_r(pcalg["full"])
    cells, gaps = fit.sepset.flat(), fit.sepset.gaps() + 1
    assert len(gaps)
    vector = bridge.load_rpy2().IntVector
    for name, values in zip(("x", "y", "length", "members"), cells, strict=True):
        pcalg.assign(name, vector((values + (name != "length")).tolist()))
    pcalg.assign("gap_x", vector(gaps[:, 0].tolist()))
    pcalg.assign("gap_y", vector(gaps[:, 1].tolist()))
    pcalg('attr(sparse, "cu_sepset") <- mget(c("x", "y", "length", "members", "gap_x", "gap_y"))')
    pcalg("sparse@sepset <- list()")
    assert from_r(pcalg["sparse"]).sepset == fit.sepset
    assert pcalg["identical"](pcalg["full"], to_r(from_r(pcalg["sparse"])))[0]


@pytest.mark.r
def test_off_the_main_thread_it_warns(r):
    seen = []

    def work():
        with pytest.warns(RuntimeWarning, match="off the main thread"):
            seen.append(to_r(pycupc.SuffStat(np.eye(3), 10)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(seen) == 1


@pytest.mark.r
@pytest.mark.parametrize("mode", ["API", "ABI"])
def test_both_modes_of_rpy2_work(r, mode, tmp_path):
    """From the checkout, and from a copy laid out as in a wheel."""
    import_path = ROOT if mode == "API" else tmp_path
    shutil.copytree(ROOT / "pycupc", tmp_path / "pycupc", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pycupc" / "r" / "shared").mkdir()
    shutil.copy(ROOT / "r_wrapper" / "R" / "pcalgo.R", tmp_path / "pycupc" / "r" / "shared")
    code = (
        "import numpy as np, pycupc, pycupc.r as b; "
        "s = pycupc.SuffStat(np.eye(3), 10); t = b.from_r(b.to_r(s)); print(np.array_equal(s.C, t.C), t.n)"
    )
    environment = {**os.environ, "RPY2_CFFI_MODE": mode, "PYTHONPATH": str(import_path)}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=import_path)
    if mode == "API" and "_rinterface_cffi_api" in done.stderr:
        pytest.skip("rpy2 was installed without its compiled part")
    assert done.stdout.strip() == "True 10", done.stderr


@pytest.fixture
def import_rpy2_again():
    bridge.load_rpy2.cache_clear()
    yield
    bridge.load_rpy2.cache_clear()


@pytest.mark.usefixtures("import_rpy2_again")
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ImportError("No module named 'rpy2'"), r'pip install "\.\[r\]"'),
        (OSError("undefined symbol: R_ParentEnv"), "R_ParentEnv.*rpy2-rinterface<=3.6.4"),
    ],
    ids=["missing", "of the wrong version"],
)
def test_an_unusable_rpy2_is_an_error_that_names_what_to_install(monkeypatch, error, message):
    real = builtins.__import__

    def fails(name, *args, **kwargs):
        if name.startswith("rpy2"):
            raise error
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fails)
    refused(message, pcalg_pc, {"C": np.eye(3), "n": 10}, 0.05, error=RBridgeError)


@pytest.mark.usefixtures("import_rpy2_again")
def test_in_a_process_that_r_started_the_bridge_refuses(monkeypatch):
    monkeypatch.setitem(sys.modules, "rpytools", object())
    refused("started by R", pcalg_pc, {"C": np.eye(3), "n": 10}, 0.05, error=RBridgeError)


def test_importing_the_bridge_loads_no_rpy2():
    code = "import sys, pycupc.r; print('rpy2' in sys.modules)"
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
