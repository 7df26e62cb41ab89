"""The command line: ``python -m tests.benchmarks EXPERIMENT``, or ``python tests/benchmarks EXPERIMENT``."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if not __package__:  # python tests/benchmarks: where another installed package is called "tests"
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    sys.path.insert(1, str(Path(__file__).resolve().parents[2]))
    __package__, __spec__ = "benchmarks", None

from . import networks, peers, record, workloads

ABOUT = """experiments
  cpu             Table 2 of the cuPC paper: cpu and reference engines, live pcalg, Python peers; time and memory
  r               whole calls in R: cu_pc() beside pcalg::pc() (no GPU)
  gpu             the engines gpu, cupc-e and cupc-s on every data set, split into transfer, levels, orientation
  baselines       the cuPC paper's two baseline GPU algorithms beside cupc-e and cupc-s
  configurations  heat maps over (beta, gamma) of cupc-e and (theta, delta) of cupc-s
  gpu-peers       gpucsl and cuPC's library, added to the results of "gpu" in --out
  scaling         the cuPC paper's sweeps over p, n and density: two generators, ten graphs per point
  scaling-large   the engine gpu up to p = 20,000
  sharing         how many rows share a conditioning set of level 2 (no GPU)
  accuracy        TDR and SHD relative to the true CPDAG (no GPU)
  pruning         the cpu engine with and without pruning: tests made, times, the picture of tests/PRUNING.md
  pruning-gpu     the gpu engine with and without pruning, where that takes it seconds to hours
  gpu-all         gpu, baselines, configurations, scaling-large, scaling, as far as --deadline allows
  cpu-all         sharing, accuracy, cpu; with --quick in minutes on 2 cores
  discrete        discrete data sampled from networks of pgmpy: cpu engine, pcalg, bnlearn, pgmpy, causal-learn (no GPU)
  discrete-gpu    the gpu engine on the tables of discrete data that prepare made
  stability       stable edges against single runs and bounds, on known graphs; times beside pcalg, causal-learn, pgmpy
  stability-gpu   100 bootstrap resamples of real data on the gpu engine
  stability-cluster  1,000 of them on Dask workers, one per GPU, as many as --workers says (1 2 4)
  paired          this checkout and the other one at CHECKOUT in turns: equal answers? time and memory, new / old
  call            whole calls from data and from C to skeleton and CPDAG, this checkout and the other one in turns
  merge           add the raw files of the folders --add, from parts run side by side, to those in --out
  prepare         copy what the GPU experiments need into --carry, to take it to another machine
  report          tables, pictures and BENCHMARKS.md from the raw files in --out
"""

#: Experiments that can add to a recorded result; gpu-peers always does, gpu keeps only the runs of the peers.
RESUMABLE = ("cpu", "gpu", "configurations", "scaling", "gpu-peers", "discrete", "discrete-gpu", "stability")


def main(argv: list[str] | None = None) -> int:
    """Run one experiment."""
    args = parse(argv)
    if args.experiment == "paired":
        from . import paired

        return paired.run(args)
    args.out = args.out or record.RESULTS
    args.out.mkdir(parents=True, exist_ok=True)
    if args.install_peers or args.cache is not None:
        args.peer_python = peers.environment(args.cache or record.ROOT / ".benchmark-cache", not args.install_peers)
    if args.experiment == "prepare":
        workloads.pack(args.data, args.carry)
        networks.pack(args)
        (args.carry / "commit").write_text(record.commit(args.data) + "\n")
    elif args.experiment == "merge":
        for folder in args.add:
            record.merge(args.out, folder)
    elif args.experiment == "report":
        from . import report

        report.write_all(args.out)
    else:
        _measure(args)
    return 0


def _measure(args: argparse.Namespace) -> None:
    """Run an experiment that records a raw file."""
    from .experiments import (
        call,
        cpu,
        discrete,
        gpu,
        in_r,
        pruning,
        scaling,
        small,
        stability,
        stability_cluster,
        stability_times,
    )

    on_cpu = {"cpu": [cpu.run], "r": [in_r.run], "sharing": [small.sharing], "accuracy": [small.accuracy]}
    on_cpu["pruning"] = [pruning.pruning]
    on_cpu["call"] = [call.call]
    on_cpu["discrete"] = [discrete.discrete]
    on_cpu["stability"] = [stability.stability]
    on_cpu["cpu-all"] = [small.sharing, small.accuracy, cpu.run]
    for experiment in on_cpu.get(args.experiment, []):
        experiment(args)
    deadline = gpu.Deadline(args.deadline)
    on_gpu: dict[str, list[Callable[[Any, gpu.Deadline], None]]] = {
        "gpu": [gpu.table, gpu.heavy],
        "baselines": [gpu.baselines],
        "configurations": [gpu.configurations],
        "scaling": [scaling.scaling],
        "scaling-large": [scaling.scaling_large],
        "gpu-peers": [gpu.gpu_peers],
        "discrete-gpu": [discrete.discrete_gpu],
        "pruning-gpu": [lambda args, deadline: pruning.pruning_gpu(args)],
        "stability-gpu": [stability_times.stability_gpu],
        "stability-cluster": [stability_cluster.stability_cluster],
        "gpu-all": [scaling.run_all],
    }
    for timed in on_gpu.get(args.experiment, []):
        timed(args, deadline)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Parse the command line; `command` of the result is what the raw file records."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=sys.modules[str(__package__)].__doc__,
        epilog=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [line.split()[0] for line in ABOUT.splitlines()[1:]]
    parser.add_argument("experiment", choices=names, metavar="EXPERIMENT", help="one of the list below")
    parser.add_argument("checkout", nargs="?", type=Path, metavar="CHECKOUT", help="the other one, for paired and call")
    _add_common(parser)
    _add_special(parser)
    args = parser.parse_args(argv)
    if args.resume and args.experiment not in RESUMABLE:
        parser.error(f"--resume is for {', '.join(RESUMABLE)}, got {args.experiment}")
    if args.experiment == "gpu-peers" and not (args.peer_path or args.cupc_library):
        parser.error("gpu-peers needs --peer-path, --cupc-library or both")
    if args.experiment == "merge" and not args.add:
        parser.error("merge needs --add FOLDER [FOLDER ...]")
    if (args.experiment in ("paired", "call")) != (args.checkout is not None):
        parser.error("paired and call need CHECKOUT, the folder of the other one; the other experiments take none")
    if args.deadline is None:
        args.deadline = float("inf") if args.experiment == "paired" else 540.0
    words = sys.argv[1:] if argv is None else argv
    args.command = shlex.join(["python", "-m", "tests.benchmarks", *(_portable(word) for word in words)])
    args.peer_python = None
    return args


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Arguments of several experiments."""
    parser.add_argument("--quick", action="store_true", help="small problems, which take minutes on 2 cores")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the data (%(default)s)")
    parser.add_argument("--out", type=Path, help="folder of the raw results (results/ here; paired: none)")
    resume = "add what the raw file in --out lacks, keep what it has; gpu keeps the peers' runs only"
    parser.add_argument("--resume", action="store_true", help=resume)
    parser.add_argument("--sets", nargs="+", help="these data sets only; std_P_DEGREE_N, paper_P_DENSITY_N: generated")
    known = "cpu: of cpu, reference, stable, stable.fast, ParallelPC; "
    known += "r: of cu_pc, pc; GPU experiments: of gpu, cupc-e, cupc-s; discrete: peers; paired: of pycupc's"
    parser.add_argument("--engines", nargs="+", help=known)
    alphas = {"type": float, "nargs": "+", "default": list(networks.ALPHAS)}
    parser.add_argument("--alphas", **alphas, help="discrete: levels of significance (0.05 0.01)")
    parser.add_argument("--threads", type=int, help="threads of cpu and stable.fast (all cores)")
    parser.add_argument("--limit", type=float, help="time limit of one run in seconds (cpu, discrete 600; scaling 10)")
    parser.add_argument("--deadline", type=float, help="seconds for a whole GPU experiment (540) or paired (no end)")


