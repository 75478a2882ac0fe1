"""Semi-supervised support vector machines: four methods for one non-convex objective.

All minimise, separately for every column,

    Σ_labelled wᵢ·loss(yᵢ, f(xᵢ)) + λ' Σ_unlabelled vⱼ·loss(|f(xⱼ)|) + λ‖f‖²

with weights of sum one (Gieseke et al., 2013, eq. 2): decision values near zero are penalised on
unlabelled rows. The second term is not convex. Every method starts from the supervised solution and
introduces the unlabelled rows in stages, each of which is one or more runs of L-BFGS. The methods
differ in the loss and in the sequence of stages.

* `quasi_newton`: smooth surrogates for both losses; the weight of the unlabelled rows is increased
  in steps.
* `concave_convex`: hinge and max(1 − |f|, 0), whose concave part −|f| is replaced by its tangent.
* `label_switching`: squared hinge; unlabelled rows get labels in the given proportion, labels are
  switched while that decreases the objective, and the weight of the unlabelled rows is increased.
* `deterministic_annealing`: squared hinge; labels are probabilities, and the temperature of their
  entropy is decreased.

Columns may be classes, restarts or folds: nothing here knows which.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..arrays.device import like, on_host
from ..losses import Loss, Pair, SmoothHat, SmoothHinge, SquaredHinge, TwoSidedHinge
from ..spaces.affine import AffineSpace
from .free_energy import FreeEnergy
from .lbfgs import MEMORY, Minimum, RowLoss, lbfgs
from .line_ahead import VectorLoss
from .margin_blocks import UnlabelledBlocks

#: First weight of the unlabelled rows relative to λ', and its growth (Sindhwani & Keerthi, 2006).
_FIRST_SHARE, _SHARE_GROWTH = 1e-5, 1.5
#: First temperature relative to λ', its decay, and the number of temperatures (ibid.).
_FIRST_TEMPERATURE, _COOLING, _TEMPERATURES = 10.0, 1.5, 30
#: Mean entropy below which the labels are taken as decided.
_COLD = 1e-6
#: Largest number of rounds of labelling and descent in one stage.
_ROUNDS = 50

#: Loss and derivative of some rows, from their values and the indices of their columns.
PartLoss = Callable[[np.ndarray, np.ndarray], Pair]


def with_targets(loss: Loss, targets: np.ndarray | None = None) -> PartLoss:
    """Return the loss of rows with targets of all columns; symmetric losses need none."""
    if targets is None:
        return lambda f, _: loss.value_and_derivative(f, 0.0)
    return lambda f, columns: loss.value_and_derivative(f, targets[:, columns])


@dataclass(frozen=True)
class MarginProblem:
    """The data of the objective; c columns.

    Attributes
    ----------
    space : AffineSpace
        Space of the functions, with the balance constraint if the method enforces it by centring.
    labelled, unlabelled : ndarray of int
        Row indices; a row without a label in some column has weight zero there. A row that is
        labelled in some columns and unlabelled in others is listed in both.
    targets : ndarray of shape (l, c)
        ±1.
    labelled_weights, unlabelled_weights : ndarray of shape (l, c) and (u, c) or (u, 1)
        w and v; each column sums to one.
    reg, reg_unlabeled : ndarray of shape (c,)
        λ and λ'.
    positive_ratio : ndarray of shape (c,) or None
        Share of positive rows among the unlabelled ones, for methods that assign labels.
    disturbance : ndarray of shape (n, c) or None
        Random factors of the weights in all stages but the last, so that restarts differ.
    memory : int
        Number of pairs in the history of L-BFGS.
    beyond : UnlabelledBlocks or None
        Unlabelled rows in blocks, beside those of the space (`quasi_newton` only).
    """

    space: AffineSpace
    labelled: np.ndarray
    unlabelled: np.ndarray
    targets: np.ndarray
    labelled_weights: np.ndarray
    unlabelled_weights: np.ndarray
    reg: np.ndarray
    reg_unlabeled: np.ndarray
    positive_ratio: np.ndarray | None = None
    disturbance: np.ndarray | None = None
    memory: int = MEMORY
    beyond: UnlabelledBlocks | None = None

    def values(self, vectors: np.ndarray) -> np.ndarray:
        """Return the values of functions on all rows, level included."""
        level = self.space.level
        return self.space.values(vectors) + (0.0 if level is None else level)

    def weights(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Return w and v, with random factors while the share of unlabelled weight is below one."""
        w, v = self.labelled_weights, self.unlabelled_weights
        if self.disturbance is None or share >= 1.0:
            return w, v
        return w * self.disturbance[self.labelled], v * self.disturbance[self.unlabelled]

    def row_loss(
        self, on_labelled: Loss, on_unlabelled: PartLoss | None = None, share: float = 0.0
    ) -> RowLoss:
        """Return the loss of all rows, with the unlabelled rows at ``share`` of their weight."""
        w, v = self.weights(share)
        there = partial(like, self.space.where)
        of_labelled = with_targets(on_labelled, there(self.targets))
        terms = [(there(self.labelled), of_labelled, there(w))]
        if on_unlabelled is not None and share > 0.0:
            weights = share * self.reg_unlabeled * v
            terms.append((there(self.unlabelled), on_unlabelled, there(weights)))

        def loss(values: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            total, row_gradient = np.zeros(values.shape[1]), np.zeros_like(values)
            for rows, of_rows, all_weights in terms:
                value, derivative = of_rows(values[rows], columns)
                weights = all_weights[:, columns]
                total += on_host((weights * value).sum(axis=0))
                row_gradient[rows] += weights * derivative
            return total, row_gradient

        return loss

    def block_loss(self, on_unlabelled: Loss, share: float) -> VectorLoss | None:
        """Return the loss of rows in blocks at ``share`` of their weight, if there are any."""
        if self.beyond is None:
            return None
        weights = share * self.reg_unlabeled
        return self.beyond.loss(self.space, on_unlabelled, weights, disturbed=share < 1.0)


@dataclass(frozen=True)
class Stage:
    """The end of one stage.

    Attributes
    ----------
    name : str
        Description of the stage.
    minimum : Minimum
        The functions found.
    evaluations : int
        Evaluations of objective and gradient in this stage.
    settled : ndarray of bool, shape (c,), or None
        In the last stage the columns in which no label changes any more, None in other stages.
    """

    name: str
    minimum: Minimum
    evaluations: int
    settled: np.ndarray | None = None


class _Descent:
    """L-BFGS with the tolerances that all descents of a problem share."""

    def __init__(self, problem: MarginProblem, on_labelled: Loss, tol: float, max_iter: int):
        self.problem, self.max_iter = problem, max_iter
        self.supervised = problem.row_loss(on_labelled)
        tol = float(tol)
        self.small_decrease = tol * tol  # near a minimum decreases are of second order in gradients
        space, c = problem.space, len(problem.reg)
        self.zero = self._unsolved(space.zeros(c))
        _, row_gradient = self.supervised(self.zero.values, np.arange(c))
        # Row gradients of the two classes may cancel; their absolute values do not.
        twice = space.of_columns(np.tile(np.arange(c), 2))
        g = twice.gradient(np.hstack([row_gradient, np.abs(row_gradient)]))
        square = space.norm_dot(g, g).reshape(2, -1).max(axis=0)
        self.small_gradient = tol * np.sqrt(np.maximum(square, 1e-300))
        self.small_intercept_gradient = tol * on_host(np.abs(row_gradient).sum(axis=0))

    def __call__(
        self,
        loss: RowLoss,
        start: Minimum,
        moving: np.ndarray | None = None,
        beyond: VectorLoss | None = None,
        known: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> Minimum:
        """Return minima reached from ``start``; columns that are not ``moving`` are kept.

        ``beyond`` is the loss of rows in blocks, for all columns, and ``known`` is its value and
        gradient at the start.
        """
        problem = self.problem
        columns = np.arange(len(problem.reg)) if moving is None else np.flatnonzero(moving)
        part = lbfgs(
            problem.space.of_columns(columns),
            lambda values, which: loss(values, columns[which]),
            problem.reg[columns],
            start.vectors[:, columns],
            small_decrease=self.small_decrease,
            small_gradient=self.small_gradient[columns],
            small_intercept_gradient=self.small_intercept_gradient[columns],
            max_iter=self.max_iter,
            memory=problem.memory,
            beyond=beyond,
            known=known,
        )
        vectors, values = start.vectors.copy(), start.values.copy()
        objective, converged = start.objective.copy(), start.converged.copy()
        vectors[:, columns], values[:, columns] = part.vectors, part.values
        objective[columns], converged[columns] = part.objective, part.converged
        return Minimum(vectors, objective, values, part.evaluations, converged, part.beyond)

    def begin(self, start: np.ndarray | None) -> Generator[Stage, None, Minimum]:
        """Return the given functions, or yield the supervised stage and return its minimum."""
        if start is not None:
            return self._unsolved(start)
        minimum = self(self.supervised, self.zero)
        yield Stage("supervised", minimum, minimum.evaluations)
        return minimum

    def _unsolved(self, vectors: np.ndarray) -> Minimum:
        """Return functions as the start of a descent, their objective unknown."""
        c = vectors.shape[1]
        values = self.problem.values(vectors)
        return Minimum(vectors, np.full(c, np.inf), values, 0, np.zeros(c, dtype=bool))


def quasi_newton(
    problem: MarginProblem,
    *,
    annealing: tuple[float, ...],
    surrogate_gamma: float,
    unlabeled_sharpness: float,
    tol: float,
    max_iter: int,
    start: np.ndarray | None = None,
) -> Iterator[Stage]:
    """Yield the stages of QN-S³VM, Gieseke et al. (2013), Algorithm 1.

    Parameters
    ----------
    problem : MarginProblem
        The problem.
    annealing : tuple of float
        α, shares of λ' in the order in which they are used.
    surrogate_gamma, unlabeled_sharpness : float
        γ and s of the surrogate losses.
    tol : float
        A descent ends when the norm of the gradient is below ``tol`` times that at zero.
    max_iter : int
        Largest number of iterations of a descent.
    start : ndarray, optional
        Initial functions for the last share alone (a warm start).
    """
    on_labelled = SmoothHinge(surrogate_gamma)
    hat = SmoothHat(unlabeled_sharpness)
    descend = _Descent(problem, on_labelled, tol, max_iter)
    minimum = yield from descend.begin(start)
    if start is not None:
        annealing = annealing[-1:]
    for i, share in enumerate(annealing):
        loss, known = problem.row_loss(on_labelled, with_targets(hat), share), None
        if i > 0 and minimum.beyond is not None and problem.disturbance is None:
            ratio = share / annealing[i - 1]  # the loss of these rows is in proportion to it
            known = ratio * minimum.beyond[0], ratio * minimum.beyond[1]
        minimum = descend(loss, minimum, beyond=problem.block_loss(hat, share), known=known)
        settled = np.ones(len(problem.reg), dtype=bool) if i == len(annealing) - 1 else None
        yield Stage(f"unlabelled rows at {share:g}", minimum, minimum.evaluations, settled)


def concave_convex(
    problem: MarginProblem,
    *,
    surrogate_gamma: float,
    tol: float,
    max_iter: int,
    start: np.ndarray | None = None,
) -> Iterator[Stage]:
    """Yield the rounds of the concave-convex procedure, Collobert et al. (2006), ramp at s = 0.

    Each round minimises a convex upper bound of the objective that is exact at the last solution,
    until no unlabelled row changes sides.
    """
    on_labelled, convex_bound = SmoothHinge(surrogate_gamma), TwoSidedHinge(surrogate_gamma)
    descend = _Descent(problem, on_labelled, tol, max_iter)
    minimum = yield from descend.begin(start)
    side = np.sign(minimum.values[problem.unlabelled])
    settled = np.zeros(len(problem.reg), dtype=bool)
    for round_ in range(1, _ROUNDS + 1):
        loss = problem.row_loss(on_labelled, with_targets(convex_bound, side), 1.0)
        minimum = descend(loss, minimum, moving=~settled)
        before, side = side, np.sign(minimum.values[problem.unlabelled])
        settled = on_host((side == before).all(axis=0))
        last = bool(settled.all()) or round_ == _ROUNDS
        yield Stage(f"round {round_}", minimum, minimum.evaluations, settled if last else None)
        if last:
            return


def label_switching(
    problem: MarginProblem, *, tol: float, max_iter: int, start: np.ndarray | None = None
) -> Iterator[Stage]:
    """Yield the stages of the multi-switch TSVM, Sindhwani & Keerthi (2006).

    Unlabelled rows are labelled by rank, so that the given share of them is positive. Switching all
    pairs in the wrong order at once is the same as labelling by rank again. With rows of equal
    weight each round of labelling and descent decreases the objective.
    """
    hinge = SquaredHinge()
    descend = _Descent(problem, hinge, tol, max_iter)
    minimum = yield from descend.begin(start)
    steps = int(np.ceil(-np.log(_FIRST_SHARE) / np.log(_SHARE_GROWTH))) if start is None else 0
    shares = [*(_FIRST_SHARE * _SHARE_GROWTH**i for i in range(steps)), 1.0]
    labels = _labels_by_rank(problem, minimum.values)
    for share in shares:
        evaluations, settled = 0, np.zeros(len(problem.reg), dtype=bool)
        for _ in range(_ROUNDS):
            loss = problem.row_loss(hinge, with_targets(hinge, labels), share)
            minimum = descend(loss, minimum, moving=~settled)
            evaluations += minimum.evaluations
            before, labels = labels, _labels_by_rank(problem, minimum.values)
            settled = np.all(labels == before, axis=0)
            if settled.all():
                break
        end = settled if share == 1.0 else None
        yield Stage(f"unlabelled rows at {share:.3g}", minimum, evaluations, end)


def deterministic_annealing(
    problem: MarginProblem, *, tol: float, max_iter: int, start: np.ndarray | None = None
) -> Iterator[Stage]:
    """Yield the temperatures of deterministic annealing, Sindhwani, Keerthi & Chapelle (2006).

    Labels are probabilities, whose mean is the given share of positive rows. The source optimises
    probabilities and functions in turn at each temperature. Here the probabilities are eliminated
    (`FreeEnergy`) and each temperature is one descent, which reaches the same stationary points
    with far fewer products.
    """
    hinge = SquaredHinge()
    descend = _Descent(problem, hinge, tol, max_iter)
    temperatures = [_FIRST_TEMPERATURE / _COOLING**i for i in range(_TEMPERATURES)]
    c = len(problem.reg)
    minimum = yield from descend.begin(start)
    if start is not None:
        temperatures = temperatures[-1:]
    for temperature in temperatures:
        last = temperature == temperatures[-1]
        # Weights of restarts are disturbed at all temperatures but the last.
        share = 1.0 if last or problem.disturbance is None else np.nextafter(1.0, 0.0)
        _, weights = problem.weights(share)
        weights = np.broadcast_to(weights, (len(weights), c))
        energy = FreeEnergy(temperature, weights, problem.positive_ratio)
        minimum = descend(problem.row_loss(hinge, energy, share), minimum)
        entropy, entropy_term = energy.entropy(minimum.values[problem.unlabelled])
        last |= bool(entropy.max(initial=0.0) < _COLD and problem.disturbance is None)
        # Reported without the entropy, so that temperatures and solvers can be compared.
        objective = minimum.objective - share * problem.reg_unlabeled * entropy_term
        reported = replace(minimum, objective=objective)
        end = np.ones(c, dtype=bool) if last else None
        yield Stage(f"temperature {temperature:.3g}", reported, minimum.evaluations, end)
        if last:
            return


def _labels_by_rank(problem: MarginProblem, values: np.ndarray) -> np.ndarray:
    """Return labels ±1: positive for the highest values up to the positive ratio, or by sign."""
    f = values[problem.unlabelled]
    if problem.positive_ratio is None:
        return np.where(f > 0.0, 1.0, -1.0)
    order = np.argsort(-f, axis=0, kind="stable")
    weights = np.broadcast_to(problem.unlabelled_weights, f.shape)
    weights = np.take_along_axis(weights, order, axis=0)
    # A row is positive if at least half of its weight lies within the ratio.
    middle = np.cumsum(weights, axis=0) - 0.5 * weights
    labels = np.empty_like(f)
    np.put_along_axis(labels, order, np.where(middle <= problem.positive_ratio, 1.0, -1.0), axis=0)
    return labels
