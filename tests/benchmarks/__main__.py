"""The command line: ``python -m tests.benchmarks EXPERIMENT``, or ``python tests/benchmarks EXPERIMENT``."""

import argparse
import os
import shlex
import sys
from pathlib import Path

if not __package__:  # python tests/benchmarks: where another installed package is called "tests"
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    sys.path.insert(1, str(Path(__file__).resolve().parents[2]))
    __package__, __spec__ = "benchmarks", None

from . import networks, paired, peers, record, report, workloads
from .experiments import answers, cpu, discrete, gpu, pruning, scaling, stability

#: Experiments without a GPU, those with one and a deadline, and what both are about.
ON_CPU = {
    "cpu": (cpu.cpu, "Table 2 of the cuPC paper: engines cpu and reference, live pcalg, ParallelPC; time and memory"),
    "python-peers": (cpu.python_peers, "causal-learn and pgmpy on small data sets"),
    "r": (cpu.in_r, "whole calls in R: cu_pc() beside pcalg::pc()"),
    "sharing": (answers.sharing, "how many rows share a conditioning set of level 2"),
    "accuracy": (answers.accuracy, "TDR and SHD relative to the true CPDAG"),
    "pruning": (pruning.pruning, "the cpu engine with and without pruning: tests made, times"),
    "pruning-gpu": (pruning.pruning_gpu, "the gpu engine with and without pruning, where that takes seconds to hours"),
    "discrete": (discrete.discrete, "discrete data: cpu engine, pcalg, bnlearn, pgmpy, causal-learn"),
    "stability": (stability.stability, "stable edges against single runs and bounds; times beside other packages"),
}
ON_GPU = {
    "gpu": (gpu.gpu, "the engines gpu, cupc-e and cupc-s on every data set, part by part and level by level"),
    "gpu-peers": (gpu.gpu_peers, 'gpucsl and cuPC\'s library, added to the results of "gpu" in --out'),
    "configurations": (gpu.configurations, "(beta, gamma) of cupc-e and (theta, delta) of cupc-s"),
    "scaling": (scaling.scaling, "the cuPC paper's sweeps over p, n and density: two generators, ten graphs per point"),
    "scaling-large": (scaling.scaling_large, "the engine gpu up to p = 20,000"),
    "discrete-gpu": (discrete.discrete_gpu, "the gpu engine on the tables of discrete data that prepare made"),
    "stability-gpu": (stability.stability_gpu, "100 bootstrap resamples of real data on the gpu engine"),
    "stability-cluster": (stability.stability_cluster, "1,000 of them on Dask workers, one per GPU (--workers 1 2 4)"),
}
OTHERS = {
    "paired": "this checkout and the other one at CHECKOUT in turns: equal answers? time and memory, new / old",
    "call": "the same for whole calls from C and from data, to the skeleton and to the CPDAG",
    "merge": "add the results in the folders --add, from parts run side by side, to those in --out",
    "prepare": "copy what the GPU experiments need into --carry, to take it to another machine",
    "report": "the tables of BENCHMARKS.md and README.md, and their pictures, from the results in results/",
}


def main(argv=None):
    """Run one experiment; 1 if the answers of two checkouts differ."""
    args = parse(argv)
    if args.experiment in ("paired", "call"):
        args.out = args.out or (record.RESULTS if args.experiment == "call" else None)
        return paired.run(args)
    args.out = args.out or record.RESULTS
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
        report.write_all(args.out)
    elif args.experiment in ON_CPU:
        ON_CPU[args.experiment][0](args)
    else:
        ON_GPU[args.experiment][0](args, gpu.Deadline(args.deadline))
    return 0


