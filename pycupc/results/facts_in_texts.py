"""Facts that are only in the texts of a result: of version 0.2.0, which had no other place, and of R's objects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pycupc.results.methods import METHODS, OF_CPDAGS

#: The attributes of a `PcAlgo` that version 0.2.0 did not have.
NEW_FACTS = ("method", "engine_name", "orientation")


def method_in_call(call: str) -> str | None:
    """The method whose function a call names, if any: of ``pc(...)``, ``pcalg::pc(...)``, ``cu_pc(...)`` it is "pc".

    The objects of pcalg, as which `cu_pc` of R returns its results, too, say only in their call what made them.
    """
    word = re.search("[a-z]*$", call.partition("(")[0].strip())
    name = "" if word is None else word[0]
    name = "pc" if name == "tpc" else name  # tpc and cu_tpc orient as `pc` with tiers
    return name if name in METHODS else None


def skeleton_or_pc(call: str) -> str:
    """The `PcAlgo.method` of a call: "skeleton" if the call does not say, though edges may have directions."""
    return name if (name := method_in_call(call)) in OF_CPDAGS else "skeleton"


def facts_of_0_2_0(held: Mapping[str, Any], n_edges: int) -> dict[str, Any]:
    """What a `PcAlgo` of version 0.2.0 `held`, with the `NEW_FACTS`."""
    method, engine_name = skeleton_or_pc(held["call"]), held["engine"].partition(" ")[0]
    relaxed = (
        "relaxed" if method in OF_CPDAGS and n_edges and engine_name != "R" else None
    )  # of which there was no note
    status = str(held["notes"].get("orientation", "")).rpartition(": ")[2] or relaxed
    return {**held, **dict(zip(NEW_FACTS, (method, engine_name, status), strict=True))}
