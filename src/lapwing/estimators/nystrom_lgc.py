"""Local and global consistency over a graph of low rank: NystromLGCClassifier."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np

from ..arrays.blocks import RowBlocks
from ..spaces import LowRankGraph, Similarities, tile_rows
from .checks import check_magnitude, valid_rows
from .class_mass import class_factors, resolve_prior, warn_lost_mass
from .classifier import LabelledData, one_column, per_class
from .landmark_rows import LandmarkRows
from .transductive import TransductiveClassifier


class NystromLGCClassifier(LandmarkRows, TransductiveClassifier):
    r"""Local and global consistency with the Nyström method; linear in the rows.

    The method of `LGCClassifier` over the full graph of a kernel, the similarities of rows to
    themselves included, approximated by K̃ = E W⁻¹ Eᵀ, where E are the similarities of the rows to
    m landmarks and W those of the landmarks. With the degrees
    D̃ = diag(K̃1) and Φ = D̃^(-1/2) E W^(-1/2), the inverse is one of m × m numbers (Woodbury),

        F = (1-α)(I - αΦΦᵀ)⁻¹Y = (1-α)(Y + αΦ(I - αΦᵀΦ)⁻¹ΦᵀY) .

    The method is transductive: it has values for the rows of the fit and no others, and
    ``predict`` refuses new rows. A comparator: `PVMClassifier` costs as much and predicts new rows.

    Parameters
    ----------
    alpha : float, default=0.99
        α, more than 0 and less than 1: the weight of the graph against that of the label.
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
        The landmarks.
    class_mass_ : ndarray of shape (n_classes,)
        The share of each class in the values of all rows, before ``class_prior``.
    kernel_ : Kernel
        The kernel, with the number behind ``gamma``.

    Notes
    -----
    Cost: n·m·d operations for the similarities in each of three passes over the rows, and n·m²;
    memory m², a tile of rows, and n numbers a class. Decision values are rows of F divided by the
    sum of their sizes.

    The degrees of K̃ may come out too small or negative. They are taken to be at least K̃_ii, the
    part of a row in its own degree, and eigenvalues of ΦᵀΦ at most 1, as those of true graphs.

    References
    ----------
    G. Camps-Valls, T. Bandos Marsheva and D. Zhou (2007), "Semi-Supervised Graph-Based
    Hyperspectral Image Classification", IEEE Transactions on Geoscience and Remote Sensing 45(10).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import NystromLGCClassifier
    >>> X, truth = make_moons(400, noise=0.05, random_state=0)
    >>> y = np.full(400, -1)
    >>> y[:10] = truth[:10]
    >>> model = NystromLGCClassifier(n_landmarks=60).fit(X, y)
    >>> float(np.mean(model.transduction_ == truth)) > 0.95
    True
    """

    def __init__(
        self,
        alpha: float = 0.99,
        *,
        n_landmarks: int = 500,
        kernel: str | Callable = "rbf",
        gamma: float | str = "local",
        degree: float = 3,
        coef0: float = 0.0,
        class_prior: Any = None,
        unlabeled: Any = -1,
        class_weight: Any = None,
        random_state: Any = 0,
        memory_limit: float | str | None = None,
    ) -> None:
        self.alpha = alpha
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
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
            Weights of the labels; those of unlabelled rows are not used.

        Returns
        -------
        self
        """
        if not (isinstance(self.alpha, Real) and 0.0 < float(self.alpha) < 1.0):
            raise ValueError(f"alpha must be more than 0 and less than 1, got {self.alpha!r}")
        self._check_landmarks()
        X = valid_rows(self, X)
        check_magnitude(X)
        data = self._check_labels(X, y, sample_weight)
        resolve_prior(self.class_prior, self.classes_, np.ones(len(self.classes_)))  # or refuse
        self._choose_landmarks(X, np.empty(0, dtype=int))
        self._store_rows(X)
        self._build(RowBlocks.of(X))
        self._solve(data)
        return self

    def _build(self, rows: RowBlocks) -> None:
        """Find what does not depend on the labels: Φ, ΦᵀΦ and Φᵀ1."""
        self._graph = LowRankGraph.build(rows, Similarities(self.kernel_, self.landmarks_))
        r = self._graph.root.shape[1]

        def add(sums: list[np.ndarray], X: Any) -> None:
            phi = self._features(X)
            sums[0] += phi.T @ phi
            sums[1] += phi.sum(axis=0)

        def start() -> list[np.ndarray]:
            return [np.zeros((r, r)), np.zeros(r)]

        gram, self._load = rows.sum("graph", start, add, tile_rows(2 * len(self.landmarks_)))
        values, vectors = np.linalg.eigh(gram)
        # (I - αΦᵀΦ)⁻¹, between features that are as if no eigenvalue of the graph was above 1.
        gain = np.minimum(1.0, 1.0 / np.maximum(values, 1e-300))
        gain /= 1.0 - self.alpha * np.clip(values, 0.0, 1.0)
        self._inverse = (vectors * gain) @ vectors.T

    def _features(self, X: Any) -> np.ndarray:
        """Return Φ of some rows."""
        E = self._graph.similarities.raw(X)
        P = E @ self._graph.root
        own = np.einsum("ij,ij->i", P, P)
        degrees = np.maximum(self._graph.degrees(E), own)
        return P / np.sqrt(np.where(degrees > 0, degrees, 1.0))[:, None]

    def _solve(self, data: LabelledData) -> None:
        one_hot = (per_class(data.targets) + 1.0) / 2.0
        weights, counts = data.weights / data.weights.max(), one_hot.sum(axis=0)
        prior = resolve_prior(self.class_prior, self.classes_, counts)
        phi_l = self._features(self.X_fit_[data.index])
        Y = weights[:, None] * one_hot
        coef = self.alpha * (self._inverse @ (phi_l.T @ Y))
        rows, tile = RowBlocks.of(self.X_fit_), tile_rows(2 * len(self.landmarks_))
        F = rows.map("values", lambda X: self._features(X) @ coef, tile)
        F[data.index] += Y
        mass = F.sum(axis=0)
        self.class_mass_ = mass / np.abs(mass).sum()
        # F is linear in Y: without a label its own part is taken away, from its row and the mass.
        through = self.alpha * (phi_l @ self._inverse)
        own = Y * (1.0 + np.einsum("ij,ij->i", through, phi_l))[:, None]
        held_out = F[data.index] - own
        if prior is not None:
            warn_lost_mass(mass, self.classes_, stacklevel=4)
            held_mass = mass - Y * (1.0 + through @ self._load)[:, None]
            held_prior = resolve_prior(self.class_prior, self.classes_, counts - one_hot)
            held_out = held_out * class_factors(held_mass, held_prior)
            F *= class_factors(mass, prior)
        self._store_decisions(data, _shares(F), _shares(held_out))


def _shares(F: np.ndarray) -> np.ndarray:
    """Return values divided by the sum of their sizes in each row; one column for two classes."""
    sizes = np.abs(F).sum(axis=1, keepdims=True)
    return one_column(F / np.where(sizes > 0, sizes, 1.0))


__all__ = ["NystromLGCClassifier"]
