"""Markov equivalence classes of DAGs by plain enumeration: all ways to direct the edges of all skeletons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, permutations

import networkx as nx
import numpy as np
from numpy.typing import NDArray

#: DAGs, int8 (number of DAGs, p, p): [k, a, b] is 1 if DAG k has a --> b.
Dags = NDArray[np.int8]


def classes_on(skeleton: NDArray[np.int8]) -> list[Dags]:
    """The classes whose graphs have this skeleton, a symmetric matrix: DAGs with the same unshielded colliders."""
    p = len(skeleton)
    edges = [(a, b) for a, b in combinations(range(p), 2) if skeleton[a, b]]
    ways = np.arange(1 << len(edges))
    dags = np.zeros((len(ways), p, p), dtype=np.int8)
    for k, (a, b) in enumerate(edges):
        dags[:, a, b] = ways >> k & 1
        dags[:, b, a] = 1 - dags[:, a, b]
    left = np.ones((len(ways), p), dtype=bool)
    for _ in range(p):  # sinks are taken away
        left &= (dags.astype(bool) & left[:, None, :]).any(axis=2)
    dags = dags[~left.any(axis=1)]
    apart = [(a, b) for a, b in combinations(range(p), 2) if not skeleton[a, b]]
    colliders = [dags[:, a, c] & dags[:, b, c] for a, b in apart for c in range(p) if skeleton[a, c] and skeleton[b, c]]
    code = np.zeros(len(dags), dtype=np.int64)
    for k, there in enumerate(colliders):
        code += there.astype(np.int64) << k
    order = np.argsort(code, kind="stable")
    return np.split(dags[order], np.flatnonzero(np.diff(code[order])) + 1)


def cpdag_of(dags: Dags) -> NDArray[np.int8]:
    """The graph matrix of the class: an edge is undirected where the DAGs differ."""
    union: NDArray[np.int8] = np.bitwise_or.reduce(dags)
    return union


def true_cpdag(dag: NDArray[np.bool_]) -> NDArray[np.int8]:
    """The graph matrix of the class of a DAG."""
    skeleton = (dag | dag.T).astype(np.int8)
    return next(cpdag_of(dags) for dags in classes_on(skeleton) if (dags == dag).all(axis=(1, 2)).any())


def d_separated(dag: NDArray[np.bool_], x: int, y: int, S: Iterable[int]) -> bool:
    """Whether S d-separates x and y."""
    return bool(nx.is_d_separator(nx.from_numpy_array(dag, create_using=nx.DiGraph), {x}, {y}, {*S}))


def labelled(p: int) -> Iterator[Dags]:
    """Every class of DAGs on p nodes."""
    for number in range(1 << p * (p - 1) // 2):
        yield from classes_on(_skeleton(p, number))


def unlabelled(p: int) -> Iterator[tuple[Dags, int]]:
    """Every class of DAGs on p nodes up to relabelling, and how many labelled classes it stands for."""
    every, seen = [np.array(order) for order in permutations(range(p))], set()
    weight = np.zeros((p, p), dtype=np.int64)
    weight[np.triu_indices(p, 1)] = 1 << np.arange(p * (p - 1) // 2)
    for number in range(1 << p * (p - 1) // 2):
        if number in seen:
            continue
        skeleton = _skeleton(p, number)
        images = [int((weight * skeleton[np.ix_(order, order)]).sum()) for order in every]
        seen.update(images)
        kept = [order for order, image in zip(every, images, strict=True) if image == number]
        found = set()
        for dags in classes_on(skeleton):
            graph = cpdag_of(dags)
            same = [graph[np.ix_(order, order)].tobytes() for order in kept]
            if found.isdisjoint(same):
                found.add(graph.tobytes())
                yield dags, len(every) // same.count(graph.tobytes())


def _skeleton(p: int, number: int) -> NDArray[np.int8]:
    """The skeleton with this number: bit k is the pair k."""
    skeleton = np.zeros((p, p), dtype=np.int8)
    skeleton[np.triu_indices(p, 1)] = number >> np.arange(p * (p - 1) // 2) & 1
    return skeleton | skeleton.T
