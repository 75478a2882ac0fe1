"""Solvers: generators of steps that know neither kernels nor graphs, and their one driver."""

from .dense import dense_bytes, eliminate, eliminate_features
from .driver import Callback, SolverResult, Step, StoppingRule, drive
from .lbfgs import LEAST_MEMORY, Minimum, affordable_memory, lbfgs, lbfgs_bytes
from .manifold_cg import manifold_cg, manifold_cg_bytes
from .pcg import pcg
from .s3vm import (
    MarginProblem,
    Stage,
    concave_convex,
    deterministic_annealing,
    label_switching,
    quasi_newton,
)
from .stopping import MixedCheck, StabilityCheck, ValidationCheck, decisions

__all__ = [
    "LEAST_MEMORY",
    "Callback",
    "MarginProblem",
    "Minimum",
    "MixedCheck",
    "SolverResult",
    "StabilityCheck",
    "Stage",
    "Step",
    "StoppingRule",
    "ValidationCheck",
    "affordable_memory",
    "concave_convex",
    "decisions",
    "dense_bytes",
    "deterministic_annealing",
    "drive",
    "eliminate",
    "eliminate_features",
    "label_switching",
    "lbfgs",
    "lbfgs_bytes",
    "manifold_cg",
    "manifold_cg_bytes",
    "pcg",
    "quasi_newton",
]
