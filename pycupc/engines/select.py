"""The choice of the engine: by name, or the one that is expected to be fastest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pycupc.engines.protocol import Engine, EngineError
from pycupc.independence.base import GPU_PAYS_FROM
from pycupc.system.localised_message import Message, Setting, Value, Words
from pycupc.system.machine import gpu_works, has_driver

NAMES = ("auto", "cpu", "gpu", "cupc-e", "cupc-s", "reference")

#: The algorithm of each GPU engine, as `GpuEngine` names it.
_ALGORITHMS: dict[str, Literal["schur", "cupc-e", "cupc-s"]] = {"gpu": "schur", "cupc-e": "cupc-e", "cupc-s": "cupc-s"}
#: The names of the engines that run on a device.
DEVICE_ENGINES = tuple(_ALGORITHMS)

#: The engines that accept each of the engine_options. "auto" accepts the options of "gpu", which it may choose.
_EVERY_GPU, _CUPC_E, _CUPC_S = (*DEVICE_ENGINES, "auto"), ("cupc-e",), ("cupc-s",)
_TAKEN_BY = {
    "device": _EVERY_GPU,
    "devices": _EVERY_GPU,
    "pruning": ("cpu", "gpu", "auto"),
    "correlations": ("cpu", "gpu", "auto"),
    "beta": _CUPC_E,
    "gamma": _CUPC_E,
    "theta": _CUPC_S,
    "delta": _CUPC_S,
}


def make_engine(
    engine: str | Engine,
    p: int,
    *,
    numCores: int | None = None,
    options: Mapping[str, Any] | None = None,
    gpu_pays_from: int = GPU_PAYS_FROM,
) -> tuple[Engine, str]:
    """The engine for `p` variables, and a note on why it was chosen.

    "auto" is the GPU if it works and there are at least `gpu_pays_from` variables, else the CPU, in which case the note
    names the `options` that were not used. The options are keyword arguments of the engine; `_TAKEN_BY` says which of
    them each engine has. "schur", the name of its algorithm, is an alias for "gpu".

    Raises ValueError if there is no such engine, or it does not take one of the options. EngineError if a GPU engine
    was requested by name and cannot run; no other engine silently replaces it.
    """
    options = dict(options or {})
    if isinstance(engine, Engine):
        if options:
            raise ValueError(f"engine_options configure an engine given by name, got {sorted(options)} with an Engine")
        return engine, f"{engine.name} (given)"
    name = "gpu" if engine == "schur" else engine
    if name not in NAMES:
        text = "engine must be one of {names}{others}, got {given}"
        raise ValueError(Message(text, names=Value(*NAMES), others=Words(" or an Engine", ""), given=Value(engine)))
    _check_options(name, options)
    if name == "auto":
        return _fastest(p, gpu_pays_from, numCores, options)
    if name == "cpu":
        return _cpu(numCores, options), "cpu (requested)"
    if name == "reference":
        from pycupc.engines.reference import ReferenceEngine

        return ReferenceEngine(), "reference (requested)"
    works, detail = gpu_works(options.get("device", 0))
    if not works:
        given, cpu = Setting("engine", engine), Setting("engine", "cpu")
        raise EngineError(
            Message("{given} cannot run: {detail}; {cpu} needs no GPU", given=given, detail=detail, cpu=cpu)
        )
    return _gpu(name, options), f"{name} (requested)"


def engine_there(name: str, numCores: int | None, options: Mapping[str, Any] | None) -> Engine:
    """An engine at a worker, of the kind that was chosen at home; with all cores of the worker without `numCores`."""
    own = {option: value for option, value in (options or {}).items() if name in _TAKEN_BY[option]}
    return make_engine(name, 0, numCores=numCores, options=own)[0]


def _check_options(engine: str, options: Mapping[str, Any]) -> None:
    """Refuse every option that `engine` would ignore."""
    for option in options:
        if option not in _TAKEN_BY:
            raise ValueError(f"engine_options must be among {', '.join(_TAKEN_BY)}, got {option!r}")
        takers = _TAKEN_BY[option]
        if engine not in takers:
            refusal = "takes no engine_options" if engine == "reference" else "does not take this one"
            raise ValueError(
                f"engine={engine!r} {refusal}: {option!r} is an option of engine={' or '.join(map(repr, takers))}"
            )


def _fastest(p: int, pays_from: int, numCores: int | None, options: Mapping[str, Any]) -> tuple[Engine, str]:
    works, detail = False, f"fewer than {pays_from} variables"
    if p >= pays_from:
        works, detail = gpu_works(options.get("device", 0))
        if not works and not has_driver():
            detail = "no NVIDIA driver"  # most machines: they miss nothing
    if works:
        return _gpu("gpu", options), f"gpu (auto: {detail})"
    used = {option: value for option, value in options.items() if "cpu" in _TAKEN_BY[option]}
    others = sorted(options.keys() - used.keys())
    unused = f"; engine_options not used: {', '.join(others)}" if others else ""
    return _cpu(numCores, used), f"cpu (auto: {detail}{unused})"


def _cpu(numCores: int | None, options: Mapping[str, Any]) -> Engine:
    from pycupc.engines.cpu.cpu_engine import CpuEngine

    return CpuEngine(numCores, **options)


def _gpu(name: str, options: Mapping[str, Any]) -> Engine:
    from pycupc.engines.gpu import GpuEngine

    options = dict(options)
    if (devices := options.pop("devices", None)) is None:
        return GpuEngine(_ALGORITHMS[name], **options)
    from pycupc.engines.gpu.devices import on_devices

    if "device" in options:
        raise ValueError("engine_options must have device or devices, got both")
    return on_devices(devices, lambda number: GpuEngine(_ALGORITHMS[name], number, **options))
