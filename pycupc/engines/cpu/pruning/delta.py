"""The proof about the matrix of a row on which bounds rely: that it is positive definite, less a number or less delta.

Source: docs/contracts/pruning.md, section 4.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from pycupc.engines.cpu.graph import Graph, Indices
from pycupc.engines.cpu.row_items import RowWork, take_item, whole_rows
from pycupc.engines.cpu.submatrices import CorrelationSource
from pycupc.engines.cpu.threads import STOP, State, new_state
from pycupc.engines.cpu.tuning import ITERATIONS, TRIES
from pycupc.engines.cpu.walk_arrays import AT, DEGREE, ROW, START, Part, X, work_space
from pycupc.engines.protocol import Floats, Mask
from pycupc.system.atomics import atomic_add
from pycupc.system.jit import compiled, frozen, jit_fma, jit_inlined, jit_part
from pycupc.system.numba_names import uint64

#: Allowance for the rounding of a factorisation that proves something.
PROOF = 1e-10


class Proofs(NamedTuple):
    """The delta of the rows of a graph, as far as threads have found it."""

    known: Indices  # (p,): positive for a row of which it is known
    neighbours: Floats  # (E,): of the neighbours of a row
    own: Floats  # (p,): of the variable of the row itself

    @classmethod
    def of(cls, graph: Graph) -> Proofs:
        """Nothing is known."""
        p = len(graph.degrees)
        return cls(np.zeros(p, dtype=np.int64), np.empty(len(graph.neighbours)), np.empty(p))


class RowMatrix(NamedTuple):
    """The matrix of the row that a thread works on, with work space; n is one more than the number of neighbours."""

    R: Annotated[
        Floats, "n n"
    ]  # correlations of the neighbours and, last, the variable of the row; ones on the diagonal
    delta: Annotated[Floats, "n"]
    row: Annotated[Indices, "1"]  # 1 + number of the row; 0: none yet
    U: Annotated[Floats, "n n"]
    vectors: Annotated[Floats, "5 n"]


def row_space(d: int) -> RowMatrix:
    """For rows of up to d neighbours."""
    return work_space(RowMatrix, n=d + 1)


def is_definite(R: Floats, less: float) -> bool:
    """Whether R - less I, where R has ones on its diagonal, is positive definite; False if R has NaN."""
    n, proven = len(R), np.zeros(1, dtype=np.bool_)
    item, following = np.array([[0, 0, n - 1, n - 1, 0, 0, 1, 1, 0]]), np.zeros(1, dtype=np.int64)
    neighbours = np.arange(n - 1, dtype=np.int32)
    prove_rows(frozen(R), neighbours, item, following, less, proven, row_space(n - 1), new_state()[0])
    return bool(proven[0])


class SoundRows(RowWork):
    """The proofs that matrices of rows, less a number on the diagonal, are positive definite: written to `proven`."""

    def __init__(self, source: CorrelationSource, graph: Graph, rows: Indices, less: float, proven: Mask) -> None:
        super().__init__(source.parts(graph, whole_rows(graph, rows[np.argsort(-graph.degrees[rows], kind="stable")])))
        self._less, self._proven = less, proven

    def _make_space(self, d: int) -> RowMatrix:
        return row_space(d)

    def _walk(self, part: Part, space: RowMatrix, state: State) -> None:
        prove_rows(part.C, part.neighbours, part.items, part.following, self._less, self._proven, space, state)


def find_delta(R: Floats) -> Floats:
    """delta, float64 (n,), with R - diag(delta) positive semidefinite, or zeros if none is found."""
    own = row_space(len(R) - 1)
    own.R[:] = R
    prove(own, len(R))
    return own.delta


@jit_fma
def _factorised(own, mu, n):
    """Factorise R - mu diag(d) - PROOF as U'U, with d = vectors[0]; False if that is not positive definite."""
    U, d = own.U, own.vectors[0]
    for i in range(n):
        for j in range(uint64(i), uint64(n)):
            U[i, j] = own.R[i, j]
        U[i, i] -= mu * d[i] + PROOF
    for k0 in range(0, n, 4):  # four rows together: other rows are read and written once for all of them
        end = k0 + 4 if k0 + 4 < n else n
        for k in range(k0, end):
            if not U[k, k] > 0.0:  # or NaN
                return False
            factor = 1.0 / math.sqrt(U[k, k])
            for j in range(uint64(k), uint64(n)):
                U[k, j] *= factor
            for i in range(k + 1, end):
                factor = U[k, i]
                for j in range(uint64(i), uint64(n)):
                    U[i, j] -= factor * U[k, j]
        a, b, c, e = uint64(k0), uint64(k0 + 1), uint64(k0 + 2), uint64(k0 + 3)
        for i in range(end, n):
            fa, fb, fc, fe = U[a, i], U[b, i], U[c, i], U[e, i]
            for j in range(uint64(i), uint64(n)):
                U[i, j] -= fa * U[a, j] + fb * U[b, j] + fc * U[c, j] + fe * U[e, j]
    return True


