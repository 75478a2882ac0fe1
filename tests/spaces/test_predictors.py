"""Fitted functions: values against naive formulas, sums and multiples, files."""

import tracemalloc
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
import scipy.sparse as sp

from helpers.data import gaussian
from lapwing.arrays.blocks import RowBlocks
from lapwing.arrays.packing import pack
from lapwing.auto.rows import ScaledInput
from lapwing.auto.scaling import RowScaling
from lapwing.graphs.anchors import AnchorGraph
from lapwing.graphs.eigenfunctions import EigenfunctionBasis
from lapwing.kernels.functions import CosineKernel, GaussianKernel, LinearKernel, PolynomialKernel
from lapwing.spaces.predictors import (
    PREDICTOR_TYPES,
    AnchorMixture,
    Constant,
    EigenfunctionSeries,
    KernelExpansion,
    LinearFunction,
    NeighborAverage,
    Predictor,
    PrototypeMixture,
    RowLookup,
    SpreadShares,
    WeightedSum,
)
from lapwing.spaces.prototypes import LowRankGraph, Similarities

rng = np.random.default_rng(0)
POINTS, ROWS = rng.normal(size=(25, 3)), rng.normal(size=(40, 3))
POINTS[0] = 0.0
COEF, INTERCEPT = rng.normal(size=(25, 2)), np.array([0.5, -1.0])
COEF[5:9] = 0.0
WEIGHTS, PASSED_ON = rng.normal(size=(3, 2)), np.linspace(0.5, 2.0, 25)
SPARSE = sp.csr_matrix(np.where(np.abs(POINTS) < 0.5, 0.0, POINTS))


# ---------------------------------------------------------------- naive formulas


def unit(X):
    norms = np.sqrt((X**2).sum(axis=1, keepdims=True))
    return X / np.where(norms == 0, 1.0, norms)


def mixture(X, anchors, coef, s, bandwidth):
    """The mean over the s nearest anchors, row by row."""
    values = np.empty((len(X), coef.shape[1]))
    for row, x in enumerate(X):
        squares = ((anchors - x) ** 2).sum(axis=1)
        near = np.argsort(squares)[:s]
        weights = np.exp(-squares[near] / (2 * bandwidth**2))
        values[row] = weights @ coef[near] / weights.sum()
    return values


def neighbour_mean(X, points, coef, weights, k):
    """The weighted mean over the k nearest points, row by row."""
    values = np.empty((len(X), coef.shape[1]))
    for row, x in enumerate(X):
        squares = ((points - x) ** 2).sum(axis=1)
        near = np.argsort(squares)[:k]
        shares = np.exp(-2 * squares[near] / squares[near].max()) * weights[near]
        values[row] = shares @ coef[near] / shares.sum()
    return values


def series(X, basis, coef):
    """The constant and the interpolated tables, one after the other."""
    total = np.tile(coef[0], (len(X), 1))
    coordinates = (X - basis.mean) @ basis.axes
    for (axis, centres, table), c in zip(basis.functions, coef[1:], strict=True):
        total += np.interp(coordinates[:, axis], centres, table)[:, None] * c
    return total


def spread(X, graph, coef, factors, known, on_known):
    """The shares of the columns, row by row."""
    found = []
    E = gaussian(X, POINTS[:8], 0.7)
    for x, similarities in zip(X, E, strict=True):
        P = graph.root.T @ similarities
        F = P @ coef / np.sqrt(max(similarities @ graph.load, P @ P))
        for row, own in zip(known, on_known, strict=True):
            if (row == x).all():
                F = F + own
                break
        F = F * factors
        F = F / np.abs(F).sum()
        found.append(F[1:] - F[:1] if len(F) == 2 else F)
    return np.array(found)


