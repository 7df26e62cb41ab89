"""Tables for the kernel-based test, and causal-learn's p-values: python tests/support/kernel_cases.py records them.

Recorded with causal-learn 0.1.4.8, `CIT(X, "kci")`, given float64; NaN where x or y is constant (see
docs/contracts/kernel_test.md).
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pycupc import KCI
from pycupc.independence.kernel.kci import KernelData
from pycupc.independence.kernel.test import KernelTest

KERNEL_GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "kernel"
#: A test: x, y and S.
Key = tuple[int, int, tuple[int, ...]]


def smooth(rng: np.random.Generator, n: int, p: int = 6) -> np.ndarray:
    """Columns, each of which is a smooth function of an earlier one with noise."""
    X, functions = rng.normal(size=(n, p)), (np.tanh, np.sin, np.square, np.abs, np.cos)
    for j in range(1, p):
        X[:, j] += functions[rng.integers(len(functions))](1.5 * X[:, rng.integers(j)])
    return X


def ties(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.round(smooth(rng, n))


def binary(rng: np.random.Generator, n: int) -> np.ndarray:
    X = smooth(rng, n)
    X[:, ::2] = X[:, ::2] > 0
    return X


def all_binary(rng: np.random.Generator, n: int) -> np.ndarray:
    return (smooth(rng, n) > 0.3).astype(float)


def copies(rng: np.random.Generator, n: int) -> np.ndarray:
    X = smooth(rng, n)
    X[:, 3], X[:, 5] = X[:, 0], 2.0 - 3.0 * X[:, 1]
    return X


def constant(rng: np.random.Generator, n: int) -> np.ndarray:
    X = smooth(rng, n)
    X[:, 2], X[:, 4] = 0.1, -1e6
    return X


def tails(rng: np.random.Generator, n: int) -> np.ndarray:
    return smooth(rng, n) / np.sqrt(rng.chisquare(2, (n, 1)))


def shifted(rng: np.random.Generator, n: int) -> np.ndarray:
    return smooth(rng, n) * 10.0 ** rng.integers(-6, 7, 6) + rng.integers(-1000, 1000, 6)


def rows_again(rng: np.random.Generator, n: int) -> np.ndarray:
    X = smooth(rng, n)
    return X[rng.integers(n // 2, size=n)]


KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    f.__name__: f for f in (smooth, ties, binary, all_binary, copies, constant, tails, shifted, rows_again)
}
#: The recorded tables: kind and number of observations.
RECORDED = [
    *((kind, n) for kind in KINDS for n in (50, 130)),
    *(("smooth", 199), ("smooth", 200), ("copies", 400), ("ties", 600), ("tails", 1199), ("smooth", 1200)),
]


def keys_of(rng: np.random.Generator, n: int, p: int = 6) -> list[Key]:
    """Tests of each size of sets; fewer where they take long."""
    all_of = [
        [(x, y, S) for x, y in itertools.combinations(range(p), 2)
         for S in itertools.combinations([v for v in range(p) if v not in (x, y)], size)]
        for size in range(4)
    ]  # fmt: skip
    number = 12 if n < 300 else 4 if n < 1000 else 2
    return [of[i] for of in all_of for i in sorted(rng.choice(len(of), min(number, len(of)), replace=False))]


def table(kind: str, n: int, seed: int = 0) -> tuple[np.ndarray, list[Key]]:
    rng = np.random.default_rng([seed, n, list(KINDS).index(kind)])
    return KINDS[kind](rng, n), keys_of(rng, n)


def of_causal_learn(X: np.ndarray, keys: list[Key]) -> np.ndarray:
    """Its p-values; NaN where x or y is constant."""
    from causallearn.utils.cit import CIT

    from pycupc.system.machine import single_products

    test, constant = CIT(X, "kci"), (X[0] == X).all(axis=0)
    with single_products(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array([np.nan if constant[[x, y]].any() else test(x, y, S) for x, y, S in keys])


def by_size(keys: list[Key]) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """The numbers of the tests of each size, with x, y and S."""
    for size in sorted({len(S) for _, _, S in keys}):
        at = np.array([i for i, key in enumerate(keys) if len(key[2]) == size])
        x, y = np.array([keys[i][:2] for i in at]).T
        yield at, x, y, np.array([keys[i][2] for i in at], dtype=np.int64).reshape(len(at), size)


def recorded() -> list[Any]:
    return sorted(KERNEL_GOLDEN.glob("*.npz"))


def read(path: Path) -> tuple[np.ndarray, list[Key], np.ndarray]:
    with np.load(path) as file:
        members = [tuple(int(v) for v in row if v >= 0) for row in file["S"]]
        return (
            file["X"],
            [(int(x), int(y), S) for x, y, S in zip(file["x"], file["y"], members, strict=True)],
            file["p"],
        )


def main() -> None:
    KERNEL_GOLDEN.mkdir(exist_ok=True)
    for kind, n in RECORDED:
        X, keys = table(kind, n)
        x, y = np.array([key[:2] for key in keys]).T
        S = np.array([[*key[2], -1, -1, -1][:3] for key in keys], dtype=np.int64)
        np.savez_compressed(KERNEL_GOLDEN / f"{kind}_n{n}.npz", X=X, x=x, y=y, S=S, p=of_causal_learn(X, keys))
        print(kind, n, len(keys), flush=True)


def made(X: np.ndarray, keys: list[Key], **how: Any) -> np.ndarray:
    """The p-values of a `KernelTest`, of all tests of a size in one call."""
    test, out = KernelTest(KernelData.of(X), 0.05, KCI(), **how), np.empty(len(keys))
    for at, x, y, S in by_size(keys):
        out[at] = test.p_of_tests(x, y, S)
    return out


if __name__ == "__main__":
    sys.exit(main())