@jit_fma
def _invert(own, n):
    """U becomes its inverse V, so that R^-1 = V V'; d of `prove` becomes vectors[0], its root vectors[1]."""
    U, row = own.U, own.vectors[2]
    for k in range(n - 1, -1, -1):
        pivot = 1.0 / U[k, k]
        for j in range(k + 1, n):
            row[j] = 0.0
        for i in range(k + 1, n):
            factor = U[k, i] * pivot
            for j in range(uint64(i), uint64(n)):
                row[j] -= factor * U[i, j]
        total = pivot * pivot
        U[k, k] = pivot
        for j in range(k + 1, n):
            U[k, j] = row[j]
            total += row[j] * row[j]
        own.vectors[0, k] = 1.0 / total
        own.vectors[1, k] = math.sqrt(1.0 / total)


@jit_fma
def _norm_of_inverse(own, n):
    """About the largest eigenvalue of d^1/2 R^-1 d^1/2, by the power method."""
    V, root, v, w = own.U, own.vectors[1], own.vectors[3], own.vectors[4]
    norm = 1.0
    for k in range(n):
        v[k] = 1.0 + 0.5 * (k % 3)
    for _ in range(ITERATIONS):
        for k in range(n):
            w[k] = 0.0
        for i in range(n):
            factor = root[i] * v[i] / norm
            for j in range(uint64(i), uint64(n)):
                w[j] += factor * V[i, j]
        square = 0.0
        for i in range(n):
            total = 0.0
            for j in range(i, n):
                total += V[i, j] * w[j]
            v[i] = root[i] * total
            square += v[i] * v[i]
        norm = math.sqrt(square)
    return norm


@compiled
def prove(own, n):
    """Write delta of the matrix R (n, n): R - diag(delta) is positive semidefinite; zeros if none is found.

    It is mu d with d_k = 1 / (R^-1)_kk, where mu is a number just below the smallest eigenvalue of d^-1/2 R d^-1/2.
    """
    delta, d = own.delta, own.vectors[0]
    for k in range(n):
        delta[k] = d[k] = 0.0
    if not _factorised(own, 0.0, n):
        return
    _invert(own, n)
    mu = 0.98 / _norm_of_inverse(own, n)
    for _ in range(TRIES):
        if _factorised(own, mu, n):
            for k in range(n):
                delta[k] = mu * d[k]
            return
        mu *= 0.8


@jit_inlined
def _gather(C, neighbours, x, at, d, R):
    """Write the correlations of the neighbours, whose list begins at `at`, and of x."""
    for a in range(d + 1):
        one = neighbours[at + a] if a < d else x
        for b in range(d):
            R[a, b] = C[one, neighbours[at + b]]
        R[a, d] = C[one, x]
        R[a, a] = 1.0


@compiled
def prove_rows(C, neighbours, items, following, less, proven, own, state):
    """Write for one row after the other whether its matrix less `less` on the diagonal is positive definite."""
    while state[STOP] == 0:
        q = take_item(following, state)
        if q >= len(items):
            break
        d = items[q, DEGREE]
        _gather(C, neighbours, items[q, X], items[q, AT], d, own.R)
        for k in range(d + 1):
            own.vectors[0, k] = 1.0
        proven[items[q, ROW]] = _factorised(own, less, d + 1)


@jit_part
def load_row(side, item, proofs, own):
    """Make `own` the row of an item, unless it is; returns the smallest delta.

    Threads that need a delta at the same time each find it; all of them write the same numbers.
    """
    d, start, row = item[DEGREE], item[START], item[ROW]
    if own.row[0] != row + 1:
        _gather(side.C, side.neighbours, item[X], item[AT], d, own.R)
        own.row[0] = row + 1
        if atomic_add(proofs.known, row, 0) > 0:
            for k in range(d):
                own.delta[k] = proofs.neighbours[start + k]
            own.delta[d] = proofs.own[row]
        else:
            prove(own, d + 1)
            for k in range(d):
                proofs.neighbours[start + k] = own.delta[k]
            proofs.own[row] = own.delta[d]
            atomic_add(proofs.known, row, 1)
    least = 1.0
    for k in range(d + 1):
        least = own.delta[k] if own.delta[k] < least else least
    return least
