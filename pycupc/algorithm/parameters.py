"""The parameters of `pc`, `skeleton`, `fci` and `rfci`: one row for each, and the arguments of one call.

`Arguments` is the table and the record at the same time. A field is a row, which says the name, the type, the default,
the functions that have the parameter, the check of a value by itself, R's name, and the option of the command line.
A call fills one row after the other. The functions, `stability`, the command line and the R side read the table; the
signatures of the functions are written out for readers and editors, and `tests/algorithm/test_parameters.py` holds
them to it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pycupc.algorithm import checks
from pycupc.engines.protocol import Engine, ProgressHook
from pycupc.engines.select import NAMES
from pycupc.orientation import U2pd
from pycupc.orientation.pag import ALL_RULES
from pycupc.results.methods import HIDDEN, METHODS, OF_CPDAGS, WITHOUT_HIDDEN
from pycupc.results.pcalgo import PcAlgo
from pycupc.system.clusters import Workplace
from pycupc.system.localised_message import Argument, Message, Setting

Method = Literal["stable", "stable.fast"]
Type = Literal["normal", "anytime", "adaptive"]
Jci = Literal["0", "1", "12", "123"]

#: The functions that have a parameter; besides these the groups of `pycupc.results.methods`.
_ALL = tuple(METHODS)
_RANDOM = tuple(name for name, method in METHODS.items() if method.random)
_WITH_RULES = tuple(name for name, method in METHODS.items() if method.rules_for_triples)
_PC, _FCI = ("pc",), ("fci",)


@dataclass(frozen=True)
class Parameter:
    """A row of the table, without the name, the type and the default of its field."""

    functions: tuple[str, ...]
    # Raises TypeError or ValueError unless a value is valid by itself; called with the name and the value.
    check: Callable[[str, Any], None] | None = None
    choices: tuple[str, ...] = ()  # of an argument with a few values
    words: tuple[str, ...] = ()  # of its option, where the argument in Python takes other values too
    in_r: str = ""  # the name in R, where it differs
    # Of an argument that the command line has: its option, the group of options and the text of the help.
    flag: str = ""
    group: Literal["", "tests", "limits", "algorithm", "orientation", "folder"] = ""
    help: str = ""
    metavar: str | None = None
    matters: bool = True  # whether another value may change the answer
    resampled: bool = True  # whether `stability` passes the argument on to each resample

    def validate(self, name: str, value: Any) -> None:
        """Raise TypeError or ValueError unless a value is valid by itself."""
        if self.choices and value not in self.choices:
            *first, last = map(repr, self.choices)
            raise ValueError(f"{name} must be {', '.join(first)} or {last}, got {value!r}")
        if self.check is not None:
            self.check(name, value)


_ENGINE = (
    "where the tests run; auto: the GPU if it works and the data are large enough to benefit, else the CPU; cupc-e "
    "and cupc-s: the published GPU algorithms; reference: plain NumPy, slow; schur: another name for gpu. All "
    "engines give the same answer"
)
_TIERS = (
    "what is known: a file in Tetrad's format with tiers (addtemporal) and arrows (forbiddirect, requiredirect); "
    "no arrow points to an earlier tier, and variables without a tier may be in any. Then --maj-rule holds unless "
    "--conservative is given, and --solve-confl"
)
_ALPHA = checks.number("a number in [0, 1]", lambda alpha: 0 <= alpha <= 1)
_LIMIT = checks.number("a whole number of at least 0, or inf", lambda m: m == math.inf or (m >= 0 and m == int(m)))
_NOT_NEGATIVE = checks.number("a number of at least 0, or inf", lambda m: m >= 0)
_SECONDS = checks.number("a number of seconds above 0, or None", lambda seconds: seconds > 0, none=True)


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The arguments of one call of `function`; those that it does not have keep their defaults."""

    function: str

    # the data and the test
    suffStat: Annotated[Any, Parameter(_ALL, resampled=False)] = None
    indepTest: Annotated[Any, Parameter(_ALL)] = None
    alpha: Annotated[float, Parameter(_ALL, _ALPHA, resampled=False)] = 0.01
    labels: Annotated[Sequence[str] | None, Parameter(_ALL)] = None
    p: Annotated[int | None, Parameter(_ALL)] = None
    correlation: Annotated[str | None, Parameter(_ALL)] = None
    quirks: Annotated[
        bool,
        Parameter(
            _ALL, flag="--quirks", group="tests", help="reproduce faults of pcalg: of disCItest, and of fci and rfci"
        ),
    ] = False

    # the skeleton
    fixedGaps: Annotated[
        Any,
        Parameter(
            _ALL,
            flag="--fixed-gaps",
            group="tests",
            help="pairs that never get an edge: two names per line",
            metavar="FILE",
        ),
    ] = None
    fixedEdges: Annotated[
        Any,
        Parameter(
            _ALL,
            flag="--fixed-edges",
            group="tests",
            help="pairs whose edge is never tested: two names per line",
            metavar="FILE",
        ),
    ] = None
    NAdelete: Annotated[bool, Parameter(_ALL)] = True
    m_max: Annotated[
        float,
        Parameter(
            _ALL,
            _LIMIT,
            in_r="m.max",
            flag="--m-max",
            group="limits",
            help="size of the largest conditioning set (default: no limit)",
            metavar="L",
        ),
    ] = math.inf
    skel_method: Annotated[Method, Parameter(_ALL, checks.method, in_r="skel.method", matters=False)] = "stable"
    skeleton: Annotated[PcAlgo | None, Parameter(HIDDEN, resampled=False)] = None
    checkpoint: Annotated[
        str | os.PathLike[str] | None,
        Parameter(
            WITHOUT_HIDDEN,
            checks.folder,
            resampled=False,
            flag="--checkpoint",
            group="folder",
            help="keep finished levels in this folder; the same command resumes after them (--method pc)",
            metavar="DIR",
        ),
    ] = None
    executor: Annotated[
        Workplace | None,
        Parameter(
            _ALL,
            checks.executor,
            matters=False,
            resampled=False,
            in_r="cluster",
            flag="--cluster",
            group="tests",
            help="share large levels among the workers of a Dask scheduler, e.g. tcp://host:8786",
            metavar="ADDRESS",
        ),
    ] = None

    # what is known of directions
    tiers: Annotated[Any, Parameter(_ALL, flag="--tiers", group="tests", help=_TIERS, metavar="FILE")] = None
    context_all: Annotated[Sequence[str | int] | None, Parameter(WITHOUT_HIDDEN, in_r="context.all")] = None
    context_tier: Annotated[Sequence[str | int] | None, Parameter(WITHOUT_HIDDEN, in_r="context.tier")] = None
    forbidden: Annotated[Any, Parameter(WITHOUT_HIDDEN, in_r="forbEdges")] = None

    # the orientation
    u2pd: Annotated[
        U2pd,
        Parameter(
            _PC, choices=get_args(U2pd), flag="--u2pd", group="orientation", help="remedy if no DAG has the colliders"
        ),
    ] = "relaxed"
    conservative: Annotated[
        bool,
        Parameter(
            _WITH_RULES,
            flag="--conservative",
            group="orientation",
            help="decide on a triple only if all of its separating sets agree",
        ),
    ] = False
    maj_rule: Annotated[
        bool,
        Parameter(
            _WITH_RULES,
            in_r="maj.rule",
            flag="--maj-rule",
            group="orientation",
            help="decide on a triple by the majority of its separating sets",
        ),
    ] = False
    solve_confl: Annotated[
        bool,
        Parameter(
            OF_CPDAGS,
            in_r="solve.confl",
            flag="--solve-confl",
            group="orientation",
            help="mark edges with contradicting arrows as bidirected",
        ),
    ] = False
    random_state: Annotated[
        Any,
        Parameter(
            _RANDOM,
            checks.seed,
            in_r="seed",
            resampled=False,
            flag="--seed",
            group="orientation",
            help="seed of --u2pd rand and retry",
            metavar="K",
        ),
    ] = None

    # hidden variables
    type: Annotated[Type, Parameter(_FCI, choices=get_args(Type))] = "normal"
    pdsep_max: Annotated[
        float,
        Parameter(
            _FCI,
            _NOT_NEGATIVE,
            in_r="pdsep.max",
            flag="--pdsep-max",
            group="algorithm",
            help="fci: leave an edge whose Possible-D-SEP has more than K variables (default: no limit)",
            metavar="K",
        ),
    ] = math.inf
    rules: Annotated[Sequence[bool], Parameter(HIDDEN, checks.rules)] = ALL_RULES
    doPdsep: Annotated[bool, Parameter(_FCI)] = True
    biCC: Annotated[bool, Parameter(_FCI)] = False
    selectionBias: Annotated[bool, Parameter(_FCI)] = True
    jci: Annotated[Jci, Parameter(_FCI, choices=get_args(Jci))] = "0"
    contextVars: Annotated[Sequence[int | str] | None, Parameter(_FCI)] = None
    budget: Annotated[float | None, Parameter(_FCI, _SECONDS, resampled=False)] = None

    # how the work is done
    engine: Annotated[
        str | Engine,
        Parameter(_ALL, matters=False, words=(*NAMES, "schur"), flag="--engine", group="tests", help=_ENGINE),
    ] = "auto"
    engine_options: Annotated[dict[str, Any] | None, Parameter(_ALL, matters=False)] = None
    numCores: Annotated[
        int | None,
        Parameter(
            _ALL,
            checks.cores,
            matters=False,
            flag="--threads",
            group="tests",
            help="threads of the cpu engine (default: all cores)",
            metavar="K",
        ),
    ] = None
    verbose: Annotated[bool, Parameter(_ALL, checks.verbosity, matters=False)] = False
    progress: Annotated[ProgressHook | bool | None, Parameter(_ALL, matters=False, resampled=False)] = None

    @property
    def knowledge(self) -> dict[str, Any]:
        """The arguments that say what is known of directions, by their names."""
        return {name: getattr(self, name) for name in KNOWLEDGE}

    @property
    def knows(self) -> bool:
        """Whether one of these is given."""
        return any(getattr(self, name) is not None for name in KNOWLEDGE)

    def check(self) -> None:
        """Raise TypeError or ValueError for arguments that are invalid or exclude each other, whatever the data.

        In the same cases as pcalg.
        """
        for name, parameter in PARAMETERS.items():
            value = getattr(self, name)
            if value is not getattr(Arguments, name):  # the default
                parameter.validate(name, value)
        self._check_orientation()
        self._check_fci()

    def _check_orientation(self) -> None:
        u2pd = self.u2pd
        if u2pd != "relaxed":
            if self.knows:
                raise ValueError(
                    f"tiers, context_all, context_tier and forbidden need u2pd='relaxed', got u2pd={u2pd!r}"
                )
            for name in ("conservative", "maj_rule", "solve_confl"):
                if getattr(self, name):
                    raise ValueError(f"{name}=True needs u2pd='relaxed', got u2pd={u2pd!r}")
        if self.conservative and self.maj_rule:
            raise ValueError("choose one of conservative=True and maj_rule=True, got both")

    def _check_fci(self) -> None:
        type_, m_max = Setting("type", self.type), Setting("m_max", self.m_max)
        if self.type == "anytime" and self.m_max == math.inf:
            raise ValueError(Message("{t} needs a finite {m}, got {given}", t=type_, m=Argument("m_max"), given=m_max))
        if self.type == "adaptive" and self.m_max != math.inf:
            text = "{t} finds {m} itself and needs {inf}, got {given}"
            raise ValueError(Message(text, t=type_, m=Argument("m_max"), inf=Setting("m_max", math.inf), given=m_max))
        if self.jci != "0" and self.selectionBias:
            text = "{jci} assumes that there is no selection bias: it needs {bias}"
            raise ValueError(Message(text, jci=Setting("jci", self.jci), bias=Setting("selectionBias", False)))
        if self.function == "fci" and self.tiers is not None and (self.jci != "0" or self.selectionBias):
            text = "jci='0'" if self.jci != "0" else "selectionBias=False: with selection an arrowhead says more"
            raise ValueError(f"tiers need {text}")


def _rows() -> dict[str, Parameter]:
    hints = get_type_hints(Arguments, include_extras=True)
    rows = {one.name: hints[one.name].__metadata__[0] for one in fields(Arguments) if one.name != "function"}
    of_flags = {one.name for one in fields(Arguments) if isinstance(one.default, bool)}
    checked = {name: row.check or checks.switch for name, row in rows.items() if name in of_flags}
    return {name: replace(row, check=checked[name]) if name in checked else row for name, row in rows.items()}


#: The rows of the table by name.
PARAMETERS = _rows()
#: The arguments that say what is known of directions.
KNOWLEDGE = ("tiers", "context_all", "context_tier", "forbidden")


def defaults_of(function: str) -> dict[str, Any]:
    """The parameters that a function has, with their defaults; all but the data."""
    has = {name for name, row in PARAMETERS.items() if function in row.functions} - {"suffStat"}
    return {one.name: one.default for one in fields(Arguments) if one.name in has}


def function_of(method: str) -> Callable[..., Any]:
    """The function of a method of `pycupc.results.methods`; its module, of the same name, is loaded here."""
    function: Callable[..., Any] = getattr(import_module(f"pycupc.algorithm.{method}"), method)
    return function
