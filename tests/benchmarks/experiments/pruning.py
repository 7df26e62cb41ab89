"""Tests made against tests answered: an engine with and without pruning, in turns, on the same problems."""

import numpy as np

import pycupc
from pycupc.independence.gaussian import fisher_z

from .. import runs, workloads

#: The sets on which pruning has most to do; those for a GPU.
SETS = ("stock_logret", "std_1000_100_2000")
GPU_SETS = ("std_1000_100_10000", "std_1000_200_10000", "std_1000_500_10000", "std_2000_200_10000")
#: With more variables the plain engine of a GPU takes more than a quarter of an hour.
MOST_PLAIN = 1000


def pruning(args):
    """The cpu engine with and without pruning: tests made, times."""
    yield from _compared(args, "cpu", SETS, turns=3)


def pruning_gpu(args):
    """The gpu engine with and without pruning, where the plain engine takes seconds to hours."""
    yield from _compared(args, "gpu", GPU_SETS, turns=1)


def _compared(args, engine, sets, turns):
    """For each data set a line for the whole run and one for each level, after the answers were found to be equal."""
    for name in workloads.wanted(args, sets):
        w = workloads.load(name, args.data)
        whole, fits = {"runs": turns}, {}
        for way in ("pruned", "plain") if engine == "cpu" or w.p <= MOST_PLAIN else ("pruned",):
            how = {"engine": engine, "numCores": args.threads, "engine_options": {"pruning": way == "pruned"}}
            done = [
                runs.timed(pycupc.skeleton, {"C": w.C, "n": w.n}, alpha=w.alpha, **how) for _ in range(1 + turns)
            ]  # the first loads the code
            fits[way], whole[way] = done[-1][0], float(np.median([seconds for _, seconds in done[1:]]))
        pruned, plain = fits["pruned"], fits.get("plain")
        if plain:
            whole["p_values"] = check(pruned, plain)
        whole["spot_checks"] = spot_checks(pruned, w)
        levels = []
        for a in pruned.levels:
            made = a.n_tests if a.n_made < 0 else a.n_made
            levels.append({"level": len(levels), "tests": a.n_tests, "made": made, "bounds": a.n_bounds})
            levels[-1] |= {way: fit.levels[levels[-1]["level"]].seconds for way, fit in fits.items()}
        whole |= {key: sum(level[key] for level in levels) for key in ("tests", "made", "bounds")}
        for row in (whole, *levels):
            yield {**w.facts, "engine": engine, **row}


def spot_checks(fit, w, count=2000):
    """Recompute partial correlations with numpy.linalg: of removed edges, and of kept ones given random neighbours.

    Returns how many there were. An edge that was kept must be dependent given every set of neighbours that it has at
    the end, up to the last level.
    """
    rng, found, cutoff = np.random.default_rng(1), fit.removals, fisher_z.cutoff
    for k in rng.permutation(len(found.x))[:count]:
        x, y = int(found.x[k]), int(found.y[k])
        S = fit.sepset[x][y]
        r = _partial_correlation(w.C, x, y, list(S))
        assert abs(r) <= cutoff(w.alpha, w.n, len(S)) * (1 + 1e-6), (x, y, S, r)
        assert abs(r - found.r[k]) <= 1e-8, (x, y, S, r)
    near = fit.skeleton
    for k in rng.integers(len(fit.sparse_graph), size=count):
        x, y = int(fit.sparse_graph.low[k]), int(fit.sparse_graph.high[k])
        others = np.setdiff1d(np.flatnonzero(near[x]), [y])
        level = int(rng.integers(0, min(len(others), fit.max_ord) + 1))
        S = rng.choice(others, level, replace=False)
        assert abs(_partial_correlation(w.C, x, y, S.tolist())) > cutoff(w.alpha, w.n, level), (x, y, S)
    return min(count, len(found.x)) + count


def _partial_correlation(C, x, y, S):
    inverse = np.linalg.inv(C[np.ix_([x, y, *S], [x, y, *S])])
    return float(-inverse[0, 1] / np.sqrt(inverse[0, 0] * inverse[1, 1]))


def check(pruned, plain):
    """Equal answers, r and p-values included; returns the seconds of finding the p-values."""
    assert not workloads.Answer.of(pruned).differences(workloads.Answer.of(plain))
    np.testing.assert_array_equal(pruned.removals.r, plain.removals.r)
    p, taken = runs.timed(pruned.p_values.of_edges, pruned.sparse_graph)
    np.testing.assert_allclose(p, plain.p_values.of_edges(plain.sparse_graph), rtol=1e-6)
    return taken
