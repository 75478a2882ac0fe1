"""What solvers claim of ill-conditioned problems, compared with exact arithmetic (`decimals`)."""

import importlib
from dataclasses import dataclass
from decimal import Decimal
from unittest import mock

import numpy as np

from helpers.decimals import ExactProblem, convert, ill_conditioned
from lapwing.solvers.elimination import eliminate, eliminate_features
from lapwing.solvers.manifold_cg import manifold_cg

#: Rounding of the reference relative to the optimum: the claims themselves are doubles.
ACCURACY = Decimal("1e-14")
#: Steps of an iterative solver that are compared.
STEPS = 40


@dataclass(frozen=True)
class Claims:
    """The claims of one solver about one problem.

    Attributes
    ----------
    solver : str
        Name of the solver.
    outcome : {"converged", "not converged", "refused"}
        How it ended.
    steps : int
        Steps that were compared.
    above : float
        Largest excess of objective − gap over the optimum, relative to the optimum.
    beyond : float
        Excess of the true distance of the last coefficients from the optimum over the gap.
    verified : bool
        Whether the optimum is known exactly; else only an upper bound of it.
    """

    solver: str
    outcome: str
    steps: int
    above: float
    beyond: float
    verified: bool

    @property
    def is_false(self):
        return max(self.above, self.beyond) > 0


def claims(seed):
    """Return the claims of the direct and of the iterative solver about a random problem."""
    risk = ill_conditioned(seed)
    exact = ExactProblem(risk)
    best, verified = exact.minimum()
    direct = eliminate if risk.space.features is None else eliminate_features
    module = importlib.import_module("lapwing.solvers.manifold_cg")
    with mock.patch.object(module, "N_LANDMARKS", 5):  # or the first iteration is exact
        rng = np.random.default_rng(0)
        return [
            _compare("direct", lambda: direct(risk), exact, best, verified),
            _compare(
                "iterative", lambda: manifold_cg(risk, tol=1e-6, rng=rng), exact, best, verified
            ),
        ]


def _compare(solver, run, exact, best, verified):
    above, step, n_steps = Decimal(-1), None, 0
    try:
        for step in run():
            n_steps += 1
            step = step.certified() if step.certified is not None else step
            if step.gap is not None:  # else nothing is claimed
                lower = Decimal(step.objective) - Decimal(step.gap)
                above = max(above, lower - best * (1 + ACCURACY))
            if step.converged or n_steps >= STEPS:
                break
    except ValueError:
        return Claims(solver, "refused", 0, 0.0, 0.0, verified)
    beyond = Decimal(-1)
    if verified and len(step.function.coef) == exact.n and step.gap is not None:
        f = step.function
        true = exact.objective(convert(f.coef[:, 0]), Decimal(float(f.intercept[0])))
        beyond = true - best * (1 + ACCURACY) - Decimal(step.gap)
    outcome = "converged" if step.converged else "not converged"
    unit = best if best > 0 else Decimal(1)
    return Claims(solver, outcome, n_steps, float(above / unit), float(beyond / unit), verified)
