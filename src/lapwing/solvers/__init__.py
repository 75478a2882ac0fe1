"""Solvers: generators of steps that know neither kernels nor graphs, and their one driver."""

from .dense import dense_bytes, eliminate, eliminate_features
from .driver import Callback, SolverResult, Step, StoppingRule, drive
from .manifold_cg import manifold_cg, manifold_cg_bytes
from .pcg import pcg
from .stopping import MixedCheck, StabilityCheck, ValidationCheck, decisions

__all__ = [
    "Callback",
    "MixedCheck",
    "SolverResult",
    "StabilityCheck",
    "Step",
    "StoppingRule",
    "ValidationCheck",
    "decisions",
    "dense_bytes",
    "drive",
    "eliminate",
    "eliminate_features",
    "manifold_cg",
    "manifold_cg_bytes",
    "pcg",
]
