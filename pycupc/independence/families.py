"""All families of tests, and the one that a function and data stand for."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from pycupc.data.categories import keeping
from pycupc.data.content import Content, complete_in_memory, content_of
from pycupc.data.covariances import are_covariances
from pycupc.data.names import listed
from pycupc.data.text_layout import ReadOptions
from pycupc.independence.base import IndependenceTest
from pycupc.independence.choice import Choice, Wishes, wish
from pycupc.independence.custom import BATCH, CUSTOM, Batch
from pycupc.independence.discrete.family import FAMILY as DISCRETE
from pycupc.independence.gaussian.covariances import of_covariances
from pycupc.independence.gaussian.family import FAMILY as GAUSSIAN
from pycupc.independence.kernel.family import FAMILY as KERNEL
from pycupc.independence.missing.family import IMPUTED, TESTWISE
from pycupc.independence.mixed.family import FAMILY as MIXED
from pycupc.independence.mixed.family import GAPPED as GAPPED_MIXED
from pycupc.independence.mixed.family import IMPUTED as IMPUTED_MIXED
from pycupc.independence.registry import Family, Identity, Moments, Observations, Request, no_rows
from pycupc.system.localised_message import Message, Setting, Value, Words
from pycupc.system.nearest import did_you_mean, hinted

#: The families that a function of the program, or a class of data, stands for; the first is the default.
FAMILIES = (GAUSSIAN, DISCRETE, MIXED, IMPUTED, TESTWISE, IMPUTED_MIXED, GAPPED_MIXED, KERNEL)
#: All families, also of the tests of users.
EVERY = (*FAMILIES, BATCH, CUSTOM)
#: The functions that stand for a family, by their names.
FUNCTIONS = {function.__name__: function for family in FAMILIES for function in family.functions}


#: The words of ``test`` of `choose`, and of ``--test``, with the families that have them.
WORDS = {family.word: family for family in FAMILIES if family.word}


def family_of(indepTest: Any, data: Any) -> tuple[Family, Any]:
    """The family that ``indepTest``, or without it the class of the data, stands for; and the function that does."""
    if indepTest is None:
        family = next((family for family in FAMILIES if isinstance(data, family.classes)), GAUSSIAN)
        return family, _function_for(family, data)
    for family in FAMILIES:
        if indepTest in family.functions or isinstance(indepTest, family.options):
            return family, indepTest
    return BATCH if isinstance(indepTest, Batch) else CUSTOM, indepTest


def _function_for(family: Family, data: Any) -> Any:
    """The function that stands for data of the family's classes."""
    return family.functions[0] if family.function_for is None else family.function_for(data)


def make_test(family: Family, request: Request) -> IndependenceTest:
    """The test of a call; TypeError or ValueError if the arguments do not fit the family."""
    _check(family, request.suffStat, request.correlation)
    return family.make(request)


def check_quirks(family: Family, function: Any) -> None:
    """Raise ValueError unless this function of a family has faults that `quirks` reproduces."""
    if function in family.faulty:
        return
    *names, last = (faulty.__name__ for family in FAMILIES for faulty in family.faulty)
    text = "{quirks} reproduces faults of {names} and {last}, and must be {no} with {given}"
    given = getattr(function, "__name__", repr(function))
    facts = {"names": ", ".join(names), "last": last, "given": given}
    raise ValueError(Message(text, quirks=Setting("quirks", True), no=Value(False), **facts))


def observations_of(request: Request) -> Observations:
    """The rows of the data of a call, for resampling; TypeError or ValueError unless they can be drawn.

    ``request.function`` is the ``indepTest`` that was given, or None.
    """
    family, function = family_of(request.function, request.suffStat)
    _check(family, request.suffStat, request.correlation)
    if family.observations is None:
        raise no_rows(function)
    return family.observations(replace(request, function=function))


def identity_of(test: IndependenceTest) -> Identity | None:
    """What determines the answers of a test besides alpha; None if that is not known."""
    identity = next((family.identity for family in EVERY if isinstance(test, family.tests)), None)
    return None if identity is None else identity(test)


