"""Recall and precision of edges and arrows on tables of numbers and categories with missing values.

``python tests/benchmarks/accuracy_mixed.py [graphs] [processes]`` prints the table of section 15 of BENCHMARKS.md, and
needs scikit-learn: a minute of processor time for a graph. Graph k has the seed k.
"""

import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd

from pycupc import MixedTable, evaluate, mixCItest, mixCItwd, pc
from pycupc.independence.mixed.impute import imputed_mixed

P, N, DEGREE, ALPHA, M = 12, 1000, 2, 0.01, 20
SHARES = (0.05, 0.1, 0.2, 0.4)


def numbers_and_categories(rng):
    """A table of `P` columns, every second one of 2 or 3 categories, and the arrows of its random graph.

    A number is a linear function of the numbers that cause it, plus a mean for each category of its other causes, plus
    noise. A category is drawn by a multinomial logistic model of its causes.
    """
    order = rng.permutation(P)
    arrows = np.zeros((P, P), dtype=bool)
    arrows[np.ix_(order, order)] = np.triu(rng.random((P, P)) < DEGREE / (P - 1), 1)
    X, levels = np.zeros((N, P)), np.where(np.arange(P) % 2, rng.integers(2, 4, P), 0)
    for j in order.tolist():
        k = max(levels[j], 1)
        scores = 0.3 * rng.normal(size=k) + np.zeros((N, k))
        for cause in np.flatnonzero(arrows[:, j]).tolist():
            if levels[cause]:
                effects = 1.2 * rng.normal(size=(levels[cause], k))
                scores += effects[X[:, cause].astype(int)]
            else:
                z = (X[:, cause] - X[:, cause].mean()) / X[:, cause].std()
                scores += z[:, None] * (rng.uniform(0.4, 1, k) * rng.choice([-1, 1], k))
        if levels[j]:
            X[:, j] = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
        else:
            X[:, j] = scores[:, 0] + rng.normal(size=N)
    return X, levels, arrows


def with_gaps(rng, X, share, depends):
    """The table without some values of all but a quarter of its columns.

    Where `depends`, the probability that a value is missing grows from 0 to twice the share with the rank of one of the
    complete columns; otherwise it is the same for all rows.
    """
    out, complete = X.copy(), rng.permutation(P)[: P // 4]
    for j in np.setdiff1d(np.arange(P), complete):
        cause = X[:, rng.choice(complete)]
        rank = np.argsort(np.lexsort((rng.random(N), cause))) / N
        out[rng.random(N) < share * (2 * rank if depends else 1), j] = np.nan
    return out


def as_table(X, levels):
    """The values as a frame of numbers and words, read as a user would."""
    words = {j: pd.Series(np.where(np.isnan(X[:, j]), None, X[:, j].astype(str))) for j in np.flatnonzero(levels)}
    return MixedTable.of(pd.DataFrame({f"v{j}": words.get(j, X[:, j]) for j in range(P)}))


def complete_rows(X, levels):
    """The graph of the rows without gaps; none if they are fewer than ten."""
    rows = X[~np.isnan(X).any(axis=1)]
    return pc(as_table(rows, levels), mixCItest, alpha=ALPHA) if len(rows) > 9 else np.zeros((P, P))


WAYS = {
    "complete rows": complete_rows,
    "test-wise": lambda X, levels: pc(as_table(X, levels), mixCItwd, alpha=ALPHA),
    f"imputation, M = {M}": lambda X, levels: pc(imputed_mixed(as_table(X, levels), M), alpha=ALPHA),
}


def shares_of(found):
    """Recall / precision of edges and of arrows, over all graphs together."""
    total = {part: sum(getattr(one, part) for one in found) for part in vars(found[0])}
    texts = []
    for kind in ("edges", "arrows"):
        right, parts = total[f"{kind}_right"], (total[f"{kind}_true"], total[f"{kind}_found"])
        texts.append(" / ".join(f"{right / part:.2f}" if part else "none" for part in parts))
    return ", ".join(texts)


def found_in(task):
    """The evaluation of each way, and its processor time, for one graph and one kind of gaps."""
    warnings.simplefilter("ignore")
    (share, depends), seed = task
    rng = np.random.default_rng(seed)
    X, levels, arrows = numbers_and_categories(rng)
    T, out = with_gaps(rng, X, share, depends), {}
    for way, made in WAYS.items():
        if share or way == "complete rows":
            begin = time.process_time()
            out[way] = evaluate(made(T, levels), arrows * 1, as_cpdag=True), time.process_time() - begin
    return out


def main(graphs=20, processes=1):
    """Print a line for each share of missing values."""
    kinds = [(0.0, False), *((share, depends) for share in SHARES for depends in (False, True))]
    tasks = [(kind, seed) for kind in kinds for seed in range(int(graphs))]
    with ProcessPoolExecutor(int(processes), mp_context=get_context("spawn")) as pool:
        made = pool.map(found_in, tasks)
        seconds = dict.fromkeys(WAYS, 0.0)
        print("| missing | where |", " | ".join(WAYS), "|\n|---|---|" + "---|" * len(WAYS))
        for share, depends in kinds:
            some = [next(made) for _ in range(int(graphs))]
            cells = [[one[way][0] for one in some if way in one] for way in WAYS]
            where = ("at random", "by another column")[depends] if share else ""
            print(
                f"| {share:.0%} | {where} |",
                " | ".join(shares_of(cell) if cell else "" for cell in cells),
                "|",
                flush=True,
            )
            for way in some[0]:
                seconds[way] += sum(one[way][1] for one in some)
    print(*(f"{way}: {total:.0f} s of processor time" for way, total in seconds.items()), sep="; ")


if __name__ == "__main__":
    main(*sys.argv[1:])
