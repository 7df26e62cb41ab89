"""Which engine runs: by name, or the one that pays."""

from __future__ import annotations

from typing import Any

from pycupc.engines.base import Engine, EngineError
from pycupc.machine import gpu_works

NAMES = ("auto", "cpu", "gpu", "cupc-e", "cupc-s", "reference")

#: Fewer variables than this take milliseconds on a CPU, less than it takes to wake a GPU up.
GPU_PAYS_FROM = 500


def make_engine(
    engine: str | Engine, p: int, *, numCores: int | None = None, options: dict[str, Any] | None = None
) -> tuple[Engine, str]:
    """The engine for `p` variables, and a sentence on why this one.

    Parameters
    ----------
    engine : {"auto", "cpu", "gpu", "cupc-e", "cupc-s", "reference"} or Engine
    p : int
    numCores : int, optional
        Threads of the cpu engine; all by default.
    options : dict, optional
        Keyword arguments of `GpuEngine`: device, beta, gamma, theta, delta.

    Raises
    ------
    ValueError
        If there is no such engine, or it takes no such option.
    EngineError
        If a GPU engine was asked for by name and cannot run. Nothing falls back silently.
    """
    if isinstance(engine, Engine):
        return engine, f"{engine.name} (given)"
    if engine not in NAMES:
        raise ValueError(f"engine must be one of {', '.join(map(repr, NAMES))} or an Engine, got {engine!r}")
    if options and engine in ("cpu", "reference"):
        raise ValueError(f"engine={engine!r} takes no engine_options, got {sorted(options)}")
    if engine == "reference":
        from pycupc.engines.reference import ReferenceEngine

        return ReferenceEngine(), "reference (asked for)"
    if engine == "auto":
        works, why = (False, "") if p < GPU_PAYS_FROM else gpu_works((options or {}).get("device", 0))
        if p < GPU_PAYS_FROM:
            why = f"fewer than {GPU_PAYS_FROM} variables"
        if not works:
            return _cpu(numCores), f"cpu (auto: {why})"
        from pycupc.engines.gpu import GpuEngine

        return GpuEngine(**(options or {})), f"gpu (auto: {why})"
    if engine == "cpu":
        return _cpu(numCores), "cpu (asked for)"
    works, why = gpu_works((options or {}).get("device", 0))
    if not works:
        raise EngineError(f"engine={engine!r} cannot run: {why}; engine='cpu' needs no GPU")
    from pycupc.engines.gpu import GpuEngine

    algorithm = "schur" if engine == "gpu" else engine
    try:
        return GpuEngine(algorithm=algorithm, **(options or {})), f"{engine} (asked for)"
    except TypeError as error:
        raise ValueError(f"engine_options: {error}") from error


def _cpu(numCores: int | None) -> Engine:
    from pycupc.engines.cpu.engine import CpuEngine

    return CpuEngine(numCores)
