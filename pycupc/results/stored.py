"""`StoredResult`: a result as a file, or as the bytes that an object of R keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.correlation import Correlations
from pycupc.independence.gaussian.suffstat import as_suff_stat
from pycupc.independence.p_values import Floats
from pycupc.results import npz
from pycupc.results import serialisation as flat
from pycupc.results.schema import Arrays

Stored = TypeVar("Stored", bound="StoredResult")
Contents = tuple[dict[str, Any], dict[str, NDArray[Any]]]


class StoredResult:
    """A result as metadata, ready for JSON, and arrays; and back."""

    _OFFERED: ClassVar[Sequence[str]] = ("save",)
    _MAKERS: ClassVar[Sequence[str]] = ("load",)
    KIND: ClassVar[npz.Kind]

    def contents(self, *, evidence: bool | None = None, p_values: flat.PValueForm = "evidence") -> Contents:
        """The metadata and arrays; `evidence` as of `save`, `p_values` as of `PcAlgo.to_arrays`."""
        raise NotImplementedError

    @classmethod
    def check_contents(cls, meta: Mapping[str, Any], arrays: Arrays) -> None:
        """Raise ValueError, TypeError or KeyError unless these describe a result."""
        raise NotImplementedError

    @classmethod
    def from_contents(cls: type[Stored], meta: Mapping[str, Any], arrays: Arrays, known: Correlations | None) -> Stored:
        """Rebuild a result from its `contents`, and correlations where these lack them."""
        raise NotImplementedError

    def save(self, path: str | PathLike[str], *, evidence: bool | None = None) -> None:
        """Write everything into one .npz file (no pickle), which appears only when it is complete.

        Parameters
        ----------
        path : str or Path
        evidence : bool, optional
            Whether to keep the correlations (p x p) and the partial correlations of the tests that removed an edge,
            from which all p-values are computed. By default each of the two is kept only if it has at most a million
            numbers. `load` with `suffStat` computes them again. The p-values of the edges are always kept.

        Notes
        -----
        `pycupc.results.npz` describes the file, `pycupc.results.schema` its arrays.
        """
        npz.write(path, *self.contents(evidence=evidence), self.KIND)

    @classmethod
    def load(cls: type[Stored], path: str | PathLike[str], *, suffStat: Any = None) -> Stored:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or Path
        suffStat : SuffStat, mapping with "C" and "n", or DataFrame, optional
            The data of the result, from which p-values that are not in the file are computed.

        Raises
        ------
        OSError
            If there is no such file (FileNotFoundError), or it cannot be read.
        ValueError
            If the file is not a saved result or is damaged, or if `suffStat` has different variables, a different n, or
            correlations with which an edge would not have been kept.
        """
        with npz.reading(path, cls.KIND) as (meta, arrays):
            cls.check_contents(meta, arrays)
        known = None if suffStat is None else correlations_of(suffStat, meta, arrays)
        with cls.KIND.expected_at(path):
            return cls.from_contents(meta, arrays, known)

    def to_bytes(self, *, p_values: bool = True) -> bytes:
        """Everything but pMax, which pcalg's object has, for R: equal for runs that are equal.

        A line of JSON says the format, the facts, and the names, types and sizes of the arrays, which follow. Without
        `p_values`, the largest p-values of the edges are not computed, either.
        """
        meta, arrays = self.contents(p_values="edges" if p_values else "removals")
        vary = {"seconds": 0.0, "n_careful": 0, "n_made": -1, "n_bounds": 0}  # with the number of threads, too
        meta["levels"] = [level | vary for level in meta["levels"]]
        sizes = [(name, values.dtype.kind, len(values)) for name, values in arrays.items()]
        header = {"format": self.KIND.format, "sizes": sizes, **meta}
        parts = [np.ascontiguousarray(values, _TYPES[values.dtype.kind]).data for values in arrays.values()]
        return b"".join([json.dumps(header, default=npz.plain).encode(), b"\n", *parts])  # the only copy

    @classmethod
    def from_bytes(cls: type[Stored], data: bytes, p_max: Floats, known: Correlations | None = None) -> Stored:
        """The reverse of `to_bytes`, with pcalg's pMax, float64 (p, p), and correlations where the bytes lack them.

        ValueError if the bytes are damaged or of another format.
        """
        header, _, numbers = data.partition(b"\n")
        try:
            meta, at, arrays = json.loads(header), 0, dict[str, NDArray[Any]]()
            for name, kind, size in meta["sizes"]:
                arrays[name] = np.frombuffer(numbers, _TYPES[kind], size, at).astype(_HERE[kind], copy=False)
                at += arrays[name].nbytes
            if meta["format"] != cls.KIND.format:
                raise ValueError(f"their format is {meta['format']!r}, this version reads {cls.KIND.format!r}")
            if meta["recorded"]:  # of fci, later tests may have raised one of two cells
                arrays["pMax"] = flat.upper_triangle(np.fmax(p_max, p_max.T))
            elif "edge_p" not in arrays:
                arrays["edge_p"] = np.full(len(arrays["edge_low"]), np.nan)
            cls.check_contents(meta, arrays)
            return cls.from_contents(meta, arrays, known)
        except (KeyError, TypeError, IndexError, UnicodeDecodeError, ValueError) as error:
            raise ValueError(f"the bytes of the result are damaged, or of another version: {error}") from error


_TYPES, _HERE = {"i": "<i4", "f": "<f8"}, {"i": np.int32, "f": np.float64}


def correlations_of(suffStat: Any, meta: Mapping[str, Any], arrays: Arrays) -> Correlations:
    """The correlations of the data from which a result was computed; ValueError if `suffStat` has other data."""
    stat = as_suff_stat(suffStat)
    if stat.p != len(meta["labels"]) or stat.n != meta["n"]:
        raise ValueError(
            f"suffStat must be the data of the result, {len(meta['labels'])} variables and n = {meta['n']}, got "
            f"{stat.p} variables and n = {stat.n}"
        )
    if stat.labels is not None and list(stat.labels) != list(meta["labels"]):
        raise ValueError("suffStat must have the variables of the result in their order; the labels differ")
    if "edge_p" in arrays:  # the largest p-value of all tests of an edge
        graph, largest = flat.graph_from_arrays(arrays, stat.p), arrays["edge_p"]
        p = fisher_z.p_value(stat.correlations.pairs(graph.low, graph.high), stat.n, 0)
        if ((largest > 0) & (p > largest * (1 + 1e-6))).any():  # beyond rounding
            raise ValueError("suffStat must be the data of the result: by these, p-values of edges are larger")
    return stat.correlations
