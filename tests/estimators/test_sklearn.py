"""scikit-learn's own conformance suite."""

import pytest
from sklearn.utils.estimator_checks import (
    check_classifiers_classes,
    check_sample_weight_equivalence_on_dense_data,
    parametrize_with_checks,
)

from lapwing import LapRLSClassifier, LapRLSRegressor, LapSVC

_WEIGHTS = (
    "weights belong to the losses alone: a row of weight zero still shapes the graph, and a "
    "repeated row is another node of the graph"
)
_MARKER = "labels are -1 and +1 there, and -1 marks unlabelled rows, so they are refused"


def expected_failed_checks(estimator):
    failures = {
        "check_sample_weight_equivalence_on_dense_data": _WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": _WEIGHTS,
    }
    if not isinstance(estimator, LapRLSRegressor):
        failures["check_classifiers_classes"] = _MARKER
    return failures


@parametrize_with_checks(
    [LapSVC(), LapRLSClassifier(), LapRLSRegressor()],
    expected_failed_checks=expected_failed_checks,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("Classifier", [LapSVC, LapRLSClassifier])
def test_labels_minus_one_and_one_pass_without_the_marker(Classifier):
    # The reason given above, put to the test.
    check_classifiers_classes(Classifier.__name__, Classifier(unlabeled=None))


def test_weights_equal_repeated_rows_without_the_graph():
    # The other reason; a linear kernel, because widths of the others look at the rows too.
    supervised = LapRLSRegressor(reg_manifold=0.0, kernel="linear", reg_ambient=1.0)
    check_sample_weight_equivalence_on_dense_data("LapRLSRegressor", supervised)
