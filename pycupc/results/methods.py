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
    #: Whether it takes the rules of pcalg for triples, ``conservative`` and ``maj_rule``.
    rules_for_triples: bool = True
    #: What it does, in the help of the command line.
    help: str = ""

    @property
    def hidden(self) -> bool:
        """Whether there may be hidden common causes."""
        return self.graph == "pag"


#: The methods by name.
METHODS = {
    method.name: method
    for method in (
        Method(
            "pc",
            "cpdag",
            "PC-stable",
            random=True,
            help="pc: every common cause of two variables is among the data (a CPDAG)",
        ),
        Method("skeleton", "skeleton", "PC-stable", rules_for_triples=False),
        Method("fci", "pag", "FCI", help="fci: some may be hidden (a PAG)"),
        Method("rfci", "pag", "RFCI", help="rfci: so, too, with far fewer tests than fci"),
    )
}
#: The methods that orient edges, the methods whose result is a PAG, and the others.
ORIENTING = tuple(name for name, method in METHODS.items() if method.graph != "skeleton")
HIDDEN = tuple(name for name, method in METHODS.items() if method.hidden)
WITHOUT_HIDDEN = tuple(name for name in METHODS if name not in HIDDEN)
#: The methods whose result is a CPDAG.
OF_CPDAGS = tuple(name for name, method in METHODS.items() if method.graph == "cpdag")
