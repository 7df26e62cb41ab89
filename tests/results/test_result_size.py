"""A result of 20,000 variables, from the engine to its files: no work of size p^2, no copy of what was reported."""

import tracemalloc

import numpy as np

import pycupc
from pycupc.engines.protocol import Engine, LevelResult, State
from pycupc.independence.gaussian.correlation import Correlations

P, EDGES, REMOVED = 20_000, 60_000, 200_000


def sorted_pairs(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """About n different pairs x < y, int32, in order."""
    x, y = np.sort(rng.integers(0, P, (2, n)), axis=0)
    keys = np.unique((x * P + y)[x < y])
    return tuple(v.astype(np.int32) for v in np.divmod(keys, P))


class Recorded(Engine):
    """An engine that has done its work already: level 0 and level 1."""

    name = "recorded"

    def __init__(self, edges: int = EDGES, removed: int = REMOVED) -> None:
        rng = np.random.default_rng(0)
        self.left = sorted_pairs(rng, edges)
        x, y = sorted_pairs(rng, removed)
        S = rng.integers(0, P, (len(x), 1)).astype(np.int32)
        left = np.isin(x.astype(np.int64) * P + y, self.left[0].astype(np.int64) * P + self.left[1])
        sound = ~left & (S[:, 0] != x) & (S[:, 0] != y)
        x, y, S = x[sound], y[sound], S[sound]
        self.level1 = LevelResult(1, x, y, S, np.zeros(len(x)), 10, len(x), 0, False)

    def runs(self, test):
        return True

    def _begin(self, names):
        self.C = self._test.data.C

    def _run(self, level):
        none = np.zeros(0, dtype=np.int32)
        return self.level1 if level else LevelResult(0, none, none, none.reshape(0, 0), np.zeros(0), 10, 10, 0, True)

    def state(self):
        return State(*self.left, np.ones(len(self.left[0])))

    def memory(self, test):
        return 0, 1

    def first_separating(self, questions):
        raise NotImplementedError

    count_separating = first_separating


def test_a_result_takes_memory_with_its_edges_and_sets():
    engine, C = Recorded(), np.broadcast_to(0.5, (P, P))
    suff_stat = pycupc.SuffStat(np.eye(2), 100, ["a", "b"])
    suff_stat.correlations, suff_stat.labels = Correlations(C), tuple(map(str, range(P)))  # p x p in shape only
    pycupc.pc(suff_stat, alpha=0.05, engine=engine)  # the first call compiles or loads
    tracemalloc.start()
    fit = pycupc.pc(suff_stat, alpha=0.05, engine=engine)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40e6  # 100 bytes for each edge and set; one p x p matrix of bits would take 50 MB, of bytes 400
    assert engine.C is C
    assert fit.p_values.C is C
    (block,) = fit.sepset.blocks
    assert block.members is engine.level1.S
    assert block.x is engine.level1.x
    assert fit.sparse_graph.low is engine.left[0]
    assert len(fit.sparse_graph) == len(engine.left[0])
    assert len(fit.trace) > 0
    x, y = int(block.x[0]), int(block.y[0])
    assert fit.sepset[x][y] == tuple(block.members[0].tolist())


def test_files_and_exports_take_memory_with_edges_and_sets(tmp_path):
    suff_stat = pycupc.SuffStat(np.eye(2), 100, ["a", "b"])
    suff_stat.correlations, suff_stat.labels = Correlations(np.broadcast_to(0.5, (P, P))), tuple(map(str, range(P)))
    fit = pycupc.pc(suff_stat, alpha=0.05, engine=Recorded(3000, 10_000))
    tracemalloc.start()
    fit.save(tmp_path / "fit.npz")
    back = pycupc.PcAlgo.load(tmp_path / "fit.npz")
    assert back == fit
    assert back.trace == fit.trace
    assert len(back.edges()) == len(fit.sparse_graph)
    for export in (back.to_graphml, back.to_dot, back.to_json):
        assert len(export()) > 10 * len(fit.sparse_graph)
    assert back.summary()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6  # one p x p matrix of bytes would take 400 MB
