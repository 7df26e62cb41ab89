"""Matrices of the kernel-based test on a device: of sets, and of both ends of tests, kept from round to round.

Names as in docs/contracts/kernel_test.md: R of a set, A of x and a set, B of y and a set. All stay on the device, and
nothing here waits for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.structures import f64, i32, i64, ptr
from pycupc.engines.protocol import Floats
from pycupc.independence.base import Indices
from pycupc.independence.kernel.kci import RIDGE, SHARE

#: Rounding changes the moments of a test by less than this share of them, unless the size of A or B is below 1.
ROUNDING = 1e-6
#: Matrices (n, n) of work space for each matrix that is made at a time.
WORK = 4
#: Columns of a block that one block of threads inverts, as WIDTH in kernels/kernel_test/invert.cu.
BLOCK = 64
#: Triangular matrices of fewer than twice as many columns are multiplied as a whole.
SQUARED = 256
#: Threads of a block of the other kernels, and sums of each pair, as SUMS in kernels/kernel_test/moments.cu.
THREADS, SUMS = 256, 5

FILL, CENTRE = ("kernel_test/matrices", "fill_kernels"), ("kernel_test/matrices", "centre_kernels")
INVERT, MOMENTS = ("kernel_test/invert", "invert_factors"), ("kernel_test/moments", "moments")


class Places:
    """The places of keys in an array, in the order in which they came; all are forgotten when there is no room."""

    def __init__(self, room: int) -> None:
        self.room, self._of = room, dict[Hashable, int]()

    def take(self, keys: Sequence[Hashable]) -> tuple[Indices, list[Any], int]:
        """The place of each key, int64 (m,); the keys that are new there, and the place of the first of these."""
        new = [key for key in dict.fromkeys(keys) if key not in self._of]
        if len(self._of) + len(new) > self.room:
            self._of, new = {}, list(dict.fromkeys(keys))
        first = len(self._of)
        self._of |= {key: first + k for k, key in enumerate(new)}
        return np.array([self._of[key] for key in keys], dtype=np.int64), new, first


class Ends:
    """Matrices A, or B, by place.

    `matrices` (places, n, n). `lost` (places, n): at least the diagonal of what truncation takes from each.
    `size` (places, 2): the size of the matrix, and of its diagonal, roots of sums of squares.
    """

    def __init__(self, xp: Any, room: int, n: int) -> None:
        self.places = Places(room)
        self.matrices, self.lost, self.size = (xp.empty((room, *shape)) for shape in ((n, n), (n,), (2,)))
        self.sharp = set[int]()  # places of which `lost` is as small as it gets


class KernelMatrices:
    """The matrices of tests given sets of one size.

    `columns` (p, n): in units of the width. `factors` (p, r, n): of the kernel of each variable, with rows of zeros.
    `room`: number of matrices (n, n) that fit. `together`: tests that may be asked for together.
    """

    def __init__(self, device: Device, xp: Any, columns: Floats, factors: Floats, room: int) -> None:
        self._device, self.xp, self._n = device, xp, columns.shape[1]
        self._Z, self._factors = xp.asarray(columns), xp.asarray(factors)
        self.together = max(1, min(room // 4, device_tuning.KERNEL_ENDS))
        self._at_once = max(1, min(room // (4 * WORK), device_tuning.KERNELS_AT_ONCE))
        self.x, self.y = Ends(xp, self.together, self._n), Ends(xp, self.together, self._n)
        self._sets, self._R = Places(self.together), xp.empty((self.together, self._n, self._n))

    def prepare(self, V: Indices) -> tuple[Indices, Indices]:
        """Make what tests need that is not there, (m, 2 + l) with x, y and S; returns the places of A and B."""
        tests = [tuple(test) for test in V.tolist()]
        at_x, new_x, first_x = self.x.places.take([(x, *S) for x, _, *S in tests])
        at_y, new_y, first_y = self.y.places.take([test[1:] for test in tests])
        of_set, new, first = self._sets.take([end[1:] for end in (*new_x, *new_y)])
        if not first_x:
            self.x.sharp.clear()
        for part, at in self._parts(new, first):
            self._make_sets(np.array(part), self._R[at])
        for part, at in self._parts(new_x, first_x):
            sets = of_set[at.start - first_x :][: len(part)]
            self._make_x(np.array(part), sets, at)
        for part, at in self._parts(new_y, first_y):
            sets = of_set[len(new_x) + at.start - first_y :][: len(part)]
            self._make_y(np.array(part)[:, 0], sets, at)
        return at_x, at_y

    def _parts(self, keys: Sequence[Any], first: int) -> Iterator[tuple[Sequence[Any], slice]]:
        """Keys that are made together, and their places."""
        for low in range(0, len(keys), self._at_once):
            part = keys[low : low + self._at_once]
            yield part, slice(first + low, first + low + len(part))

    def _fill(self, members: Indices, of_others: float, out: Any, means: Any = None) -> None:
        """Write the kernels of sets of variables (m, d) to `out`, and the means of their rows."""
        m, d = members.shape
        of = self.xp.asarray(members.astype(np.int32))
        args = [ptr(self._Z), ptr(of), i64(self._n), i32(d), f64(of_others), ptr(out), ptr(means)]
        self._device.launch(*FILL, (self._n, m), (THREADS,), args)

    def _make_sets(self, sets: Indices, out: Any) -> None:
        """Write R H = eps (H K H + eps I)^-1 - 11' / n of sets (m, d)."""
        xp, n = self.xp, self._n
        means = xp.empty((len(sets), n))
        self._fill(sets, 1.0, out, means)
        of_all = means.mean(axis=1)
        args = [ptr(out), ptr(means), ptr(of_all), i64(n), f64(RIDGE)]
        self._device.launch(*CENTRE, (n, len(sets)), (THREADS,), args)
        self.invert(out)
        out *= RIDGE
        out -= 1.0 / n

    def _make_x(self, ends: Indices, sets: Indices, at: slice) -> None:
        """Make A of ends (m, 1 + d)."""
        A, R = self.x.matrices[at], self._R[sets]
        self._fill(ends, 0.5, A)
        half = self.xp.empty_like(A)
        self._device.product(R, A, half)
        self._device.product(half, R, A)
        places = np.arange(at.start, at.stop)
        self.x.lost[at] = 0.0  # is read, though not used
        sums = self.moments(self.x, self.x, places, places)
        self.x.size[at] = self.xp.sqrt(sums[:, [0, 2]])
        self.x.lost[at] = self.threshold(self.x, at)[:, None]

    def _make_y(self, ends: Indices, sets: Indices, at: slice) -> None:
        """Make B of ends (m,)."""
        xp, product, G = self.xp, self._device.product, self._factors[ends]
        left = xp.empty_like(G)
        product(G, self._R[sets], left)
        transposed = left.swapaxes(1, 2)
        small = xp.empty((*left.shape[:2], left.shape[1]))
        product(left, transposed, small)
        product(transposed, left, self.y.matrices[at])
        self.y.size[at, 0] = xp.sqrt((small**2).sum(axis=(1, 2)))
        self.y.size[at, 1] = xp.sqrt(((left**2).sum(axis=1) ** 2).sum(axis=1))
        tau, diagonal = self.threshold(self.y, at)[:, None], np.arange(small.shape[1])
        small[:, diagonal, diagonal] += tau
        self.invert(small)
        solved = G  # is needed no longer
        product(small, left, solved)
        most = 4.0 * (1.0 + ROUNDING) * tau**2 * (solved**2).sum(axis=1)
        self.y.lost[at] = xp.minimum(most, tau)

    def threshold(self, ends: Ends, at: Any) -> Any:
        """At least the largest eigenvalue that truncation takes from the matrix of an end."""
        return SHARE * (1.0 + ROUNDING) * ends.size[at, 0]

    def sharpen(self, at_x: Indices) -> None:
        """Make `lost` of places of A as small as it gets: the diagonal of 4 tau^2 A (A + tau I)^-2."""
        xp, diagonal = self.xp, np.arange(self._n)
        places = [place for place in np.unique(at_x).tolist() if place not in self.x.sharp]
        for part, _ in self._parts(places, 0):
            M, tau = self.x.matrices[np.array(part)], self.threshold(self.x, np.array(part))[:, None]
            M[:, diagonal, diagonal] += tau
            self.invert(M)
            most = xp.maximum(M[:, diagonal, diagonal] - tau * (M**2).sum(axis=2), 0.0)
            self.x.lost[np.array(part)] = xp.minimum((1.0 + ROUNDING) * (4.0 * tau**2 * most + ROUNDING * tau), tau)
        self.x.sharp.update(places)

    def moments(self, x: Ends, y: Ends, at_x: Indices, at_y: Indices) -> Any:
        """The sums of kernels/kernel_test/moments.cu for pairs of places, (m, 5)."""
        xp, m, n = self.xp, len(at_x), self._n
        parts = max(1, min(-(-n // 32), -(-16 * self._device.processors // m)))
        out, places = xp.empty((m, parts, SUMS)), [xp.asarray(at.astype(np.int32)) for at in (at_x, at_y)]
        args = [ptr(x.matrices), ptr(y.matrices), *map(ptr, places), ptr(x.lost), ptr(y.lost), i64(n), ptr(out)]
        self._device.launch(*MOMENTS, (parts, m), (THREADS,), args)
        return out.sum(axis=1)

    def invert(self, M: Any) -> None:
        """Replace positive definite matrices (m, n, n) by their inverses X'X; X is the inverse of the Cholesky factor.

        Inverses without factors, by halves as well, lose all digits where the matrix is nearly singular.
        """
        X = self.xp.zeros(M.shape)
        self._invert_factors(M, X, 0, M.shape[1])
        self._square(X, M)

    def _invert_factors(self, M: Any, X: Any, first: int, end: int) -> None:
        """Write the inverses of the Cholesky factors of diagonal blocks `first` .. `end` - 1 of M to X; M is lost.

        By halves, P and W on the diagonal and Q below P: the factor has Q X_P' there, and its inverse
        -X_W Q X_P' X_P, where X_P and X_W are the inverses of the factors of P and of W - Q X_P' (Q X_P')'.
        """
        if (width := end - first) <= BLOCK:
            args = [ptr(M), ptr(X), i64(M.shape[1]), i64(M.shape[1] ** 2), i64(first), i32(width)]
            self._device.launch(*INVERT, (len(M),), (4 * BLOCK,), args)
            return
        middle, product = first + -(-width // (2 * BLOCK)) * BLOCK, self._device.product
        self._invert_factors(M, X, first, middle)
        of_P, Q, W = X[:, first:middle, first:middle], M[:, middle:end, first:middle], M[:, middle:end, middle:end]
        factor = self.xp.empty(Q.shape)
        product(Q, of_P.swapaxes(1, 2), factor)
        product(factor, factor.swapaxes(1, 2), W, -1.0, 1.0)
        self._invert_factors(M, X, middle, end)
        product(factor, of_P, Q)
        product(X[:, middle:end, middle:end], Q, X[:, middle:end, first:middle], -1.0)

    def _square(self, X: Any, out: Any) -> None:
        """Write X'X of lower triangular matrices to `out`; by halves, as half of X is zeros."""
        product, middle = self._device.product, X.shape[1] // 2
        if middle < SQUARED:
            product(X.swapaxes(1, 2), X, out)
            return
        below = X[:, middle:, :middle]
        self._square(X[:, :middle, :middle], out[:, :middle, :middle])
        product(below.swapaxes(1, 2), below, out[:, :middle, :middle], 1.0, 1.0)
        self._square(X[:, middle:, middle:], out[:, middle:, middle:])
        product(X[:, middle:, middle:].swapaxes(1, 2), below, out[:, middle:, :middle])
        out[:, :middle, middle:] = out[:, middle:, :middle].swapaxes(1, 2)
