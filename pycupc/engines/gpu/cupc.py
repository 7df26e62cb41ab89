"""Launch geometry of cupc-e and cupc-s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Geometry:
    """The configuration of the paper: cuPC-E-beta-gamma, cuPC-S-theta-delta."""

    beta: int = 2
    gamma: int = 32
    theta: int = 64
    delta: int = 2


def run_level(*args: Any) -> list[Any]:
    raise NotImplementedError
