"""The structures of kernels/common/structures.cuh, field by field; their meaning is documented there."""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_int, c_longlong, c_ulonglong, c_void_p
from typing import Any


def _pointers(*names: str) -> list[tuple[str, Any]]:
    return [(name, c_void_p) for name in names]


class Binomials(ctypes.Structure):
    _fields_ = [*_pointers("table"), ("stride", c_int)]


class Graph(ctypes.Structure):
    _fields_ = [
        *_pointers("C", "G", "start", "column", "source", "best", "least", "z"),
        ("p", c_longlong),
        *_pointers("matrix", "width", "place", "peers"),
        ("n_peers", c_longlong),
    ]

    @property
    def in_rows(self) -> bool:
        """Whether each row has a matrix of its own, instead of one matrix of all correlations."""
        return bool(self.matrix)


class Counters(ctypes.Structure):
    _fields_ = [
        *((name, c_ulonglong) for name in ("tests", "removed", "more", "doubtful", "pairs", "widest", "records")),
        ("rows", c_ulonglong * 6),
        ("sets", c_double),
        ("tests_at_most", c_double),
        ("handed_out", c_ulonglong * 7),
        ("items", c_ulonglong * 7),
        *((name, c_ulonglong) for name in ("decided", "bounds")),
        ("spared", c_longlong),
        ("worth", c_double),
        ("turns", c_ulonglong * 6),
        *((name, c_ulonglong) for name in ("arrivals", "finished")),
    ]


class Level(ctypes.Structure):
    _fields_ = [
        ("binom", Binomials),
        *_pointers("counters", "work", "stop"),
        *((name, c_double) for name in ("cutoff", "sure_in", "sure_out")),
        ("level", c_int),
        ("slots", c_int),
    ]


class Classes(ctypes.Structure):
    _fields_ = [("bound", c_int * 5)]


class Pruning(ctypes.Structure):
    _fields_ = [
        *_pointers("delta", "margin", "left", "decided", "rank", "spares", "work"),
        ("work_doubles", c_longlong),
        ("least_sets", c_double),
        ("sets_per_node", c_double),
        ("trial", c_double),
        ("most_nodes", c_int),
        ("most_questions", c_int),
        ("most_left", c_double),
        *((name, c_int) for name in ("minimum", "few_nodes")),
        *_pointers("exchange", "rows"),
    ]


class RowClass(ctypes.Structure):
    _fields_ = [
        *_pointers("open"),
        ("sets_per_item", c_double),
        *((name, c_int) for name in ("suffix", "low", "high", "tile")),
    ]


class Queue(ctypes.Structure):
    _fields_ = [*_pointers("offsets", "chunk"), *((name, c_int) for name in ("phases", "p", "index"))]


class Shape(ctypes.Structure):
    _fields_ = [("blocks", c_ulonglong), *((name, c_int) for name in ("per_row", "side", "shared_row"))]


class RowCounts(ctypes.Structure):
    _fields_ = _pointers("kept", "removed")


class Records(ctypes.Structure):
    _fields_ = _pointers("start", "rank", "found")


class Codes(ctypes.Structure):
    _fields_ = [
        *_pointers("code", "plane", "levels", "first", "f", "cutoff"),
        ("unit", c_double),
        ("band", c_double),
        ("n", c_longlong),
        ("pitch", c_longlong),
        *((name, c_int) for name in ("words", "cutoffs", "adapt", "quirks", "observed")),
    ]


class TableSpace(ctypes.Structure):
    _fields_ = [
        *_pointers("large"),
        ("large_cells", c_longlong),
        *((name, c_int) for name in ("cells", "mask_words", "configurations")),
    ]


class Observed(ctypes.Structure):
    _fields_ = [
        *_pointers("value", "number", "there", "code", "levels"),
        *((name, c_double) for name in ("n", "alpha")),
        *((name, c_longlong) for name in ("p", "rows")),
        *((name, c_int) for name in ("M", "words", "rule", "adapt", "quirks")),
    ]


class WarpSpace(ctypes.Structure):
    _fields_ = [*_pointers("large"), ("bytes", c_longlong)]


class Doubtful(ctypes.Structure):
    _fields_ = [*_pointers("count", "pair", "rank", "x", "y", "S"), ("room", c_longlong)]


class SetRange(ctypes.Structure):
    _fields_ = [*_pointers("open"), *((name, c_ulonglong) for name in ("first", "end", "chunk")), ("side", c_int)]


STRUCTURES = (
    *(Binomials, Graph, Counters, Level, Classes, Pruning, RowClass, Queue, Shape, RowCounts, Records),
    *(Codes, TableSpace, Observed, WarpSpace, Doubtful, SetRange),
)

i32, i64, u64, f32, f64 = c_int, c_longlong, c_ulonglong, ctypes.c_float, c_double


def ptr(array: Any) -> c_void_p:
    """Address of a device array (or an address), or null for None."""
    return c_void_p(array if array is None or isinstance(array, int) else array.data.ptr)