ANCHORS = AnchorGraph.build(ROWS, POINTS[:8], 3, "kernel")[0]
EMBEDDED = AnchorGraph.build(ROWS, POINTS[:8], 3, "lae")[0]
BASIS = EigenfunctionBasis.build(ROWS, 2, 10, 4)
SERIES = rng.normal(size=(1 + len(BASIS.functions), 2))
GRAPH = LowRankGraph.build(RowBlocks.of(ROWS), Similarities(GaussianKernel(0.7), POINTS[:8]))
SPREAD, OWN = rng.normal(size=(GRAPH.root.shape[1], 3)), rng.normal(size=(6, 3))
KNOWN, FACTORS = ROWS[[3, 8, 3, 0, 20, 30]], np.array([0.5, 1.0, 2.0])  # one of them twice
SCALING = RowScaling("columns", np.array([0.1, 0.2, 0.3]), np.array([2.0, 1.0, 0.5]))

#: For each case a predictor and its naive formula.
CASES = {
    "gaussian": (
        KernelExpansion(GaussianKernel(0.7), POINTS, COEF, INTERCEPT),
        lambda X: gaussian(X, POINTS, 0.7) @ COEF + INTERCEPT,
    ),
    "gaussian about a centre": (
        KernelExpansion(GaussianKernel(0.7, np.ones(3)), POINTS, COEF, INTERCEPT),
        lambda X: gaussian(X, POINTS, 0.7) @ COEF + INTERCEPT,
    ),
    "gaussian over sparse points": (
        KernelExpansion(GaussianKernel(0.7), SPARSE, COEF, INTERCEPT),
        lambda X: gaussian(X, SPARSE.toarray(), 0.7) @ COEF + INTERCEPT,
    ),
    "linear expansion": (
        KernelExpansion(LinearKernel(), POINTS, COEF, INTERCEPT),
        lambda X: X @ POINTS.T @ COEF + INTERCEPT,
    ),
    "polynomial": (
        KernelExpansion(PolynomialKernel(gamma=0.3, degree=3, coef0=1.0), POINTS, COEF, INTERCEPT),
        lambda X: (0.3 * X @ POINTS.T + 1.0) ** 3 @ COEF + INTERCEPT,
    ),
    "cosine expansion": (
        KernelExpansion(CosineKernel(), POINTS, COEF, INTERCEPT),
        lambda X: unit(X) @ unit(POINTS).T @ COEF + INTERCEPT,
    ),
    "no support": (
        KernelExpansion(GaussianKernel(0.7), POINTS, np.zeros((25, 2)), INTERCEPT),
        lambda X: np.tile(INTERCEPT, (len(X), 1)),
    ),
    "linear": (
        LinearFunction(WEIGHTS, INTERCEPT),
        lambda X: X @ WEIGHTS + INTERCEPT,
    ),
    "linear of unit rows": (
        LinearFunction(WEIGHTS, INTERCEPT, CosineKernel()),
        lambda X: unit(X) @ WEIGHTS + INTERCEPT,
    ),
    "prototypes": (
        PrototypeMixture(Similarities(GaussianKernel(0.7), POINTS), COEF),
        lambda X: gaussian(X, POINTS, 0.7) @ COEF,
    ),
    "normalised prototypes": (
        PrototypeMixture(Similarities(GaussianKernel(0.7), POINTS, True, 0.2), COEF),
        lambda X: (
            gaussian(X, POINTS, 0.7)
            @ COEF
            / (gaussian(X, POINTS, 0.7).sum(axis=1, keepdims=True) + 0.2)
        ),
    ),
    "anchors": (
        AnchorMixture(ANCHORS, COEF[:8]),
        lambda X: mixture(X, POINTS[:8], COEF[:8], 3, ANCHORS.bandwidth),
    ),
    "embedded anchors": (
        AnchorMixture(EMBEDDED, COEF[:8]),
        lambda X: EMBEDDED(X).toarray() @ COEF[:8],  # the weights have tests of their own
    ),
    "eigenfunctions": (
        EigenfunctionSeries(BASIS, SERIES),
        lambda X: series(X, BASIS, SERIES),
    ),
    "neighbours": (
        NeighborAverage(POINTS, COEF, PASSED_ON, 4),
        lambda X: neighbour_mean(X, POINTS, COEF, PASSED_ON, 4),
    ),
    "more neighbours than rows": (
        NeighborAverage(POINTS[:5], COEF[:5], PASSED_ON[:5], 9),
        lambda X: neighbour_mean(X, POINTS[:5], COEF[:5], PASSED_ON, 5),
    ),
    "spread": (
        SpreadShares(GRAPH, SPREAD, FACTORS, 1e-12, KNOWN, OWN),
        lambda X: spread(X, GRAPH, SPREAD, FACTORS, KNOWN, OWN),
    ),
    "spread of two columns": (
        SpreadShares(GRAPH, SPREAD[:, :2], FACTORS[:2], 1e-12, KNOWN, OWN[:, :2]),
        lambda X: spread(X, GRAPH, SPREAD[:, :2], FACTORS[:2], KNOWN, OWN[:, :2]),
    ),
    "spread without known rows": (
        SpreadShares(GRAPH, SPREAD, FACTORS, 1e-12, KNOWN, OWN).without_rows(),
        lambda X: spread(X, GRAPH, SPREAD, FACTORS, KNOWN[:0], OWN[:0]),
    ),
    "constant": (Constant(INTERCEPT), lambda X: np.tile(INTERCEPT, (len(X), 1))),
    "sum": (
        WeightedSum(
            (LinearFunction(WEIGHTS, INTERCEPT), NeighborAverage(POINTS, COEF, PASSED_ON, 4))
        ),
        lambda X: X @ WEIGHTS + INTERCEPT + neighbour_mean(X, POINTS, COEF, PASSED_ON, 4),
    ),
    "scaled rows": (
        ScaledInput(SCALING, LinearFunction(WEIGHTS, INTERCEPT)),
        lambda X: (X - SCALING.center) * SCALING.factor @ WEIGHTS + INTERCEPT,
    ),
}
LOOKUP = RowLookup(POINTS, COEF)
EVERY = {name: predictor for name, (predictor, _) in CASES.items()} | {"lookup": LOOKUP}
each_case = pytest.mark.parametrize("name", list(CASES))
each_predictor = pytest.mark.parametrize("predictor", EVERY.values(), ids=EVERY)


