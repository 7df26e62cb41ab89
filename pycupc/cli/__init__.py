"""The command ``pycupc``: run, plot, stability, cstar, estimate, compare, doctor; one module NAME_command per command.

inputs.py, output.py  arguments about data and tests, and about results; reading the data
writing.py            the files of results and the manifest
folder.py             the folder of results, which exists completely or not at all
interrupts.py         Ctrl-C, and warnings

The module of a command is imported when the command is given: help and version need neither NumPy nor Numba.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module

from pycupc.cli.interrupts import interrupting
from pycupc.cli.output import (
    COMMANDS,
    DATA,
    DEVICE,
    DIFFERS,
    INTERRUPTED,
    OK,
    USAGE,
    FolderError,
    NoRoomError,
    discard_output,
    with_each_format,
)
from pycupc.system.files import NO_ROOM
from pycupc.system.garbage import no_collection
from pycupc.system.limits import EngineError, NoThreadError, left_of_address_space
from pycupc.system.localised_message import on_the_command_line
from pycupc.system.nearest import did_you_mean
from pycupc.system.version import __version__

__all__ = ["DATA", "DEVICE", "DIFFERS", "INTERRUPTED", "OK", "USAGE", "build_parser", "main"]

#: Bytes of addresses that NumPy, SciPy, Numba and LLVM take when they are loaded; they fail in many ways without.
_FOR_LIBRARIES = 350e6
#: The same with the libraries of pictures, without which `plot` has nothing to do; OpenBLAS may wait for ever below.
_FOR_PICTURES = 650e6
#: Bytes of addresses that the largest of these libraries takes.
_FOR_A_LIBRARY = 200e6

_DESCRIPTION = """\
The PC algorithm: from data to a causal graph (CPDAG), with exactly the answer of R's
pcalg::pc(skel.method = "stable"), on a CPU or a GPU.

    pycupc run --example                    analyse the example data that come with pycupc
    pycupc run data.csv --alpha 0.01        analyse your data; results in the folder data-pycupc
"""

_EPILOG = """\
exit codes: 0 done, 1 the results differ (compare), 2 wrong usage, 3 wrong data,
4 no device, memory or disk space for what was requested, 130 interrupted.
'pycupc COMMAND --help' describes a command.
"""


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """The parser of the command line, which knows the arguments of this command only."""
    parser = argparse.ArgumentParser(
        prog="pycupc", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"pycupc {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in COMMANDS.items():
        if name == command:
            with no_collection():
                module = import_module(f"pycupc.cli.{name}_command")
            module.add_parser(commands)
        else:
            commands.add_parser(name, help=summary)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. `argv` has no program name and is ``sys.argv[1:]`` by default."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started the command (2>&-), or no console on Windows
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - until the process ends
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of variables and files that the encoding of the output lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = with_each_format(sys.argv[1:] if argv is None else argv)
    command = next((word for word in arguments if not word.startswith("-")), None)
    need = _FOR_PICTURES if command == "plot" else _FOR_LIBRARIES
    if command is not None and (left := left_of_address_space()) < need:
        text = f"{left / 1e6:.0f} MB are left of the limit on memory (ulimit -v); the libraries need {need / 1e6:.0f}"
        return _fail(DEVICE, text)
    try:
        parser = build_parser(command)
        if command is not None and command not in COMMANDS:
            parser.error(_no_command(command, arguments))
        args, unknown = parser.parse_known_args(arguments)
        if unknown:
            _refuse(unknown, getattr(args, "parser", parser))
        if args.command is None:
            parser.print_help()
            return USAGE
        return _run_command(args)
    except SystemExit as stop:  # argparse: help, version and wrong usage
        return stop.code if isinstance(stop.code, int) else USAGE
    except (ImportError, MemoryError) as error:  # of the libraries that a command loads
        return _fail(DEVICE, _without_room(error) or str(error))


def _no_command(word: str, arguments: Sequence[str]) -> str:
    """What to say of a first word that is no command."""
    if command := next((name for name in arguments if name in COMMANDS), None):
        return f"the command comes first: pycupc {command} {arguments[0]} ..."
    if os.path.exists(word) or os.path.splitext(word)[1]:
        return f"{word} is no command; to analyse a file: pycupc run {shlex.join(arguments)}"
    there = f"; there are {', '.join(COMMANDS)}"
    return f"there is no command {word}{did_you_mean(word, COMMANDS) or there}"


def _refuse(unknown: Sequence[str], parser: argparse.ArgumentParser) -> None:
    """Exit with a usage error about arguments that the parser of a command does not know."""
    option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
    if option is None:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}; see {parser.prog} --help")
    options = [name for name in parser._option_string_actions if name.startswith("--")]
    parser.error(f"there is no option {option}{did_you_mean(option, options) or f'; see {parser.prog} --help'}")


def _run_command(args: argparse.Namespace) -> int:
    """Run a command; errors of the user or of the machine become a message and an exit code, bugs keep a traceback."""
    try:
        with interrupting(), on_the_command_line():
            code = int(args.main(args))
            sys.stdout.flush()
            return code
    except KeyboardInterrupt as interrupt:
        return _fail(INTERRUPTED, str(interrupt) or "interrupted; nothing was written")
    except BrokenPipeError:  # the program that reads this output has ended, for example `head`
        discard_output()
        return OK
    except MemoryError as error:
        return _fail(DEVICE, f"{_without_room(error)}. 'pycupc estimate' shows how much these data need")
    except OSError as error:
        if (reason := _without_room(error)) is not None:
            return _fail(DEVICE, reason)
        if of_disk := error.errno in (*NO_ROOM, errno.EIO):
            try:
                sys.stdout.flush()
            except OSError:  # it is the output that found no room, and would not when Python ends either
                discard_output()
        return _fail(DEVICE if of_disk else DATA, str(error))
    except (EngineError, ImportError, ValueError) as error:  # ImportError: an argument needs an optional package
        of_folder = DEVICE if isinstance(error, NoRoomError) else USAGE if isinstance(error, FolderError) else None
        code = of_folder or (DATA if isinstance(error, ValueError) else DEVICE)
        return _fail(code, _without_room(error) or str(error))
    except RuntimeError as error:
        if (reason := _without_room(error)) is None:
            raise
        return _fail(DEVICE, reason)


def _without_room(error: Exception) -> str | None:
    """What an error of too little memory, or too few threads, says; None for another error."""
    text = str(error)
    if "start new thread" in text:  # of another package
        return str(NoThreadError())
    if isinstance(error, NoThreadError):
        return text
    of_library = isinstance(error, (ImportError, OSError)) and left_of_address_space() < _FOR_A_LIBRARY
    if isinstance(error, MemoryError) or of_library:
        return f"out of memory: {text}" if text else "out of memory"
    return None


def _fail(code: int, text: str) -> int:
    print(f"pycupc: {text}", file=sys.stderr)
    return code
