"""Facts that files of 0.2.0 have in their texts only."""

from dataclasses import replace

import numpy as np

import pycupc
from pycupc.results import npz
from pycupc.results.facts_in_texts import method_in_call
from pycupc.results.schema import NEW_FACTS


def test_what_made_a_result_stands_in_fields_and_not_in_its_texts():
    """Of an edge without a direction, only the field tells that `pc` has oriented it."""
    data = {"C": np.array([[1.0, 0.9, 0], [0.9, 1, 0], [0, 0, 1]]), "n": 100}
    fit, skeleton = pycupc.pc(data), pycupc.skeleton(data)
    assert (fit.method, fit.engine_name, fit.orientation) == ("pc", "cpu", "relaxed")
    assert (skeleton.method, skeleton.engine_name, skeleton.orientation) == ("skeleton", "cpu", None)
    assert [replace(one, call="f(x)").oriented for one in (fit, skeleton)] == [True, False]
    assert not replace(skeleton, call="pc(x)").oriented
    assert pycupc.pc(data, m_max=0, engine="reference").engine_name == "reference"
    without = pycupc.pc({"C": np.eye(3), "n": 100}, u2pd="retry")
    assert (without.method, without.orientation, without.oriented) == ("pc", None, True)
    pag = pycupc.fci(data, skeleton=replace(fit, sparse_graph=skeleton.sparse_graph))
    assert (pag.skeleton_fit.method, pag.skeleton_fit.orientation, pag.skeleton_fit.oriented) == (
        "skeleton",
        None,
        False,
    )
    assert pag.engine_name == "cpu"


def test_a_file_of_0_2_0_has_the_facts_that_stood_in_its_texts(tmp_path):
    seen = set()
    for seed in (0, 46, 54):  # whose colliders contradict each other in each way
        rng = np.random.default_rng(seed)
        data = rng.standard_normal((40, 18)) @ rng.standard_normal((18, 18))
        fits = [pycupc.pc(data, alpha=0.2, u2pd=u2pd, random_state=0) for u2pd in ("relaxed", "rand", "retry")]
        for fit in (*fits, pycupc.skeleton(data, engine="reference")):
            meta, arrays = fit.contents()
            npz.write(tmp_path / "fit.npz", {name: meta[name] for name in meta if name not in NEW_FACTS}, arrays)
            loaded = pycupc.PcAlgo.load(tmp_path / "fit.npz")
            assert [getattr(loaded, name) for name in NEW_FACTS] == [getattr(fit, name) for name in NEW_FACTS]
            seen.add(fit.orientation)
    assert seen == {None, "relaxed", "extendable", "reoriented", "forced", "random"}


def test_the_method_that_a_call_names():
    calls = {
        "pc": ["pc(alpha=0.1)", "pcalg::pc(suffStat = S)", "cu_pc(X)", "pycupc::cu_tpc(X)", "tpc(X)", "my.pc(rfci(x))"],
        "skeleton": ["skeleton(x)", "cu_skeleton(pc(x))"],
        "fci": ["cu_fci(x)"],
        "rfci": ["pcalg::rfci(x)", "cu_rfci (x)"],
        None: ["", "fciPlus(x)", "(function(x) pc(x))(1)", "pc2(x)"],
    }
    for method, texts in calls.items():
        assert {method_in_call(text) for text in texts} == {method}