def known_rows(predictor):
    """Rows that the predictor has values for."""
    return POINTS if predictor is LOOKUP else ROWS


def test_every_class_has_a_case():
    tested = {type(predictor) for predictor in EVERY.values()}
    library = {cls for cls in PREDICTOR_TYPES if issubclass(cls, Predictor)}
    assert tested == {*library, ScaledInput}


# ---------------------------------------------------------------- values


@each_case
def test_values_are_those_of_the_formula(name):
    predictor, formula = CASES[name]
    np.testing.assert_allclose(predictor.values(ROWS), formula(ROWS), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in CASES if name != "eigenfunctions"])
def test_sparse_rows_have_the_same_values(name):
    predictor, formula = CASES[name]
    X = np.where(np.abs(ROWS) < 0.5, 0.0, ROWS)
    found = predictor.values(sp.csr_matrix(X))
    np.testing.assert_allclose(found, formula(X), rtol=1e-9, atol=1e-10)


@each_predictor
def test_tiles_do_not_matter(predictor, monkeypatch):
    X = known_rows(predictor)
    together = predictor.values(X)
    for size in (1, 7):
        parts = [predictor.values(X[start : start + size]) for start in range(0, len(X), size)]
        np.testing.assert_allclose(np.concatenate(parts), together, rtol=1e-10, atol=1e-12)
    monkeypatch.setattr("lapwing.kernels.expansion._BLOCK_ENTRIES", 60)
    monkeypatch.setattr("lapwing.spaces.predictors._NEIGHBOR_ROWS", 3)
    for module in ("predictors", "spread"):
        monkeypatch.setattr(f"lapwing.spaces.{module}.tile_rows", lambda _: 4)
    np.testing.assert_allclose(predictor.values(X), together, rtol=1e-10, atol=1e-12)


