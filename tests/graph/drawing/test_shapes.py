"""Pictures as shapes, for programs that draw themselves."""

import numpy as np
import pytest
from drawn_graphs import arrows, random_graph

from pycupc.graph.drawing import shapes


@pytest.mark.parametrize(("p", "edges"), [(12, 20), (90, 120), (400, 500)])
def test_shapes_for_other_programs_are_those_of_the_picture(p, edges):
    graph = random_graph(p, edges, p)
    found = shapes(graph, [f"v{i}" for i in range(p)], groups=["x"] * p)
    texts, numbers = found.texts, found.numbers
    drawn_there = int((graph.degrees() > 0).sum())
    assert texts["form"] == ("boxes" if p == 12 else "dots")
    assert len(texts["names"]) == len(numbers["x"]) == len(texts["fill"]) == drawn_there
    assert sum(map(bool, texts["names"])) == (24 if p == 400 else drawn_there)
    assert len(texts["alone"]) == p - drawn_there
    assert numbers["points"].size == 2 * numbers["length"].sum()
    assert len(numbers["length"]) == len(numbers["head_mark"]) == len(texts["colours"]) == len(graph)
    assert texts["groups"] == ["x"]
    with pytest.raises(ValueError, match="a picture holds at most 3,000 variables and 9,000 edges"):
        shapes(arrows(3_500, np.arange(3_499), np.arange(1, 3_500)), [f"v{i}" for i in range(3_500)])
