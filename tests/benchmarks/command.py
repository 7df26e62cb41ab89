"""The command line, and the experiments by name."""

import argparse
import os
import shlex
import sys
from pathlib import Path

from . import networks, paired, record, report, workloads
from .experiments import cpu, discrete, gpu, latent, pruning, ranking, scaling, stability

#: Each writes the CSV file of its name; the first line of its docstring is its text in the help.
FUNCTIONS = (cpu.cpu, cpu.python_peers, gpu.gpu, gpu.gpu_peers, pruning.pruning, pruning.pruning_gpu)
FUNCTIONS += (scaling.scaling, scaling.scaling_large, scaling.many, discrete.discrete, discrete.discrete_gpu)
FUNCTIONS += (latent.latent, stability.stability_bounds, stability.stability_times, stability.stability_gpu)
FUNCTIONS += (paired.paired, ranking.cstar_ranking)
EXPERIMENTS = {function.__name__.replace("_", "-"): function for function in FUNCTIONS}
OTHERS = {
    "prepare": "put files that another machine cannot make into --data: exact correlations, discrete tables",
    "report": "the tables of BENCHMARKS.md and README.md, and their pictures, from the results in results/",
}


def main(argv=None):
    """Run one experiment; 1 if an answer was wrong."""
    args = parse(argv)
    if args.experiment == "prepare":
        workloads.prepare(args.data)
        networks.prepare(args.data, args.peer_python)
    elif args.experiment == "report":
        report.write_all(args.out)
    else:
        return measure(args)
    return 0


def measure(args):
    """Run an experiment and write each line at once; 1 if a line says that an answer differs."""
    results = record.Results(args.experiment, args.out, args.command, args.resume)
    args.where = results.where
    args.has = lambda **facts: args.resume and bool(results.where(**facts))
    for line in EXPERIMENTS[args.experiment](args):
        results.add(line)
        if "level" not in line:
            facts = " ".join(str(line[name]) for name in (*record.PROBLEM, *record.PROGRAM) if name in line)
            record.progress(f"{facts}: {brief(line)}")
    lines = results.where()
    if not lines:
        raise SystemExit(f"{args.experiment}: nothing could be run")
    if args.experiment == "paired":
        print(paired.text(lines))
    return int(any("differs" in line for line in lines))


def brief(line):
    """A measurement in one line of progress."""
    if "seconds" in line and not line.get("differs"):
        return f"{line['seconds']:.4g} s"
    words = (f"{name} {line[name]}" for name in ("outcome", "limit", "estimate", "why", "differs") if line.get(name))
    return ", ".join(words) or "done"


def parse(argv):
    """Parse the command line; `command` of the result is the text that calls.csv records."""
    about = {name: function.__doc__.splitlines()[0] for name, function in EXPERIMENTS.items()} | OTHERS
    parser = argparse.ArgumentParser(
        prog="python tests/benchmarks",
        description=sys.modules[str(__package__)].__doc__,
        epilog="experiments\n" + "\n".join(f"  {name:<20}{text}" for name, text in about.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("experiment", choices=about, metavar="EXPERIMENT", help="one of the list below")
    add("checkout", nargs="?", type=Path, metavar="CHECKOUT", help="paired: the other checkout")
    add("--data", type=Path, default=Path("../shared/data"), help="folder of the data (%(default)s)")
    add("--out", type=Path, help="folder of the results (results/ here; paired: none)")
    add("--resume", action="store_true", help="keep the results in --out; the runs that they hold are not repeated")
    add("--sets", nargs="+", help="these data sets only; std_P_DEGREE_N, paper_P_DENSITY_N: generated")
    add("--engines", nargs="+", help="these engines or other implementations only")
    add("--threads", type=int, default=record.cores(), help="threads of cpu and stable.fast (all cores)")
    add("--limit", type=float, help="time limit of one run in seconds (cpu, discrete 600; gpu 60; scaling 10)")
    add("--calls", nargs="+", choices=paired.CALLS, help="paired: the calls (all)")
    add("--budget", type=float, default=10, help="paired: seconds per data set, engine and call (%(default)g)")
    add("--generators", nargs="+", choices=scaling.GENERATORS, help="scaling: generators of the graphs (both)")
    add("--seeds", type=int, nargs="+", default=range(10), help="scaling: seeds of the random graphs (0 to 9)")
    add("--variables", type=int, nargs="+", help="scaling: only points with these numbers of variables")
    add("--peer-python", type=Path, help="a Python that has causal-learn and pgmpy")
    add("--openmp-pcalg", type=Path, help="R library that holds a pcalg built with -fopenmp")
    add("--cupc-library", type=Path, help="shared library with cuPC's C entry point")
    args = parser.parse_args(argv)
    needed = {"paired": "checkout", "gpu-peers": "cupc_library"}.get(args.experiment)
    if needed and getattr(args, needed) is None:
        parser.error(f"{args.experiment} needs {needed.upper()}")
    args.out = args.out or (None if args.experiment == "paired" else record.RESULTS)
    words = sys.argv[1:] if argv is None else argv
    args.command = shlex.join(["python", "tests/benchmarks", *map(_portable, words)])
    return args


def _portable(word):
    """A path relative to the checkout; of one that lies far away only the last part, which alone means something."""
    if not os.path.isabs(word):
        return word
    path = os.path.relpath(word, record.ROOT)
    return os.path.basename(word) if path.startswith(os.path.join("..", "..")) else path
