"""RCoT: what it finds, that its answer depends on nothing else, devices, and what it refuses."""

import types

import numpy as np
import pytest
from common import refused

import pycupc
from pycupc import RCoT, pc
from pycupc.independence.compiled_rcot import map_set
from pycupc.system.jit import compiled

rng = np.random.default_rng(2)
X = rng.normal(size=(120, 9)) @ (np.eye(9) + 0.4 * np.triu(rng.normal(size=(9, 9)), 1))
C = np.corrcoef(X, rowvar=False)


def test_rcot_sees_dependence_that_fisher_z_does_not_and_keeps_its_level():
    wrong = found = dependent = linear = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        z = draw.normal(size=200)
        x, y = np.sin(2 * z) + 0.5 * draw.normal(size=200), z**2 + 0.5 * draw.normal(size=200)
        data = np.column_stack([x, y, z, x**2 + 0.3 * draw.normal(size=200)])
        test = RCoT(data, seed=seed, features=25)
        wrong += test.batch(np.array([0]), np.array([1]), np.array([[2]]))[0] < 0.05
        found += test.batch(np.array([0]), np.array([3]), np.array([[2]]))[0] < 0.05
        dependent += test.batch(np.array([1]), np.array([2]), np.empty((1, 0), dtype=np.int64))[0] < 0.05
        linear += pycupc.gaussCItest(1, 2, (), {"C": np.corrcoef(data, rowvar=False), "n": 200}) < 0.05
    assert wrong <= 10
    assert min(found, dependent) >= 55
    assert linear < 45


def test_rcot_refuses_variances_beyond_the_range_of_float64():
    data = X * np.where(np.arange(9) == 1, 1e200, 1)
    refused("variances from 1e-290 to 1e290; others: column 1", RCoT, data)


def test_rcot_does_not_depend_on_the_other_tests_of_a_call():
    test = RCoT(X, seed=3)
    x, y, S = np.array([0, 1, 2, 0]), np.array([5, 6, 7, 6]), np.array([[3, 4], [4, 3], [3, 8], [3, 4]])
    together = test.batch(x, y, S)
    alone = [test.batch(x[i : i + 1], y[i : i + 1], S[i : i + 1])[0] for i in range(4)]
    np.testing.assert_array_equal(together, alone)
    test.batch(x[:2], y[:2], np.array([[3], [4]]))  # kept; not to be taken for the set of 3 and 4
    np.testing.assert_array_equal(test.batch(x[:1], y[:1], S[:1]), together[:1])
    assert not np.allclose(together, RCoT(X, seed=4).batch(x, y, S))
    assert pc(X, RCoT(), alpha=0.001).labels == pc(X, alpha=0.001).labels


class WithCopies(RCoT):
    """As on a device: products of matrices, of many sets at a time."""

    _arrays = types.SimpleNamespace(**vars(np))


@pytest.mark.parametrize("on_device", [WithCopies, pytest.param(lambda X: RCoT(X, device=0), marks=pytest.mark.gpu)])
def test_rcot_on_a_device_is_rcot(on_device):
    nodes = np.array([np.random.default_rng(i).permutation(9)[:4] for i in range(60)])
    tests = [RCoT(X), on_device(X)]
    for size in (0, 1, 2):
        x, y, S = nodes[:, 0], nodes[:, 1], nodes[:, 2 : 2 + size]
        np.testing.assert_allclose(*(test.batch(x, y, S) for test in tests), rtol=1e-5)
    fits = [pc(X, test, alpha=0.01) for test in tests]
    assert fits[0].n_edgetests == fits[1].n_edgetests
    np.testing.assert_allclose(*(fit.pMax for fit in fits), rtol=1e-5)


def test_rcot_brings_its_data_or_takes_those_of_the_call():
    a, b = pc(None, RCoT(X), alpha=0.001), pc(X, RCoT(X[:50]), alpha=0.001)
    np.testing.assert_array_equal(a.pMax, b.pMax)
    refused("has no data: give them to pc", pc, None, RCoT(), p=9, error=TypeError)


def test_cosines_of_rcot_are_exact():
    turns, out = np.random.default_rng(1).normal(size=10_000) * 20, np.empty((2, 10_000))
    values, weights = np.array([turns, np.ones(10_000)]), np.array([[1.0, 1.0], [0.0, 0.3]])
    compiled(map_set)(values, np.array([0]), weights, out)
    for cosines, shift in zip(out, (0.0, 0.3), strict=True):
        expected = np.cos(2 * np.pi * (turns + shift - np.rint(turns + shift)))
        np.testing.assert_allclose(cosines, expected - expected.mean(), rtol=0, atol=4e-15)


def test_rcot_refuses_what_is_no_device_and_no_number_of_features():
    refused("device must be a whole number, got -1", RCoT, X, device=-1)
    refused("device=99 cannot run: .*; device=None needs no GPU", RCoT, device=99)
    for name in ("features", "of_ends"):
        refused("features and of_ends must be at least 1", RCoT, **{name: 0})
    refused("indepTest must be callable .* got <class .*RCoT'>", pc, X, RCoT, error=TypeError)
