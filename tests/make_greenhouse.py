"""Write the example data with a known graph, and their truth: ``python tests/make_greenhouse.py``.

A row is the week of one of 1,500 greenhouses. Each variable is the constant below, plus its causes times their
coefficients, plus a Gaussian error of the given standard deviation; values are rounded to the digits that an instrument
shows. The files are pycupc/data/greenhouse.csv and greenhouse_truth.csv.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(__file__).resolve().parent.parent / "pycupc" / "data"
N, SEED = 1500, 1


class Variable(NamedTuple):
    """A variable of the model, in its unit."""

    constant: float
    causes: dict[str, float]  # the change of the variable for one unit more of each cause
    error: float  # standard deviation
    digits: int = 1


MODEL = {
    "sunshine": Variable(8, {}, 1),  # hours per day
    "price": Variable(20, {}, 3.5),  # of energy, cents per kWh
    "outside": Variable(8, {}, 1.7),  # temperature outside at night, degrees Celsius
    "wind": Variable(6, {}, 1.1),  # metres per second
    "co2": Variable(700, {}, 90, 0),  # supplied, parts per million
    "lamps": Variable(9, {"price": -0.15}, 1.5),  # hours per day
    "light": Variable(0, {"sunshine": 2.5, "lamps": 1.2}, 1.7),  # inside, mol per square metre and day
    "heating": Variable(116, {"price": -1, "outside": -2}, 8, 0),  # watts per square metre
    "temperature": Variable(10, {"sunshine": 0.8, "outside": 0.25, "heating": 0.05}, 0.5),  # inside, degrees Celsius
    "vents": Variable(5, {"temperature": 2.5, "wind": -3.5}, 3, 0),  # percent open
    "watering": Variable(2, {"light": 0.1}, 0.4, 2),  # litres per square metre and day
    "humidity": Variable(82, {"vents": -0.25}, 2.5),  # percent
    "growth": Variable(0, {"light": 0.4, "watering": 1.2, "co2": 0.01}, 1),  # grams per square metre and day
    "mildew": Variable(6, {"humidity": 0.4, "temperature": -0.9}, 1.5),  # percent of the leaves
    "harvest": Variable(4, {"growth": 0.2, "mildew": -0.2}, 0.4, 2),  # kilograms per square metre
}


def values(n: int = N, seed: int = SEED) -> np.ndarray:
    """Data of n greenhouses, float64 (n, 15), not rounded."""
    rng = np.random.default_rng(seed)
    drawn: dict[str, np.ndarray] = {}
    for name, (constant, causes, error, _) in MODEL.items():
        drawn[name] = constant + sum(b * drawn[cause] for cause, b in causes.items()) + error * rng.standard_normal(n)
    return np.column_stack(list(drawn.values()))


def table() -> str:
    """The file of the data as text."""
    digits = [variable.digits for variable in MODEL.values()]
    rows = ([f"{value:.{d}f}" for value, d in zip(row, digits, strict=True)] for row in values().tolist())
    return "".join(f"{','.join(line)}\n" for line in (MODEL, *rows))


def truth() -> str:
    """The file of the true arrows as text."""
    arrows = [(cause, name, f"{b:g}") for name, variable in MODEL.items() for cause, b in variable.causes.items()]
    return "".join(f"{','.join(line)}\n" for line in (("from", "to", "coefficient"), *arrows))


if __name__ == "__main__":
    (FOLDER / "greenhouse.csv").write_text(table(), encoding="utf-8")
    (FOLDER / "greenhouse_truth.csv").write_text(truth(), encoding="utf-8")
