"""Facts that are only in the texts of a result: of version 0.2.0, which had no other place, and of R's objects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pycupc.results.methods import METHODS, OF_CPDAGS


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


def engine_in_text(held: Mapping[str, Any], n_edges: int) -> str:
    """The `PcAlgo.engine_name` of what a result of version 0.2.0 `held`."""
    return str(held["engine"].partition(" ")[0])


def orientation_in_texts(held: Mapping[str, Any], n_edges: int) -> str | None:
    """Its `PcAlgo.orientation`."""
    oriented = skeleton_or_pc(held["call"]) in OF_CPDAGS and n_edges and engine_in_text(held, n_edges) != "R"
    relaxed = "relaxed" if oriented else None  # of which there was no note
    return str(held["notes"].get("orientation", "")).rpartition(": ")[2] or relaxed
