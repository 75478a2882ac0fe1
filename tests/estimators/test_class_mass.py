"""Class-mass normalisation: priors as users give them, and the factors of the classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lapwing.estimators.class_mass import (
    class_factors,
    class_scales,
    labeled_shares,
    resolve_prior,
    warn_lost_mass,
)
from lapwing.estimators.targets import class_targets

CLASSES = np.array(["a", "b", "c"])
COUNTS = np.array([5, 2, 0])
positive = st.floats(1e-3, 1e3)


def test_forms_of_the_prior():
    assert resolve_prior(None, CLASSES, COUNTS) is None
    np.testing.assert_allclose(resolve_prior("equal", CLASSES, COUNTS), [1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(resolve_prior("labeled", CLASSES, COUNTS), [0.6, 0.3, 0.1])
    for given_shares in ({"c": 2, "a": 5, "b": 3}, [5, 3, 2], (0.5, 0.3, 0.2), np.array([5, 3, 2])):
        shares = resolve_prior(given_shares, CLASSES, COUNTS)
        np.testing.assert_allclose(shares, [0.5, 0.3, 0.2])
    numbers = resolve_prior({1: 3.0, 0: 1.0}, np.array([0, 1]), np.array([1, 1]))
    np.testing.assert_allclose(numbers, [0.25, 0.75])
    np.testing.assert_allclose(resolve_prior([1e308, 1e308, 1e308], CLASSES, COUNTS), 1 / 3)


def test_a_line_of_counts_for_each_case():
    cases = np.array([[5, 2, 0], [0, 0, 0]])
    np.testing.assert_allclose(
        resolve_prior("labeled", CLASSES, cases), [[0.6, 0.3, 0.1], [1 / 3] * 3]
    )


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("balanced", "class_prior must be None, 'labeled', 'equal', a dict"),
        ({"a": 1, "b": 1}, r"each of the classes \['a', 'b', 'c'\] and to no other, got \['a'"),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, "to no other"),
        ([0.5, 0.5], r"one share for each of the 3 classes, got shape \(2,\)"),
        (0.5, "one share for each of the 3 classes"),
        ([0.5, 0.5, 0.0], "positive, finite shares"),
        ([0.5, 0.6, -0.1], "positive, finite shares"),
        ([0.5, 0.5, np.nan], "positive, finite shares"),
        ({"a": 1, "b": 1, "c": np.inf}, "positive, finite shares"),
        (["x", "y", "z"], "class_prior must be None"),
        (object(), "class_prior must be None"),
    ],
)
def test_bad_priors_are_refused(prior, message):
    with pytest.raises(ValueError, match=message):
        resolve_prior(prior, CLASSES, COUNTS)


@given(arrays(float, (7, 3), elements=positive), arrays(float, 3, elements=positive))
def test_scaled_values_have_the_mass_of_the_prior(F, shares):
    prior = resolve_prior(shares, CLASSES, COUNTS)
    scaled = F * class_factors(F.sum(axis=0), prior)
    np.testing.assert_allclose(scaled.sum(axis=0) / scaled.sum(), shares / shares.sum(), rtol=1e-9)
    np.testing.assert_allclose(scaled.sum(), F.sum())
    scaled = F * class_factors(F.sum(axis=0), prior, total=7.0)
    np.testing.assert_allclose(scaled.sum(axis=0), 7.0 * shares / shares.sum(), rtol=1e-9)


@given(arrays(float, (4, 3), elements=positive), arrays(float, (4, 3), elements=positive))
def test_lines_are_cases_of_their_own(mass, priors):
    together = class_factors(mass, priors, least=1.0)
    for line, m, q in zip(together, mass, priors, strict=True):
        np.testing.assert_array_equal(line, class_factors(m, q, least=1.0))


@pytest.mark.parametrize("n_classes", range(2, 20))
def test_equal_shares_are_a_division_by_the_number_of_classes(n_classes):
    mass = np.random.default_rng(n_classes).uniform(1, 50, n_classes)
    prior = resolve_prior("equal", np.arange(n_classes), np.ones(n_classes))
    np.testing.assert_array_equal(
        class_factors(mass, prior, total=100.0), 100.0 / (n_classes * mass)
    )


@pytest.mark.parametrize("lost", [0.0, -2.0, 1e-20])
def test_a_class_without_mass_leaves_all_as_they_are(lost):
    mass = np.array([3.0, lost, 2.0])
    np.testing.assert_array_equal(class_factors(mass, np.full(3, 1 / 3)), 1.0)
    with pytest.warns(UserWarning, match=r"for \['b'\].*more weight, pray, or set class_prior"):
        warn_lost_mass(mass, CLASSES, advice=", pray")
    both = class_factors(np.array([mass, [1.0, 1.0, 2.0]]), np.full(3, 1 / 3))
    np.testing.assert_array_equal(both[0], 1.0)
    np.testing.assert_allclose(both[1], [4 / 3, 4 / 3, 2 / 3])


def test_no_prior_scales_nothing():
    mass = np.array([[3.0, 0.4], [0.0, 1.0]])
    np.testing.assert_array_equal(class_factors(mass, None), np.ones((2, 2)))


def test_least_mass_is_that_of_the_caller(recwarn):
    mass, prior = np.array([3.0, 0.4]), np.array([0.5, 0.5])
    np.testing.assert_array_equal(class_factors(mass, prior, least=0.5), 1.0)
    np.testing.assert_allclose(class_factors(mass, prior, least=0.4), [3.4 / 6, 3.4 / 0.8])
    warn_lost_mass(mass, CLASSES[:2], least=0.4)
    warn_lost_mass(mass, CLASSES[:2])
    assert not recwarn
    np.testing.assert_array_equal(class_factors(np.zeros(2), prior), 1.0)
    np.testing.assert_array_equal(class_factors(np.zeros(2), prior, least=0.0), 1.0)


@pytest.mark.parametrize("prior", [None, "labeled", "equal", [1.0, 2.0, 3.0]])
@pytest.mark.parametrize("sample", [None, np.array([0, 2, 4])])
def test_scales_with_all_labels_and_without_one(prior, sample):
    y = np.array([0, 1, 2, 0, 1, -1, -1])
    targets = class_targets(y, y[:, None], None, unlabeled=-1, class_weight=None)
    chosen = np.arange(5) if sample is None else sample
    rng = np.random.default_rng(0)
    mass, held_out = rng.uniform(1, 2, 3), rng.uniform(1, 2, (len(chosen), 3))
    scales = class_scales(prior, targets, mass, held_out, sample=sample, total=7.0)
    counts = np.array([2, 2, 1])
    shares = resolve_prior(prior, CLASSES, counts)
    np.testing.assert_array_equal(scales.factors, class_factors(mass, shares, total=7.0))
    np.testing.assert_array_equal(
        scales.shares, labeled_shares(counts) if prior is None else shares
    )
    for i, row in enumerate(chosen):
        left = counts - (np.arange(3) == y[row])
        shares = resolve_prior(prior, CLASSES, left)
        np.testing.assert_array_equal(
            scales.held_out[i], class_factors(held_out[i], shares, total=7.0)
        )
        expected = labeled_shares(left) if prior is None else shares
        np.testing.assert_array_equal(
            np.broadcast_to(scales.held_out_shares, held_out.shape)[i], expected
        )
