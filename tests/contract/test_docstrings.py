"""A parameter that several estimators share is described in the same words by all of them.

Docstrings are written out in full, because editors show the source; this test keeps the copies
alike. Where a parameter means something else for another family, `VARIANTS` says which estimators
share one description. No sentence is written down here.
"""

import ast
import inspect
import re

import numpy as np
import pytest
from sklearn.base import is_classifier

from helpers.cases import public_estimators
from lapwing import KNNGraph

ESTIMATORS = {kind.__name__: kind for kind in (*public_estimators(), KNNGraph)}

LAPLACIAN = {"LapSVC", "LapRLSClassifier", "LapRLSRegressor"}
SVR = {"LapSVR"}
EMBEDDED = {"LapESVC", "LapESVR", "LapERLSClassifier", "LapERLSRegressor"}
TUBE, RIDGE = {"LapESVC", "LapESVR"}, {"LapERLSClassifier", "LapERLSRegressor"}
GRID = {"LapSVCCV", "LapRLSClassifierCV", "LapRLSRegressorCV"}
PATH, MARGIN = {"LapSVCPath"}, {"S3VC"}
PROTOTYPES = {"PVMClassifier", "PVMRegressor"}
LANDMARKS = {"NFIClassifier", "NystromLGCClassifier"}
LGC, NFI = {"LGCClassifier"}, {"NFIClassifier"}
ANCHORS, EIGENFUNCTIONS = {"AnchorGraphClassifier"}, {"EigenfunctionClassifier"}
DEFAULT = {"SemiSupervisedClassifier", "SemiSupervisedRegressor"}
GRAPH = {"KNNGraph"}
CLASSIFIERS = {name for name, kind in ESTIMATORS.items() if is_classifier(kind())}
EVERYTHING = set(ESTIMATORS)

#: Parameter -> groups of estimators; within a group the description is the same, between groups it
#: may differ. An estimator in no group belongs to the rest, which is a group too.
VARIANTS: dict[str, list[set[str]]] = {
    "C": [SVR],  # weight of the losses, or of the distance between f and g
    "alpha": [LGC],  # weight of the neighbours, or of the whole graph
    "bandwidth": [GRAPH],
    "callback": [MARGIN, DEFAULT],  # after stages, or with progress
    "class_prior": [ANCHORS],  # another default
    "class_weight": [EMBEDDED],  # the weights multiply λ
    "cv": [PATH, {"LapSVCCV"}],  # closed leave-one-out, folds of the grid, folds of the path
    "epsilon": [SVR, NFI],  # a tube for g, a tube for y, a ridge
    "fit_intercept": [MARGIN],  # its mean is held
    "gamma": [GRID, LANDMARKS, PROTOTYPES],  # sequences, and "local" widths
    "graph": [LAPLACIAN, LGC, GRID, PATH, DEFAULT],  # "anchors", other defaults, lists
    "kernel": [LANDMARKS, PROTOTYPES],  # also the similarity of the graph
    "max_iter": [MARGIN, LGC, TUBE],  # what is counted
    "memory_limit": [MARGIN, LGC, GRID, PATH, LANDMARKS, PROTOTYPES, DEFAULT],  # what it is for
    "n_landmarks": [MARGIN, LAPLACIAN, GRID, LANDMARKS],  # of what
    "n_neighbors": [GRAPH],
    "random_state": [
        LAPLACIAN,
        MARGIN,
        ANCHORS,
        EIGENFUNCTIONS,
        LGC,
        GRID | LANDMARKS,
        PROTOTYPES,
        DEFAULT,
    ],
    "reg_labeled": [EIGENFUNCTIONS, PROTOTYPES],
    "reg_manifold": [ANCHORS, EMBEDDED, SVR, NFI, GRID],  # γ, μ, λ
    "reg_ambient": [GRID],  # sequences
    "reg_unlabeled": [PROTOTYPES],
    "solver": [MARGIN, LGC, RIDGE, {"LapSVC"}, SVR],
    "tol": [LAPLACIAN, MARGIN, LGC, TUBE],  # what is small at the end
    "unlabeled": [CLASSIFIERS],  # labels or targets
    "warm_start": [MARGIN],  # which stage it starts at
    "weights": [GRAPH],
}

