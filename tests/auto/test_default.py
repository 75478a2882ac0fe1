"""The default: its predictions, its report, its model files."""

import copy
import pickle
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_digits, make_blobs, make_moons
from sklearn.exceptions import NotFittedError

import lapwing
from helpers import data
from lapwing import ModelFileError, SemiSupervisedClassifier, SemiSupervisedRegressor
from lapwing.arrays.archive import read_archive, write_archive
from lapwing.arrays.packing import pack
from lapwing.auto import fit, limits
from lapwing.auto.candidate_settings import SETTINGS
from lapwing.auto.labels import Labels
from lapwing.auto.scaling import learn_scaling
from lapwing.auto.supervised_family import SupervisedFamily
from lapwing.kernels.functions import resolve_gamma
from lapwing.persistence.types import known_types


def few(truth, per_class, seed=0):
    """Labels of some rows of each class, -1 for the others."""
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for code in np.unique(truth):
        y[rng.permutation(np.flatnonzero(truth == code))[:per_class]] = code
    return y


@pytest.fixture(scope="module")
def digits():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:600], truth[:600]
    return X, few(truth, 5), truth


@pytest.fixture(scope="module")
def model(digits):
    return SemiSupervisedClassifier().fit(*digits[:2])


@pytest.fixture(scope="module")
def curve():
    """A regression along a curve, one row in ten with a target."""
    t = np.linspace(0.0, 3.0, 300)
    X = np.column_stack([np.cos(2 * t), np.sin(2 * t), t])
    y = np.where(np.arange(300) % 10 == 0, np.sin(3 * t), np.nan)
    return X, y, np.sin(3 * t)


# Predictions.


def test_digits(model, digits):
    X, y, truth = digits
    hidden = y == -1
    ours = np.mean(model.transduction_[hidden] == truth[hidden])
    alone = np.mean(model.supervised_transduction_[hidden] == truth[hidden])
    assert ours > alone + 0.03
    assert model.report_.chosen in ("graph", "manifold")
    assert np.array_equal(model.transduction_[~hidden], y[~hidden])
    assert np.mean(model.predict(X) == model.transduction_) > 0.97


def test_moons_and_clusters():
    gains = []
    for seed in range(6):  # with ten labels, straight lines may seem as good
        X, truth = make_moons(300, noise=0.05, random_state=seed)
        model = SemiSupervisedClassifier().fit(X, few(truth, 5))
        ours, alone = model.transduction_, model.supervised_transduction_
        gains.append(np.mean(ours == truth) - np.mean(alone == truth))
    assert min(gains) >= 0.0
    assert np.mean(gains) > 0.0
    X, truth = make_moons(300, noise=0.05, random_state=1)
    found = SemiSupervisedClassifier().fit(X, few(truth, 10)).transduction_
    assert np.mean(found == truth) > 0.95
    rng = np.random.default_rng(0)  # a gap that the graph hardly sees, in fifty dimensions
    truth = rng.integers(2, size=400)
    X = rng.standard_normal((400, 50)) + 0.23 * np.where(truth == 1, 1.0, -1.0)[:, None]
    model = SemiSupervisedClassifier().fit(X, few(truth, 3))
    assert model.report_.chosen == "margin"
    assert np.mean(model.transduction_ == truth) > 0.9


