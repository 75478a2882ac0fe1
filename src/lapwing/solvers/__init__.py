"""Solvers: generators of steps that know neither kernels nor graphs, and their one driver."""

from .driver import Callback, SolverResult, Step, StoppingRule, drive
from .elimination import FEW_DIGITS, certified_step, dense_bytes, eliminate, eliminate_features
from .embedded_ridge import EmbeddedRidge, block_solution, ridge_cg, ridge_cg_bytes, ridge_direct
from .label_problem import LabelProblem, fit_hinge
from .lbfgs import LEAST_MEMORY, Minimum, affordable_memory, lbfgs, lbfgs_bytes
from .manifold_cg import manifold_cg, manifold_cg_bytes
from .methods import (
    ELIMINATE,
    ELIMINATE_FEATURES,
    ELIMINATE_SUPERVISED,
    MANIFOLD_CG,
    PCG,
    RIDGE_CG,
    RIDGE_DIRECT,
    RIDGE_METHODS,
    RISK_METHODS,
    Method,
    Sizes,
    SolverOptions,
)
from .path import SolutionPath, hinge_path
from .pcg import pcg
from .reduction import (
    BasisReductions,
    Reduction,
    basis_bytes,
    ratio_of,
    reduce_dense,
)
from .s3vm import (
    MarginProblem,
    Stage,
    concave_convex,
    deterministic_annealing,
    label_switching,
    quasi_newton,
)
from .smoother import Smoother, fit_ridge, fit_smoother
from .stopping import MixedCheck, StabilityCheck, ValidationCheck, decisions
from .svr import TubeProblem, tube_bytes, tube_steps

__all__ = [
    "ELIMINATE",
    "ELIMINATE_FEATURES",
    "ELIMINATE_SUPERVISED",
    "FEW_DIGITS",
    "LEAST_MEMORY",
    "MANIFOLD_CG",
    "PCG",
    "RIDGE_CG",
    "RIDGE_DIRECT",
    "RIDGE_METHODS",
    "RISK_METHODS",
    "BasisReductions",
    "Callback",
    "EmbeddedRidge",
    "LabelProblem",
    "MarginProblem",
    "Method",
    "Minimum",
    "MixedCheck",
    "Reduction",
    "Sizes",
    "Smoother",
    "SolutionPath",
    "SolverOptions",
    "SolverResult",
    "StabilityCheck",
    "Stage",
    "Step",
    "StoppingRule",
    "TubeProblem",
    "ValidationCheck",
    "affordable_memory",
    "basis_bytes",
    "block_solution",
    "certified_step",
    "concave_convex",
    "decisions",
    "dense_bytes",
    "deterministic_annealing",
    "drive",
    "eliminate",
    "eliminate_features",
    "fit_hinge",
    "fit_ridge",
    "fit_smoother",
    "hinge_path",
    "label_switching",
    "lbfgs",
    "lbfgs_bytes",
    "manifold_cg",
    "manifold_cg_bytes",
    "pcg",
    "quasi_newton",
    "ratio_of",
    "reduce_dense",
    "ridge_cg",
    "ridge_cg_bytes",
    "ridge_direct",
    "tube_bytes",
    "tube_steps",
]