@hinted
def choose(
    data: Any,
    *,
    test: str = "auto",
    missing: str = "auto",
    correlation: str | None = None,
    nearest: bool = False,
    impute_seed: int | None = None,
    adaptDF: bool = False,
    df: str = "pcalg",
    **options: Any,
) -> Choice:
    """Choose the test that fits a table, as ``pycupc run`` does.

    Parameters
    ----------
    data : table, or path of a file
        Rows are observations, columns variables: numbers, words or categories, also with missing values.
    test : {"auto", "gaussian", "discrete", "mixed"}, default "auto"
        The test of numbers, of categories, or of both; by default the columns decide.
    missing : str, default "auto"
        Of missing values: "testwise", the default, leaves incomplete rows out of each test; "pairwise",
        "pairwise=min" and "pairwise=harmonic" take for each correlation the rows with both values; "impute=M" tests M
        imputations by chained equations; "drop-rows" leaves incomplete rows out; "error" takes none.
    correlation : {"pearson", "spearman", "kendall", "normal-scores", "latent"}, optional
    nearest : bool, default False
        Of numbers, see `SuffStat.from_data`.
    impute_seed : int, optional
        Seed of the imputations; by default 0.
    adaptDF : bool, default False
    df : {"pcalg", "observed"}, default "pcalg"
        Of categories, see `pycupc.discrete.DiscreteSuffStat`.
    **options
        How to read a file, as for `pycupc.data.read_data`. Of these, `only`, `drop` and `drop_non_numeric` choose the
        columns of a DataFrame, too. And `keep`, names of columns that stay as they are. Others, and the reason says
        which, are left out if they name or number the rows, or hold dates or free text (more than 10 different texts,
        in fewer than two rows each); numbers with one unit (5.2 mg) are read without it, and one mark beside numbers,
        such as ?, is a missing value. Of a file of Tetrad with covariances only `only`, `drop` and `nearest`.

    Returns
    -------
    Choice
        Its `reason` says which test it is, why, and how to choose another; ``pc(choice.data, choice.indepTest)`` runs
        it.

    Raises
    ------
    TypeError, ValueError
        `data` is no table that a test takes, or an argument has no such value or does not fit the table.

    Examples
    --------
    >>> import numpy as np, pycupc
    >>> X = np.random.default_rng(1).standard_normal((100, 3))
    >>> X[0, 0] = np.nan
    >>> choice = pycupc.choose(X)
    >>> choice.family, choice.indepTest.__name__
    ('incomplete', 'gaussCItwd')
    """
    keep = options.pop("keep", ())
    if unknown := sorted(options.keys() - {one.name for one in fields(ReadOptions)}):
        known = (*inspect.signature(choose).parameters, "keep", *(one.name for one in fields(ReadOptions)))
        raise TypeError(f"choose has no argument {unknown[0]}{did_you_mean(unknown[0], known)}")
    return choice_of(
        data, Wishes(test, missing, correlation, nearest, impute_seed, adaptDF, df), keep_columns=keep, **options
    )


def choice_of(data: Any, wishes: Wishes, *, keep_columns: Sequence[str] = (), **options: Any) -> Choice:
    """`choose` with these wishes."""
    named = WORDS.get(wishes.test)
    if named is None and wishes.test != "auto":
        raise ValueError(f"test must be one of 'auto', {', '.join(map(repr, WORDS))}, got {wishes.test!r}")
    if are_covariances(data):
        return of_covariances(data, wishes, keep_columns=keep_columns, **options)
    kind, together = None if named is None else named.columns, wishes.correlation is not None
    with keeping(keep_columns):
        if wishes.missing in ("drop-rows", "error"):
            if isinstance(data, (str, os.PathLike)):
                options["missing"] = wishes.missing
            else:
                data = complete_in_memory(data, wishes.missing, kind, together=together, keep=keep_columns, **options)
        content = content_of(data, kind, together=together, keep=keep_columns, **options)
        if absent := [name for name in keep_columns if name not in content.table.names]:
            there = listed(content.table.names)
            raise ValueError(f"keep must name columns, got {', '.join(map(repr, absent))}; the columns are {there}")
        return _choice_among(named, content, wishes)


def _choice_among(named: Family | None, content: Content, wishes: Wishes) -> Choice:
    """The choice of the first family that takes the table, among those of the name that was wished."""
    for family in FAMILIES:
        asked = named is None or family is named or wishes.test in family.under
        if asked and family.choice is not None and (choice := _chosen(family, content, wishes)) is not None:
            choice = _checked(choice if named or wishes.correlation else _with_others(choice), wishes)
            return choice if not content.decided else _with_decision(choice, content.decided)
    raise ValueError(f"no test takes this table of {content}")


