"""Folds, scores and shares of the candidates of the default."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.auto.folds import Folds, Trial, make_folds
from lapwing.auto.labels import Labels
from lapwing.auto.selection import Candidate, Selected, beyond_chance, judge


@given(counts=st.lists(st.integers(1, 12), min_size=1, max_size=5), seed=st.integers(0, 5))
def test_folds(counts, seed):
    codes = np.repeat(np.arange(len(counts)), counts)
    folds = make_folds(codes, len(codes), seed)
    if max(counts) < 2:
        assert folds == []
        return
    times = np.zeros(len(codes), dtype=int)  # how often each label is held out
    for train, test in folds:
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == len(codes)
        assert set(codes[train]) == set(range(len(counts)))  # every class is left to learn from
        times[test] += 1
    single = np.isin(codes, np.flatnonzero(np.array(counts) == 1))
    assert np.all(times[single] == 0)
    assert len(set(times[~single])) == 1
    assert times.max() >= 2


def test_two_labels_per_class_are_split_evenly():
    for train, test in make_folds(np.array([0, 0, 1, 1]), 4, 0):
        assert sorted(train // 2) == sorted(test // 2) == [0, 1]


def test_agreement_counts_beyond_chance():
    rng = np.random.default_rng(0)
    assert beyond_chance(np.zeros((5, 100), dtype=int), 2) == 0.5  # as expected by chance
    assert beyond_chance(np.tile(rng.integers(3, size=100), (5, 1)), 3) == 1.0
    assert beyond_chance(rng.integers(2, size=(10, 2000)), 2) == pytest.approx(0.5, abs=0.01)
    assert beyond_chance(np.zeros((5, 0), dtype=int), 4) == 0.25


def judged(**wrong):
    """Families with some of 20 held-out labels wrong, and fold models that agree on all rows."""
    folds, trials = trials_of(**wrong)
    candidates = judge(folds, trials)
    return candidates, {candidate.family: candidate.weight for candidate in candidates}


def trials_of(**wrong):
    codes = np.arange(20) % 2
    targets = np.where(codes == 1, 1.0, -1.0)[:, None]
    labels = Labels(np.arange(20), targets, np.ones(20), codes)
    halves = [(np.arange(10, 20), np.arange(10)), (np.arange(10), np.arange(10, 20))]
    on_sample = np.tile(np.where(np.arange(40) % 2, 1.0, -1.0)[:, None], (2, 1, 1))
    trials = []
    for family, errors in wrong.items():
        held_out = targets.copy()
        held_out[:errors] *= -1.0
        trials.append(Trial(family, {}, held_out, on_sample))
    return Folds(labels, halves, np.arange(20, 60)), trials


def test_scores():
    (plain, graph), _ = judged(supervised=5, graph=0)
    assert plain.held_out == 0.75
    assert plain.agreement == 1.0
    assert plain.score == pytest.approx((20 * 0.75 + 8) / 28)
    assert graph.score == 1.0


def test_supervised_candidates_get_a_bonus_of_one_standard_error():
    _, weights = judged(supervised=5, graph=5)
    by_score, by_evidence = np.e / (1 + np.e), np.exp(0.5) / (1 + np.exp(0.5))
    assert weights["supervised"] == pytest.approx((by_score + by_evidence) / 2)
    plain, graph = (candidate.score for candidate in judged(supervised=7, graph=4)[0])
    assert graph - plain == pytest.approx(3 / 28)  # a little more than a standard error
    _, weights = judged(supervised=7, graph=4)
    assert 0.5 < weights["graph"] < 0.9
    assert judged(supervised=9, graph=0)[1]["graph"] > 0.9
    assert judged(supervised=0, graph=9)[1] == {"supervised": 1.0, "graph": 0.0}


def test_evidence_is_the_likelihood_of_held_out_labels_and_of_the_agreement():
    candidates, weights = judged(supervised=8, graph=4)
    for candidate, wrong in zip(candidates, (8, 4), strict=True):
        sure = 1.0 / (1.0 + np.exp(-2.0 * candidate.temperature))
        expected = (20 - wrong) * np.log(sure) + wrong * np.log(1.0 - sure)
        assert candidate.evidence == pytest.approx(expected + 8 * np.log(1.0))
    plain, graph = candidates
    share = 1.0 / (1.0 + np.exp(plain.evidence + 0.5 - graph.evidence))
    gap = (plain.score + plain.spread - graph.score) / max(plain, graph, key=_raised).spread
    assert weights["graph"] == pytest.approx((share + 1.0 / (1.0 + np.exp(gap))) / 2)


def _raised(candidate):
    return candidate.score + candidate.spread * candidate.supervised


def test_evidence_of_quantities_is_gaussian():
    rng = np.random.default_rng(0)
    targets = rng.normal(size=(20, 1))
    labels = Labels(np.arange(20), targets, np.ones(20))
    halves = [(np.arange(10, 20), np.arange(10)), (np.arange(10), np.arange(10, 20))]
    found = [
        Trial(family, {}, targets + noise * rng.normal(size=(20, 1)), np.ones((2, 40, 1)))
        for family, noise in (("supervised", 0.5), ("graph", 0.1))
    ]
    for candidate in judge(Folds(labels, halves, np.arange(20, 60)), found):
        error = (20 * (1.0 - candidate.held_out) + 8 * 0.0) / 28  # copies agree: no error
        assert candidate.evidence == pytest.approx(-14 * np.log(error))


def test_equal_candidates_share_the_decision():
    _, weights = judged(supervised=10, graph=0, margin=0, manifold=9)
    assert weights["graph"] == weights["margin"] > 0.45


def test_settings_of_one_family_do_not_outvote_another():
    folds, (supervised, graph, margin) = trials_of(supervised=10, graph=0, margin=0)
    _, *graphs, other = judge(folds, [supervised, *[graph] * 4, margin])
    # Four equal settings count as √4.
    assert sum(candidate.weight for candidate in graphs) == pytest.approx(2 * other.weight)


def test_families_with_unlabelled_rows_share_evenly_where_nothing_is_held_out():
    codes = np.array([1, 0])
    labels = Labels(np.arange(2), np.array([[1.0], [-1.0]]), np.ones(2), codes)
    empty, on_sample = np.zeros((0, 1)), np.zeros((0, 3, 1))
    families = ("supervised", "graph", "graph", "margin")
    trials = [Trial(family, {}, empty, on_sample) for family in families]
    folds = Folds(labels, [], np.arange(2, 5))
    assert [c.weight for c in judge(folds, trials)] == [0.0, 0.25, 0.25, 0.5]
    assert [c.weight for c in judge(folds, trials[:1] * 2)] == [0.5, 0.5]
    folds = replace(folds, labels=replace(labels, codes=None))  # two quantities
    assert [c.weight for c in judge(folds, trials[:3])] == [0.5, 0.25, 0.25]


def test_a_repeated_selection_averages_both_shares():
    def candidate(weight, family="graph", **settings):
        return Candidate(family, settings, weight=weight)

    now = [candidate(0.7, power=1, scale=2.0), candidate(0.3, power=2), candidate(0.0, power=3)]
    before = [
        candidate(0.1, power=1, scale=9.0),  # the same model for other labels
        candidate(0.5, power=3),
        candidate(0.4, family="margin", power=1),  # is not tried any more
    ]
    folds, _ = trials_of()
    selected = Selected(folds, [], now)
    found = selected.averaged_with(before, 0.25)
    expected = np.array([0.55, 0.225, 0.125]) / 0.9
    assert [c.weight for c in found.candidates] == pytest.approx(expected)
    assert found.candidates[0].settings == now[0].settings
    assert found.scored == now
    last = selected.averaged_with(before, 0.03).candidates[-1]
    assert last.weight == 0.0  # 1.5 % is too little
    assert [c.weight for c in selected.averaged_with(before, 0.0).candidates] == [0.7, 0.3, 0.0]


def test_quantities_are_scored_by_explained_variance():
    targets = np.arange(10.0)[:, None]
    halves = [(np.arange(5, 10), np.arange(5)), (np.arange(5), np.arange(5, 10))]
    folds = Folds(Labels(np.arange(10), targets, np.ones(10)), halves, np.arange(10, 13))
    on_sample = np.ones((2, 3, 1))
    apart = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 4.0]])[:, :, None]  # variances ½, 2 and ½
    plain, graph = judge(
        folds,
        [
            Trial("supervised", {}, np.full((10, 1), 4.5), on_sample),
            Trial("graph", {}, targets + 0.1, apart),
        ],
    )
    assert plain.agreement == 1.0
    assert graph.agreement == pytest.approx(1.0 - 1.0 / np.var(targets))
    assert graph.score == pytest.approx((10 * graph.held_out + 8 * graph.agreement) / 18)
    assert plain.held_out == pytest.approx(0.0)
    assert graph.held_out == pytest.approx(1.0 - 0.01 / np.var(targets))
    assert graph.weight > 0.9


@pytest.mark.parametrize(("counts", "models"), [((9, 11), 5), ((2, 2), 5), ((1, 9), 10)])
def test_slow_settings_see_the_first_folds_that_hold_out_every_label(counts, models):
    codes = np.repeat([0, 1], counts)
    l = len(codes)
    labels = Labels(np.arange(l), np.where(codes == 1, 1.0, -1.0)[:, None], np.ones(l), codes)
    folds = Folds(labels, make_folds(codes, l, 0), np.arange(3))
    assert len(folds.folds) == 10

    class Setting:
        family, settings = "margin", {}

        def values_of_folds(self, labels, folds):
            return [(labels.targets[test], np.zeros((3, 1))) for _, test in folds]

    quick, slow = next(folds.run([Setting()])), next(folds.run([Setting()], slow=True))
    assert len(quick.on_sample) == 10
    assert len(slow.on_sample) == models
    held_out = folds.held_out_index(models)
    assert set(held_out) == set(range(0 if counts[0] > 1 else 1, l))  # never a single label
    np.testing.assert_array_equal(slow.held_out, labels.targets[held_out])


def test_two_classes_in_one_column_agree_by_chance_in_half_of_the_rows():
    folds, (trial,) = trials_of(supervised=0)
    random = np.random.default_rng(0).choice([-1.0, 1.0], size=(10, 2000, 1))
    (candidate,) = judge(folds, [replace(trial, on_sample=random)])
    assert candidate.agreement == pytest.approx(0.5, abs=0.02)
