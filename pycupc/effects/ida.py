"""pcalg's `ida`, `idaFast` and `jointIda`: the same values in the same order (docs/contracts/effects.md, section 3)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pycupc.data.column_checks import is_symmetric
from pycupc.data.names import positions
from pycupc.effects import orientations
from pycupc.effects.causal_paths import optimal_effects
from pycupc.effects.dags import all_dags
from pycupc.effects.orientations import Graph, Nodes, Orientations, Variable, causal_graph_of, check_maximal
from pycupc.effects.parent_sets import joint_parent_sets, joint_parents_in_class, parent_sets
from pycupc.effects.regression import Floats, effects_given, modified_choleskies, recursive_regressions
from pycupc.system.localised_message import Argument, Message, Value, Words
from pycupc.system.nearest import hinted

Kind = Literal["cpdag", "pdag", "dag"]


class _Problem:
    """A covariance matrix and a graph on the same variables, checked."""

    def __init__(
        self, mcov: ArrayLike, graph: Graph | None, kind: str, kinds: Sequence[str] = ("cpdag", "pdag")
    ) -> None:
        self.C = np.ascontiguousarray(mcov, dtype=np.float64)
        if self.C.ndim != 2 or self.C.shape[0] != self.C.shape[1]:
            raise ValueError(f"mcov must be a square covariance matrix, got shape {self.C.shape}")
        if kind not in kinds:
            raise ValueError(f"type must be one of {', '.join(map(repr, kinds))}, got {kind!r}")
        self.labels = orientations.names_of(len(self.C), getattr(mcov, "columns", None))
        if graph is not None:
            self.named = causal_graph_of(graph, self.labels)
            self.labels, self.graph, p = self.named.labels, self.named.sparse_graph, self.named.p
            if p != len(self.C):
                raise ValueError(f"mcov and the graph must have the same variables, got {len(self.C)} and {p}")
            orientations.check_names("mcov", mcov, self.labels)
            self.graph.cells()  # refuses circles
        if not is_symmetric(self.C):
            raise ValueError("mcov must be a covariance matrix, got one that is not symmetric")


@hinted
def ida(
    x: Any,
    y: Any,
    mcov: ArrayLike,
    graph: Graph,
    method: Literal["local", "optimal", "global"] = "local",
    y_notparent: bool = False,
    all_dags: ArrayLike | None = None,
    type: Literal["cpdag", "pdag"] = "cpdag",
) -> Floats | list[Floats]:
    """The multiset of possible total effects of x on y, with pcalg's values in pcalg's order.

    Parameters
    ----------
    x : int or str, with ``method="optimal"`` also a sequence of them
        The cause, by position or label.
    y : int or str, or a sequence of them
        The effect.
    mcov : array_like (p, p)
        Covariance matrix; if its columns have names, they must be the variables of the graph in its order.
    graph : NamedGraph or array_like (p, p)
        A CPDAG or PDAG, such as the result of `pc`, or a graph matrix (row to column). An edge with equal marks counts
        as undirected.
    method : {"local", "optimal", "global"}
        "local": one value for each valid set of parents of x. "optimal": one for each, adjusted for the optimal set
        of x and all of y; NaN where no set is valid. "global": one for each DAG.
    y_notparent : bool
        Take an edge between x and y for an arrow to y; not with "optimal", and without effect for several y.
    all_dags : array_like of shape (k, p * p), optional
        For "global": each row is a DAG, a matrix with 1 at [to, from] read row by row, as ``pdag2allDags(...)$dags`` of
        pcalg has it (whose own `ida` fails with this argument in R 4.2 and later).
    type : {"cpdag", "pdag"}

    Returns
    -------
    float64 (k,), or with "optimal" (number of causes, k); a list of them for a sequence y
        Changes of y per unit of x; NaN where an effect is not defined.

    Raises
    ------
    TypeError, ValueError, IndexError
        If there is no such variable, the shapes do not fit, the graph is no maximally oriented PDAG where that is
        needed ("pdag", "optimal"), no DAG extends it ("global"), there are too many parent sets or DAGs, or a
        regression is singular.

    Warns
    -----
    UserWarning
        If the graph is not a CPDAG (type "cpdag"), the values being pcalg's all the same; if `y_notparent` has no
        effect.
    """
    if method not in ("local", "optimal", "global"):
        raise ValueError(f"method must be 'local', 'optimal' or 'global', got {method!r}")
    if not isinstance(y_notparent, (bool, np.bool_)):
        raise TypeError(f"y_notparent must be True or False, got {y_notparent!r}")
    problem = _Problem(mcov, graph, type)
    xs, ys = positions(x, problem.labels), positions(y, problem.labels)
    if method != "optimal" and len(xs) != 1:
        raise ValueError(f"x must be one variable for method {method!r}, got {len(xs)}; 'optimal' takes several")
    if method == "optimal" and y_notparent:
        text = "{name} is not available for method {optimal}"
        raise ValueError(Message(text, name=Argument("y_notparent"), optimal=Value("optimal")))
    if y_notparent and len(ys) > 1:  # as in pcalg
        text = "{name} has no effect with several {y}: ask for one at a time"
        text = Message(text, name=Argument("y_notparent"), y=Words("y", "`y.pos`"))
        warnings.warn(text, stacklevel=3)
        y_notparent = False
    if method == "optimal" or (type == "pdag" and method == "local"):
        check_maximal(problem.named)
    elif type == "cpdag":
        orientations.warn_unless_cpdag(problem.named, stacklevel=4)
    if method == "optimal":
        found = _optimal(problem, xs, ys)
    elif method == "global":
        found = [_global(problem, xs[0], v, y_notparent, all_dags) for v in ys]
    else:
        found = [_local(problem, xs[0], v, y_notparent, type) for v in ys]
    return found if np.ndim(y) > 0 else found[0]


def _local(problem: _Problem, x: int, y: int, y_notparent: bool, kind: str) -> Floats:
    graph = orientations.with_edge_from(x, y, problem.graph, turn=True) if y_notparent else problem.graph
    if y in orientations.parents_of(x, graph):
        return np.zeros(1)
    sets = parent_sets(graph, [x], with_knowledge=kind == "pdag").of_cause(0)
    return effects_given(problem.C, x, sets, [y])[:, 0] if sets else np.full(1, np.nan)


def _global(problem: _Problem, x: int, y: int, y_notparent: bool, dags: ArrayLike | None) -> Floats:
    if dags is not None:
        if np.size(dags) % problem.C.size:
            raise ValueError(f"all_dags must have rows of {problem.C.size} cells, got shape {np.shape(dags)}")
        matrices = np.asarray(dags).reshape(-1, *problem.C.shape)  # [to, from]
        sets = [frozenset(np.flatnonzero(matrix[x]).tolist()) for matrix in matrices]
    else:
        graph = orientations.with_edge_from(x, y, problem.graph, turn=False) if y_notparent else problem.graph
        sets = [parents[x] for parents in all_dags(Orientations.of(graph))]
        if not sets:
            raise ValueError("no DAG extends the graph; method 'global' needs one")
    return effects_given(problem.C, x, sets, [y])[:, 0]


def _optimal(problem: _Problem, xs: Sequence[int], ys: Sequence[int]) -> list[Floats]:
    """Effects of `xs` on each of `ys`, float64 (len(xs), k), for each way to direct the edges at `xs`."""
    known = Orientations.of(problem.graph)
    choices = joint_parent_sets(xs, problem.graph)
    found = [optimal_effects(problem.C, xs, ys, known.directed(choice.arrows)) for choice in choices]
    return [np.array([values[:, k] for values in found]).T for k in range(len(ys))]


@hinted
def ida_fast(x: Variable, y_set: Sequence[Variable], mcov: ArrayLike, graph: Graph) -> Floats:
    """The possible total effects of x on several variables, as `ida` with its defaults finds them.

    Parameters
    ----------
    x, mcov, graph
        As of `ida`; `graph` is a CPDAG.
    y_set : sequence of int or str

    Returns
    -------
    float64 (len(y_set), k)
        A row for each variable, a column for each valid set of parents of x.

    Raises
    ------
    TypeError, ValueError, IndexError
        As `ida`; or if x has no valid set of parents.
    """
    problem = _Problem(mcov, graph, "cpdag")
    (at, *others), ys = positions(x, problem.labels), positions(y_set, problem.labels)
    if others:
        raise ValueError(f"x must be one variable, got {1 + len(others)}")
    sets = parent_sets(problem.graph, [at]).of_cause(0)
    if not sets:
        raise ValueError(f"x = {problem.labels[at]} has no valid set of parents: the graph is no CPDAG")
    return effects_given(problem.C, at, sets, ys).T


@hinted
def joint_ida(
    x: Sequence[Variable] | Variable,
    y: Any,
    mcov: ArrayLike,
    graph: Graph | None = None,
    all_pasets: Sequence[Sequence[Sequence[int]]] | None = None,
    technique: Literal["RRC", "MCD"] = "RRC",
    type: Kind = "pdag",
) -> Floats | list[Floats]:
    """The multiset of possible joint effects of several causes on y, with pcalg's values in pcalg's order.

    Parameters
    ----------
    x, y, mcov, graph
        As of `ida`; x has one cause or several.
    all_pasets : sequence of sequences, optional
        The parents of each cause, for each column of the answer, instead of a graph: ``all_pasets[i][j]`` are positions
        or labels of parents of ``x[j]``.
    technique : {"RRC", "MCD"}
        Recursive regressions, or modified Cholesky decompositions.
    type : {"pdag", "cpdag", "dag"}
        "cpdag" and "dag" give each value as often as DAGs have it, up to a factor; "pdag" once for each way to direct
        the edges at the causes.

    Returns
    -------
    float64 (number of causes, k); a list of them for a sequence y

    Raises
    ------
    TypeError, ValueError, IndexError
        As `ida`; or if there is neither a graph nor `all_pasets`.

    Warns
    -----
    UserWarning
        If the graph is not a CPDAG (type "cpdag" or "dag").
    """
    if technique not in ("RRC", "MCD"):
        raise ValueError(f"technique must be 'RRC' or 'MCD', got {technique!r}")
    if graph is None and all_pasets is None:
        raise ValueError(Message("a graph or {name} is needed", name=Argument("all_pasets")))
    problem = _Problem(mcov, graph if all_pasets is None else None, type, ("pdag", "cpdag", "dag"))
    xs, ys = positions(x, problem.labels), positions(y, problem.labels)
    if len({*xs}) < len(xs):
        raise ValueError(f"the causes must be different variables, got {[problem.labels[v] for v in xs]}")
    sets = _joint_sets(problem, xs, all_pasets, type)
    joint = recursive_regressions if technique == "RRC" else modified_choleskies
    found = list(joint(problem.C, xs, sets, ys))
    return found if np.ndim(y) > 0 else found[0]


def _joint_sets(problem: _Problem, xs: Sequence[int], given: Any, kind: str) -> list[list[Nodes]]:
    """The parents of each of `xs`, for each column of the answer."""
    if given is not None:
        if wrong := [len(sets) for sets in given if len(sets) != len(xs)]:
            text = "{name} must have a set for each of the {n} causes, got {given}"
            raise ValueError(Message(text, name=Argument("all_pasets"), n=len(xs), given=wrong[0]))
        return [[frozenset(positions(members, problem.labels)) for members in sets] for sets in given]
    if kind == "pdag":
        check_maximal(problem.named)
        return [[*choice.parents] for choice in joint_parent_sets(xs, problem.graph)]
    if kind == "cpdag":
        orientations.warn_unless_cpdag(problem.named, stacklevel=5)
    sets = joint_parents_in_class(xs, Orientations.of(problem.graph))
    if not sets:
        raise ValueError("no DAG extends the undirected edges around the causes")
    return sets