def parse(argv):
    """Parse the command line; `command` of the result is what calls.csv records."""
    about = {name: text for name, (_, text) in (ON_CPU | ON_GPU).items()} | OTHERS
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=sys.modules[str(__package__)].__doc__,
        epilog="experiments\n" + "\n".join(f"  {name:<18}{text}" for name, text in about.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("experiment", choices=about, metavar="EXPERIMENT", help="one of the list below")
    parser.add_argument("checkout", nargs="?", type=Path, metavar="CHECKOUT", help="the other one, for paired and call")
    _add_common(parser)
    _add_special(parser)
    args = parser.parse_args(argv)
    if args.experiment == "gpu-peers" and not (args.peer_path or args.cupc_library):
        parser.error("gpu-peers needs --peer-path, --cupc-library or both")
    if args.experiment == "merge" and not args.add:
        parser.error("merge needs --add FOLDER [FOLDER ...]")
    if (args.experiment in ("paired", "call")) != (args.checkout is not None):
        parser.error("paired and call need CHECKOUT, the folder of the other one; the other experiments take none")
    if args.deadline is None:
        args.deadline = float("inf") if args.experiment == "paired" else 540.0
    words = sys.argv[1:] if argv is None else argv
    args.command = shlex.join(["python", "-m", "tests.benchmarks", *map(_portable, words)])
    args.peer_python = None
    return args


def _add_common(parser):
    """Arguments of several experiments."""
    add = parser.add_argument
    add("--quick", action="store_true", help="small problems, which take minutes on 2 cores")
    add("--data", type=Path, default=Path("../shared/data"), help="folder of the data (%(default)s)")
    add("--out", type=Path, help="folder of the results (results/ here; paired: none)")
    add("--resume", action="store_true", help="keep the results in --out and add to them; gpu keeps the peers' only")
    add("--sets", nargs="+", help="these data sets only; std_P_DEGREE_N, paper_P_DENSITY_N: generated")
    add("--engines", nargs="+", help="these engines or other implementations only")
    alphas = {"type": float, "nargs": "+", "default": list(networks.ALPHAS)}
    add("--alphas", **alphas, help="discrete: levels of significance (0.05 0.01)")
    add("--threads", type=int, help="threads of cpu and stable.fast (all cores)")
    add("--limit", type=float, help="time limit of one run in seconds (cpu, discrete 600; scaling 10)")
    add("--deadline", type=float, help="seconds for a whole GPU experiment (540) or paired (no end)")


def _add_special(parser):
    """Arguments of single experiments."""
    add = parser.add_argument_group("paired and call").add_argument
    add("--call", choices=paired.CALLS, default=paired.CALLS[0], help="what paired times (%(default)s)")
    add("--pairs", type=int, default=3, help="turns of both checkouts, at least (%(default)s)")
    add("--budget", type=float, default=10, help="seconds per data set and engine (%(default)g)")
    add = parser.add_argument_group("scaling").add_argument
    kinds = ["paper", "standardised"]
    add("--generators", nargs="+", default=kinds, choices=kinds, help="generators of the graphs (both)")
    add("--sweeps", nargs="+", default=["p", "n", "d"], choices=("p", "n", "d"), help="sweeps (all)")
    add("--graphs", type=int, help="random graphs per point (10)")
    add("--first", type=int, default=0, help="seed of the first random graph (%(default)s)")
    add("--variables", type=int, nargs="+", help="only points with these numbers of variables")
    add = parser.add_argument_group("stability").add_argument
    add("--parts", nargs="+", choices=("accuracy", "bounds", "examples", "times", "peers"), help="parts (all)")
    workers = {"type": int, "nargs": "+", "default": [1, 2, 4], "metavar": "N"}
    add("--workers", **workers, help="numbers of Dask workers, at most the GPUs (1 2 4)")
    add = parser.add_argument_group("other implementations").add_argument
    add("--cache", type=Path, help="folder of the environment with the Python peers")
    add("--install-peers", action="store_true", help="make that environment from PyPI if needed")
    add("--openmp-pcalg", type=Path, help="R library that holds a pcalg built with -fopenmp")
    add("--peer-path", type=Path, help="folder from which gpucsl is imported")
    add("--cupc-library", type=Path, help="shared library with cuPC's C entry point")
    add = parser.add_argument_group("merge and prepare").add_argument
    add("--add", type=Path, nargs="+", default=[], help="folders of results to be merged into --out")
    add("--carry", type=Path, default=Path(".carry"), help="folder that prepare fills (%(default)s)")


def _portable(word):
    """A path relative to the checkout; of one that lies far away only the last part, which alone means something."""
    if not os.path.isabs(word):
        return word
    path = os.path.relpath(word, record.ROOT)
    return os.path.basename(word) if path.startswith(os.path.join("..", "..")) else path


if __name__ == "__main__":
    sys.exit(main())
