"""The methods: the functions that find a graph, and what the rest of the program must know about each.

A method registers itself by a row here; its arguments are the rows of `pycupc.algorithm.parameters` that name it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: The names of the methods that orient edges, for annotations.
Oriented = Literal["pc", "fci", "rfci"]


@dataclass(frozen=True)
class Method:
    """A function that finds a graph."""

    name: str
    #: What it returns: a skeleton, a CPDAG, or a PAG, where there may be hidden common causes.
    graph: Literal["skeleton", "cpdag", "pag"]
    #: In texts for people.
    title: str
    #: Whether it draws random numbers, and so takes a ``random_state``.
    random: bool = False

    @property
    def hidden(self) -> bool:
        """Whether there may be hidden common causes."""
        return self.graph == "pag"


#: The methods by name.
METHODS = {
    method.name: method
    for method in (
        Method("pc", "cpdag", "PC-stable", random=True),
        Method("skeleton", "skeleton", "PC-stable"),
        Method("fci", "pag", "FCI"),
        Method("rfci", "pag", "RFCI"),
    )
}
#: The methods that orient edges, and the methods whose result is a PAG.
ORIENTING = tuple(name for name, method in METHODS.items() if method.graph != "skeleton")
HIDDEN = tuple(name for name, method in METHODS.items() if method.hidden)
