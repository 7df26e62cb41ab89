"""All kernels that the GPU engines can ask for, to compile them before they are needed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pycupc.engines.gpu import cupc, device_correlation, device_sieve, kernels, missing, schur
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.pruning import device_bounded_walk, device_branch_and_bound

#: The templates with the arguments that the engines ask for.
TEMPLATES: list[KernelName] = [
    *(
        *schur.SETS.values(),
        *schur.TILES.values(),
        *device_bounded_walk.TRY.values(),
        *device_bounded_walk.ROWS.values(),
        *device_branch_and_bound.PAIRS,
    ),
    *(
        *device_sieve.PICK.values(),
        *device_correlation.KERNELS[:2],
        *(k for family in range(5) for k in missing.kernels_of(family)),
    ),
    *((f"cupc/cupc_{algorithm}", f"cupc_{algorithm}<{t}>") for algorithm in "es" for t in cupc.TEMPLATES),
]
#: The head of a kernel that is no template.
_PLAIN = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\(')


def every_kernel() -> Iterator[tuple[KernelName, bool]]:
    """Each kernel, and whether it is the one for a graph with a matrix for each row."""
    for path in sorted(kernels.KERNEL_DIR.rglob("*.cu")):
        file = path.relative_to(kernels.KERNEL_DIR).with_suffix("").as_posix()
        names = [name for of, name in TEMPLATES if of == file] + _PLAIN.findall(path.read_text(encoding="utf-8"))
        for rows in (False, True) if file in kernels.WITH_ROW_MATRICES else (False,):
            yield from (((file, name), rows) for name in names)
