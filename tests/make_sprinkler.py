"""Write sprinkler.csv and sprinkler_truth.csv, discrete example data: ``python tests/make_sprinkler.py``.

The graph is the one of the sprinkler example of J. Pearl (2009), *Causality*, 2nd edition, figure 1.2; the levels, the
probabilities and the seed are those below.
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from benchmarks.networks import Network, sample  # noqa: E402 - from this folder

N, SEED = 3000, 1
NETWORK = Network(
    levels={
        "season": ["winter", "spring", "summer", "autumn"],
        "rain": ["no", "light", "heavy"],
        "sprinkler": ["off", "on"],
        "pavement": ["dry", "damp", "wet"],
        "slippery": ["no", "yes"],
    },
    tables={
        "season": ([], np.array([0.25, 0.25, 0.25, 0.25])),
        "rain": (["season"], np.array([[0.4, 0.4, 0.2], [0.5, 0.35, 0.15], [0.75, 0.17, 0.08], [0.35, 0.4, 0.25]])),
        "sprinkler": (["season"], np.array([[0.9, 0.1], [0.6, 0.4], [0.25, 0.75], [0.8, 0.2]])),
        "pavement": (
            ["rain", "sprinkler"],
            np.array(
                [
                    [[0.9, 0.08, 0.02], [0.1, 0.4, 0.5]],
                    [[0.2, 0.5, 0.3], [0.05, 0.35, 0.6]],
                    [[0.02, 0.18, 0.8], [0.01, 0.09, 0.9]],
                ]
            ),
        ),
        "slippery": (["pavement"], np.array([[0.95, 0.05], [0.6, 0.4], [0.2, 0.8]])),
    },
)


def table() -> str:
    """The file as text."""
    names = [np.array(levels) for levels in NETWORK.levels.values()]
    columns = [words[codes] for words, codes in zip(names, sample(NETWORK, N, SEED).T, strict=True)]
    lines = [NETWORK.levels, *zip(*(column.tolist() for column in columns), strict=True)]
    return "".join(f"{','.join(line)}\n" for line in lines)


def truth() -> str:
    """The file of the true arrows as text."""
    arrows = [(cause, name) for name, (causes, _) in NETWORK.tables.items() for cause in causes]
    return "".join(f"{','.join(line)}\n" for line in (("from", "to"), *arrows))


if __name__ == "__main__":
    folder = HERE.parent / "pycupc" / "data"
    (folder / "sprinkler.csv").write_text(table(), encoding="utf-8")
    (folder / "sprinkler_truth.csv").write_text(truth(), encoding="utf-8")
