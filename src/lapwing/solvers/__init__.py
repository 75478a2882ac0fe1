"""Solvers: generators of steps that know neither kernels nor graphs, and their one driver."""

from .dense import dense_bytes, eliminate, eliminate_features
from .driver import Callback, SolverResult, Step, StoppingRule, drive
from .embedded_ridge import EmbeddedRidge, block_solution, ridge_cg, ridge_cg_bytes, ridge_direct
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
from .smoother import Smoother, fit_smoother
from .stopping import MixedCheck, StabilityCheck, ValidationCheck, decisions
from .svr import TubeProblem, tube_bytes, tube_steps

__all__ = [
    "LEAST_MEMORY",
    "Callback",
    "EmbeddedRidge",
    "MarginProblem",
    "Minimum",
    "MixedCheck",
    "Smoother",
    "SolverResult",
    "StabilityCheck",
    "Stage",
    "Step",
    "StoppingRule",
    "TubeProblem",
    "ValidationCheck",
    "affordable_memory",
    "block_solution",
    "concave_convex",
    "decisions",
    "dense_bytes",
    "deterministic_annealing",
    "drive",
    "eliminate",
    "eliminate_features",
    "fit_smoother",
    "label_switching",
    "lbfgs",
    "lbfgs_bytes",
    "manifold_cg",
    "manifold_cg_bytes",
    "pcg",
    "quasi_newton",
    "ridge_cg",
    "ridge_cg_bytes",
    "ridge_direct",
    "tube_bytes",
    "tube_steps",
]
