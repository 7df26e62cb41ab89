"""Small runs that load the code of the rules for PAGs, or compile it, for processes that compile ahead."""

from __future__ import annotations

import numpy as np

from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation.pag import local_rules, path_rules
from pycupc.orientation.pag.orienting import Orienting
from pycupc.system.code_cache import loads
from pycupc.system.jit import always_compiled


@loads(path_rules.next_path)
def load_rules() -> None:
    """All rules, the searches for paths last, on three variables in a line."""
    line = SparseGraph.undirected(3, [0, 1], [1, 2])
    x, y, S = (np.array(values, dtype=np.int32) for values in ([0], [2], [[1]]))
    with always_compiled():
        work = Orienting(line)
        work.mark_triples(SepSets(line, [(x, y, S)]))
        work.orient_colliders()
        first = np.zeros(1, dtype=np.int64)
        for rule in local_rules.LOCAL_RULES.values():
            rule(*work.graph, first, work.owner)
        work.next_path(5, first, np.zeros(2, dtype=np.int64))
