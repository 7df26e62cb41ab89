"""Arguments about the input that ``run`` and ``estimate`` share, and the reading of it."""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pycupc.gaussian.suffstat import SuffStat


ENGINES = ("auto", "cpu", "gpu", "cupc-e", "cupc-s", "reference")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    data = parser.add_argument_group("data")
    data.add_argument(
        "data",
        nargs="?",
        type=Path,
        metavar="DATA",
        help="table with a column a variable and a row a sample: .csv, .tsv or .txt, also .gz, .bz2, .xz, or .parquet",
    )
    data.add_argument("--example", action="store_true", help="use the example data that comes with pycupc")
    data.add_argument(
        "--correlation", type=positive, metavar="N", help="DATA is a correlation matrix of N observations instead"
    )
    data.add_argument(
        "--header",
        choices=("auto", "yes", "no"),
        default="auto",
        help="whether the first line holds names (auto: unless it is all numbers; then V1, V2, ...)",
    )
    data.add_argument("--delimiter", metavar="CHAR", type=delimiter, help="what parts the cells (default: found out)")
    data.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="NAME",
        help="leave out this column, say an identifier; may be given several times",
    )
    data.add_argument(
        "--missing",
        choices=("error", "drop-rows"),
        default="error",
        help="what to do about rows with empty or NA cells (default: error)",
    )


def add_test_arguments(parser: argparse._ArgumentGroup) -> None:
    """Arguments that decide which tests are made."""
    parser.add_argument(
        "--alpha",
        type=share,
        default=0.01,
        metavar="A",
        help="level of each test, from 0 to 1; larger keeps more edges (default: 0.01)",
    )
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="auto",
        help="where the tests run; auto: the GPU if one works and the data are large enough to gain, else the CPU; "
        "cupc-e and cupc-s: the published GPU algorithms; reference: plain NumPy, slow. The answer is the same",
    )
    parser.add_argument("--threads", type=positive, metavar="K", help="threads of the cpu engine (default: all cores)")
    parser.add_argument(
        "--fixed-gaps", type=Path, metavar="FILE", help="pairs that must have no edge: two names a line"
    )
    parser.add_argument(
        "--fixed-edges", type=Path, metavar="FILE", help="pairs whose edge is never tested: two names a line"
    )


def read(args: argparse.Namespace) -> tuple[SuffStat, dict[str, Any]]:
    """Read the data that `args` name: sufficient statistics, and what the manifest says of the file.

    Raises
    ------
    argparse.ArgumentTypeError
        If it is not clear which data are meant.
    pycupc.readers.DataError, ValueError
        If the file or its values are wrong.
    """
    from pycupc import SuffStat
    from pycupc.data import readers
    from pycupc.engines.select import make_engine

    if args.example:
        from pycupc.data import EXAMPLE

        args.data = EXAMPLE
    facts: dict[str, Any] = {"path": str(args.data), "kind": "data"}
    if args.correlation is not None:
        C, labels = readers.read_correlation(args.data, header=args.header, delimiter=args.delimiter)
        facts["kind"] = "correlation matrix"
        suff_stat = SuffStat(C, args.correlation, labels)
    else:
        frame = readers.read_data(
            args.data, header=args.header, delimiter=args.delimiter, drop=args.drop, missing=args.missing
        )
        engine, _ = make_engine(args.engine, frame.shape[1], numCores=args.threads)
        try:
            suff_stat = SuffStat.from_data(frame, engine=engine if hasattr(engine, "correlation") else None)
        except (TypeError, ValueError) as error:
            raise readers.DataError(f"{args.data}: {error}") from error
        finally:
            engine.close()
    facts.update(
        sha256=sha256(args.data), bytes=args.data.stat().st_size, variables=suff_stat.p, observations=suff_stat.n
    )
    return suff_stat, facts


def check(args: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """End with a usage error if the arguments do not go together."""
    if (args.data is None) == (not args.example):
        parser.error("give either DATA or --example")
    if args.correlation is not None and (args.drop or args.missing != "error" or args.example):
        parser.error("--correlation does not go with --example, --drop or --missing")


def pairs(args: argparse.Namespace, labels: tuple[str, ...]) -> dict[str, Any]:
    """The matrices of fixed gaps and edges, as pc() takes them."""
    from pycupc.data import readers

    files = {"fixedGaps": args.fixed_gaps, "fixedEdges": args.fixed_edges}
    return {name: readers.read_pairs(path, labels) for name, path in files.items() if path is not None}


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return value


def level(text: str) -> float:
    if text.lower() in ("inf", "all"):
        return float("inf")
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 or 'inf', got {text!r}")
    return int(text)


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, got {text!r}")
    return value


def delimiter(text: str) -> str:
    text = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}.get(text, text)
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"expected one character or tab, comma, semicolon, space; got {text!r}")
    return text