@each_predictor
def test_values_do_not_change_the_rows_or_the_function(predictor):
    X = known_rows(predictor).copy()
    before, (page, arrays) = X.copy(), predictor.to_arrays()
    arrays = {name: array.copy() for name, array in arrays.items()}
    first = predictor.values(X)
    assert np.array_equal(X, before)
    assert np.array_equal(predictor.values(X), first)
    again, later = predictor.to_arrays()
    assert again == page
    assert all(np.array_equal(later[name], arrays[name]) for name in arrays)


@each_predictor
def test_predictors_are_immutable(predictor):
    for field in fields(predictor):
        with pytest.raises(FrozenInstanceError):
            setattr(predictor, field.name, None)
    with pytest.raises(FrozenInstanceError):
        predictor.other = 1


# ---------------------------------------------------------------- rows that are looked up


def test_known_rows_have_their_values():
    order = rng.permutation(25)
    assert np.array_equal(LOOKUP.values(POINTS[order]), COEF[order])
    sparse = sp.csr_matrix(POINTS)
    assert np.array_equal(RowLookup(sparse, COEF).values(sparse[order]), COEF[order])


def test_the_first_of_duplicate_rows_counts():
    X = np.vstack([POINTS[:3], POINTS[:3]])
    assert np.array_equal(RowLookup(X, COEF[:6]).values(X), np.vstack([COEF[:3], COEF[:3]]))


def test_unknown_rows_are_refused_by_number():
    X = POINTS[:6].copy()
    X[4, 1] = np.nextafter(X[4, 1], np.inf)
    X[5] += 1.0
    with pytest.raises(ValueError, match="2 of 6 rows, the first of them row 4, are not among"):
        LOOKUP.values(X)


def test_what_is_spread_may_be_rounding():
    far = np.vstack([ROWS[:2], ROWS[:2] + 5.0, ROWS[:2] + 1e3])
    f = EVERY["spread"]
    F = GRAPH.normalized_features(far) @ SPREAD
    sums = np.abs(F).sum(axis=1)
    assert sums[2:4].max() < 0.5 * sums[:2].min()
    assert sums[2:4].min() > 0.0
    least = float(sums[2:4].max())
    found = replace(f, least=least, rows=far[3:4], on_rows=OWN[:1]).values(far)
    np.testing.assert_array_equal(found[[2, 4, 5]], 0.0)
    assert np.abs(found[[0, 1, 3]]).sum(axis=1) == pytest.approx(1.0)
    # Known rows count with their addition, sparse ones as well.
    sparse = replace(f, least=least, rows=sp.csr_matrix(far[3:4]), on_rows=OWN[:1])
    np.testing.assert_allclose(sparse.values(sp.csr_matrix(far)), found, rtol=1e-9, atol=1e-12)
    assert f.values(ROWS[:0]).shape == (0, 3)
    assert EVERY["spread of two columns"].values(ROWS[:0]).shape == (0, 1)


# ---------------------------------------------------------------- multiples and sums

scalable = ["gaussian", "linear", "linear of unit rows", "neighbours", "sum", "scaled rows"]
scalable += ["prototypes", "anchors", "eigenfunctions", "spread", "spread of two columns"]


@pytest.mark.parametrize("name", scalable)
@pytest.mark.parametrize("factor", [0.0, 1.0, -2.5])
def test_multiples(name, factor):
    predictor, formula = CASES[name]
    before = predictor.values(ROWS)
    found = predictor.times(factor)
    assert type(found) is type(predictor)
    np.testing.assert_allclose(found.values(ROWS), factor * formula(ROWS), atol=1e-10)
    assert np.array_equal(predictor.values(ROWS), before)


