"""The kernels with their templates instantiated, and their resources: for the compile tests and the committed report.

python tests/support/kernel_sources.py          write kernels/resources_sm_90.txt (needs nvcc)
"""

import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pycupc.engines.gpu.every_kernel import TEMPLATES
from pycupc.engines.gpu.kernels import WITH_ROW_MATRICES

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
REPORT = KERNELS / "resources_sm_90.txt"
ARGUMENTS = {
    "schur_sets": "const Graph, const Level, const Queue, const unsigned* __restrict__, const int",
    "schur_tiles": "const Graph, const Level, const Queue, double*, const i64, const int",
    "pick_pairs": "const uint4* __restrict__, const int, const int, const float, const i64, const int, const int, "
    "const u64, u64*, u64*, const volatile int*",
    "search_pairs": "const Graph, const Level, const Pruning, const int, const int, const int, const int",
    "try_walk": "const Graph, const Level, const Pruning, const int",
    "walk_rows": "const Graph, const Level, const Pruning, const Queue, const int",
    "centre<double>": "const double* __restrict__, const i64, const i64, double*, double*, const int, const int, "
    "const i64, const i64",
    "centre<float>": "const float* __restrict__, const i64, const i64, double*, double*, const int, const int, "
    "const i64, const i64",
    "observed_pairs": "const Graph, const Level, const Observed, const WarpSpace, const Doubtful, double*, "
    "const unsigned char* __restrict__, const unsigned char* __restrict__",
    "observed_sets": "const Graph, const Level, const Observed, const WarpSpace, const Doubtful, const Queue, "
    "const SetRange",
    "observed_records": "const Graph, const Level, const Observed, const WarpSpace, const Records, Counters*",
    "cupc_e": "const Graph, const Level, const Shape",
    "cupc_s": "const Graph, const Level, const Shape",
}
#: Kernel files, as the engine names them: below `KERNELS`, without ".cu"; below "rows/" once more, with ROW_MATRICES.
FILES = sorted(f.relative_to(KERNELS).with_suffix("").as_posix() for f in KERNELS.rglob("*.cu"))
FILES += sorted(f"rows/{file}" for file in WITH_ROW_MATRICES)


def source(file: str, wanted: Callable[[str, str], bool] = lambda file, name: True) -> str:
    """The file with its templates instantiated, those with a wanted (file, name)."""
    of = file.removeprefix("rows/")
    lines = ["#define ROW_MATRICES"] if of != file else []
    lines.append(f'#include "{of}.cu"')
    for name in (name for asked, name in TEMPLATES if asked == of and wanted(file, name)):
        lines.append(f"template __global__ void {name}({ARGUMENTS.get(name) or ARGUMENTS[name.split('<')[0]]});")
    return "\n".join(lines) + "\n"


def find_nvrtc() -> ctypes.CDLL | None:
    """NVRTC from the pip packages nvidia-cuda-nvrtc-cu12 (any CUDA 12) or the system."""
    folders = [Path(p) / "nvidia" for p in sys.path]
    found = [f for d in folders if d.is_dir() for f in sorted(d.glob("*/lib/libnvrtc.so.1[23]"))]
    for name in [*map(str, found), "libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def compile_nvrtc(nvrtc: ctypes.CDLL, code: bytes, file: str, arch: str) -> tuple[bool, str]:
    """Compile a `source` for `arch`, "compute_90", or "sm_90" with machine code; whether it worked, and the log."""
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), code, file.encode(), 0, None, None) == 0
    options = [f"-arch={arch}", "-std=c++17", "--fmad=false", "-ftz=true", f"-I{KERNELS}"]
    options += ["--ptxas-options=-v"] if arch.startswith("sm") else ["-G"]  # -G: no optimisation, a fifth of the time
    array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    status = nvrtc.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(max(1, size.value))
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    lines = log.value.decode().splitlines()
    lines = [line for line in lines if "Architectures prior to" not in line]  # old, still supported
    return status == 0, "\n".join(lines)


def resources(file: str) -> list[tuple[str, int, int, int, int]]:
    """(kernel, registers, spill stores, spill loads, stack bytes) of each kernel for sm_90, by nvcc."""
    with tempfile.TemporaryDirectory() as folder:
        path, cubin = Path(folder) / "kernels.cu", Path(folder) / "kernels.cubin"
        path.write_text(source(file))
        flags = ["-arch=sm_90", "-std=c++17", "--fmad=false", f"-I{KERNELS}", "-Xptxas", "-v"]
        command = ["nvcc", *flags, "-Werror", "all-warnings", "-cubin", "-o", str(cubin), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
    return resources_in(done.stderr)


def resources_in(log: str) -> list[tuple[str, int, int, int, int]]:
    """(kernel, registers, spill stores, spill loads, stack bytes) of each kernel, from the log of the assembler."""
    out = []
    for part in log.split("Compiling entry function '")[1:]:
        name = part.split("'")[0]
        name = name if not name.startswith("_Z") else _demangled(name)
        stack, stores, loads = map(
            int, re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part).groups()
        )
        out.append((name, int(re.search(r"Used (\d+) registers", part)[1]), stores, loads, stack))
    return sorted(out)


def _demangled(name: str) -> str:
    found = re.match(r"_Z\d+([a-z_]+)I((?:L[ib]n?\d+E)+)E", name)
    if not found:
        of_type = re.match(r"_Z\d+([a-z_]+)I([df])E", name)
        return f"{of_type[1]}<{'double' if of_type[2] == 'd' else 'float'}>" if of_type else name
    values = [
        ("true" if v == "1" else "false") if kind == "b" else sign.replace("n", "-") + v
        for kind, sign, v in re.findall(r"L([ib])(n?)(\d+)E", found[2])
    ]
    return f"{found[1]}<{', '.join(values)}>"


def report() -> str:
    """The resource report: one line per kernel, by file."""
    version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"V([0-9.]+)", version)[1]
    lines = [f"nvcc {version}, sm_90: registers, spill stores, spill loads, stack (bytes)", ""]
    for file in FILES:
        lines += [f"{file}.cu"] + [f"  {n:<22} {r:>4} {s:>6} {ld:>6} {k:>6}" for n, r, s, ld, k in resources(file)]
    return "\n".join(lines) + "\n"


def reported() -> dict[tuple[str, str], tuple[int, ...]]:
    """The committed report: (file, kernel) -> registers, spill stores, spill loads, stack."""
    out, file = {}, ""
    for line in REPORT.read_text().splitlines()[2:]:
        if line.startswith("  "):
            name, *numbers = line[2:24].rstrip(), *line[24:].split()
            out[file, name] = tuple(map(int, numbers))
        else:
            file = line.removesuffix(".cu")
    return out


if __name__ == "__main__":
    if shutil.which("nvcc") is None:
        sys.exit("nvcc is not on the path")
    REPORT.write_text(report())
