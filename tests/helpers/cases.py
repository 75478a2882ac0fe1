"""The configured estimators that the contract suite in ``tests/contract`` runs over.

Every estimator of ``lapwing.__all__`` is listed here, some with several options, and the one that
CONTRIBUTING.md shows; a new one inherits the suite by being listed. Where a method legitimately
differs from the others, its case says so, with the reason. Where torch is installed, every case
that computes on a device is tested there as well.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier

import lapwing
from helpers import data
from helpers.contributing import AnchorSVC
from helpers.device import DEVICES
from lapwing import (
    S3VC,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    KNNGraph,
    LapERLSClassifier,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
    LapSVCPath,
    LapSVR,
    LGCClassifier,
    NFIClassifier,
    NystromLGCClassifier,
    PVMClassifier,
    PVMRegressor,
    SemiSupervisedClassifier,
    SemiSupervisedRegressor,
)

N_ROWS, N_LABELLED = 60, 18


@dataclass(frozen=True, eq=False)
class Case:
    """One configured estimator, and how it differs from the others.

    Reasons are sentences; an empty one means that there is no difference.
    """

    name: str
    estimator: BaseEstimator
    slow: bool = False  # whether a fit takes a tenth of a second or more
    sparse: bool = False  # whether the rows are given as a sparse matrix
    tol: float = 1e-5  # by how much the values of two ways to the same model may differ
    iterates: bool = False  # whether labels that are added start iterations from the last solution
    order_matters: str = ""  # why the order of the rows changes the model
    names_matter: str = ""  # why the order of the classes' names changes the model
    sparse_differs: str = ""  # why sparse rows give another model than dense ones
    fixed_scale: str = ""  # why rows in another unit give another model
    origin_matters: str = ""  # why a constant that is added to a column changes the model
    added_differs: str = ""  # why `add_labels` gives another model than a new fit
    transduction_differs: str = ""  # why training rows have other values than `predict` gives
    zero_weight: str = "unlabelled"  # what a labelled row of weight zero is: or "absent"
    no_reach_warning: str = ""  # why rows that no label reaches are not warned of
    forgets_rows: str = ""  # why `add_labels` is refused after a pickle
    bad_parameter: tuple[str, Any] = ("gamma", -1.0)
    device: str = ""  # where it is tested, if not on the host

    @property
    def id(self) -> str:
        return f"{self.name}@{self.device}" if self.device else self.name

    @property
    def is_classifier(self) -> bool:
        return is_classifier(self.estimator)

    @property
    def is_transductive(self) -> bool:
        """Whether only rows of the fit have predictions."""
        return isinstance(self.estimator, LGCClassifier)

    @property
    def uses_device(self) -> bool:
        """Whether fits or predictions of its rows, of few columns, move anything to a device."""
        if isinstance(self.estimator, S3VC):
            return self.estimator.solver in ("quasi-newton", "cccp")
        kinds = (LGCClassifier, EigenfunctionClassifier)
        return not (self.sparse or isinstance(self.estimator, kinds))

    @property
    def takes_sparse(self) -> bool:
        return self.estimator.__sklearn_tags__().input_tags.sparse

    @property
    def marker(self) -> Any:
        return -1 if self.is_classifier else np.nan

    def has(self, parameter: str) -> bool:
        return parameter in self.estimator.get_params(deep=False)

    def new(self, **parameters: Any) -> BaseEstimator:
        """An estimator of this case that is not fitted, with some parameters changed."""
        return clone(self.estimator).set_params(**parameters)

    def rows(self, X: Any) -> Any:
        """The rows in the form in which this case gives them."""
        return sp.csr_matrix(X) if self.sparse else X

    def data(self, n_classes: int = 3) -> tuple[Any, np.ndarray, np.ndarray]:
        """Rows, labels or targets of the first ones, and the truth; new arrays each time."""
        X, y, truth = data.blobs(N_ROWS, n_classes, N_LABELLED, d=3, gap=1.5)
        X[np.abs(X) < 0.25] = 0.0
        if not self.is_classifier:
            truth = X[:, 0] + np.sin(2 * X[:, 1])
            y = np.where(y == -1, np.nan, truth)
        return self.rows(X), y, truth

    def fitted(self, n_classes: int = 3) -> BaseEstimator:
        """The fitted estimator; shared, so it must not be changed."""
        return _fitted(self, n_classes)


@cache
def _fitted(case: Case, n_classes: int) -> BaseEstimator:
    return data.fit_quietly(case.new(), *case.data(n_classes)[:2])


def columns(values: Any) -> np.ndarray:
    """Values as a matrix of one column, or one column a class."""
    values = np.asarray(values)
    return values if values.ndim == 2 else values[:, None]


def values_of(model: BaseEstimator, X: Any) -> np.ndarray:
    """Decision values of a classifier or predictions of a regressor, as a matrix."""
    return columns(model.decision_function(X) if is_classifier(model) else model.predict(X))


def outputs_of(model: BaseEstimator, X: Any) -> dict[str, np.ndarray]:
    """All that a model says about rows."""
    methods = ("predict", "decision_function", "predict_proba")
    return {name: getattr(model, name)(X) for name in methods if hasattr(model, name)}


def assert_same_outputs(found: BaseEstimator, expected: BaseEstimator, X: Any) -> None:
    """Same bits."""
    for name, values in outputs_of(expected, X).items():
        np.testing.assert_array_equal(getattr(found, name)(X), values, err_msg=name)


def assert_finite(model: BaseEstimator, X: Any) -> None:
    """Neither NaN nor infinity in anything that the model says."""
    for name, values in outputs_of(model, X).items():
        assert np.isfinite(np.asarray(values, dtype=float)).all(), name
    assert np.isfinite(np.asarray(model.transduction_, dtype=float)).all()
    objective = getattr(getattr(model, "result_", None), "objective", None)
    assert objective is None or np.isfinite(objective)


# ---------------------------------------------------------------- the cases

_KMEANS = "k-means starts from random rows, by their position"
_DRAWN = "landmarks are random rows, by their position"
_FOLDS = "folds are drawn by position"
_LOCAL = "starts from the last solution and may end in another local minimum"
_RESTART = "starts from the last solution and stops within tol"
_FEW = {"reg_ambient": (1e-2, 1.0), "reg_manifold": (1e-2, 1.0)}
_DEFAULT = {
    "order_matters": _FOLDS,
    "names_matter": "folds are drawn class by class, in the order of their names",
    "sparse_differs": "sparse rows are not centred, and another candidate may be chosen",
    "added_differs": "the family that the first fit chose is kept",
    "no_reach_warning": "`suggest` puts such rows first",
    "bad_parameter": ("method", "fast"),
}
_LINEAR = "the norm of a linear function has the unit of the rows"
_NUMBER = "gamma is a number"
_MARGIN = {"zero_weight": "absent", "added_differs": _LOCAL, "bad_parameter": ("reg", -1.0)}
_NEAR = "training rows have their values on the graph; predictions average over near rows"
_FORGETS = "the rows are as large as the data and are not kept in a pickle"

CASES = [
    # Laplacian SVM and regularised least squares
    Case("LapSVC", LapSVC()),
    Case("LapSVC-hinge", LapSVC("hinge")),
    Case("LapSVC-pcg", LapSVC(solver="pcg", tol=1e-6), tol=1e-3, iterates=True),
    Case("LapSVC-linear", LapSVC(kernel="linear"), fixed_scale=_LINEAR),
    Case("LapSVC-sparse", LapSVC(), sparse=True),
    Case("LapSVC-landmarks", LapSVC(n_landmarks=10), order_matters=_KMEANS),
    Case("LapSVC-anchors", LapSVC(n_landmarks=10, graph="anchors"), order_matters=_KMEANS),
    Case("LapRLSClassifier", LapRLSClassifier()),
    Case(
        "LapRLSClassifier-poly",
        LapRLSClassifier(kernel="poly", degree=2, coef0=1.0),
        origin_matters="the kernel is a function of inner products",
    ),
    Case("LapRLSRegressor", LapRLSRegressor()),
    Case("LapRLSRegressor-pcg", LapRLSRegressor(solver="pcg", tol=1e-6), tol=1e-3, iterates=True),
    Case(
        "LapRLSRegressor-sparse",
        LapRLSRegressor(kernel="linear"),
        sparse=True,
        fixed_scale=_LINEAR,
    ),
    Case("LapRLSRegressor-landmarks", LapRLSRegressor(n_landmarks=10), order_matters=_KMEANS),
    Case(
        "LapRLSRegressor-anchors",
        LapRLSRegressor(n_landmarks=10, graph="anchors"),
        order_matters=_KMEANS,
    ),
    Case("LapSVR", LapSVR()),
    # Laplacian embedding: the tube is found to tol
    Case("LapESVC", LapESVC(), tol=5e-3, iterates=True),
    Case("LapESVC-eigenvectors", LapESVC(n_eigenvectors=8), tol=5e-3, iterates=True),
    Case("LapESVR", LapESVR(), tol=5e-3, iterates=True),
    Case("LapERLSClassifier", LapERLSClassifier()),
    Case("LapERLSClassifier-eigenvectors", LapERLSClassifier(n_eigenvectors=8)),
    Case("LapERLSRegressor", LapERLSRegressor()),
    Case("LapERLSRegressor-cg", LapERLSRegressor(solver="cg", tol=1e-8), tol=1e-3, iterates=True),
    # the whole path of λ, and grids
    Case("LapSVCPath", LapSVCPath(), order_matters=_FOLDS),
    Case("LapSVCPath-no-folds", LapSVCPath(cv=None)),
    Case("LapSVCCV", LapSVCCV(**_FEW, cv=3), order_matters=_FOLDS),
    Case(
        "LapSVCCV-settings",
        LapSVCCV("hinge", **_FEW, gamma=[0.1, 0.5], graph=[KNNGraph(6)], cv=2),
        order_matters=_FOLDS,
        fixed_scale=_NUMBER,
    ),
    Case("LapSVCCV-landmarks", LapSVCCV(**_FEW, cv=3, n_landmarks=10), order_matters=_KMEANS),
    Case("LapRLSClassifierCV", LapRLSClassifierCV(**_FEW)),
    Case("LapRLSRegressorCV", LapRLSRegressorCV(**_FEW)),
    # semi-supervised SVM
    Case("S3VC", S3VC(), fixed_scale=_LINEAR, **_MARGIN),
    Case("S3VC-rbf", S3VC("rbf", gamma=0.3, calibration_folds=0), fixed_scale=_NUMBER, **_MARGIN),
    Case(
        "S3VC-sparse",
        S3VC(solver="cccp", calibration_folds=0),
        sparse=True,
        fixed_scale=_LINEAR,
        **_MARGIN,
    ),
    Case(
        "S3VC-switching",
        S3VC(solver="label-switching", calibration_folds=0),
        fixed_scale=_LINEAR,
        **_MARGIN,
    ),
    Case(
        "S3VC-annealing",
        S3VC(solver="annealing", calibration_folds=0),
        tol=5e-3,
        fixed_scale=_LINEAR,
        **_MARGIN,
    ),
    Case(
        "S3VC-landmarks",
        S3VC("rbf", gamma=0.3, n_landmarks=8, landmarks="kmeans", calibration_folds=0),
        order_matters=_KMEANS,
        added_differs=_LOCAL,
        zero_weight="",  # k-means sees rows of weight zero
        fixed_scale=_NUMBER,
    ),
    # prototype vector machines; by default every row is a prototype here
    Case("PVMClassifier", PVMClassifier(), forgets_rows=_FORGETS, tol=1e-4),
    Case(
        "PVMClassifier-hinge",
        PVMClassifier("hinge", n_prototypes=12),
        order_matters=_KMEANS,
        forgets_rows=_FORGETS,
    ),
    Case(
        "PVMClassifier-prototypes",
        PVMClassifier(n_prototypes=8, n_landmarks=12, reg_unlabeled=0.1),
        order_matters=_KMEANS,
        forgets_rows=_FORGETS,
    ),
    Case("PVMRegressor", PVMRegressor(), forgets_rows=_FORGETS, tol=1e-4),
    Case(
        "PVMRegressor-sparse",
        PVMRegressor(n_prototypes=10),
        sparse=True,
        order_matters=_KMEANS,
        forgets_rows=_FORGETS,
    ),
    # graph methods
    Case("LGCClassifier", LGCClassifier(), bad_parameter=("alpha", 2.0)),
    Case(
        "LGCClassifier-iterative",
        LGCClassifier(solver="iterative", class_prior="labeled"),
        bad_parameter=("alpha", 2.0),
    ),
    Case("NystromLGCClassifier", NystromLGCClassifier(), tol=1e-4),
    Case(
        "NystromLGCClassifier-landmarks",
        NystromLGCClassifier(n_landmarks=30),
        order_matters=_DRAWN,
    ),
    Case("NFIClassifier", NFIClassifier()),
    Case("NFIClassifier-landmarks", NFIClassifier(n_landmarks=24), order_matters=_DRAWN),
    Case(
        "AnchorGraphClassifier",
        AnchorGraphClassifier(20),
        order_matters=_KMEANS,
        bad_parameter=("n_anchors", 0),
    ),
    Case(
        "AnchorGraphClassifier-lae",
        AnchorGraphClassifier(20, weights="lae", class_prior="labeled"),
        order_matters=_KMEANS,
        bad_parameter=("n_anchors", 0),
    ),
    Case(
        "EigenfunctionClassifier",
        EigenfunctionClassifier(),
        bad_parameter=("reg_labeled", -1.0),
    ),
    # the estimator of CONTRIBUTING.md, which is not in the library
    Case("AnchorSVC", AnchorSVC(20), order_matters=_KMEANS, bad_parameter=("n_anchors", 0)),
    # the default; the first case of a class is one that takes little time
    Case("SemiSupervisedClassifier-manifold", SemiSupervisedClassifier("manifold"), **_DEFAULT),
    Case("SemiSupervisedClassifier", SemiSupervisedClassifier(), slow=True, **_DEFAULT),
    Case(
        "SemiSupervisedClassifier-sparse",
        SemiSupervisedClassifier("graph"),
        sparse=True,
        origin_matters="sparse rows are not centred",
        transduction_differs=_NEAR,
        **_DEFAULT,
    ),
    Case(
        "SemiSupervisedRegressor",
        SemiSupervisedRegressor(),
        transduction_differs=_NEAR,
        **_DEFAULT,
    ),
]


def public_estimators() -> list[type[BaseEstimator]]:
    """All classes of ``lapwing.__all__`` that predict."""
    members = (getattr(lapwing, name) for name in lapwing.__all__)
    return [
        member
        for member in members
        if inspect.isclass(member)
        and issubclass(member, BaseEstimator)
        and hasattr(member, "predict")
    ]


def first_cases(cases: Iterable[Case] = tuple(CASES)) -> list[Case]:
    """The first case of each class."""
    first: dict[type, Case] = {}
    for case in cases:
        first.setdefault(type(case.estimator), case)
    return list(first.values())


@cache
def _on(case: Case, device: str) -> Case:
    return replace(case, device=device)  # one object, for which `fitted` is computed once


def on_devices(cases: list[Case]) -> list[Case]:
    """The cases, and once more those that use a device, where torch is installed."""
    others = [_on(case, device) for device in DEVICES[1:] for case in cases if case.uses_device]
    return cases + others


#: For tests that are parametrised over cases: compute on the device of the case.
on_its_device = pytest.mark.usefixtures("device_of_the_case")


def each_case(
    where: Callable[[Case], bool] = lambda case: True,
    *,
    one_a_class: bool = False,
    host_only: bool = False,
) -> Callable:
    """Run a test with every case that fulfils a condition, on the host and on a device.

    Parameters
    ----------
    where : callable
        Which cases.
    one_a_class : bool
        Whether the first case of each class will do.
    host_only : bool
        Whether the test computes nothing, or chooses the device itself.
    """
    cases = [case for case in CASES if where(case)]
    cases = first_cases(cases) if one_a_class else cases
    cases = cases if host_only else on_devices(cases)

    def decorate(test: Callable) -> Callable:
        parameters = [pytest.param(case, id=case.id) for case in cases]
        return on_its_device(pytest.mark.parametrize("case", parameters)(test))

    return decorate
