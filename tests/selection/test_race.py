"""Folds, scores and shares of the default's race."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.selection.families import Labels
from lapwing.selection.race import Candidate, Race, _beyond_chance, make_folds


@given(counts=st.lists(st.integers(1, 12), min_size=1, max_size=5), seed=st.integers(0, 5))
def test_folds(counts, seed):
    kinds = np.repeat(np.arange(len(counts)), counts)
    folds = make_folds(kinds, len(kinds), seed)
    if max(counts) < 2:
        assert folds == []
        return
    held = np.zeros(len(kinds), dtype=int)
    for train, test in folds:
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == len(kinds)
        assert set(kinds[train]) == set(range(len(counts)))  # every class is left to learn from
        held[test] += 1
    single = np.isin(kinds, np.flatnonzero(np.array(counts) == 1))
    assert np.all(held[single] == 0)
    assert len(set(held[~single])) == 1
    assert held.max() >= 2


def test_two_labels_a_class_are_split_evenly():
    for train, test in make_folds(np.array([0, 0, 1, 1]), 4, 0):
        assert sorted(train // 2) == sorted(test // 2) == [0, 1]


def test_agreement_counts_beyond_chance():
    rng = np.random.default_rng(0)
    assert _beyond_chance(np.zeros((5, 100), dtype=int), 2) == 0.5  # says nothing
    assert _beyond_chance(np.tile(rng.integers(3, size=100), (5, 1)), 3) == 1.0
    assert _beyond_chance(rng.integers(2, size=(10, 2000)), 2) == pytest.approx(0.5, abs=0.01)
    assert _beyond_chance(np.zeros((5, 0), dtype=int), 4) == 0.25


def race_of(**wrong):
    """A race in which each family errs on so many of 20 held-out labels and agrees on all rows."""
    kinds = np.arange(20) % 2
    labels = Labels(np.arange(20), np.where(kinds == 1, 1.0, -1.0)[:, None], np.ones(20))
    folds = [(np.arange(10, 20), np.arange(10)), (np.arange(10), np.arange(10, 20))]
    race = Race(labels, folds, np.arange(20, 60), kinds)
    votes = np.tile(np.where(np.arange(40) % 2, 1.0, -1.0)[:, None], (2, 1, 1))
    for family, errors in wrong.items():
        held = labels.targets.copy()
        held[:errors] *= -1.0
        race.candidates.append(Candidate(family, {}, held, votes, 0.0))
    race.judge(lambda values, targets, weights: 1.0)
    return race, {candidate.family: candidate.weight for candidate in race.candidates}


def test_scores():
    race, _ = race_of(supervised=5, graph=0)
    plain, graph = race.candidates
    assert plain.held_out == 0.75
    assert plain.agreement == 1.0
    assert plain.score == pytest.approx((20 * 0.75 + 8) / 28)
    assert graph.score == 1.0


def test_the_simpler_machine_gets_a_standard_error_more():
    _, weights = race_of(supervised=5, graph=5)
    assert weights["supervised"] / weights["graph"] == pytest.approx(np.e)
    plain, graph = (candidate.score for candidate in race_of(supervised=7, graph=4)[0].candidates)
    assert graph - plain == pytest.approx(3 / 28)  # a little more than a standard error
    _, weights = race_of(supervised=7, graph=4)
    assert 0.5 < weights["graph"] < 0.6
    assert race_of(supervised=9, graph=0)[1]["graph"] > 0.9
    assert race_of(supervised=0, graph=9)[1] == {"supervised": 1.0, "graph": 0.0}


def test_equals_share_the_decision():
    _, weights = race_of(supervised=10, graph=0, margin=0, manifold=9)
    assert weights["graph"] == weights["margin"] > 0.45


def test_settings_of_one_family_do_not_outvote_another():
    race, _ = race_of(supervised=10, graph=0, margin=0)
    twins = [race.candidates[1]] * 4
    race.candidates = [race.candidates[0], *(replace(twin) for twin in twins), race.candidates[2]]
    race.judge(lambda values, targets, weights: 1.0)
    *graph, margin = (candidate.weight for candidate in race.candidates[1:])
    assert sum(graph) == pytest.approx(2 * margin)  # four that are equal count as two


def test_nothing_held_out_shares_evenly():
    labels = Labels(np.arange(2), np.array([[1.0], [-1.0]]), np.ones(2))
    race = Race(labels, [], np.arange(2, 5), np.array([1, 0]))
    empty, votes = np.zeros((0, 1)), np.zeros((0, 3, 1))
    for family in ("supervised", "graph", "graph"):
        race.candidates.append(Candidate(family, {}, empty, votes, 0.0))
    race.judge(lambda values, targets, weights: 1.0)
    assert [candidate.weight for candidate in race.candidates] == [0.5, 0.25, 0.25]


def test_numbers_are_scored_by_explained_variance():
    targets = np.arange(10.0)[:, None]
    folds = [(np.arange(5, 10), np.arange(5)), (np.arange(5), np.arange(5, 10))]
    race = Race(Labels(np.arange(10), targets, np.ones(10)), folds, np.arange(10, 13), None)
    votes = np.ones((2, 3, 1))
    race.candidates = [
        Candidate("supervised", {}, np.full((10, 1), 4.5), votes, 0.0),
        Candidate("graph", {}, targets + 0.1, votes, 0.0),
    ]
    race.judge(lambda values, targets, weights: 1.0)
    plain, graph = race.candidates
    assert plain.held_out == pytest.approx(0.0)
    assert graph.held_out == pytest.approx(1.0 - 0.01 / np.var(targets))
    assert graph.weight > 0.9
