"""Decisions on how a model is fitted, made in this package only.

A plan is made before anything large is allocated, from the sizes of the problem, the user's choices
and the memory budget, never from a clock: the same call always gets the same plan. Problems that do
not fit into memory are refused here. Builds nothing and computes nothing.
"""

from ..solvers import Sizes
from .base import Plan
from .default import DefaultPlan, plan_default
from .embedded import plan_embedded_ridge, plan_tube
from .grid import plan_basis, plan_path
from .lgc import plan_lgc
from .manifold import DENSE_ROWS, plan_landmarks, plan_manifold
from .margin import plan_margin
from .points import plan_anchors, plan_landmark_rows, plan_prototypes

__all__ = [
    "DENSE_ROWS",
    "DefaultPlan",
    "Plan",
    "Sizes",
    "plan_anchors",
    "plan_basis",
    "plan_default",
    "plan_embedded_ridge",
    "plan_landmark_rows",
    "plan_landmarks",
    "plan_lgc",
    "plan_manifold",
    "plan_margin",
    "plan_path",
    "plan_prototypes",
    "plan_tube",
]
