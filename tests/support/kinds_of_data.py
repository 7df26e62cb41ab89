"""Example data of every kind that the page "What works with what" names, and calls with them."""

import math

import numpy as np
import pandas as pd

import pycupc
from pycupc.discrete import DiscreteSuffStat, disCItest

N_ROWS, P = 150, 5
LABELS = [f"v{j}" for j in range(P)]


def own(x, y, S, data):
    """A function as users write it."""
    W = [x, y, *S]
    P_ = np.linalg.inv(data["C"][np.ix_(W, W)])
    r = -P_[0, 1] / math.sqrt(P_[0, 0] * P_[1, 1])
    return math.erfc(abs(math.atanh(r)) * math.sqrt((data["n"] - len(S) - 3) / 2))


def example_data():
    """The data that the page names."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, P))
    for j in range(1, P):
        X[:, j] += 0.7 * X[:, j - 1]
    x = pd.DataFrame(X, columns=LABELS)
    k = (x > 0).astype(int) + (x > 1).astype(int)
    m = x.assign(v1=k["v1"].map({0: "low", 1: "middle", 2: "high"}).astype("category"))
    gaps = rng.random(X.shape) < 0.08
    other = [pd.DataFrame(rng.standard_normal(X.shape), columns=LABELS) for _ in range(3)]
    by_pair = np.full((P, P), float(N_ROWS))
    by_pair[0] = by_pair[:, 0] = 100
    return {
        "x": x,
        "k": k,
        "m": m,
        "x_k": x.assign(v1=k["v1"]),
        "x_gaps": x.mask(gaps),
        "k_gaps": k.mask(gaps),
        "m_gaps": m.mask(gaps),
        "x_imputed": [x.where(~gaps, values) for values in other],
        "m_imputed": [m.assign(v0=m["v0"].where(~gaps[:, 0], values["v0"])) for values in other],
        "k_imputed": [k.where(~gaps, (values > 0).astype(int)) for values in other],
        "C": np.corrcoef(X, rowvar=False),
        "n": N_ROWS,
        "N": by_pair,
    }


DATA = example_data()
_CLASSES = ("SuffStat", "MixedTable", "MixedImputation", "MultipleImputation", "IncompleteTable", "KCI", "RCoT")
NAMES = {name: getattr(pycupc, name) for name in (*_CLASSES, "mixCItwd")}
NAMES |= {"DiscreteSuffStat": DiscreteSuffStat, "disCItest": disCItest, "own": own, **DATA}


def given(kind):
    """The arguments that the page gives for a kind of data."""
    return eval(f"(lambda *a, **o: (a, o))({kind.python})", NAMES)


def called(function, kind, **options):
    """A call with the arguments that the page gives for a kind of data."""
    data, own_options = given(kind)
    return function(*data, alpha=0.05, **own_options, **options)


def graph(kind, function=pycupc.pc, **options):
    more = {"p": P} if kind.title == "a function of yours" else {}
    return called(function, kind, **more, **options)
