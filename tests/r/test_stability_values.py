"""`pycupc.r.stability_values`: a result of `pycupc.stability` on its way to R and back. R's own tests are
test-stability.R.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from stability_data import gaussian

from pycupc.discrete import DiscreteSuffStat, disCItest
from pycupc.r.stability_values import answer, from_values, to_values
from pycupc.stability import Stability, stability


@pytest.fixture(scope="module")
def result() -> Stability:
    edges = np.zeros((10, 10), dtype=bool)
    edges[0, 9] = edges[9, 0] = True
    return stability(
        gaussian(), n_resamples=8, scheme="complementary", alpha=[0.1, 0.01], random_state=1, fixedEdges=edges,
        solve_confl=True,
    )  # fmt: skip


def test_a_result_comes_back_from_r_unchanged(result: Stability) -> None:
    values, arrays = to_values(result)
    assert from_values({**values, "labels": list(result.labels)}, arrays) == replace(result, arguments={})
    assert {array.dtype.name for array in arrays.values()} == {"int32", "float64"}
    table = result.to_pandas()  # in the order of which the pairs are sent
    assert [result.labels[i - 1] for i in arrays["pair.from"]] == table["from"].tolist()
    assert np.allclose(arrays["pair.directed"] / 8, table["directed"])


def test_questions_are_methods(result: Stability) -> None:
    values, arrays = to_values(result)

    def ask(question: str, **given: object) -> tuple[dict[str, Any], dict[str, Any]]:
        return answer(arrays, {**values, "labels": list(result.labels), "question": question, "given": given})

    given = {"threshold": 0.9, "alpha": 0.01}
    assert ask("bound", **given, method="unimodal")[0] == {"value": result.bound(0.9, 0.01, "unimodal")}
    graph = ask("consensus", **given)[1]
    assert np.array_equal(graph["graph.from"], result.consensus(0.9, 0.01).sparse_graph.cells()[0] + 1)
    assert np.array_equal(ask("indices", i=4)[1]["indices"], result.indices(3) + 1)


def test_r_gets_the_note_on_quirks_in_its_own_words() -> None:
    data = DiscreteSuffStat(np.random.default_rng(0).integers(0, 3, (400, 3)).repeat(2, axis=1), adaptDF=True)
    result = stability(data, indepTest=disCItest, n_resamples=2, alpha=0.01, engine="cpu", random_state=0)
    assert "quirks=True" in result.notes["quirks"]
    note = to_values(result)[0]["quirks"]
    assert "quirks = TRUE gives pcalg's answer" in note
    assert "quirks=" not in note
