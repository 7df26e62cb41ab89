"""The menu: ``python -m tests.benchmarks EXPERIMENT``, or ``python tests/benchmarks EXPERIMENT``."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

if not __package__:  # python tests/benchmarks: where another installed package is called "tests"
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    sys.path.insert(1, str(Path(__file__).resolve().parents[2]))
    __package__, __spec__ = "benchmarks", None

from . import record

ABOUT = """experiments
  cpu             Table 2: cpu and reference engines, live pcalg stable and stable.fast, Python peers; time and memory
  r               whole calls in R: cu_pc() beside pcalg::pc() (no GPU)
  gpu             the GPU table: schur, cupc-e, cupc-s on every set, split into transfer, levels, orientation
  baselines       the paper's two baseline GPU algorithms against cupc-e and cupc-s
  configurations  heat maps over (beta, gamma) and (theta, delta)
  gpu-peers       gpucsl and cuPC's library beside the GPU table, which --out must hold
  scaling         the paper's sweeps over p, n and density, two generators, ten graphs each
  scaling-large   schur up to p = 20,000
  sharing         how many rows share a conditioning set of level 2 (no GPU)
  accuracy        TDR and SHD against the true CPDAG (no GPU)
  gpu-all         gpu, baselines, configurations, scaling-large, scaling within --deadline seconds
  cpu-all         cpu, sharing, accuracy; with --quick in minutes on 2 cores
  merge           add the raw files of the folders --add, of parts run side by side, to those in --out
  prepare         copy what gpu-all needs into --carry, to take it to another machine
  report          tables, figures and BENCHMARKS.md from the raw files in --out
"""

#: Experiments that can add to a recorded result; gpu-peers does nothing else, gpu keeps the peers' runs only.
RESUMABLE = ("cpu", "gpu", "configurations", "scaling", "gpu-peers")


def main(argv: list[str] | None = None) -> int:
    """Run one experiment."""
    args = parse(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    if args.experiment == "prepare":
        from .workloads import pack

        pack(args.data, args.carry)
        (args.carry / "commit").write_text(record.commit(args.data) + "\n")
        return 0
    if args.experiment == "merge":
        for folder in args.add:
            record.merge(args.out, folder)
        return 0
    if args.experiment == "report":
        from .report import write_all

        write_all(args.out)
        return 0
    from .experiments import cpu, gpu, in_r, scaling, small

    if args.install_peers or args.cache is not None:
        from . import peers

        args.peer_python = peers.environment(args.cache or record.ROOT / ".benchmark-cache", not args.install_peers)
    menu = {"cpu": [cpu.run], "r": [in_r.run], "sharing": [small.sharing], "accuracy": [small.accuracy]}
    menu["cpu-all"] = [small.sharing, small.accuracy, cpu.run]
    if args.experiment in menu:
        for experiment in menu[args.experiment]:
            experiment(args)
        return 0
    if args.experiment == "gpu-all":
        scaling.run_all(args)
        return 0
    clock = gpu.Clock(args.deadline)
    {
        "gpu": gpu.table,
        "baselines": gpu.baselines,
        "configurations": gpu.configurations,
        "scaling": scaling.scaling,
        "scaling-large": scaling.scaling_large,
        "gpu-peers": gpu.gpu_peers,
    }[args.experiment](args, clock)
    if args.experiment == "gpu":
        gpu.heavy(args, clock)
    return 0


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line; `command` of the result is what the raw file records."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        epilog=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [line.split()[0] for line in ABOUT.splitlines()[1:]]
    parser.add_argument("experiment", choices=names, metavar="EXPERIMENT", help="one of the list below")
    parser.add_argument("--quick", action="store_true", help="small problems: minutes on 2 cores, figures to look at")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="data sets (%(default)s)")
    parser.add_argument("--out", type=Path, default=record.RESULTS, help="folder of the raw results (results/ here)")
    resume = "add what the raw file in --out lacks, keep what it has; gpu keeps the peers' runs only"
    parser.add_argument("--resume", action="store_true", help=resume)
    parser.add_argument("--sets", nargs="+", help="these sets only; std_P_DEGREE_N, paper_P_DENSITY_N: generated")
    parser.add_argument(
        "--engines", nargs="+", help="of cpu, reference, stable, stable.fast (cpu); of gpu, cupc-e, cupc-s (others)"
    )
    parser.add_argument("--threads", type=int, help="for cpu and stable.fast (all cores)")
    parser.add_argument("--limit", type=float, help="seconds after which a run is given up (cpu 600, scaling 10)")
    parser.add_argument("--deadline", type=float, default=540, help="seconds for a whole GPU call (%(default)g)")
    parser.add_argument("--cache", type=Path, help="folder in which the environment of the Python peers is, or is made")
    parser.add_argument("--install-peers", action="store_true", help="make that environment from PyPI if needed")
    parser.add_argument("--openmp-pcalg", type=Path, help="R library that holds a pcalg built with -fopenmp")
    parser.add_argument("--peer-path", type=Path, help="folder to import gpucsl from")
    parser.add_argument("--cupc-library", type=Path, help="shared library with cuPC's C entry point")
    parser.add_argument(
        "--generators",
        nargs="+",
        default=["paper", "standardised"],
        choices=("paper", "standardised"),
        help="of the scaling experiment",
    )
    parser.add_argument("--sweeps", nargs="+", default=["p", "n", "d"], choices=("p", "n", "d"), help="likewise")
    parser.add_argument("--graphs", type=int, help="random graphs a point, likewise (10)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first of them (%(default)s)")
    parser.add_argument("--variables", type=int, nargs="+", help="points with so many variables only, likewise")
    parser.add_argument("--add", type=Path, nargs="+", default=[], help="folders of raw files, for merge")
    parser.add_argument("--carry", type=Path, default=Path(".carry"), help="folder that `prepare` fills (%(default)s)")
    args = parser.parse_args(argv)
    if args.resume and args.experiment not in RESUMABLE:
        parser.error(f"--resume is for {', '.join(RESUMABLE)}, got {args.experiment}")
    if args.experiment == "gpu-peers" and not (args.peer_path or args.cupc_library):
        parser.error("gpu-peers needs --peer-path, --cupc-library or both")
    if args.experiment == "merge" and not args.add:
        parser.error("merge needs --add FOLDER [FOLDER ...]")
    words = sys.argv[1:] if argv is None else argv
    args.command = shlex.join(["python", "-m", "tests.benchmarks", *(_plain(word) for word in words)])
    args.peer_python = None
    return args


def _plain(word: str) -> str:
    """A path as seen from the checkout; one that lies far away says nothing elsewhere but by its last part."""
    if not os.path.isabs(word):
        return word
    path = os.path.relpath(word, record.ROOT)
    return os.path.basename(word) if path.startswith(os.path.join("..", "..")) else path


if __name__ == "__main__":
    sys.exit(main())
