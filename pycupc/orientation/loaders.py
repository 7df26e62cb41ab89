"""A small run that loads the code of Meek's rules, or compiles it, for processes that compile ahead."""

from __future__ import annotations

from pycupc.graph.sparse import SparseGraph
from pycupc.orientation.meek import apply_rules, repeat_rules
from pycupc.orientation.mixed_graph import undirected
from pycupc.system.code_cache import loads


@loads(repeat_rules)
def load_meek_rules() -> None:
    """The rules, on three variables in a line."""
    apply_rules(undirected(SparseGraph.undirected(3, [0, 1], [1, 2])), solve_confl=False)
