"""Tables of discrete data, sampled from the Bayesian networks in pgmpy's wheel, of which no file is kept here.

`load` takes a table from the data folder, where `prepare` puts it for a machine without pgmpy, or else samples it.
"""

import gzip
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pycupc.discrete import DiscreteSuffStat

#: The networks, in the order in which the benchmark runs them.
NETWORKS = ("alarm", "hepar2", "munin1", "diabetes", "link", "munin2", "munin3", "pigs")
ALPHAS = (0.05, 0.01)
SAMPLES, SEED = 5000, 1


class Network(NamedTuple):
    """A Bayesian network: the names of the levels of each variable, and (parents, probabilities) of each variable.

    The probabilities are float64 (levels of each parent ..., levels).
    """

    levels: dict[str, list[str]]
    tables: dict[str, tuple[list[str], np.ndarray]]


@dataclass
class Table:
    """One problem: codes int64 (n, p), the network's number of levels of each variable, names; alpha."""

    name: str
    codes: np.ndarray
    nlev: np.ndarray
    labels: list[str]
    alpha: float

    @property
    def p(self):
        return len(self.nlev)

    @property
    def n(self):
        return len(self.codes)

    @property
    def facts(self):
        """The columns that name the problem."""
        return {"set": self.name, "p": self.p, "n": self.n, "alpha": self.alpha}

    @property
    def varying(self):
        """Indices of the variables with more than one value in the sample."""
        return np.flatnonzero(self.codes.max(axis=0) > self.codes.min(axis=0))

    def suff_stat(self):
        return DiscreteSuffStat(self.codes, self.nlev, adaptDF=False, labels=self.labels)


def parse(text):
    """Read a network in the Bayesian interchange format (BIF)."""
    found = re.findall(r"variable\s+(\S+)\s*\{\s*type\s+discrete\s*\[\s*\d+\s*\]\s*\{([^}]*)\}", text)
    levels = {name: [level.strip() for level in words.split(",")] for name, words in found}
    tables = {}
    entry = r"probability\s*\(\s*([^)|]*?)\s*(?:\|\s*([^)]*?))?\s*\)\s*\{(.*?)\n\}"
    for child, given, body in re.findall(entry, text, re.DOTALL):
        parents = [name.strip() for name in given.split(",")] if given else []
        table = np.full([*(len(levels[q]) for q in parents), len(levels[child])], np.nan)
        if parents:
            for states, values in re.findall(r"\(([^)]*)\)\s*([^;]*);", body):
                named = zip(parents, states.split(","), strict=True)
                table[tuple(levels[q].index(state.strip()) for q, state in named)] = _numbers(values)
        else:
            table[:] = _numbers(re.findall(r"table\s+([^;]*);", body)[0])
        if np.isnan(table).any():
            raise ValueError(f"the probabilities of {child} are incomplete")
        tables[child] = parents, table
    return Network(levels, tables)


def _numbers(text):
    return [float(value) for value in text.split(",")]


def sample(network, n, seed):
    """Draw n observations, int64 (n, p), columns in the order of the network's variables."""
    position = {name: j for j, name in enumerate(network.levels)}
    rng = np.random.default_rng(seed)
    codes = np.full((n, len(position)), -1, dtype=np.int64)
    waiting = list(position)
    while waiting:
        for name in list(waiting):
            parents, table = network.tables[name]
            if any(parent in waiting for parent in parents):
                continue
            given = table[tuple(codes[:, position[q]] for q in parents)]
            below = np.cumsum(np.broadcast_to(given, (n, table.shape[-1])), axis=1)
            drawn = (rng.random((n, 1)) >= below / below[:, -1:]).sum(axis=1)
            codes[:, position[name]] = drawn.clip(max=table.shape[-1] - 1)
            waiting.remove(name)
    return codes


def load(name, alpha, folder, python=None):
    """The table of a network: the one in `folder`, or else one sampled from the network in pgmpy's wheel.

    SystemExit if there is neither; `python` is the Python that has pgmpy, or None.
    """
    path = folder / "discrete" / f"{name}.npz"
    if path.exists():
        with np.load(path) as z:
            return Table(name, z["codes"].astype(np.int64), z["nlev"], z["labels"].tolist(), alpha)
    network = parse(_text(name, python))
    nlev = np.array([len(levels) for levels in network.levels.values()])
    return Table(name, sample(network, SAMPLES, SEED), nlev, list(network.levels), alpha)


def _text(name, python):
    """The file of a network in the pgmpy of the peers' Python."""
    if python is None:
        raise SystemExit(f"{name} is sampled from a network in pgmpy: give --peer-python, a Python that has it")
    find = "import importlib.util as u; print(u.find_spec('pgmpy').submodule_search_locations[0])"
    done = subprocess.run([str(python), "-c", find], capture_output=True, text=True, check=True)
    path = Path(done.stdout.strip()) / "utils" / "example_models" / f"{name}.bif.gz"
    return gzip.decompress(path.read_bytes()).decode()


def prepare(folder, python):
    """Put the tables of all networks into the data folder, for a machine without pgmpy."""
    (folder / "discrete").mkdir(exist_ok=True)
    for name in NETWORKS:
        table = load(name, ALPHAS[0], folder, python)
        arrays = {"codes": table.codes.astype(np.uint8), "nlev": table.nlev, "labels": np.array(table.labels)}
        np.savez_compressed(folder / "discrete" / f"{name}.npz", **arrays)