def _add_special(parser: argparse.ArgumentParser) -> None:
    """Arguments of single experiments."""
    group = parser.add_argument_group("paired and call")
    group.add_argument("--call", choices=("skeleton", "pc"), default="skeleton", help="what is timed (%(default)s)")
    group.add_argument("--pairs", type=int, default=3, help="turns of both checkouts, at least (%(default)s)")
    group.add_argument("--budget", type=float, default=10, help="seconds per data set and engine (%(default)g)")
    group = parser.add_argument_group("scaling")
    kinds = ["paper", "standardised"]
    group.add_argument("--generators", nargs="+", default=kinds, choices=kinds, help="generators of the graphs (both)")
    group.add_argument("--sweeps", nargs="+", default=["p", "n", "d"], choices=("p", "n", "d"), help="sweeps (all)")
    group.add_argument("--graphs", type=int, help="random graphs per point (10)")
    group.add_argument("--first", type=int, default=0, help="seed of the first random graph (%(default)s)")
    group.add_argument("--variables", type=int, nargs="+", help="only points with these numbers of variables")
    group = parser.add_argument_group("stability")
    parts = ("accuracy", "bounds", "examples", "times")
    group.add_argument("--parts", nargs="+", choices=parts, help="parts; with --resume the others are kept (all)")
    workers = {"type": int, "nargs": "+", "default": [1, 2, 4], "metavar": "N"}
    group.add_argument("--workers", **workers, help="numbers of Dask workers, at most the GPUs (1 2 4)")
    group = parser.add_argument_group("other implementations")
    group.add_argument("--cache", type=Path, help="folder of the environment with the Python peers")
    group.add_argument("--install-peers", action="store_true", help="make that environment from PyPI if needed")
    group.add_argument("--openmp-pcalg", type=Path, help="R library that holds a pcalg built with -fopenmp")
    group.add_argument("--peer-path", type=Path, help="folder from which gpucsl is imported")
    group.add_argument("--cupc-library", type=Path, help="shared library with cuPC's C entry point")
    group = parser.add_argument_group("merge and prepare")
    group.add_argument("--add", type=Path, nargs="+", default=[], help="folders of raw files to be merged into --out")
    group.add_argument("--carry", type=Path, default=Path(".carry"), help="folder that prepare fills (%(default)s)")


def _portable(word: str) -> str:
    """A path relative to the checkout; of one that lies far away only the last part, which alone means something."""
    if not os.path.isabs(word):
        return word
    path = os.path.relpath(word, record.ROOT)
    return os.path.basename(word) if path.startswith(os.path.join("..", "..")) else path


if __name__ == "__main__":
    sys.exit(main())
