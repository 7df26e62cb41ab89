"""Python's collection of cyclic garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect no cyclic garbage meanwhile.

    Imports and compilers make very many objects that live on. To traverse them again and again takes a tenth of the
    time of our own imports, and of Numba's, and a twentieth of compiling.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
