"""Correlations whose only separating set is known, for rows with more sets than 64 bits can number."""

import numpy as np

#: Observations, so many that every edge of these matrices is certain.
N = 10**9


def equicorrelated(p: int) -> np.ndarray:
    """All correlations .5: the partial correlation of any two variables given any l others is .5 / (1 + .5 l)."""
    return 0.5 + 0.5 * np.eye(p)


def planted(p: int, x: int, y: int, S: list[int]) -> np.ndarray:
    """Correlations where S is the one set of at most its size that separates x and y, and no other pair is separated.

    x and y are somewhat more correlated with S than with others, so that no other set of this size explains as much of
    their correlation, and their correlation is what S explains.
    """
    C = equicorrelated(p)
    for v in (x, y):
        C[v, S] += 0.3 / (len(S) + 1)
        C[S, v] = C[v, S]
    C[x, y] = C[y, x] = C[x, S] @ np.linalg.solve(C[np.ix_(S, S)], C[S, y])
    return C
