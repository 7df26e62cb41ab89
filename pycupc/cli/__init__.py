"""The command ``pycupc``: run, estimate, doctor, compare.

Exit codes: 0 done, 1 results differ (compare), 2 wrong usage, 3 something wrong with the data, 4 no device, driver or
memory for what was asked, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from pycupc.cli import estimate, run
from pycupc.cli.folder import FolderExists

OK, DIFFERS, USAGE, DATA, DEVICE, INTERRUPTED = 0, 1, 2, 3, 4, 130

_DESCRIPTION = """\
The PC algorithm: from data to a causal graph (CPDAG), with exactly the answer of R's
pcalg::pc(skel.method = "stable"), on a CPU or a GPU.

    pycupc run --example                    the main job on the example data that comes with pycupc
    pycupc run data.csv --alpha 0.01        the same on your data; results in the folder data-pycupc
    pycupc estimate data.csv                how many tests and how much memory, level by level
    pycupc doctor                           what works on this machine, and why not what does not
    pycupc compare A B                      where two results part, and at which test it began
"""

_COMPARE = """\
Two results side by side: what differs, and the first test, triple or rule at which they parted. A and B are folders
that 'pycupc run' wrote, files that PcAlgo.save wrote, or methods, which are run on the data. Exit code 0 if the two are
equal, 1 if they differ.
"""

_EPILOG = """\
exit codes: 0 done, 1 the results differ (compare), 2 wrong usage, 3 wrong data,
4 no device or memory for what was asked, 130 interrupted.
'pycupc COMMAND --help' describes a command.
"""


def build_parser() -> argparse.ArgumentParser:
    """The whole command line. The arguments of ``compare`` are added when it is used, since they cost an import."""
    parser = argparse.ArgumentParser(
        prog="pycupc", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    run.add_parser(commands)
    estimate.add_parser(commands)
    doctor = commands.add_parser(
        "doctor",
        help="what is installed, which engines work, and why not the others",
        description="Look at this machine: system, packages, GPU, R; and run a tiny problem on each engine.",
    )
    doctor.add_argument("--json", action="store_true", help="print JSON instead of text")
    doctor.add_argument("--no-engines", action="store_true", help="do not run the engines (the first run compiles)")
    doctor.add_argument("--no-r", action="store_true", help="do not start R")
    doctor.set_defaults(main=_doctor)
    commands.add_parser("compare", help="two results side by side: what differs and where it began", add_help=False)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; ``sys.argv[1:]`` by default.

    Returns
    -------
    int
        The exit code.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        return _guarded(_dispatch, argv)
    except SystemExit as stop:  # argparse: help and wrong usage
        return stop.code if isinstance(stop.code, int) else USAGE


def _dispatch(argv: list[str]) -> int:
    parser = build_parser()
    if argv[:1] == ["compare"]:
        from pycupc.cli import compare

        parser = argparse.ArgumentParser(prog="pycupc compare", description=_COMPARE)
        compare.add_arguments(parser)
        args = parser.parse_args(argv[1:])
        args.a, args.b = _result_file(args.a), _result_file(args.b)
        return compare.main(args)
    args = parser.parse_args(argv)
    if args.version:
        from pycupc.cli.doctor import version_of

        print(f"pycupc {version_of('pycupc') or '(checkout)'}")
        return OK
    if args.command is None:
        parser.print_help()
        return USAGE
    return args.main(args)


def _result_file(source: str) -> str:
    """The result in a folder that ``run`` wrote; anything else as it is."""
    inside = os.path.join(source, "result.npz")
    return inside if os.path.isfile(inside) else source


def _guarded(call: Any, *args: Any) -> int:
    """Turn what can go wrong into a message and an exit code; what should not go wrong keeps its traceback."""
    from pycupc.engines.base import EngineError

    previous = _terminate_like_interrupt()
    try:
        return call(*args)
    except KeyboardInterrupt as stop:
        return _fail(INTERRUPTED, str(stop) or "interrupted; nothing was written")
    except BrokenPipeError:  # the reader of our output has gone, say `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except EngineError as error:
        return _fail(DEVICE, str(error))
    except MemoryError as error:
        return _fail(DEVICE, f"out of memory{f': {error}' if str(error) else ''}. Try 'pycupc estimate' on these data")
    except ImportError as error:  # an optional package that an argument asked for
        return _fail(DEVICE, str(error))
    except FolderExists as error:
        return _fail(USAGE, str(error))
    except (ValueError, OSError) as error:
        return _fail(DATA, str(error))
    finally:
        if previous is not None:
            signal.signal(signal.SIGTERM, previous)


def _fail(code: int, text: str) -> int:
    print(f"pycupc: {text}", file=sys.stderr)
    return code


def _terminate_like_interrupt() -> Any:
    """Let SIGTERM end a run as Ctrl-C does, so that no half-written folder stays behind. Main thread only."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    try:
        return signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread
        return None


def _doctor(args: argparse.Namespace) -> int:
    import json

    from pycupc.cli import doctor

    found = doctor.examine(engines=not args.no_engines, r=not args.no_r)
    print(json.dumps(found, indent=1) if args.json else doctor.report(found))
    works = [engine["works"] for name, engine in found["engines"].items() if name in ("reference", "cpu")]
    return OK if all(works) else DEVICE
