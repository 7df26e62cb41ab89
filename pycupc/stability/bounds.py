"""Bounds on the expected number of falsely selected edges, by the theorems of two papers.

Notation, for one alpha: an edge is *selected* if the two variables are adjacent in at least a share `threshold` of the
graphs of the resamples; q is the mean number of edges of these graphs; N is the number of pairs of variables that could
be adjacent. All bounds concern adjacencies; they say nothing about arrowheads.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

from pycupc.system.localised_message import Message, Setting, Value

Method = Literal["meinshausen-buehlmann", "worst-case", "unimodal"]

#: The methods that hold for each scheme, the default first.
METHODS: dict[str, tuple[Method, ...]] = {
    "bootstrap": (),
    "subsample": ("meinshausen-buehlmann",),
    "complementary": ("worst-case", "unimodal"),
}


def meinshausen_buehlmann(q: float, n_pairs: int, threshold: float) -> float:
    """Bound on the expected number of false edges: q^2 / ((2 threshold - 1) N).

    Parameters
    ----------
    q : float
        Mean number of edges in the graph of a subsample of half of the rows.
    n_pairs : int
        N, pairs that could be adjacent.
    threshold : float in (1/2, 1]

    Returns
    -------
    float
        Infinite for a threshold of at most 1/2, to which the theorem does not apply.

    Notes
    -----
    Theorem 1 of Meinshausen and Buehlmann (2010). Assumes that the pairs without an edge in the true graph are
    exchangeable, that is, each of them is as likely to be selected as every other; that PC is no worse than guessing
    pairs at random; and that the frequencies are taken over all subsamples of half of the rows, which many resamples
    approximate. For causal graphs the first assumption is at best an approximation: pairs with a short indirect path
    are selected more often than unconnected pairs.

    For complementary pairs it is the bound "worst-case", theorem 1 of Shah and Samworth (2013) with theta = q / N. That
    assumes nothing about the data or the procedure, but it bounds only the expected number of selected pairs that PC
    finds, on half of the rows, with a probability of at most q / N. These are the false edges if each pair without an
    edge is found at most as often as an average pair. It holds for any number of pairs of subsamples.
    """
    return q * q / ((2 * threshold - 1) * n_pairs) if threshold > 0.5 else math.inf


def unimodal(q: float, n_pairs: int, threshold: float, n_resamples: int) -> float:
    """The bound "worst-case" times a smaller constant, under an assumption of unimodality.

    Arguments as of `meinshausen_buehlmann`; `n_resamples` is 2 B, where B is the number of complementary pairs.
    Infinite where the theorem does not apply: q / N above 1 / sqrt(3), or a threshold that is too close to 1/2.

    Notes
    -----
    Theorem 2 of Shah and Samworth (2013): the bound is C q^2 / N with

        C = 1 / (2 (2 threshold - 1 - 1 / (2 B)))              for thresholds up to 3/4
        C = 4 (1 - threshold + 1 / (2 B)) / (1 + 1 / B)        beyond

    Beyond "worst-case", it assumes that for each pair of low selection probability the share of complementary pairs of
    which *both* halves have the edge has a unimodal distribution. A threshold between two multiples of 1 / (2 B)
    selects the same edges as the larger multiple, and has its bound.
    """
    B, theta = n_resamples // 2, q / n_pairs
    tau = math.ceil(round(threshold * 2 * B, 9)) / (2 * B)
    if theta > 1 / math.sqrt(3) or not 0.5 + min(theta**2, 1 / (2 * B) + 0.75 * theta**2) < tau <= 1:
        return math.inf
    if tau <= 0.75:
        factor = 2 * tau - 1 - 1 / (2 * B)
        return q * q / n_pairs / (2 * factor) if factor > 0 else math.inf
    return q * q / n_pairs * 4 * (1 - tau + 1 / (2 * B)) / (1 + 1 / B)


def bound(method: Method, q: float, n_pairs: int, threshold: float, n_resamples: int) -> float:
    """The bound of a method, at least 0."""
    if not n_pairs:
        return 0.0
    if method == "unimodal":
        return unimodal(q, n_pairs, threshold, n_resamples)
    return meinshausen_buehlmann(q, n_pairs, threshold)


def checked_method(method: str | None, scheme: str, fraction: float) -> Method:
    """The requested method, or the default of the scheme; ValueError if the scheme has no bound, or not this one."""
    if method is not None and method not in get_args(Method):
        text, methods = "method must be one of {methods}, got {method}", Value(*get_args(Method))
        raise ValueError(Message(text, methods=methods, method=Value(method)))
    holding = METHODS[scheme] if fraction == 0.5 else ()
    if not holding:
        drawn = "bootstrap resamples" if scheme == "bootstrap" else f"subsamples of a share of {fraction:g}"
        text = "no bound is known for {drawn}: the theorems concern halves of the rows; run with {one} or {other}"
        one, other = Setting("scheme", "complementary"), Setting("scheme", "subsample")
        raise ValueError(Message(text, drawn=drawn, one=one, other=other))
    if method is not None and method not in holding:
        needed = next(scheme for scheme, methods in METHODS.items() if method in methods)
        text, given = "{method} needs {needed}; the resamples are of {scheme}", Setting("method", method)
        raise ValueError(
            Message(text, method=given, needed=Setting("scheme", needed), scheme=Setting("scheme", scheme))
        )
    return holding[0] if method is None else method
