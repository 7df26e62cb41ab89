"""Upper tails of distributions by SciPy's own compiled functions, which compiled code calls: the bits of its ufuncs.

Code on disk holds no addresses, so callers take the address of this process among their data.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pycupc.system.numba_names import get_cython_function_address, intrinsic, ir, types


@cache
def address_of_chdtrc() -> int:
    """The address of ``chdtrc(df, x)``, the upper tail of chi-square. Importing SciPy takes a quarter of a second."""
    return int(get_cython_function_address("scipy.special.cython_special", "chdtrc"))  # type: ignore[no-untyped-call]


def _call_chdtrc(_: Any, address: Any, df: Any, x: Any) -> Any:
    def code(_: Any, builder: Any, __: Any, values: Any) -> Any:
        double, whole = ir.DoubleType(), ir.IntType(32)
        function = ir.FunctionType(double, [double, double, whole])
        return builder.call(builder.inttoptr(values[0], function.as_pointer()), [*values[1:], ir.Constant(whole, 0)])

    return types.float64(types.int64, types.float64, types.float64), code


#: ``chdtrc(df, x)`` by its address.
call_chdtrc: Any = intrinsic(_call_chdtrc)
