"""What `verbose` tells of the orientation."""

import numpy as np
import pytest

from pycupc import pc
from pycupc.orientation.lines import lines_of_arrows

# What verbose tells


def test_the_lines_of_arrows_are_colliders_and_then_rules():
    trace = {(2, 3): ("R3", 2, 0, 1, 3), (1, 2): ("R1", 0, 1, 2), (0, 1): ("collider", 0, 1, 3)}
    trace |= {(3, 1): ("collider", 0, 1, 3), (0, 2): ("R2", 0, 1, 2)}
    assert list(lines_of_arrows(trace, "abcd")) == [
        "collider: a -> b <- d, because a, d are not adjacent, and no separating set of theirs has b",
        "rule 1: b -> c, because a -> b and a, c are not adjacent: else a collider at b",
        "rule 2: a -> c, because a -> b -> c: else a cycle",
        "rule 3: c -> d, because c - a -> d and c - b -> d, and a, b are not adjacent",
    ]


@pytest.mark.parametrize("rule", ["conservative", "maj_rule"])
def test_verbose_tells_of_arrows_and_triples(rule, caplog):
    data = np.random.default_rng(1).standard_normal((500, 6))
    data[:, 2] += data[:, 0] + data[:, 1]
    data[:, 3] += data[:, 2]
    with caplog.at_level("INFO", logger="pycupc"):
        fit = pc(data, labels=list("abcdef"), **{rule: True}, verbose=True)
        told = [r.getMessage() for r in caplog.records]
        caplog.clear()
        pc(data, labels=list("abcdef"), **{rule: True})
    arrows = [line for line in told if line.startswith(("collider: ", "rule "))]
    assert arrows == list(lines_of_arrows(fit.trace, fit.labels))
    assert any(line.startswith("collider: a -> c <- b, because ") for line in arrows)
    assert any(line.startswith("rule 1: c -> d, because ") for line in arrows)
    triples = [line for line in told if line.startswith("triple ")]
    assert triples[0].startswith("triple a - c - b: collider, because c is in ")
    assert sum("not oriented" in line for line in triples) == fit.notes["ambiguous_triples"]
    assert not any(r.getMessage().startswith(("collider", "rule", "triple")) for r in caplog.records)
