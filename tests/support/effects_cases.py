"""Random graphs with covariance matrices, and calls of pcalg's functions for effects that both sides evaluate."""

import re
import warnings

import numpy as np

import pycupc
from pycupc.graph.sparse import SparseGraph
from pycupc.results.causal_graph import CausalGraph


def random_dag(rng, p: int, density: float) -> np.ndarray:
    order, m = rng.permutation(p), np.zeros((p, p), dtype=int)
    m[np.ix_(order, order)] = np.triu(rng.random((p, p)) < density, 1)
    return m


def named(m) -> CausalGraph:
    return CausalGraph(labels=tuple(map(str, range(len(m)))), sparse_graph=SparseGraph.from_dense(m))


def cpdag(m) -> np.ndarray:
    return named(m).to_cpdag().graph.astype(int)


def random_covariance(rng, p: int) -> np.ndarray:
    X = rng.standard_normal((p + 6, p))
    return X.T @ X / (p + 6)


def random_graph(rng, kind: str) -> np.ndarray:
    """A graph matrix: a CPDAG, one with background knowledge ("pdag"), or one with arbitrary marks ("invalid")."""
    p = int(rng.integers(3, 8))
    m = cpdag(random_dag(rng, p, rng.uniform(0.2, 0.9)))
    if kind == "pdag":
        for _ in range(int(rng.integers(1, 3))):
            undirected = np.argwhere((m == 1) & (m.T == 1))
            if len(undirected):
                a, b = undirected[rng.integers(len(undirected))].tolist()
                m = pycupc.add_background_knowledge(named(m), required=[(str(a), str(b))]).graph.astype(int)
    if kind == "invalid":
        for a, b in np.argwhere(np.triu(m | m.T)).tolist():
            if rng.random() < 0.3:
                m[[a, b], [b, a]] = [(1, 0), (0, 1), (1, 1), (2, 2)][rng.integers(4)]
    return m


def random_calls(rng, p: int, kind: str) -> list[str]:
    """Calls as R writes them, without the arguments C and g, for random variables."""
    x, other = (rng.permutation(p)[:2] + 1).tolist()
    y = int(rng.integers(p)) + 1
    graph = "cpdag" if kind == "cpdag" else "pdag"
    return [
        f"ida({x},{y})",
        f"ida({x},{y},y.notparent=TRUE)",
        f"ida({x},{y},type='pdag')",
        f"ida({x},{y},type='pdag',y.notparent=TRUE)",
        f"ida({x},{y},method='global',type='{graph}')",
        f"ida({x},{y},method='global',y.notparent=TRUE,type='{graph}')",
        f"ida({x},{y},method='optimal',type='{graph}')",
        f"ida(c({x},{other}),{y},method='optimal',type='{graph}')",
        f"idaFast({x},c({','.join(map(str, range(1, p + 1)))}))",
        f"jointIda(c({x},{other}),{y},type='cpdag')",
        f"jointIda(c({x},{other}),{y},type='pdag')",
        f"jointIda(c({x},{other}),{y},type='cpdag',technique='MCD')",
    ]


def in_r(call: str) -> str:
    """The call with the arguments C and g after the variables."""
    return re.sub(r"^(\w+\((?:c\([^)]*\)|\d+),(?:c\([^)]*\)|\d+))", r"\1,C,g", call)


def evaluate(call: str, C: np.ndarray, m: np.ndarray) -> np.ndarray | str:
    """Our answer, or the text of the error."""

    def from_zero(v):
        return [u - 1 for u in v] if isinstance(v, list) else v - 1

    def of(function):
        return lambda x, y, **more: function(from_zero(x), from_zero(y), C, m, **more)

    text = re.sub(r"\bc\(([^)]*)\)", r"[\1]", call).replace("y.notparent=TRUE", "y_notparent=True")
    names = {"ida": of(pycupc.ida), "idaFast": of(pycupc.ida_fast), "jointIda": of(pycupc.joint_ida)}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "effects were computed although")
        try:
            return eval(text, names)
        except ValueError as error:
            return str(error)


def compare(kind: str, call: str, got: np.ndarray | str, want: np.ndarray | None) -> str:
    """Assert that the answers agree, `want` being None for an error; returns "value", "error" or "refused"."""
    needs_maximal = "type='pdag'" in call or "optimal" in call
    if isinstance(got, str) and want is not None:
        assert kind == "invalid", (call, got)
        assert needs_maximal, (call, got)
        return "refused"
    if want is None:
        assert isinstance(got, str), (call, got)
        return "error"
    assert got.shape == want.shape, (call, got, want)
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10, err_msg=call)
    return "value"


#: R functions for `adjustment_calls`: their answers as one line.
ADJUSTMENT_IN_R = r"""
line <- function(value) {
  found <- tryCatch({ capture.output(v <- suppressMessages(value)); v }, error = function(e) "error")
  cat(if (is.numeric(found)) sort(found) else if (is.list(found)) "none" else format(found), "\n")
}
first <- function(sets) if (length(sets)) as.numeric(unlist(sets[[1]])) else list()
"""


def random_adjustment(rng):
    """A graph, its type, and positions of causes, effects and other variables."""
    kind = ("dag", "cpdag", "pdag")[rng.integers(3)]
    m = random_dag(rng, int(rng.integers(3, 9)), rng.uniform(0.2, 0.8)) if kind == "dag" else random_graph(rng, kind)
    order = rng.permutation(len(m)).tolist()
    k = int(rng.integers(1, min(3, len(m))))
    end = k + (1 if rng.random() < 0.7 or len(m) - k < 2 else 2)
    return kind, m, order[:k], order[k:end], [v for v in order[end:] if rng.random() < 0.4]


def adjustment_calls(kind: str, m: np.ndarray, x, y, z) -> list[str]:
    """Lines of R for pcalg's optimal set, its canonical set, and its verdict about z."""

    def of(members):
        return f"c({','.join(str(v + 1) for v in members)})"

    p = len(m)
    return [
        f"m <- matrix(c({','.join(map(str, m.ravel()))}), {p}); dimnames(m) <- rep(list(as.character(1:{p})), 2)",
        f"line(as.numeric(optAdjSet(m, {of(x)}, {of(y)})))",
        f"line(first(adjustment(m, 'pdag', {of(x)}, {of(y)}, 'canonical')))",
        f"line(gac(m, {of(x)}, {of(y)}, {of(z)}, '{kind}')$gac)",
    ]


def compare_adjustment(m: np.ndarray, x, y, z, answers) -> None:
    """Assert that ours are pcalg's three lines. Where it has no optimal set, an error says why."""

    def ours(kind):
        try:
            return " ".join(str(int(v) + 1) for v in pycupc.adjustment_set(named(m), x, y, kind))
        except ValueError as error:
            if not re.match("no adjustment set|no variable of y", str(error)):
                raise
            return "error" if kind == "optimal" else "none"

    found = [ours("optimal"), ours("canonical"), str(pycupc.is_adjustment_set(named(m), x, y, z)).upper()]
    assert found == [line.strip() for line in answers], (m.tolist(), x, y, z)


def fitted_graph(rng, p: int = 12, n: int = 300):
    """The CPDAG of a random DAG, and data that have nothing to do with it."""
    m = cpdag(random_dag(rng, p, 0.25))
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p))
    return named(m), X
