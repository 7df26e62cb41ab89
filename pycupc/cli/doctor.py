"""What is installed here, which engines work, and if one does not, why not: found out by trying, never by guessing."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

#: Packages by what needs them; the names are those of the distributions.
PACKAGES = {
    "always": ("numpy", "pandas", "scipy", "numba"),
    "plots": ("matplotlib", "networkx"),
    "Parquet files": ("pyarrow",),
    "R from Python": ("rpy2", "rpy2-rinterface"),
}
ENGINES = ("reference", "cpu", "gpu")
_CUPY = ("cupy-cuda12x", "cupy-cuda13x", "cupy")
_R_SCRIPT = """
cat("version", as.character(getRversion()), "\n"); cat("home", R.home(), "\n"); cat("libraries", .libPaths(), sep = " ")
cat("\n")
for (name in c("pcalg", "graph", "Rgraphviz", "reticulate", "testthat", "pycupc"))
  cat(name, tryCatch(as.character(packageVersion(name)), error = function(e) "no"), "\n")
"""


def examine(*, engines: bool = True, r: bool = True) -> dict[str, Any]:
    """Look at this machine.

    Parameters
    ----------
    engines : bool
        Run a small problem on each engine. The first run on a machine compiles the cpu engine, which takes a while.
    r : bool
        Start R, if there is one, and ask for its packages.

    Returns
    -------
    dict
        Plain, ready for JSON: system, packages, kernels, gpu, engines (each with "works" and "detail"), r.
    """
    out: dict[str, Any] = {"system": _system(), "packages": _packages(), "kernels": _kernels(), "gpu": _gpu()}
    out["engines"] = {name: _try_engine(name) for name in ENGINES} if engines else {}
    out["r"] = _r() if r else {}
    return out


def version_of(distribution: str) -> str | None:
    """Version of an installed distribution, None where it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _system() -> dict[str, Any]:
    return {
        "pycupc": version_of("pycupc") or "not installed (running from a checkout)",
        "location": str(Path(__file__).parents[1]),
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": _memory_gib(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None


def _packages() -> dict[str, dict[str, str | None]]:
    found = {what: {name: version_of(name) for name in names} for what, names in PACKAGES.items()}
    cupy = {name: version for name in _CUPY if (version := version_of(name))}
    found["GPU"] = cupy or {"cupy": None}
    return found


def _kernels() -> dict[str, Any]:
    here = Path(__file__).parents[1]
    for folder in (here / "kernels", here.parent / "kernels"):
        if files := sorted(f.name for f in folder.glob("*.cu*")):
            return {"folder": str(folder), "files": files}
    return {"folder": None, "files": []}


def _gpu() -> dict[str, Any]:
    out: dict[str, Any] = {"devices": [], "driver": None, "problem": None}
    if sum(version_of(name) is not None for name in _CUPY) > 1:
        out["problem"] = "more than one CuPy is installed, which breaks both: pip uninstall all but one"
    try:
        import cupy
    except ImportError as error:
        missing = all(version_of(name) is None for name in _CUPY)
        hint = "CuPy is not installed: pip install 'pycupc[gpu]'" if missing else f"CuPy does not import: {error}"
        out["problem"] = out["problem"] or hint
        return out
    try:
        runtime = cupy.cuda.runtime
        out["driver"], out["runtime"] = runtime.driverGetVersion(), runtime.runtimeGetVersion()
        for k in range(runtime.getDeviceCount()):
            device = runtime.getDeviceProperties(k)
            with cupy.cuda.Device(k):
                free, total = runtime.memGetInfo()
            out["devices"].append(
                {
                    "name": device["name"].decode(),
                    "compute_capability": f"{device['major']}.{device['minor']}",
                    "memory_gib": round(total / 2**30, 1),
                    "free_gib": round(free / 2**30, 1),
                }
            )
    except Exception as error:  # whatever CUDA says is the finding
        out["problem"] = f"no usable CUDA device: {error}. Does nvidia-smi work?"
    return out


def _try_engine(name: str) -> dict[str, Any]:
    """Run a chain x0 - x1 - x2, whose answer is known, and say how it went."""
    import numpy as np

    C = np.array([[1.0, 0.6, 0.36], [0.6, 1.0, 0.6], [0.36, 0.6, 1.0]])
    start = time.perf_counter()
    try:
        skeleton = (
            importlib.import_module("pycupc").skeleton({"C": C, "n": 1000}, alpha=0.05, p=3, engine=name).skeleton
        )
    except Exception as error:  # the finding
        return {"works": False, "detail": str(error) or type(error).__name__}
    seconds = time.perf_counter() - start
    if not np.array_equal(skeleton, [[False, True, False], [True, False, True], [False, True, False]]):
        return {"works": False, "detail": "gives a wrong answer on three variables; please report this"}
    return {"works": True, "detail": f"checked on three variables in {seconds:.1f} s (first use compiles)"}


def _r() -> dict[str, Any]:
    rscript = shutil.which("Rscript")
    if rscript is None:
        return {"rscript": None, "problem": "Rscript is not on the PATH"}
    try:
        done = subprocess.run(
            [rscript, "--vanilla", "-e", _R_SCRIPT],
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"rscript": rscript, "problem": f"Rscript does not run: {error}"}
    if done.returncode:
        return {"rscript": rscript, "problem": done.stderr.strip()[-500:]}
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    said = {key: value.strip() for key, value in said.items()}
    facts = {key: said.pop(key, "?") for key in ("version", "home", "libraries")}
    packages = {name: None if version == "no" else version for name, version in said.items()}
    return {"rscript": rscript, **facts, "packages": packages, "rpy2": _rpy2()}


def _rpy2() -> str:
    """Whether rpy2 starts R; in a process of its own, since a bad pair of versions may crash."""
    if version_of("rpy2") is None:
        return "not installed: pip install 'pycupc[r]' (only needed for R objects in Python)"
    code = "import rpy2.robjects"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not start: {error}"
    if done.returncode == 0:
        return "works"
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return f"does not start R ({last}); with R before 4.5: pip install 'pycupc[r]', which takes a version that does"


def report(found: dict[str, Any]) -> str:
    """What `examine` found, as text for a person."""
    lines = ["System"]
    lines += [f"  {key:<12} {value}" for key, value in found["system"].items()]
    lines += ["", "Packages"]
    for what, versions in found["packages"].items():
        told = ", ".join(f"{name} {version or 'not installed'}" for name, version in versions.items())
        lines.append(f"  {what:<14} {told}")
    gpu, kernels = found["gpu"], found["kernels"]
    lines += ["", "GPU"]
    lines += [f"  {d['name']}, {d['memory_gib']} GiB ({d['free_gib']} free)" for d in gpu["devices"]]
    lines += [f"  {gpu['problem']}"] if gpu["problem"] else []
    lines.append(
        f"  kernels: {len(kernels['files'])} files in {kernels['folder']}"
        if kernels["folder"]
        else "  no kernels found"
    )
    if found["engines"]:
        lines += ["", "Engines"]
        lines += [
            f"  {name:<10} {'works' if e['works'] else 'no'}: {e['detail']}" for name, e in found["engines"].items()
        ]
    if found["r"]:
        r = found["r"]
        lines += ["", "R"]
        if r.get("problem"):
            lines.append(f"  {r['problem']}")
        else:
            lines += [f"  R {r['version']} ({r['rscript']})", f"  libraries    {r['libraries']}"]
            told = ", ".join(f"{name} {version or 'not installed'}" for name, version in r["packages"].items())
            lines += [f"  {told}", f"  rpy2         {r['rpy2']}"]
    return "\n".join(lines)