def data_and_test(data: Any, indepTest: Any, correlation: str | None, **wishes: Any) -> tuple[Any, Any, str]:
    """The data and the ``indepTest`` of a call, and why they are these.

    Of the path of a file without a test they are those that fit the table, and a warning tells of a choice that a user
    may not expect; else they are as given, and the reason is "".
    """
    if indepTest is not None or not isinstance(data, (str, os.PathLike)):
        return data, indepTest, ""
    choice = choice_of(data, Wishes(correlation=correlation, **wishes))
    if choice.unexpected:
        warnings.warn(f"{os.fspath(data)}: {choice.reason} (arguments of pycupc.choose)", stacklevel=2)
    return choice.data, test_to_name(choice), choice.reason


def test_to_name(choice: Choice) -> Any:
    """The ``indepTest`` of a call; None of numbers whose class says it, as in checkpoints of 0.2.0."""
    by_class = choice.content.kind == "numbers" and family_of(None, choice.data)[1] is choice.indepTest
    return None if by_class else choice.indepTest


def _with_others(choice: Choice) -> Choice:
    """The choice, with the families that are as likely."""
    for family in FAMILIES:
        found = None if family.would_do is None else family.would_do(choice.content)
        if found is not None and family.name != choice.family:
            said, arguments = found
            reason = Message("{reason}; {said}", reason=choice.reason, said=said)
            choice = replace(choice, reason=reason, alternatives=(*choice.alternatives, arguments), unexpected=True)
    return choice


def _chosen(family: Family, content: Content, wishes: Wishes) -> Choice | None:
    """The choice of a family; an error says how the columns were read."""
    assert family.choice is not None
    try:
        return family.choice(content, wishes)
    except ValueError as error:
        if not content.decided or len(error.args) != 1:
            raise
        raise ValueError(Message("{error}; {decided}", error=error.args[0], decided=content.decided)) from error


def _with_decision(choice: Choice, decided: str | Message) -> Choice:
    """The choice, whose reason begins with how the columns were read."""
    reason = Message("{decided}; {reason}", decided=decided, reason=choice.reason)
    return replace(choice, reason=reason, unexpected=True)


def _checked(choice: Choice, wishes: Wishes) -> Choice:
    """The choice; ValueError if there are wishes that its test would not read."""
    given = {"df": wishes.df != "pcalg", "adaptDF": wishes.adaptDF, "quirks": wishes.quirks}
    if any(wished and name not in choice.reads for name, wished in given.items()):
        text = "{options} go with {discrete} without imputation; the test is another one: {reason}"
        options = Words("adaptDF and df", in_shell="--df, --adapt-df and --quirks")
        raise ValueError(Message(text, options=options, discrete=wish("test", "discrete"), reason=choice.reason))
    if wishes.correlation is not None and "correlation" not in choice.reads:
        raise ValueError(f"correlation goes with the Gaussian test only, got {wishes.correlation!r}; {choice.reason}")
    if wishes.nearest and "nearest" not in choice.reads:
        text = "{nearest} goes with a test of correlations ({pairwise}); {reason}"
        nearest, pairwise = Words("nearest=True", in_shell="--nearest"), wish("missing", "pairwise")
        raise ValueError(Message(text, nearest=nearest, pairwise=pairwise, reason=choice.reason))
    return choice


def moments_of(data: Any, *, quiet: bool = False) -> Moments | None:
    """The covariances of data of a class of a family that tells them, see `MomentsOf`; None of other data."""
    family = next((family for family in FAMILIES if isinstance(data, family.classes)), None)
    return None if family is None or family.moments is None else family.moments(data, quiet=quiet)


def _check(family: Family, data: Any, correlation: str | None) -> None:
    """Raise TypeError if the Gaussian test got the data of another test; ValueError if `correlation` does not fit."""
    own = next((family for family in FAMILIES if isinstance(data, family.classes)), family)
    if correlation is not None and not (family.correlates and own is family):
        text = "{setting} goes with the Gaussian test and complete numbers only"
        raise ValueError(Message(text, setting=Setting("correlation", correlation)))
    if family is GAUSSIAN and own is not family:
        raise TypeError(
            f"a {type(data).__name__} needs indepTest=pycupc.{_function_for(own, data).__name__}, got the Gaussian test"
        )
