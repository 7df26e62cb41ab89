"""What a picture shows beside the graph: title and legend, groups of variables, tiers, paths, strengths of edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.data import names
from pycupc.graph.knowledge import as_knowledge
from pycupc.graph.sparse import SparseGraph

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


class GroupStyle(NamedTuple):
    """How the variables of a group are drawn: fill and outline, the form of boxes, and the form of dots."""

    fill: str
    line: str
    box: str
    dot: str


#: The first groups differ in colour and form, so that they remain distinct in black and white.
GROUP_STYLES = (
    GroupStyle("#cfe3f5", "#0072b2", "round", "o"),
    GroupStyle("#fbe0c8", "#b34700", "square", "s"),
    GroupStyle("#d3eedd", "#00704f", "pill", "D"),
    GroupStyle("#f3d9ea", "#9b2f79", "cut", "^"),
    GroupStyle("#fdf3bf", "#8a7400", "round", "v"),
    GroupStyle("#e3e3e3", "#444444", "square", "P"),
    GroupStyle("#d6f1f7", "#00788f", "pill", "X"),
    GroupStyle("#ead9f7", "#6a3fa0", "cut", "p"),
)


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a picture shows beside the graph; `Look.of` makes it from the arguments of `plot`."""

    title: str | bool | None = None
    legend: bool = True
    figsize: tuple[float, float] | None = None
    groups: tuple[str, ...] = ()  # their names
    group: Numbers | None = None  # int64 (p,): the group of each variable, -1 without one
    tier: Numbers | None = None  # int64 (p,): the tier of each variable, the earliest 0, -1 without
    on_path: NDArray[np.bool_] | None = None  # bool (m,): the edges of the highlighted paths
    strength: Floats | None = None  # float64 (m,)
    centres: tuple[int, ...] = ()  # variables that are highlighted

    @classmethod
    def of(
        cls,
        graph: SparseGraph,
        labels: Sequence[str],
        *,
        groups: Any = None,
        tiers: Any = None,
        paths: Sequence[Sequence[str | int]] = (),
        strength: ArrayLike | None = None,
        **others: Any,
    ) -> Look:
        """Arguments and errors as of `pycupc.graph.named.NamedGraph.plot`."""
        found, group = _groups(groups, labels)
        weight = None if strength is None else np.asarray(strength, dtype=np.float64)
        if weight is not None and weight.shape != (len(graph),):
            raise ValueError(
                f"strength must have one number for each of the {len(graph)} edges, got shape {weight.shape}"
            )
        look = cls(groups=found, group=group, tier=_tiers(tiers, labels), strength=weight, **others)
        if look.title is True:
            raise ValueError("title must be a text, None for the usual one or False for none, got True")
        if look.figsize is not None:
            size = tuple(map(float, look.figsize))
            if len(size) != 2 or not all(0 < side <= 400 for side in size):
                raise ValueError(f"figsize must be a width and a height in inches, up to 400, got {look.figsize!r}")
            look = replace(look, figsize=size)
        return replace(look, on_path=_edges_of(paths, graph, labels)) if len(paths) else look

    def part(self, nodes: Numbers, edges: NDArray[Any]) -> Look:
        """The look of the graph of some variables and edges."""

        def some(values: NDArray[Any] | None, at: NDArray[Any]) -> Any:
            return None if values is None else values[at]

        place = {v: k for k, v in enumerate(nodes.tolist())}
        of_nodes = {"group": some(self.group, nodes), "tier": some(self.tier, nodes)}
        of_edges = {"on_path": some(self.on_path, edges), "strength": some(self.strength, edges)}
        centres = tuple(place[v] for v in self.centres if v in place)
        return replace(self, **of_nodes, **of_edges, centres=centres)

    def style(self, v: int) -> GroupStyle | None:
        """How the group of variable v is drawn; None without a group."""
        k = -1 if self.group is None else int(self.group[v])
        return None if k < 0 else GROUP_STYLES[k % len(GROUP_STYLES)]

    def groups_there(self) -> list[tuple[str, GroupStyle]]:
        """The names and styles of the groups that have a variable in the picture."""
        there = [] if self.group is None else sorted({*self.group.tolist()} - {-1})
        return [(self.groups[k], GROUP_STYLES[k % len(GROUP_STYLES)]) for k in there]


def _named(argument: str, variables: Any, labels: Sequence[str]) -> list[int]:
    try:
        return names.positions(variables, labels)
    except (ValueError, IndexError, TypeError) as error:
        raise type(error)(f"{argument}: {error}") from None


def _groups(groups: Any, labels: Sequence[str]) -> tuple[tuple[str, ...], Numbers | None]:
    """The names of the groups, and the group of each variable."""
    if groups is None:
        return (), None
    group = np.full(len(labels), -1, dtype=np.int64)
    if isinstance(groups, Mapping):
        for k, (name, variables) in enumerate(groups.items()):
            members = _named("groups", variables, labels)
            if len(twice := np.flatnonzero(group[members] >= 0)):
                raise ValueError(
                    f"groups must not share a variable, got {labels[members[twice[0]]]!r} in {name!r} again"
                )
            group[members] = k
        return tuple(map(str, groups)), group
    if isinstance(groups, str) or len(groups) != len(labels):
        raise ValueError(
            f"groups must map names to variables, or be a sequence of {len(labels)} names, one for each variable (None "
            f"without a group), got {type(groups).__name__}"
            + ("" if isinstance(groups, str) else f" of length {len(groups)}")
        )
    found = [*dict.fromkeys(name for name in groups if name is not None)]
    for k, name in enumerate(found):
        group[[at for at, own in enumerate(groups) if own == name]] = k
    return tuple(map(str, found)), group


def _tiers(tiers: Any, labels: Sequence[str]) -> Numbers | None:
    """The tier of each variable, from `tiers` as `pycupc.pc` takes them."""
    known = None if tiers is None else as_knowledge(tiers)
    return None if known is None else known.of(labels).tier


def _edges_of(paths: Any, graph: SparseGraph, labels: Sequence[str]) -> NDArray[np.bool_]:
    """Which edges are on one of the paths."""
    on_path = np.zeros(len(graph), dtype=np.bool_)
    if isinstance(paths, str) or any(isinstance(path, (str, int)) for path in paths):
        raise ValueError(f"paths must be a sequence of paths, each a sequence of variables, got {paths!r}")
    for path in paths:
        at = _named("paths", path, labels)
        for u, v in pairwise(at):
            k = int(graph.edge_number(np.array([u]), np.array([v]))[0])
            if k < 0:
                raise ValueError(
                    f"paths must follow edges, got {labels[u]!r} and {labels[v]!r}, which are not adjacent"
                )
            on_path[k] = True
    return on_path
