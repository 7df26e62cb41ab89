"""The faults of micd's tests of numbers and categories, one case for each, and their degrees of freedom without quirks.

The p-values are of micd 1.1.1; docs/contracts/missing.md, section 5, describes the faults and has the example.
"""

import numpy as np
import pytest
from micd import Problem
from mixed_problems import compiled_p, data_of, made
from scipy.special import chdtrc, chdtri

import pycupc

K = np.arange(60)
#: The example of the contract: two categories, a number, two categories.
X, Y, Z = K % 2, ((7 * K) % 19 + 3 * (K % 2) * (K % 5)) / 4, K // 2 % 2
#: Every tenth row has a third category of x, and no y.
THIRD = np.column_stack([np.where(K % 10, X, 2), np.where(K % 10, Y, np.nan), Z])
#: The same without the third category, which the columns have all the same.
COMPLETE = np.column_stack([X, Y, Z])
#: The third category is in two rows of the first of two imputations, and in none of the second.
RARE = np.repeat([0.0, 1, 2], [30, 28, 2])
NUMBER = RARE + (7 * K) % 19 / 9
#: Two columns of categories without one of the codes from 0 on: the lowest, and the middle one.
SHARED = (K % 3 == 0) ^ (K % 7 == 0)
WITHOUT_0, WITHOUT_1 = np.column_stack([X, np.where(SHARED, 1, 2)]), np.column_stack([X, np.where(SHARED, 0, 2)])
#: Seven variables of two categories, the first two related.
LONG = np.arange(1200)
SEVEN = np.column_stack([LONG % 2 ^ (LONG % 5 == 0), *(LONG >> j & 1 for j in range(6))])
#: A variable with three categories, in the third of which x has one value.
LAST = np.minimum(K // 20, 2)
EMPTY = np.column_stack([np.where(LAST == 2, 0, X), K % 3 == 0, LAST])


def imputations(shift):
    """Two imputations, of which the second lacks a configuration."""
    return [np.column_stack([codes, NUMBER + shift]) for codes in (RARE, np.minimum(RARE, 1))]


#: Tables, levels, variables, and for each test micd's p-value and the right one.
CASES = {
    "categories that are in no complete row count": (
        [THIRD], [3, 0, 2], [0, 1, 2], dict.fromkeys(("mixCItwd", "flexCItwd"), (0.3116399468, 0.05237586885)),
    ),
    "categories that are in no imputation count": (
        [COMPLETE] * 2, [3, 0, 2], [0, 1, 2], dict.fromkeys(("mixMItest", "flexMItest"), (0.1427419439, 0.0159632345)),
    ),
    "categories that do not occur count": (
        [COMPLETE], [3, 0, 2], [0, 1, 2], dict.fromkeys(("mixCItest", "flexCItest"), (0.1427419439, 0.0159632345)),
    ),
    "an imputation that lacks a configuration": (
        imputations(0), [3, 0], [0, 1], dict.fromkeys(("mixMItest", "flexMItest"), (0.497811334, 4.198482722e-05)),
    ),
    "the same, numbers from another origin": (
        imputations(100), [3, 0], [0, 1], dict.fromkeys(("mixMItest", "flexMItest"), (1.0, 4.198482722e-05)),
    ),
    "the lowest code does not occur": (
        [WITHOUT_0], [2, 3], [0, 1],
        {"mixCItest": (3.108887e-11, 0.7905778424), "mixCItwd": (3.108887e-11, 0.7905778424),
         "flexCItest": (0.9653532872, 0.7905778424), "flexCItwd": (0.7905778424, 0.7905778424)},
    ),
    "a code between others does not occur": (
        [WITHOUT_1], [2, 3], [0, 1],
        {"mixCItest": (3.108887e-11, 0.7905778424), "mixCItwd": (3.108887e-11, 0.7905778424),
         "flexCItest": (0.9653532872, 0.7905778424), "flexCItwd": (3.108887e-11, 0.7905778424)},
    ),
    "given five variables": (
        [SEVEN], [2] * 7, [0, 1, 2, 3, 4, 5, 6],
        dict.fromkeys(("mixCItest", "mixCItwd", "flexCItest", "flexCItwd"), (1.0, 0.0)),
    ),
    "adaptDF with more than two levels": (
        [EMPTY], [2, 2, 3], [0, 1, 2],
        dict.fromkeys(("mixCItest", "mixCItwd", "flexCItest", "flexCItwd"), (0.9941343312, 0.5067884718)),
    ),
}  # fmt: skip


def p_values(test, tables, levels, V, *, quirks):
    """The p-value of a single test, and of the compiled one."""
    data = data_of(test, Problem([table.astype(float) for table in tables], levels))
    of_one = getattr(pycupc, test)(V[0], V[1], V[2:], data, quirks=quirks)
    return of_one, compiled_p(made(test, data, quirks=quirks), V)


@pytest.mark.parametrize("case", CASES)
def test_each_fault_of_micd_has_a_case(case):
    tables, levels, V, answers = CASES[case]
    for test, of_test in answers.items():
        for quirks, expected in zip((True, False), of_test, strict=True):
            for found in p_values(test, tables, levels, V, quirks=quirks):
                assert found == pytest.approx(expected, rel=1e-6, abs=1e-16)


@pytest.mark.parametrize(
    ("test", "tables", "with_quirks", "without"),
    [
        ("mixCItwd", [THIRD], 8, 4),
        ("flexCItwd", [THIRD], 8, 4),
        ("mixMItest", [COMPLETE] * 2, 8, 4),
        ("flexMItest", [COMPLETE] * 2, 8, 4),
        ("mixCItest", [COMPLETE], 8, 4),
        ("flexCItest", [COMPLETE], 8, 4),
    ],
)
def test_degrees_of_freedom(test, tables, with_quirks, without):
    """The statistic is the same for both; equal imputations have the statistic of one table."""
    for micd, right in zip(
        *(p_values(test, tables, [3, 0, 2], [0, 1, 2], quirks=q) for q in (True, False)), strict=True
    ):
        assert right == pytest.approx(chdtrc(without, chdtri(with_quirks, micd)), rel=1e-8)
