"""Changes and reading of an element of an array, each one step for all threads: compiled code calls them.

They are instructions of LLVM for every processor. Numba's own counts of references rely on them, so that there is no
Numba without them.
"""

from __future__ import annotations

from typing import Any

from pycupc.system.numba_names import cgutils, intrinsic, ir, types

_WORD = ir.IntType(64)


def _change(operation: str, number: Any) -> Any:
    """A function ``change(array, index, value)`` of a contiguous array of these numbers: the element before it."""

    def typed(_: Any, array: Any, index: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            kind = signature.args[0]
            elements = context.make_array(kind)(context, builder, given[0])
            where = context, builder, kind, elements, [given[1]]
            place = cgutils.get_item_pointer(*where, wraparound=False)  # type: ignore[no-untyped-call]
            word = builder.bitcast(place, _WORD.as_pointer())
            before = builder.atomic_rmw(operation, word, builder.bitcast(given[2], _WORD), "acq_rel")
            return builder.bitcast(before, context.get_value_type(number))

        return number(array, types.intp, number), code

    return intrinsic(typed)


#: array[index] += value, of int64.
atomic_add = _change("add", types.int64)
#: The smaller of both becomes array[index], of int64; a negative number, which stands for none, is larger than all.
atomic_min_rank = _change("umin", types.int64)
#: The smaller of both becomes array[index], of float64 that are not negative: their bits are in the same order.
atomic_min = _change("min", types.float64)


def _load(_: Any, array: Any, index: Any) -> Any:
    """array[index] of a contiguous array of int64, read before anything that the caller reads later."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kind = signature.args[0]
        where = context, builder, kind, context.make_array(kind)(context, builder, given[0]), [given[1]]
        return builder.load_atomic(cgutils.get_item_pointer(*where, wraparound=False), "acquire", 8)  # type: ignore[no-untyped-call]

    return types.int64(array, types.intp), code


#: What another thread wrote before it changed array[index] is seen by whoever finds the change here.
atomic_load: Any = intrinsic(_load)