@pytest.mark.parametrize(
    "name", ["gaussian", "linear", "linear of unit rows", "neighbours", "spread"]
)
def test_functions_over_the_same_points_are_added(name):
    predictor, formula = CASES[name]
    both = predictor.plus(predictor.times(0.5))
    assert type(both) is type(predictor)
    np.testing.assert_allclose(both.values(ROWS), 1.5 * formula(ROWS), rtol=1e-9, atol=1e-10)


def test_functions_of_different_points_or_kernels_are_not_added():
    one = EVERY["gaussian"]
    assert one.plus(replace(one, points=POINTS.copy())) is None
    assert one.plus(replace(one, kernel=GaussianKernel(0.8))) is None
    assert one.plus(replace(one, kernel=GaussianKernel(0.7, np.ones(3)))) is None
    assert one.plus(EVERY["linear"]) is None
    assert EVERY["linear"].plus(EVERY["linear of unit rows"]) is None
    assert EVERY["linear"].plus(one) is None
    assert EVERY["neighbours"].plus(replace(EVERY["neighbours"], rows=POINTS.copy())) is None
    assert EVERY["neighbours"].plus(one) is None
    assert EVERY["anchors"].plus(EVERY["prototypes"]) is None


def test_a_sum_joins_what_can_be_joined():
    names = ["gaussian", "linear", "neighbours", "gaussian", "linear", "polynomial"]
    total = WeightedSum.of([EVERY[name].times(0.5) for name in names])
    classes = [KernelExpansion, LinearFunction, NeighborAverage, KernelExpansion]
    assert [type(part) for part in total.parts] == classes
    expected = sum(0.5 * CASES[name][1](ROWS) for name in names)
    np.testing.assert_allclose(total.values(ROWS), expected, rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------- files


@each_predictor
def test_files_keep_every_bit(predictor):
    page, arrays = predictor.to_arrays()
    assert all(array.dtype != object for array in arrays.values())
    loaded = type(predictor).from_arrays(page, {name: a.copy() for name, a in arrays.items()})
    X = known_rows(predictor)
    assert type(loaded) is type(predictor)
    assert np.array_equal(loaded.values(X), predictor.values(X))


def test_the_base_class_reads_any_predictor_of_this_layer():
    for name, predictor in EVERY.items():
        if name != "scaled rows":
            assert type(Predictor.from_arrays(*predictor.to_arrays())) is type(predictor)


def test_points_that_are_shared_are_stored_once():
    total = WeightedSum((EVERY["gaussian"], EVERY["polynomial"], EVERY["neighbours"]))
    page, arrays = total.to_arrays()
    assert sum(array.shape == POINTS.shape for array in arrays.values()) == 1
    first, second, third = WeightedSum.from_arrays(page, arrays).parts
    assert first.points is second.points is third.rows


def test_another_class_is_refused():
    page, arrays = EVERY["linear"].to_arrays()
    with pytest.raises(ValueError, match="this is no KernelExpansion"):
        KernelExpansion.from_arrays(page, arrays)
    page, arrays = pack(GaussianKernel(1.0), {"GaussianKernel": GaussianKernel})
    with pytest.raises(ValueError, match="this is no Predictor"):
        Predictor.from_arrays(page, arrays)


def test_a_kernel_function_of_the_user_is_not_stored():
    class Own(GaussianKernel):
        pass

    with pytest.raises(TypeError, match="cannot be stored"):
        replace(EVERY["gaussian"], kernel=Own(1.0)).to_arrays()


def with_nan(array):
    array = array.copy()
    array.flat[0] = np.nan
    return array


SENSELESS = {
    "fewer coefficients": replace(EVERY["gaussian"], coef=COEF[:5]),
    "more intercepts": replace(EVERY["gaussian"], intercept=np.zeros(3)),
    "coefficients not finite": replace(EVERY["gaussian"], coef=with_nan(COEF)),
    "points not finite": replace(EVERY["gaussian"], points=with_nan(POINTS)),
    "points of texts": replace(EVERY["gaussian"], points=POINTS.astype(str)),
    "weights of one dimension": replace(EVERY["linear"], coef=WEIGHTS[:, 0]),
    "intercept not finite": replace(EVERY["linear"], intercept=with_nan(INTERCEPT)),
    "intercepts of another number": replace(EVERY["linear"], intercept=np.zeros(3)),
    "fewer prototypes": replace(EVERY["prototypes"], coef=COEF[:4]),
    "fewer anchors": replace(EVERY["anchors"], coef=COEF[:4]),
    "fewer eigenfunctions": replace(EVERY["eigenfunctions"], coef=SERIES[:-1]),
    "no neighbours": replace(EVERY["neighbours"], n_neighbors=0),
    "weight of zero": replace(EVERY["neighbours"], weights=np.zeros(25)),
    "too few weights": replace(EVERY["neighbours"], weights=np.ones(24)),
    "values of fewer neighbours": replace(EVERY["neighbours"], on_rows=COEF[:4]),
    "values of fewer rows": replace(LOOKUP, on_rows=COEF[:4]),
    "coefficients of fewer features": replace(EVERY["spread"], coef=SPREAD[:-1]),
    "coefficients of fewer columns": replace(EVERY["spread"], coef=SPREAD[:, :2]),
    "factors of fewer columns": replace(EVERY["spread"], factors=FACTORS[:2]),
    "one column": replace(
        EVERY["spread"], coef=SPREAD[:, :1], factors=FACTORS[:1], on_rows=OWN[:, :1]
    ),
    "additions of fewer rows": replace(EVERY["spread"], on_rows=OWN[:4]),
    "known rows of fewer columns": replace(EVERY["spread"], rows=KNOWN[:, :2]),
    "rounding not finite": replace(EVERY["spread"], least=np.inf),
    "rounding below zero": replace(EVERY["spread"], least=-1.0),
    "weight not finite": replace(EVERY["spread"], weight=np.nan),
    "graph of fewer points": replace(EVERY["spread"], graph=replace(GRAPH, root=GRAPH.root[:-1])),
    "degrees of fewer points": replace(EVERY["spread"], graph=replace(GRAPH, load=GRAPH.load[1:])),
    "sum of nothing": WeightedSum(()),
    "sum of something else": WeightedSum((GaussianKernel(1.0),)),
    "kernel of another type": replace(EVERY["gaussian"], kernel=EVERY["linear"]),
    "unknown scaling": replace(EVERY["scaled rows"], scaling=replace(SCALING, kind="other")),
    "scaling not finite": replace(
        EVERY["scaled rows"], scaling=replace(SCALING, factor=with_nan(SCALING.factor))
    ),
}


@pytest.mark.parametrize("predictor", SENSELESS.values(), ids=SENSELESS)
def test_contents_that_make_no_sense_are_refused(predictor):
    with pytest.raises((ValueError, TypeError)):
        type(predictor).from_arrays(*predictor.to_arrays())


def test_neighbours_of_sparse_rows_are_those_of_dense_ones():
    dense = NeighborAverage(POINTS, COEF, PASSED_ON, 4)
    sparse = NeighborAverage(sp.csr_matrix(POINTS), COEF, PASSED_ON, 4)
    found = sparse.values(sp.csr_matrix(ROWS))
    np.testing.assert_allclose(found, dense.values(ROWS), rtol=1e-12)
    np.testing.assert_array_equal(sparse.values(sp.csr_matrix(ROWS[:0])), np.zeros((0, 2)))


def test_neighbours_of_sparse_rows_take_little_memory():
    rng = np.random.default_rng(0)
    X = sp.csr_matrix((rng.random((21_500, 12)) < 0.3) * rng.random((21_500, 12)))
    average = NeighborAverage(X[:20_000], rng.random((20_000, 2)), np.ones(20_000), 5)
    tracemalloc.start()
    found = average.values(X[20_000:])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 20_000 * 1_500  # all distances
    np.testing.assert_allclose(found[-3:], average.values(X[-3:]), rtol=1e-12)