TITLE = "Parameters"


def parameters(docstring: str) -> dict[str, str]:
    """Description of each parameter in a numpydoc section."""
    lines = inspect.cleandoc(docstring).splitlines()
    start = next(
        i for i, line in enumerate(lines[1:], 1) if line.strip("-") == "" and lines[i - 1] == TITLE
    )
    found: dict[str, list[str]] = {}
    for line, after in zip(lines[start + 1 :], [*lines[start + 2 :], ""], strict=True):
        if line and after and after.strip("-") == "":  # the title of the next section
            break
        if line and not line.startswith(" "):
            names = re.split(r"\s*,\s*", line.partition(" :")[0])
            for name in names:
                found[name] = []
        elif line.strip():
            for name in names:
                found[name].append(line.strip())
    return {name: " ".join(text) for name, text in found.items()}


DESCRIBED = {name: parameters(kind.__doc__) for name, kind in ESTIMATORS.items()}
SHARED = sorted(
    {
        parameter
        for own in DESCRIBED.values()
        for parameter in own
        if sum(parameter in other for other in DESCRIBED.values()) > 1
    }
)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_every_parameter_is_described_in_order(name):
    signature = [p for p in inspect.signature(ESTIMATORS[name].__init__).parameters if p != "self"]
    assert list(DESCRIBED[name]) == signature
    assert all(DESCRIBED[name].values()), "a parameter without a description"


def stated_defaults(docstring):
    """Defaults by parameter, of lines such as "degree, coef0 : float, default=3 and 0"."""
    text = inspect.cleandoc(docstring).partition(f"{TITLE}\n---")[2].partition("\n\n")[0]
    found = {}
    for names, values in re.findall(r"^(\w[\w, ]*) : .*?(?:default=(.*)|optional)$", text, re.M):
        names, values = names.split(", "), (values or "None").split(" and ")
        values = values * len(names) if len(values) == 1 else values
        found |= dict(zip(names, values, strict=True))
    return found


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_defaults_are_those_of_the_docstring(name):
    stated = stated_defaults(ESTIMATORS[name].__doc__)
    signature = inspect.signature(ESTIMATORS[name].__init__).parameters
    assert stated.keys() == signature.keys() - {"self"}
    for parameter, text in stated.items():
        found = signature[parameter].default
        value = np.nan if text.lower() == "nan" else ast.literal_eval(text)
        assert value == found or (value != value and found != found), parameter


@pytest.mark.parametrize(
    "parameter",
    SHARED,
)
def test_shared_parameters_are_described_alike(parameter):
    groups = VARIANTS.get(parameter, [])
    rest = EVERYTHING.difference(*groups)
    for group in [*groups, rest]:
        texts: dict[str, list[str]] = {}
        for name in sorted(group):
            if parameter in DESCRIBED[name]:
                texts.setdefault(DESCRIBED[name][parameter], []).append(name)
        assert len(texts) <= 1, "\n".join(f"{names}: {text}" for text, names in texts.items())


def test_variants_are_of_shared_parameters():
    assert set(VARIANTS) <= set(SHARED)
    for parameter, groups in VARIANTS.items():
        for group in groups:
            assert group <= EVERYTHING
            assert any(parameter in DESCRIBED[name] for name in group), (parameter, group)
        assert sum(len(group) for group in groups) == len(set().union(*groups)), parameter


def test_sections_are_parsed():
    text = """First line.

    Parameters
    ----------
    a, b : int
        Two
        lines.
    c : {"x", "y"}, default="x"
        One.

        After a blank.

    Attributes
    ----------
    d : float
        Not a parameter.
    """
    assert parameters(text) == {"a": "Two lines.", "b": "Two lines.", "c": "One. After a blank."}
