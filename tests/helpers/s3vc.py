"""What the tests of S3VC share."""

from functools import partial

import pytest

from helpers import data
from lapwing import S3VC

SOLVERS = ["quasi-newton", "cccp", "label-switching", "annealing"]
every_solver = pytest.mark.parametrize("solver", SOLVERS)
centred_solver = pytest.mark.parametrize("solver", SOLVERS[:2])
blobs = partial(data.blobs, n=40, n_classes=2, n_labelled=8, d=3)


def mostly(first, *others):
    """Every solver with the first case, and the default solver with the others too."""
    cases = [*((solver, first) for solver in SOLVERS), *((SOLVERS[0], case) for case in others)]
    return pytest.mark.parametrize(("solver", "case"), cases)


def tight(solver, **options):
    """A machine whose descents end at rounding."""
    settings = {"solver": solver, "tol": 1e-10, "max_iter": 3000, "calibration_folds": 0}
    return S3VC(**{**settings, **options})
