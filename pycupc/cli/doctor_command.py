"""``pycupc doctor``: what is installed, and which engines work. Each engine is tried, so that nothing is guessed."""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pycupc.cli.output import DEVICE, OK, add_command
from pycupc.system import machine
from pycupc.system.machine import version_of
from pycupc.system.version import __version__

#: Distributions by what needs them.
PACKAGES = {
    "always": ("numpy", "scipy", "numba", "tqdm"),
    "DataFrames": ("pandas",),
    "plots": ("matplotlib", "networkx"),
    "Parquet and Feather files": ("pyarrow",),
    "Excel files": ("openpyxl",),
    "R from Python": ("rpy2", "rpy2-rinterface"),
    "clusters": ("distributed",),
}
ENGINES = ("reference", "cpu", "gpu")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    description = "Examine this machine: system, packages, GPU and R; and run a tiny problem on each engine."
    parser = add_command(commands, "doctor", main, description=description)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("--no-engines", action="store_true", help="do not run the engines (the first run compiles)")
    parser.add_argument(
        "--compile",
        action="store_true",
        help="compile everything now, which takes a minute or two, so that no later run waits for it",
    )
    parser.add_argument("--no-r", action="store_true", help="do not start R")


def main(args: argparse.Namespace) -> int:
    """Run with parsed arguments; returns the exit code, which is DEVICE if an engine that needs no GPU fails."""
    if args.compile:
        from pycupc.algorithm.compiling import compile_everything

        seconds = compile_everything(lambda part: print(f"compiling: {part}", file=sys.stderr))
        print(f"everything was compiled, or was there, after {seconds:.0f} s", file=sys.stderr)
    found = examine(engines=not args.no_engines, r=not args.no_r)
    print(json.dumps(found, indent=1) if args.json else report(found))
    needed = [engine["works"] for name, engine in found["engines"].items() if name != "gpu"]
    return OK if all(needed) else DEVICE


def examine(*, engines: bool = True, r: bool = True) -> dict[str, Any]:
    """Examine this machine; with `engines`, run a small problem on each, and with `r`, start R to list its packages.

    Returns a dict ready for JSON: system, packages, gpu, engines (each with "works" and "detail"), r.
    """
    system = {
        "pycupc": __version__,
        "location": str(Path(__file__).parents[1]),
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "processor": machine.processor_name(),
        "cores": machine.available_cores(),
        "memory_gib": _gib(machine.physical_memory()),
    }
    packages = {purpose: {name: version_of(name) for name in names} for purpose, names in PACKAGES.items()}
    packages["GPU"] = {name: version for name in machine.CUPY if (version := version_of(name))} or {"cupy": None}
    return {
        "system": system,
        "packages": packages,
        "gpu": _gpu(),
        "engines": {name: _try_engine(name) for name in ENGINES} if engines else {},
        "r": _r() if r else {},
    }


def _gpu() -> dict[str, Any]:
    works, detail = machine.gpu_works()
    problem = machine.several_cupys() or (None if works else detail)
    found: dict[str, Any] = {"devices": [], "driver": None, "problem": problem}
    if not works:
        return found
    import cupy

    runtime = cupy.cuda.runtime
    try:
        found["driver"], found["runtime"] = runtime.driverGetVersion(), runtime.runtimeGetVersion()
        found["devices"] = [_device(cupy, device) for device in range(runtime.getDeviceCount())]
    except Exception as error:  # CUDA raises many kinds of errors, each of which is a finding
        found["problem"] = f"a CUDA device does not respond: {error}"
    return found


def _device(cupy: Any, device: int) -> dict[str, Any]:
    properties = cupy.cuda.runtime.getDeviceProperties(device)
    with cupy.cuda.Device(device):
        free, total = cupy.cuda.runtime.memGetInfo()
    return {
        "name": properties["name"].decode(),
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "memory_gib": _gib(total),
        "free_gib": _gib(free),
    }


def _gib(n_bytes: int | None) -> float | None:
    return None if n_bytes is None else round(n_bytes / 2**30, 1)


def _try_engine(name: str) -> dict[str, Any]:
    """Run the chain x0 - x1 - x2, whose skeleton is known."""
    import numpy as np

    from pycupc.algorithm.skeleton import skeleton

    C = np.array([[1.0, 0.6, 0.36], [0.6, 1.0, 0.6], [0.36, 0.6, 1.0]])
    start = time.perf_counter()
    try:
        found = skeleton({"C": C, "n": 1000}, alpha=0.05, engine=name).skeleton
    except Exception as error:  # any failure is a finding
        return {"works": False, "detail": str(error) or type(error).__name__}
    seconds = time.perf_counter() - start
    if not np.array_equal(found, [[False, True, False], [True, False, True], [False, True, False]]):
        return {"works": False, "detail": "gives a wrong answer on three variables; please report this"}
    return {"works": True, "detail": f"checked on three variables in {seconds:.1f} s (the first run compiles)"}


def _run(*command: str, timeout: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)


def _r() -> dict[str, Any]:
    rscript = shutil.which("Rscript")
    if rscript is None:
        return {"rscript": None, "problem": "Rscript is not on the PATH"}
    try:
        done = _run(rscript, "--vanilla", str(Path(__file__).with_name("doctor.R")), timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"rscript": rscript, "problem": f"Rscript does not run: {error}"}
    if done.returncode:
        said = done.stderr.strip()[-500:] or f"Rscript ended with exit code {done.returncode}"
        return {"rscript": rscript, "problem": said}
    values = {name: value.strip() for name, _, value in (line.partition(" ") for line in done.stdout.splitlines())}
    facts = {name: values.pop(name, "?") for name in ("version", "home", "libraries")}
    packages = {name: None if version == "no" else version for name, version in values.items()}
    return {"rscript": rscript, **facts, "packages": packages, "rpy2": _rpy2()}


#: Imports rpy2, but nothing from the working directory.
_IMPORT = "import sys; sys.path[:] = [path for path in sys.path if path]; import rpy2.robjects"


def _rpy2() -> str:
    """Whether rpy2 starts R; tried in a process of its own, since versions that do not match may crash it."""
    if version_of("rpy2") is None:
        return 'not installed: pip install ".[r]" in a checkout (only needed for R objects in Python)'
    try:
        done = _run(sys.executable, "-c", _IMPORT, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not start: {error}"
    if done.returncode == 0:
        return "works"
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return f'does not start R ({last}); with R before 4.5: pip install ".[r]", which takes a version that does'


def report(found: dict[str, Any]) -> str:
    """The findings of `examine` as text."""
    parts = {heading: part for heading, part in found.items() if part}
    return "\n\n".join(
        "\n".join((heading, *(f"  {name:<26} {_text(value)}" for name, value in part.items())))
        for heading, part in parts.items()
    )


def _text(value: Any) -> str:
    if isinstance(value, dict) and "works" in value:
        return f"{'works' if value['works'] else 'does not work'}: {value['detail']}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(one)}" for name, one in value.items())
    if isinstance(value, list):
        return "; ".join(map(_text, value)) or "none"
    return "not found" if value is None else {True: "yes", False: "no"}.get(value, str(value))
