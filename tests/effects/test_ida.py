"""`ida`, `jointIda` and their kin: pcalg's recorded answers, arguments."""

import gzip
import json

import numpy as np
import pytest
from common import GOLDEN_FOLDER
from effects_cases import compare, evaluate, fitted_graph

import pycupc

GOLDEN = GOLDEN_FOLDER / "effects" / "pcalg.json.gz"


def test_recorded_answers_of_pcalg():
    seen = set()
    for case in json.loads(gzip.decompress(GOLDEN.read_bytes())):
        m, C = np.array(case["m"]), np.array(case["C"])
        for call, answer in case["answers"]:
            want = None
            if answer != "error":
                want = np.array([np.nan if v is None else v for v in answer["v"]])
                want = want.reshape(answer["dim"], order="F") if answer["dim"] else want
            seen.add((call.split("(")[0], compare(case["kind"], call, evaluate(call, C, m), want)))
    assert {(name, "value") for name in ("ida", "idaFast", "jointIda")} < seen


def test_optimal_is_that_of_ida():
    graph, X = fitted_graph(np.random.default_rng(7), p=8)
    C = np.cov(X.T)
    E = pycupc.effects(graph, C, method="optimal")
    for x in range(8):
        for y in range(8):
            np.testing.assert_allclose(E[x, y], pycupc.ida(x, y, C, graph, method="optimal")[0], atol=1e-12)


def test_y_notparent_has_no_effect_with_several_y():
    C, m = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[0, 1], [1, 0]])
    assert pycupc.ida(0, [1], C, m, y_notparent=True)[0].tolist() == [0.5]
    with pytest.warns(UserWarning, match="y_notparent has no effect with several y"):
        first, _ = pycupc.ida(0, [1, 1], C, m, y_notparent=True)
    assert first.tolist() == [0.5, 0.0]  # pcalg 2.7-12
