"""The arguments of `pc`, `skeleton`, `fci` and `rfci` that say how to run, checked whatever the data are."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import numpy as np

from pycupc.data.names import check_real
from pycupc.orientation import U2pd
from pycupc.orientation.pag import ALL_RULES
from pycupc.system.message import Argument, Message, Setting, Value

Method = Literal["stable", "stable.fast"]
Type = Literal["normal", "anytime", "adaptive"]
Jci = Literal["0", "1", "12", "123"]

#: The arguments that say what is known of directions.
KNOWLEDGE = ("tiers", "context_all", "context_tier", "forbidden")
#: The arguments of `pc`, `skeleton`, `fci` and `rfci` with the values that they have where they are not given.
DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("indepTest", "labels", "p", "fixedGaps", "fixedEdges", "numCores", "correlation", *KNOWLEDGE)),
    **dict.fromkeys(("engine_options", "checkpoint", "executor", "budget")),
    **dict.fromkeys(("quirks", "conservative", "maj_rule", "solve_confl", "selectionBias", "biCC"), False),
    **dict.fromkeys(("NAdelete", "doPdsep"), True),
    "alpha": 0.01,
    "m_max": math.inf,
    "pdsep_max": math.inf,
    "engine": "auto",
    "u2pd": "relaxed",
    "skel_method": "stable",
    "type": "normal",
    "jci": "0",
    "rules": ALL_RULES,
}
#: Arguments with a few values.
CHOICES = {"skel_method": get_args(Method), "u2pd": get_args(U2pd), "type": get_args(Type), "jci": get_args(Jci)}
#: Arguments that are numbers: what is expected, and whether a number is that.
NUMBERS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "alpha": ("a number in [0, 1]", lambda alpha: 0 <= alpha <= 1),
    "m_max": ("a whole number of at least 0, or inf", lambda m: m == math.inf or (m >= 0 and m == int(m))),
    "pdsep_max": ("a number of at least 0, or inf", lambda m: m >= 0),
    "budget": ("a number of seconds above 0, or None", lambda seconds: seconds > 0),
}


def check_options(given: Mapping[str, Any]) -> None:
    """Raise TypeError or ValueError for arguments, by name, that are invalid or exclude each other, whatever the data.

    In the same cases as pcalg.
    """
    given = {**DEFAULTS, **given}
    if given["skel_method"] == "original":
        raise ValueError("method 'original' depends on the order of the variables: use 'stable', or call pcalg::pc()")
    for name in (name for name, default in DEFAULTS.items() if isinstance(default, bool)):
        if not isinstance(given[name], (bool, np.bool_)):
            raise TypeError(f"{name} must be True or False, got {given[name]!r}")
    for name, choices in CHOICES.items():
        if given[name] not in choices:
            *first, last = map(repr, choices)
            title = "method (of pc: skel_method)" if name == "skel_method" else name
            raise ValueError(f"{title} must be {', '.join(first)} or {last}, got {given[name]!r}")
    for name, (expected, valid) in NUMBERS.items():
        if name != "budget" or given[name] is not None:
            check_real(name, expected, given[name], valid)
    cores, checkpoint, executor = given["numCores"], given["checkpoint"], given["executor"]
    if cores is not None and (not isinstance(cores, (int, np.integer)) or cores < 1):
        text = "numCores must be a whole number of at least 1, or {none} for all, got {given}"
        raise ValueError(Message(text, none=Value(None), given=Value(cores)))
    if checkpoint is not None and not isinstance(checkpoint, (str, os.PathLike)):
        raise TypeError(f"checkpoint must be the path of a folder, got {checkpoint!r}")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {executor!r}")
    if given.get("random_state") is not None:
        np.random.default_rng(given["random_state"])  # NumPy's errors, before the tests
    _check_orientation(given)
    _check_fci(given)


def _check_orientation(given: Mapping[str, Any]) -> None:
    u2pd, rules = given["u2pd"], given["rules"]
    if u2pd != "relaxed":
        if any(given[name] is not None for name in KNOWLEDGE):
            raise ValueError(f"tiers, context_all, context_tier and forbidden need u2pd='relaxed', got u2pd={u2pd!r}")
        for name in ("conservative", "maj_rule", "solve_confl"):
            if given[name]:
                raise ValueError(f"{name}=True needs u2pd='relaxed', got u2pd={u2pd!r}")
    if given["conservative"] and given["maj_rule"]:
        raise ValueError("choose one of conservative=True and maj_rule=True, got both")
    if np.ndim(rules) != 1 or len(rules) != 10 or not all(r in (True, False) for r in rules):
        raise ValueError(f"rules must be 10 values True or False, for the rules 1 to 10, got {rules!r}")


def _check_fci(given: Mapping[str, Any]) -> None:
    jci, selection = given["jci"], given["selectionBias"]
    type_, m_max = Setting("type", given["type"]), Setting("m_max", given["m_max"])
    if given["type"] == "anytime" and given["m_max"] == math.inf:
        raise ValueError(Message("{t} needs a finite {m}, got {given}", t=type_, m=Argument("m_max"), given=m_max))
    if given["type"] == "adaptive" and given["m_max"] != math.inf:
        text = "{t} finds {m} itself and needs {inf}, got {given}"
        raise ValueError(Message(text, t=type_, m=Argument("m_max"), inf=Setting("m_max", math.inf), given=m_max))
    if jci != "0" and selection:
        text = "{jci} assumes that there is no selection bias: it needs {bias}"
        raise ValueError(Message(text, jci=Setting("jci", jci), bias=Setting("selectionBias", False)))
    if given["tiers"] is not None and (jci != "0" or selection):
        text = "jci='0'" if jci != "0" else "selectionBias=False: with selection an arrowhead says more"
        raise ValueError(f"tiers need {text}")
