"""Non-parametric function induction: NFIClassifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays.blocks import RowBlocks
from ..solvers import fit_smoother
from ..spaces import Similarities, tile_rows
from .checks import check_magnitude, check_positive, valid_rows
from .class_mass import class_factors, resolve_prior, warn_lost_mass
from .classifier import LabelClassifier, LabelledData, one_column, per_class
from .landmark_rows import LandmarkRows


class NFIClassifier(LandmarkRows, LabelClassifier, BaseEstimator):
    r"""Non-parametric function induction: values at a few rows, a weighted mean elsewhere.

    The values f_S of m landmarks S, which are the labelled rows and others drawn at random, give
    those of every row, of the data or new, and of S itself, as

        f(x) = Σ_{j∈S} w(x, x_j) f_j / (Σ_{j∈S} w(x, x_j) + ε) ,

    with w the kernel. They minimise, for the indicator of each class,

        Σ_labelled (f - y)² + λ (½ Σ_ij w_ij (f_i - f_j)² + ε Σ_i f_i²)

    where of the pairs i, j those between two rows outside S are left out: a system of m equations.

    Parameters
    ----------
    n_landmarks : int, default=500
        m, rows that stand for the others; at most all.
    kernel : {"rbf", "linear", "poly", "cosine"} or callable, default="rbf"
        Kernel, which is the similarity of the graph and should not be negative.
    gamma : float, "local", "scale" or "median", default="local"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "local" is 6 over the median squared
        distance of the rows to the second nearest landmark (for poly it is "scale"): a graph must
        join near rows. "scale" is 1 / (n_features · Var X), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg_manifold : float or "scale", default="scale"
        λ > 0, weight of the graph. "scale" is the sum of the labelled rows' weights over that of
        all similarities between S and the rows, so that labels and graph count alike whatever
        their numbers.
    epsilon : float, default=1e-3
        ε > 0, pulls values to zero, the more the farther rows are from S.
    class_prior : {None, "labeled", "equal"}, dict or array, default=None
        Expected shares of the classes. The values of each class are scaled so that their sum over
        all training rows is proportional to its share. None does not scale. "labeled" are the
        shares among the labelled rows, (count + 1) / (rows + classes); else the share of each
        class, by name or in the order of ``classes_``.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the labelled rows of each class.
    random_state : int, RandomState or None, default=0
        For the landmarks.
    memory_limit : int, str or None, default=None
        Most memory for matrices of landmarks, in bytes or such as "8GB"; None is 60 % of what is
        free.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    landmarks_ : ndarray of shape (m, d)
        The rows S.
    coef_ : ndarray of shape (n_columns, m)
        Their values, after ``class_prior``; for two classes one column, the second minus the first.
    class_mass_ : ndarray of shape (n_classes,)
        The share of each class in the values of all rows, before ``class_prior``.
    kernel_ : Kernel
        The kernel, with the number behind ``gamma``.
    reg_manifold_ : float
        The λ used.

    Notes
    -----
    Cost: n·m·d operations for the similarities in each of two passes over the rows, n·m² for the
    system and 3m³ for its solution; memory 8m² and a tile of rows. There are at least as many
    landmarks as labelled rows.

    References
    ----------
    O. Delalleau, Y. Bengio and N. Le Roux (2005), "Efficient Non-Parametric Function Induction in
    Semi-Supervised Learning", AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import NFIClassifier
    >>> X, truth = make_moons(400, noise=0.05, random_state=0)
    >>> y = np.full(400, -1)
    >>> y[:10] = truth[:10]
    >>> model = NFIClassifier(n_landmarks=60).fit(X, y)
    >>> float(np.mean(model.predict(X) == truth)) > 0.95
    True
    """

    def __init__(
        self,
        n_landmarks: int = 500,
        *,
        kernel: str | Callable = "rbf",
        gamma: float | str = "local",
        degree: float = 3,
        coef0: float = 0.0,
        reg_manifold: float | str = "scale",
        epsilon: float = 1e-3,
        class_prior: Any = None,
        unlabeled: Any = -1,
        class_weight: Any = None,
        random_state: Any = 0,
        memory_limit: float | str | None = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.reg_manifold = reg_manifold
        self.epsilon = epsilon
        self.class_prior = class_prior
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.random_state = random_state
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            All rows, labelled or not.
        y : array of shape (n,)
            Labels; ``unlabeled``, None, NaN and ``pd.NA`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the losses; those of unlabelled rows are not used.

        Returns
        -------
        self
        """
        self._check_landmarks()
        check_positive("epsilon", self.epsilon)
        if self.reg_manifold != "scale":
            check_positive("reg_manifold", self.reg_manifold)
        X = valid_rows(self, X)
        check_magnitude(X)
        data = self._check_labels(X, y, sample_weight)
        resolve_prior(self.class_prior, self.classes_, np.ones(len(self.classes_)))  # or refuse
        index = self._choose_landmarks(X, data.index)
        self._similarities = Similarities(self.kernel_, self.landmarks_)
        self._solve(data, RowBlocks.of(X), index)
        self.X_fit_ = X
        return self

    def _solve(self, data: LabelledData, rows: RowBlocks, index: np.ndarray) -> None:
        """Solve for the values of the landmarks, of which the labelled rows are the first."""
        penalty, load, total = self._roughness(rows, rows.take(np.sort(index)))
        one_hot = (per_class(data.targets) + 1.0) / 2.0
        scale = float(data.weights.sum()) / max(total, 1e-300)
        self.reg_manifold_ = scale if self.reg_manifold == "scale" else float(self.reg_manifold)
        l, m = len(data.index), len(index)
        own = sp.eye_array(l, m, format="csr")
        smoother = fit_smoother(own, one_hot, data.weights, self.reg_manifold_ * penalty)
        coef, held_out = smoother.coef, smoother.held_out
        mass = load @ coef
        self.class_mass_ = mass / np.abs(mass).sum()
        counts = one_hot.sum(axis=0)
        prior = resolve_prior(self.class_prior, self.classes_, counts)
        if prior is not None:
            warn_lost_mass(mass, self.classes_, stacklevel=4)
            held_prior = resolve_prior(self.class_prior, self.classes_, counts - one_hot)
            held_mass = smoother.held_out_product(load)
            held_out = held_out * class_factors(held_mass, held_prior)
            coef = coef * class_factors(mass, prior)
        self.coef_ = one_column(coef).T
        values = rows.map("values", self._induce, tile_rows(m))
        self._store_decisions(data, values, one_column(held_out))

    def _roughness(self, rows: RowBlocks, landmarks: Any) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the matrix of the graph's terms, Σ w(x, S)/(Σw + ε), and the sum of all w.

        For rows outside S, λ(Σ_j w_ij (f_i - f_j)² + εf_i²) with their f put in is
        λ(Σ_j w_ij f_j² - (Σ_j w_ij + ε) f_i²): what is summed here over all rows, and taken back
        for those of S, whose terms are the Laplacian of S.
        """
        m, similarities = len(self.landmarks_), self._similarities

        def add(sums: list[np.ndarray], X: Any) -> None:
            E = similarities.raw(X)
            root = np.sqrt(self._totals(E))[:, None]
            sums[1] += E.sum(axis=0)
            E /= root
            sums[0] += E.T @ E
            E /= root
            sums[2] += E.sum(axis=0)

        def start() -> list[np.ndarray]:
            return [np.zeros((m, m)), np.zeros(m), np.zeros(m)]

        paired, degrees, load = rows.sum("graph", start, add, tile_rows(m))
        own, own_degrees, _ = RowBlocks.of(landmarks).sum("graph", start, add, tile_rows(m))
        W = similarities.raw(self.landmarks_)
        penalty = np.diag(W.sum(axis=1) + self.epsilon) - (W + W.T) / 2.0
        penalty += np.diag(degrees - own_degrees) - (paired - own)
        return penalty, load, float(degrees.sum())

    def _induce(self, X: Any) -> np.ndarray:
        E = self._similarities.raw(X)
        return (E @ self.coef_.T) / self._totals(E)[:, None]

    def _totals(self, E: np.ndarray) -> np.ndarray:
        """Return the sums of similarities plus ε, which are to be divided by."""
        totals = E.sum(axis=1) + self.epsilon
        if (totals <= 0).any():
            raise ValueError(
                "similarities of a row to the landmarks sum to less than zero, and a mean cannot "
                "have such weights: use kernel='rbf', or another that is not negative"
            )
        return totals

    def _refit(self, y: np.ndarray, **arguments: Any) -> Self:
        names = getattr(self, "feature_names_in_", None)
        self.fit(self.X_fit_, y, self._row_weights)
        if names is not None:  # X_fit_ is a plain array
            self.feature_names_in_ = names
        return self

    def _decide(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "coef_")
        X = valid_rows(self, X, reset=False)
        check_magnitude(X)
        return RowBlocks.of(X).map("values", self._induce, tile_rows(len(self.landmarks_)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


__all__ = ["NFIClassifier"]