def test_text():
    """Counts of words, two topics: sparse rows are never made dense."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=300)
    rates = np.full((2, 400), 0.02)
    rates[0, :60] = rates[1, 60:120] = 0.12
    X = sp.csr_matrix(rng.poisson(rates[truth]))
    model = SemiSupervisedClassifier().fit(X, few(truth, 3))
    assert model.scaling_.kind == "counts"
    assert np.mean(model.transduction_ == truth) > 0.95
    assert np.mean(model.predict(X) == truth) > 0.95


def test_noise_costs_little():
    """Rows without structure: the default must not do worse than its supervised model."""
    gaps = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((150, 10))
        truth = (X[:, 0] + 0.5 * rng.standard_normal(150) > 0).astype(int)
        y = few(truth, 10, seed)
        model = SemiSupervisedClassifier().fit(X, y)
        hidden = y == -1
        found, alone = (
            np.mean(labels[hidden] == truth[hidden])
            for labels in (model.transduction_, model.supervised_transduction_)
        )
        gaps.append(found - alone)
    assert np.mean(gaps) > -0.01


def test_quantities_on_a_curve(curve):
    X, y, truth = curve
    model = SemiSupervisedRegressor().fit(X, y)
    assert np.abs(model.transduction_ - truth).max() < 0.15
    assert np.abs(model.predict(X) - truth).max() < 0.15
    assert model.report_.metric == "R²"
    assert model.report_.score > 0.9


def test_quantities_of_a_table():
    X, truth = load_diabetes(return_X_y=True)
    y = np.full(len(truth), np.nan)
    y[::8] = truth[::8]
    model = SemiSupervisedRegressor().fit(X, y)
    hidden = np.isnan(y)
    explained = 1 - np.mean((model.predict(X[hidden]) - truth[hidden]) ** 2) / np.var(truth[hidden])
    assert explained > 0.3


# The report.


def test_report(model):
    report = model.report_
    document = report.to_dict()
    assert {candidate["family"] for candidate in document["candidates"]} == {
        "supervised",
        "graph",
        "manifold",
    }
    assert sum(candidate["weight"] for candidate in document["candidates"]) == pytest.approx(1.0)
    assert (document["rows"], document["labels"]) == (600, 50)
    confusion = np.array(document["confusion"])
    assert confusion.shape == (10, 10)
    assert np.trace(confusion) / confusion.sum() == pytest.approx(report.score)
    assert 0 < report.spread < 0.2
    assert report.score > report.supervised_score
    assert str(report).startswith(f"The {report.chosen} family")
    assert "graph" in str(report)


def test_report_has_the_settings_of_every_candidate(model):
    X, y, _ = data.moons()
    margin = SemiSupervisedClassifier("margin").fit(X, y)
    self_training = SemiSupervisedClassifier("self-training").fit(X, y)
    named = {
        "supervised": {"width", "reg"},
        "manifold": {"width", "ratio", "reg"},
        "graph": {"neighbours", "power", "floor", "reg"},
        "margin": {"width", "reg"},
        "self-training": {"added", "reg"},
    }
    tried = model.report_.candidates + margin.report_.candidates + self_training.report_.candidates
    for family, names in named.items():
        own = [c["settings"] for c in tried if c["family"] == family]
        assert all(set(settings) == names for settings in own)
        known = {tuple(settings.items()) for settings in SETTINGS[family]}
        assert {tuple(settings.items()) for settings in own} == known


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_that_do_not_fit_are_refused(digits, sparse):
    X, y, _ = digits
    X = np.tile(X, 40)  # much more than graph and labels need
    needed = 12 * np.count_nonzero(X) if sparse else 8 * X.size
    message = r"fitting 600 rows of 2560 columns needs .* memory_limit"
    for limit, error in ((0.8 * needed, MemoryError), (needed + 2_600_000, None)):
        model = SemiSupervisedClassifier("supervised", memory_limit=int(limit))
        with pytest.raises(error, match=message) if error else nullcontext():
            model.fit(sp.csr_matrix(X) if sparse else X, y)


def test_report_warns_where_unlabelled_rows_hurt(monkeypatch):
    """One of twenty columns decides: neighbours are no guide."""
    monkeypatch.setattr(fit, "families_to_try", lambda *_: ["supervised", "graph"])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    truth = (X[:, 0] > 0).astype(int)
    y = few(truth, 60)
    model = SemiSupervisedClassifier().fit(X, y)
    assert any("unlabelled rows hurt" in message for message in model.report_.warnings)
    shares = {c["family"]: 0.0 for c in model.report_.candidates}
    for candidate in model.report_.candidates:
        shares[candidate["family"]] += candidate["weight"]
    assert shares["supervised"] > 0.95


def test_a_report_without_scores_can_be_read_again(digits, tmp_path):
    X, _, truth = digits
    model = SemiSupervisedClassifier().fit(X, few(truth, 1))
    model.save(tmp_path / "m")
    assert str(lapwing.load(tmp_path / "m").report_) == str(model.report_)


def test_duplicates_have_the_values_of_their_representatives():
    X, truth = make_moons(100, noise=0.1, random_state=0)
    y = few(truth, 4)
    model = SemiSupervisedClassifier().fit(np.vstack([X, X]), np.append(y, np.full(100, -1)))
    P = model.label_distributions_
    assert np.array_equal(P[:100], P[100:])
    assert np.array_equal(model.map_[:100], model.map_[100:])
    assert model.n_duplicates_ == 100
    model.add_labels([150], [truth[50]])  # a duplicate
    assert model.transduction_[150] == truth[50]


def test_thousands_of_labels(monkeypatch, digits):
    """With thousands of labels no system of labels by labels is built."""
    X, _, truth = digits
    monkeypatch.setattr(limits, "MOST_LABELS", 100)
    monkeypatch.setattr(limits, "LANDMARKS", 150)
    y = few(truth, 40)
    model = SemiSupervisedClassifier().fit(X, y)
    assert any("are tried" in message for message in model.report_.warnings)
    assert np.mean(model.transduction_ == truth) > 0.95
    monkeypatch.setattr(limits, "MOST_LABELS", 3000)
    monkeypatch.setattr(limits, "GRAPH_WORK", 10.0)
    model = SemiSupervisedClassifier().fit(X, y)
    assert "graph" not in {candidate.family for candidate in model.candidates_}
    assert any("the graph family is not tried" in message for message in model.report_.warnings)


def test_ridge_over_columns_is_the_same_model(digits):
    """Primal and dual least squares agree, and landmarks at all labels change nothing."""
    X, y, truth = digits
    X = learn_scaling(X).apply(X)
    index = np.flatnonzero(y >= 0)
    targets = np.where(truth[index][:, None] == np.arange(10), 1.0, -1.0)
    labels = Labels(index, targets, np.linspace(0.5, 1.5, len(index)))
    family = SupervisedFamily(X, resolve_gamma("median", X))
    for settings in ({"width": None, "reg": 0.1}, {"width": 4.0, "reg": 0.1}):
        primal = family.fit_features(settings, labels)
        assert np.allclose(primal.values(X), family.fit(settings, labels)[0], atol=1e-6)


def test_every_row_labelled(digits):
    X, _, truth = digits
    model = SemiSupervisedClassifier().fit(X, truth)
    assert model.report_.chosen == "supervised"
    assert any("every row is labelled" in message for message in model.report_.warnings)
    assert len(model.suggest(5)) == 0


def test_one_label_per_class(digits):
    X, _, truth = digits
    model = SemiSupervisedClassifier().fit(X, few(truth, 1))
    assert "nothing can be held out" in model.report_.reason
    assert np.mean(model.transduction_ == truth) > 0.6
    assert model.report_.to_dict()["score"] is None
    shares = {c.family: 0.0 for c in model.candidates_}
    for candidate in model.candidates_:
        shares[candidate.family] += candidate.weight
    assert shares == pytest.approx({"supervised": 0.0, "graph": 0.5, "manifold": 0.5})


def test_one_label_per_class_and_all_rows_labelled():
    X = np.array([[0.0, 1.0], [4.0, 5.0], [9.0, 0.0]])
    model = SemiSupervisedClassifier().fit(X, [0, 1, 2])
    assert np.array_equal(model.predict(X), [0, 1, 2])
    assert sum(candidate.weight for candidate in model.candidates_) == pytest.approx(1.0)


def test_class_shares_with_one_label_per_class(digits):
    """The offsets move doubtful rows, not all of them, as they would with flat probabilities."""
    X, _, truth = digits
    y, shares = few(truth, 1), dict(enumerate(np.bincount(truth) / len(truth)))
    plain = SemiSupervisedClassifier().fit(X, y)
    shared = SemiSupervisedClassifier(class_shares=shares).fit(X, y)
    P = plain.label_distributions_
    second, first = np.sort(P[(y == -1) & plain.label_reach_], axis=1)[:, -2:].T
    assert np.median(np.log(first / second)) == pytest.approx(2.0)
    assert np.mean(shared.transduction_ != plain.transduction_) < 0.2
    assert np.mean(shared.transduction_ == truth) > np.mean(plain.transduction_ == truth) - 0.02


def test_rows_that_no_label_reaches():
    X = np.vstack([make_blobs(60, centers=[[0, 0], [9, 0]], random_state=0)[0], [[500.0, 0]] * 15])
    X[60:] += np.random.default_rng(0).standard_normal((15, 2))
    truth = np.append(make_blobs(60, centers=[[0, 0], [9, 0]], random_state=0)[1], [1] * 15)
    y = few(truth[:60], 3)
    model = SemiSupervisedClassifier().fit(X, np.append(y, [-1] * 15))
    assert not model.label_reach_[60:].any()
    assert any("without a label" in message for message in model.report_.warnings)
    assert model.suggest(3)[0] >= 60
    assert np.isfinite(model.predict_proba(X)).all()


# Probabilities, rejection, suggestions, more labels.


def test_probabilities(model, digits):
    X, y, truth = digits
    P = model.predict_proba(X)
    assert np.allclose(P.sum(axis=1), 1.0)
    assert np.array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    hidden = y == -1
    chosen = model.label_distributions_[hidden, truth[hidden]]
    assert -np.log(np.maximum(chosen, 1e-12)).mean() < 0.6  # confident where it is right


def test_two_labels_per_class_do_not_make_it_certain(digits):
    X, _, truth = digits
    y = few(truth, 2)
    P = SemiSupervisedClassifier().fit(X, y).label_distributions_[y == -1]
    right = np.mean(P.argmax(axis=1) == truth[y == -1])
    assert abs(P.max(axis=1).mean() - right) < 0.25


def test_reject(model, digits):
    X, _, truth = digits
    found = model.predict(X, reject=0.8)
    kept = np.array([label is not None for label in found])
    assert 0.1 < kept.mean() < 1.0
    assert np.mean(found[kept] == truth[kept]) > np.mean(model.predict(X) == truth)
    for wrong in (0.0, 1.0, 2.0, np.nan):
        with pytest.raises(ValueError, match="reject"):
            model.predict(X, reject=wrong)


def test_suggestions(model, digits):
    y = digits[1]
    rows = model.suggest(12)
    assert len(set(rows)) == 12
    assert np.all(y[rows] == -1)
    doubt = 1.0 - model.label_distributions_.max(axis=1)
    assert doubt[rows].mean() > 2 * doubt[y == -1].mean()
    with pytest.raises(ValueError, match="n must be"):
        model.suggest(0)


def test_at_most_half_of_the_suggestions_are_rows_that_no_label_reaches():
    centres = 1000.0 * np.arange(7)[:, None]  # seven parts, one of them with labels
    X = np.repeat(centres, 30, axis=0) + np.random.default_rng(0).normal(size=(210, 2))
    y = np.where(np.arange(210) < 8, np.arange(210) % 2, -1)
    model = SemiSupervisedClassifier("graph").fit(X, y)
    for n in (1, 2, 4, 5):
        rows = model.suggest(n)
        assert len(rows) == n
        first = max(n // 2, 1)
        assert not model.label_reach_[rows[:first]].any()
        assert len(set(rows[:first] // 30)) == first


def test_suggestions_are_no_duplicates_of_each_other():
    X, truth = make_moons(60, noise=0.1, random_state=0)
    X, truth = np.repeat(X, 12, axis=0), np.repeat(truth, 12)
    y = few(truth, 4)
    for rows in (X, sp.csr_matrix(X)):
        model = SemiSupervisedClassifier().fit(rows, y)
        assert any("duplicate rows were used once" in message for message in model.report_.warnings)
        found = model.suggest(10)
        assert len(np.unique(X[found], axis=0)) == len(found) == 10


def test_more_labels(digits):
    X, y, truth = digits
    model = SemiSupervisedClassifier().fit(X, y)
    before = np.mean(model.transduction_ == truth)
    rows = model.suggest(60)
    assert model.add_labels(rows, truth[rows]) is model
    assert np.array_equal(model.transduction_[rows], truth[rows])
    assert np.mean(model.transduction_ == truth) > before
    assert model.report_.labels == 110
    names = pd.DataFrame(X, columns=[f"p{k}" for k in range(X.shape[1])])
    model = SemiSupervisedClassifier().fit(names, y)
    with pytest.raises(ValueError, match="'nine', which is of another type"):
        model.add_labels([int(rows[0])], ["nine"])
    assert model.feature_names_in_[0] == "p0"


def test_more_targets(curve):
    X, y, truth = curve
    model = SemiSupervisedRegressor().fit(X, y)
    model.add_labels([5, 15], truth[[5, 15]])
    assert model.transduction_[5] == truth[5]
    assert model.report_.refits == 1


# Parameters, sizes, input.


@pytest.mark.parametrize("method", ["supervised", "manifold", "graph", "margin", "self-training"])
def test_methods(method):
    X, truth = make_moons(120, noise=0.05, random_state=0)
    model = SemiSupervisedClassifier(method).fit(X, few(truth, 5))
    assert model.report_.chosen == method
    assert len(model.predictor_.function.parts) == 1


def test_unknown_methods(curve):
    with pytest.raises(ValueError, match="method must be"):
        SemiSupervisedClassifier("other").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="method must be"):
        SemiSupervisedRegressor("margin").fit(*curve[:2])
    with pytest.raises(ValueError, match="method must be"):
        SemiSupervisedRegressor("self-training").fit(*curve[:2])


def test_two_fits_give_the_same_bits(model, digits):
    again = SemiSupervisedClassifier().fit(*digits[:2])
    assert np.array_equal(again.label_distributions_, model.label_distributions_)


def test_stages_are_reported(digits):
    stages = []
    SemiSupervisedClassifier(callback=lambda *stage: stages.append(stage)).fit(*digits[:2])
    shares = [share for _, share in stages]
    assert shares == sorted(shares)
    assert stages[0][1] == 0.0
    assert stages[-1] == ("done", 1.0)


def test_units_do_not_matter():
    """Columns in different units are brought to one scale, whatever the units are."""
    X, truth = make_moons(200, noise=0.05, random_state=0)
    y = few(truth, 5)
    one = SemiSupervisedClassifier().fit(X * [1000.0, 0.001] + [1e4, 0.0], y)
    other = SemiSupervisedClassifier().fit(X * [0.5, 4096.0], y)
    assert one.scaling_.kind == other.scaling_.kind == "columns"
    assert np.array_equal(one.transduction_, other.transduction_)
    assert SemiSupervisedClassifier().fit(X, y).scaling_.kind == "common"


def test_constant_columns_and_names_as_labels():
    X, truth = make_moons(200, noise=0.05, random_state=0)
    X = np.column_stack([X, np.full(200, 7.0)])
    y = np.array(["hen", "cock"], dtype=object)[truth]
    y[few(truth, 5) == -1] = None
    model = SemiSupervisedClassifier().fit(X, y)
    assert set(model.classes_) == {"hen", "cock"}
    assert np.mean(model.transduction_ == np.array(["hen", "cock"])[truth]) > 0.95


def test_all_columns_constant():
    X, y = np.ones((30, 3)), np.full(30, -1)
    y[:6] = [0, 1, 0, 1, 0, 1]
    model = SemiSupervisedClassifier().fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_many_rows(monkeypatch, digits):
    """Above a limit the models see a part of the rows, and the others are predicted."""
    X, y, truth = digits
    monkeypatch.setattr(limits, "MOST_ROWS", 300)
    model = SemiSupervisedClassifier().fit(X, y)
    assert model.graph_.n_samples_ == 300
    assert len(model.transduction_) == len(model.label_reach_) == 600
    assert np.mean(model.transduction_ == truth) > 0.85
    assert any("fitted to 300 of 600 rows" in message for message in model.report_.warnings)
    rows = model.suggest(5)
    model.add_labels(rows, truth[rows])
    other = np.setdiff1d(np.arange(600), model._setup.rows.index)[:3]
    model.add_labels(other, truth[other])  # rows that were not in use
    assert np.array_equal(model.transduction_[other], truth[other])


def test_landmarks_stay_when_labels_are_added(monkeypatch, digits, tmp_path):
    """A model that was read from a file goes on as the one that was saved."""
    X, y, truth = digits
    monkeypatch.setattr(limits, "EXACT_ROWS", 100)
    monkeypatch.setattr(limits, "LANDMARKS", 120)
    model = SemiSupervisedClassifier("manifold").fit(X, y)
    model.save(tmp_path / "m")
    again = lapwing.load(tmp_path / "m")
    rows = model.suggest(5)
    for one in (model, again):
        one.add_labels(rows, truth[rows])
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))
    assert np.mean(model.transduction_ == truth) > 0.85


def test_a_graph_of_the_user(digits):
    X, y, truth = digits
    graph = lapwing.KNNGraph(5)
    model = SemiSupervisedClassifier(graph=graph).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert model.graph_.n_neighbors == 5
    assert model.graph_.n_samples_ == 1200
    W = graph.fit(X).affinity_
    model = SemiSupervisedClassifier(graph=W).fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.85
    assert np.mean(model.predict(X) == truth) > 0.85


def test_many_labels(monkeypatch, digits):
    X, _, truth = digits
    monkeypatch.setattr(limits, "SELECTION_LABELS", 40)
    y = few(truth, 30)
    y[np.flatnonzero(y == 7)[2:]] = -1  # two labels of a class still take part
    model = SemiSupervisedClassifier().fit(X, y)
    assert np.sum(model.report_.confusion) <= 10 * 40
    assert np.sum(model.report_.confusion, axis=1)[7] > 0
    assert np.mean(model.transduction_ == truth) > 0.95


def test_single_precision(digits):
    X, y, truth = digits
    model = SemiSupervisedClassifier().fit(X.astype(np.float32), y)
    assert np.mean(model.transduction_ == truth) > 0.85


def test_weights(digits):
    """A label of weight zero counts as none."""
    X, y, _ = digits
    wrong, weights = y.copy(), np.ones(600)
    rows = np.flatnonzero(y == -1)[:20]
    wrong[rows], weights[rows] = 3, 0.0
    one = SemiSupervisedClassifier().fit(X, y)
    other = SemiSupervisedClassifier().fit(X, wrong, sample_weight=weights)
    hidden = wrong == -1
    assert np.array_equal(one.transduction_[hidden], other.transduction_[hidden])


def test_not_fitted():
    with pytest.raises(NotFittedError):
        SemiSupervisedClassifier().predict([[0.0]])
    with pytest.raises(NotFittedError):
        SemiSupervisedClassifier().save("nowhere")


# Files.


@pytest.fixture(scope="module")
def small():
    """A model that is quick to read: names as classes, a column name, several parts."""
    X, truth = make_moons(60, noise=0.1, random_state=0)
    y = np.array(["a", "b"], dtype=object)[truth]
    y[few(truth, 3) == -1] = None
    return X, SemiSupervisedClassifier(unlabeled=None).fit(X, y)


def test_a_new_process_predicts_the_same(small, tmp_path):
    X, model = small
    model.save(tmp_path / "m.lapwing", extra={"who": "me"})
    np.save(tmp_path / "X.npy", X + 0.01)
    code = (
        "import lapwing, numpy as np; model = lapwing.load('m.lapwing'); "
        "np.save('P.npy', model.predict_proba(np.load('X.npy'))); print(model.extra_['who'])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "me"
    assert np.array_equal(np.load(tmp_path / "P.npy"), model.predict_proba(X + 0.01))


def test_a_loaded_model_has_all_attributes(model, digits, tmp_path):
    X, _, truth = digits
    model.save(tmp_path / "m")
    again = lapwing.load(tmp_path / "m")
    for name in ("classes_", "transduction_", "label_distributions_", "label_reach_", "labelled_"):
        assert np.array_equal(getattr(again, name), getattr(model, name))
    assert np.array_equal(again.supervised_transduction_, model.supervised_transduction_)
    assert again.report_.to_dict() == model.report_.to_dict()
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.suggest(7), model.suggest(7))
    assert np.array_equal(again.map_, model.map_)
    rows = model.suggest(5)
    one = pickle.loads(pickle.dumps(model)).add_labels(rows, truth[rows])
    two = again.add_labels(rows, truth[rows])
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
    again.save(tmp_path / "n")
    assert np.array_equal(lapwing.load(tmp_path / "n").predict(X), two.predict(X))


def test_regressors_and_sparse_rows_can_be_loaded(curve, tmp_path):
    X, y, _ = curve
    for rows in (X, sp.csr_matrix(X)):
        model = SemiSupervisedRegressor().fit(rows, y)
        model.save(tmp_path / "m")
        again = lapwing.load(tmp_path / "m")
        assert np.array_equal(again.predict(rows), model.predict(rows))
        assert np.isnan(again.unlabeled)


def test_a_thousand_changed_bytes(small, tmp_path):
    """A changed file is refused, or predicts the same; nothing else happens."""
    X, model = small
    path = tmp_path / "m"
    model.save(path)
    whole, expected = path.read_bytes(), model.predict_proba(X[:3])
    rng, refused = np.random.default_rng(0), 0
    for _ in range(1000):
        changed = bytearray(whole)
        for position in rng.integers(len(whole), size=rng.integers(1, 4)):
            changed[position] = rng.integers(256)
        path.write_bytes(changed)
        try:
            again = lapwing.load(path)
        except ModelFileError:
            refused += 1
        else:
            assert np.array_equal(again.predict_proba(X[:3]), expected)
    assert refused > 900


def test_contents_that_do_not_fit_together(small, tmp_path):
    """A file whose checksums are right but whose contents make no sense."""
    _, model = small
    model.save(tmp_path / "m")
    page, arrays = read_archive(tmp_path / "m")

    def fitted(page):
        return page["model"]["state"]["fitted"]["dict"]

    def attribute(page, name):
        return next(value for key, value in fitted(page) if key == name)

    def setup(page):
        return attribute(page, "_setup")["state"]

    def targets(name):
        return lambda page: attribute(page, "_targets")["state"][name]

    def change_predictor(page, **fields):
        attribute(page, "predictor_")["state"]["function"]["state"]["parts"]["tuple"][0][
            "state"
        ].update(fields)

    def change_array(where, change):
        def changed(page, arrays):
            name = where(page)["array"]
            arrays[name] = change(arrays[name])

        return changed

    def rows(page, name):
        return setup(page)["rows"]["state"][name]

    changes = [
        lambda page, arrays: page["model"].update(type="os.system"),
        lambda page, arrays: page["model"].update(type="GaussianKernel"),
        lambda page, arrays: fitted(page).append(["predict", 1]),
        lambda page, arrays: fitted(page).append(["__class__", 1]),
        lambda page, arrays: fitted(page).remove(
            next(item for item in fitted(page) if item[0] == "predictor_")
        ),
        lambda page, arrays: page["model"]["state"]["parameters"]["dict"].append(["method", "rm"]),
        lambda page, arrays: attribute(page, "report_")["state"].update(candidates={"list": [1]}),
        lambda page, arrays: attribute(page, "report_")["state"].update(evil=1),
        lambda page, arrays: rows(page, "scaling")["state"].update(kind="other"),
        lambda page, arrays: setup(page).update(seed=-1),
        lambda page, arrays: change_predictor(page, intercept="a"),
        lambda page, arrays: change_predictor(page, evil=1),
        lambda page, arrays: attribute(page, "candidates_")["list"][0]["state"].update(
            settings={"dict": [["width", 4.0], ["reg", 1e-30]]}
        ),
        change_array(lambda page: rows(page, "index"), lambda index: index - 1),
        change_array(lambda page: rows(page, "index"), lambda index: index * 0),
        change_array(targets("index"), lambda i: np.append(i[:-1], 10**6)),
        change_array(targets("index"), lambda i: np.append(-1, i[1:])),
        change_array(targets("row_weights"), lambda weights: weights[:-1]),
        change_array(lambda page: setup(page)["landmarks"], lambda i: np.append(i[:-1], 10**6)),
        change_array(lambda page: setup(page)["landmarks"], lambda i: np.append(-1, i[1:])),
        change_array(lambda page: setup(page)["landmarks"], lambda i: i[:, None]),
        change_array(lambda page: rows(page, "X"), lambda X: X[:, :1]),
        change_array(lambda page: rows(page, "scaling")["state"]["center"], lambda c: c * np.nan),
        change_array(lambda page: attribute(page, "classes_"), lambda classes: classes[::-1]),
        change_array(lambda page: attribute(page, "label_distributions_"), lambda P: P[:5]),
        change_array(
            lambda page: setup(page)["graph"]["state"]["affinity_"]["csr_array"][1],
            lambda indices: indices + 10**6,
        ),
    ]
    for number, change in enumerate(changes):
        changed, others = copy.deepcopy(page), dict(arrays)
        change(changed, others)
        write_archive(tmp_path / "n", changed, others)
        with pytest.raises(ModelFileError):
            print(number, lapwing.load(tmp_path / "n"))


def test_a_marker_that_json_cannot_represent():
    with pytest.raises(TypeError, match="cannot be stored"):
        pack(SemiSupervisedClassifier(unlabeled={1, 2}), known_types)
