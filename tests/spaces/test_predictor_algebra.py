"""Fitted functions: multiples, sums, and the way to plain arrays and back."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.arrays.blocks import RowBlocks
from lapwing.graphs.anchors import AnchorGraph
from lapwing.graphs.eigenfunctions import EigenfunctionBasis
from lapwing.kernels.functions import CosineKernel, GaussianKernel
from lapwing.spaces.predictors import (
    AnchorMixture,
    Constant,
    EigenfunctionSeries,
    KernelExpansion,
    LinearFunction,
    NeighborAverage,
    PrototypeMixture,
    RowLookup,
    SpreadShares,
    WeightedSum,
)
from lapwing.spaces.prototypes import LowRankGraph, Similarities

rng = np.random.default_rng(0)
X, EVEN = rng.normal(size=(20, 3)), np.ones(20)
KERNEL = GaussianKernel(0.5, X.mean(axis=0))
ANCHORS = AnchorGraph.build(X, X[:6], 3, "kernel")[0]
BASIS = EigenfunctionBasis.build(X, 2, 10, 3)


def block(m):
    return rng.normal(size=(m, 2))


def expansion(gamma=0.5, points=X):
    kernel = GaussianKernel(gamma, X.mean(axis=0))
    return KernelExpansion(kernel, points, block(len(points)), rng.normal(size=2))


MAKERS = {
    "expansion": expansion,
    "linear": lambda: LinearFunction(block(3), rng.normal(size=2)),
    "cosine": lambda: LinearFunction(block(3), rng.normal(size=2), CosineKernel()),
    "prototypes": lambda: PrototypeMixture(PROTOTYPES, block(5)),
    "anchors": lambda: AnchorMixture(ANCHORS, block(6)),
    "eigenfunctions": lambda: EigenfunctionSeries(BASIS, block(1 + len(BASIS.functions))),
    "neighbours": lambda: NeighborAverage(X, block(20), EVEN, 4),
    "lookup": lambda: RowLookup(X, block(20)),
    "spread": lambda: replace(SPREAD, weight=float(rng.normal())),
    "constant": lambda: Constant(rng.normal(size=2)),
}
PROTOTYPES = Similarities(KERNEL, X[:5], normalize=True)
GRAPH = LowRankGraph.build(RowBlocks.of(X), Similarities(KERNEL, X[:6]))
SPREAD = SpreadShares(
    GRAPH, rng.normal(size=(6, 2)), np.array([1.0, 2.0]), 0.0, X[:4], rng.normal(size=(4, 2))
)
every_predictor = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@every_predictor
def test_multiples_and_sums_have_the_values_of_multiples_and_sums(make):
    f, g = make(), make()
    np.testing.assert_allclose(f.times(-2.5).values(X), -2.5 * f.values(X), rtol=1e-12)
    both = f.plus(g)
    assert type(both) is type(f)
    np.testing.assert_allclose(both.values(X), f.values(X) + g.values(X), rtol=1e-11, atol=1e-12)


def test_functions_that_differ_in_more_than_coefficients_are_not_joined():
    f = expansion()
    others = [expansion(0.7), expansion(points=X[:7]), LinearFunction(block(3), np.zeros(2))]
    assert all(f.plus(other) is None for other in others)
    average = NeighborAverage(X, block(20), EVEN, 4)
    assert average.plus(NeighborAverage(X, block(20), EVEN, 5)) is None
    linear = LinearFunction(block(3), np.zeros(2))
    assert linear.plus(LinearFunction(block(3), np.zeros(2), CosineKernel())) is None


def test_a_sum_joins_what_it_can():
    parts = [make() for make in MAKERS.values() for _ in range(2)]
    total = WeightedSum.of(parts)
    assert len(total.parts) == len(MAKERS)
    expected = sum(part.values(X) for part in parts)
    np.testing.assert_allclose(total.values(X), expected, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(total.times(3.0).values(X), 3.0 * expected, rtol=1e-10, atol=1e-11)
    assert total.plus(total) is None


@every_predictor
def test_plain_arrays_give_the_same_function_again(make):
    f = WeightedSum((make(),))
    again = WeightedSum.from_arrays(*f.to_arrays())
    np.testing.assert_array_equal(again.values(X), f.values(X))
    with pytest.raises(ValueError, match="this is no RowLookup"):
        RowLookup.from_arrays(*f.to_arrays())


def test_sparse_points_are_stored_as_well():
    f = KernelExpansion(GaussianKernel(0.5), sp.csr_matrix(X), block(20), np.zeros(2))
    again = KernelExpansion.from_arrays(*f.to_arrays())
    np.testing.assert_array_equal(again.values(X), f.values(X))


def test_contents_that_do_not_fit_are_refused():
    f = expansion()
    for wrong in (f.coef[:-1], np.where(f.coef > 0, np.nan, f.coef)):
        bad = KernelExpansion(f.kernel, f.points, wrong, f.intercept)
        with pytest.raises(ValueError, match=r"do not fit|contain NaN"):
            KernelExpansion.from_arrays(*bad.to_arrays())
