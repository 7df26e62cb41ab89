"""Messages with facts, in Python's terms and in R's."""

import pickle

import numpy as np
import pytest

import pycupc
from pycupc.engines.protocol import EngineError
from pycupc.r.messages import failures_in_reply, in_r
from pycupc.system.localised_message import Argument, Cell, Message, Setting, Value, Variable, Variables, Words

C = np.where(np.eye(3), 1.0, 0.5)


@pytest.mark.parametrize(
    ("fact", "python", "r"),
    [
        (Variable(1), "1", "2 (node 1)"),
        (Variable(2), "2", "3"),
        (Variable(7), "7", "8"),  # of other data
        (Variables((0, 2)), "(0, 2)", "(random_state, 3)"),
        (Cell(0, 2), "[0, 2]", "[1, 3]"),
        (Argument("m_max"), "m_max", "m.max"),
        (Argument("alpha"), "alpha", "alpha"),
        (Argument("data"), "data", "`x`"),
        (Setting("engine", "gpu"), "engine='gpu'", 'engine = "gpu"'),
        (Setting("solve_confl", True), "solve_confl=True", "solve.confl = TRUE"),
        (Setting("fraction", 0.3), "fraction=0.3", "fraction = 0.3"),
        (Value(None), "None", "NULL"),
        (Value(["cpu", 'g"pu']), """['cpu', 'g"pu']""", 'c("cpu", "g\\"pu")'),
        (Value([3]), "[3]", "3"),
        (Value("a", False), "'a', False", '"a", FALSE'),
        (Value(np.inf, -np.inf, np.nan), "inf, -inf, nan", "Inf, -Inf, NaN"),
        (Value(3.0, 0.5, 1e300), "3.0, 0.5, 1e+300", "3, 0.5, 1e+300"),
        (Words("pip install", "cu_install()"), "pip install", "cu_install()"),
        (Message("see {x}", x=Variable(1)), "see 1", "see 2 (node 1)"),
        (EngineError(Message("at {x}", x=Variable(1))), "at 1", "at 2 (node 1)"),
        (OSError("node 1"), "node 1", "node 1"),
        ("{node 1} and random_state", "{node 1} and random_state", "{node 1} and random_state"),
    ],
)
def test_a_fact_in_both_languages(fact, python, r):
    error = ValueError(Message("got {fact}; {n:.1f} GB", fact=fact, n=2))
    assert str(error) == f"got {python}; 2.0 GB"
    assert in_r(error, ["random_state", "node 1", "3"]) == f"got {r}; 2.0 GB"
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert in_r(again, ["random_state", "node 1", "3"]) == in_r(error, ["random_state", "node 1", "3"])


@pytest.mark.parametrize("labels", [["node 1", "node 2", "variable 9"], ["random_state", "m_max", "C[0, 1]"]])
def test_labels_are_no_part_of_a_message(labels):
    constant = np.where(np.arange(3) == 2, np.nan, C)
    constant[2] = np.nan
    with failures_in_reply(labels) as reply:
        pycupc.pc({"C": constant, "n": 50}, labels=labels, alpha=0.05, engine="cpu")
    assert reply["error"] is None
    assert reply["notices"] == [f"C has NaN; pairs without a correlation count as independent: {labels[2]}"]
