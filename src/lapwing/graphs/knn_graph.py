"""The neighbour graph as an object that can be shared, stored, inspected and grid-searched.

Combines neighbours, weights and Laplacian in one scikit-learn estimator. Knows no labels and no
kernels; from a precomputed Gram matrix it only reads distances.
"""

from __future__ import annotations

import copy
import logging
import numbers
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from ..arrays.blocks import canonical_rows, row_checksum
from ..arrays.device import follows_tensors
from ..arrays.row_collections import refuse_dask
from ..arrays.row_units import Extent, RowUnits, choose_units, largest_value
from ..messages import warn
from ..operators.base import Operator
from ..operators.sparse import PowerOperator, SparseOperator
from .neighbors import METRICS, input_rules, nearest_neighbors, resolve_backend
from .points import squared_norms
from .spectrum import check_request, smallest_eigenpairs
from .weights import (
    graph_laplacian,
    heat_weights,
    laplacian_null_space,
    larger_of_both,
    local_heat_weights,
    symmetric_affinity,
)

logger = logging.getLogger(__name__)

WEIGHTS = ("heat", "binary", "cosine")
SYMMETRY_TOLERANCE = 1e-10
#: Ratio of the mean to the median distance to neighbours above which a few rows decide the mean.
_MOST_BANDWIDTH = 10.0


@dataclass(repr=False, eq=False)
class KNNGraph(BaseEstimator):
    """Symmetric graph of the nearest neighbours, with its Laplacian.

    Rows i and j are joined if one is among the ``n_neighbors`` nearest of the other. The affinity
    W takes the larger of the two weights; with degrees D the Laplacian is

        L = I - D^(-1/2) W D^(-1/2)   (normalised)   or   L = D - W.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours per row, the row itself not counted; at most n - 1 are used.
    weights : {"heat", "binary", "cosine"}, default="heat"
        ``"heat"`` is exp(-d^2 / (2 sigma^2)), ``"binary"`` is 1, ``"cosine"`` is max(cos, 0).
        Edges of weight 0 are dropped.
    bandwidth : "mean", "local" or float, default="mean"
        Sigma of the heat weights. ``"mean"`` is the mean distance to the neighbours over all rows.
        ``"local"`` suits rows whose density varies: sigma^2 = s_i s_j / 4 for the edge between i
        and j, where s_i is the distance of row i to the farthest of its neighbours.
    metric : {"euclidean", "cosine", "precomputed"}, default="euclidean"
        ``"cosine"`` compares directions: rows are scaled to unit length and the heat weights use
        the distance of unit vectors, d^2 = 2 (1 - cos). A row of zeros has cosine 0, so d^2 = 2,
        with every other row. With ``"precomputed"``, X is a Gram matrix (n, n) and
        d(i, j)^2 = K_ii + K_jj - 2 K_ij.
    normalized : bool, default=True
        Whether the Laplacian is normalised.
    power : int, default=1
        ``laplacian_`` is L to this power, applied ``power`` times and never formed.
    backend : {"auto", "exact", "approximate"}, default="auto"
        Neighbour search. ``"auto"`` is exact up to 100 000 rows, or a million on a GPU; above, it
        is approximate if the rows are dense and usearch is installed (``pip install
        "lapwing[approx]"``).

    Attributes
    ----------
    affinity_ : CSR array of shape (n, n), float64
        Symmetric, non-negative, zero diagonal.
    laplacian_ : Operator
        Symmetric positive semi-definite; ``laplacian_ @ V`` is the product. Rows without an edge
        are zero, diagonal included.
    n_components_ : int
        Number of connected components.
    component_ : int array of shape (n,)
        Component of each row.
    bandwidth_ : float or None
        Sigma used; None unless the weights are ``"heat"`` with one sigma for all edges.
    backend_ : str or None
        ``"exact"`` or ``"approximate"``; None for a graph made from an affinity.
    n_samples_, n_features_in_ : int
        Shape of X.

    Notes
    -----
    A clone keeps the fit and shares its arrays, so a grid search over other parameters does not
    build the graph again; :meth:`fitted_to` checks whether the fit still belongs to the data and
    the parameters. Exact search costs n^2 / 2 row products.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.graphs import KNNGraph
    >>> graph = KNNGraph(n_neighbors=1, weights="binary").fit([[0.0], [1.0], [5.0], [6.0]])
    >>> graph.n_components_
    2
    >>> graph.laplacian_ @ np.array([1.0, 1.0, 0.0, 2.0])
    array([ 0.,  0., -2.,  2.])
    """

    n_neighbors: int = 10
    _: KW_ONLY
    weights: str = "heat"
    bandwidth: str | float = "mean"
    metric: str = "euclidean"
    normalized: bool = True
    power: int = 1
    backend: str = "auto"

    @follows_tensors
    def fit(self, X: Any, y: Any = None) -> KNNGraph:
        """Build the graph of the rows of X.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or Gram matrix (n, n)
            The rows, labelled and unlabelled alike.
        y : ignored
            Present for API consistency.

        Returns
        -------
        KNNGraph
            The fitted graph itself.
        """
        self._check_parameters()
        refuse_dask(X, "a graph of neighbours")
        X = canonical_rows(validate_data(self, X, **input_rules(self.metric)))
        units = self._units(X)
        X, n = units.apply(X), X.shape[0]
        k = min(int(self.n_neighbors), n - 1)
        if k < self.n_neighbors:
            logger.info("n_neighbors=%d but X has %d rows: %d used", self.n_neighbors, n, k)
        self.backend_: str | None = resolve_backend(X, self.metric, self.backend)
        if k == 0:
            distances, indices = np.zeros((n, 0)), np.zeros((n, 0), dtype=np.intp)
        else:
            distances, indices = nearest_neighbors(X, k, self.metric, self.backend_)
        # Squared distances are linear in a Gram matrix.
        power = units.exponent // 2 if self.metric == "precomputed" else units.exponent
        weights = self._edge_weights(X, distances, indices, power)
        self._store(symmetric_affinity(indices, weights), checksum=row_checksum(X))
        return self

    @classmethod
    def from_affinity(cls, W: Any, normalized: bool = True, power: int = 1) -> KNNGraph:
        """A fitted graph from a given affinity matrix.

        Parameters
        ----------
        W : array or sparse matrix of shape (n, n)
            Finite and non-negative. The diagonal is dropped. If W is not symmetric, the larger of
            W_ij and W_ji is taken, with a warning.
        normalized, power
            As for the class.

        Returns
        -------
        KNNGraph
            A graph that :meth:`fitted_to` accepts for any data with n rows.
        """
        graph = cls(normalized=normalized, power=power)
        graph._check_parameters()
        W = check_array(W, accept_sparse="csr", dtype=np.float64, copy=True)
        if W.shape[0] != W.shape[1]:
            raise ValueError(f"An affinity matrix must be square, got shape {W.shape}.")
        W = sp.csr_array(W)
        W.sum_duplicates()
        if W.nnz and W.data.min() < 0:
            raise ValueError(
                f"An affinity matrix must not be negative, smallest entry {W.data.min():.3g}. "
                "Clip it at 0, or turn distances d into weights such as exp(-d**2)."
            )
        W = sp.csr_array(W - sp.diags_array(W.diagonal(), format="csr"))
        W.eliminate_zeros()
        gap = abs(W - W.T)
        if gap.nnz and gap.data.max() > SYMMETRY_TOLERANCE * W.data.max():
            warn(
                "The affinity matrix is not symmetric: the larger of W_ij and W_ji is used. "
                "Pass W.maximum(W.T) or (W + W.T) / 2 to choose yourself."
            )
        graph.backend_ = graph.bandwidth_ = None
        graph._store(larger_of_both(W), checksum=None)
        return graph

    @follows_tensors
    def fitted_to(self, X: Any) -> bool:
        """Whether the graph is fitted to X with its current parameters.

        Compares shape, type and a checksum of the values; for a graph made from an affinity, only
        the number of rows. Cost: one pass over X.
        """
        if not hasattr(self, "affinity_") or self._fitted_params != self.get_params(deep=False):
            return False
        if self._checksum is None:
            return (X.shape[0] if hasattr(X, "shape") else len(X)) == self.n_samples_
        X = canonical_rows(check_array(X, **input_rules(self.metric)))
        return row_checksum(self._units(X).apply(X)) == self._checksum

    def eigenpairs(self, k: int, tol: float = 1e-2) -> tuple[np.ndarray, np.ndarray]:
        """The k smallest eigenvalues of the Laplacian L, with their eigenvectors.

        These are the eigenpairs of L itself, whatever the ``power``. They are cached and shared
        with clones until the next fit: only more pairs or a smaller ``tol`` are computed again.

        Parameters
        ----------
        k : int
            Number of pairs, less than the number of rows.
        tol : float, default=1e-2
            Each pair satisfies ‖Lv - σv‖ ≤ tol · max(σ, upper / 1000), where ``upper`` bounds the
            spectrum; see :func:`lapwing.graphs.smallest_eigenpairs`.

        Returns
        -------
        values : ndarray of shape (k,)
            Ascending, the zeros of the connected components first. Read-only, as are the vectors.
        vectors : ndarray of shape (n, k)
            Orthonormal columns.

        References
        ----------
        Chen, Tsang & Xu (2012), Laplacian embedded regression for scalable manifold
        regularization, Section III-B.

        Examples
        --------
        >>> from lapwing.graphs import KNNGraph
        >>> graph = KNNGraph(1, weights="binary").fit([[0.0], [1.0], [5.0], [6.0], [8.0]])
        >>> values, vectors = graph.eigenpairs(3)
        >>> values
        array([0., 0., 1.])
        """
        check_is_fitted(self)
        check_request(self.n_samples_, k, tol)
        kept = self._spectrum
        if not kept or len(kept["values"]) < k or kept["tol"] > tol:
            # At least as many and as accurate as before, so that alternating requests cost once.
            most, best = (max(k, len(kept["values"])), min(tol, kept["tol"])) if kept else (k, tol)
            values, vectors = smallest_eigenpairs(self.laplacian_, most, tol=best)
            values.setflags(write=False)
            vectors.setflags(write=False)
            kept.update(values=values, vectors=vectors, tol=best)
        return kept["values"][:k], kept["vectors"][:, :k]

    def _store(self, W: sp.csr_array, checksum: tuple | None) -> None:
        self.affinity_ = W
        self.n_components_, self.component_ = connected_components(W, directed=False)
        laplacian: Operator = SparseOperator(
            graph_laplacian(W, self.normalized),
            null_space=laplacian_null_space(W, self.component_, self.normalized),
        )
        self.laplacian_ = laplacian if self.power == 1 else PowerOperator(laplacian, self.power)
        self.n_samples_ = W.shape[0]
        self._spectrum: dict[str, Any] = {}  # cache, shared by clones until a new fit
        self._checksum = checksum
        self._fitted_params = self.get_params(deep=False)

    def _units(self, X: Any) -> RowUnits:
        """The units in which the graph of these rows is built; it is the same in all units."""
        by_differences = self.metric == "euclidean" and self.weights != "cosine"
        extent = Extent.of(X) if by_differences else Extent(largest_value(X))
        return choose_units(extent, any_scale=True, any_origin=by_differences)

    def _edge_weights(
        self, X: Any, distances: np.ndarray, indices: np.ndarray, power: int
    ) -> np.ndarray:
        """Weights of the edges; the distances are 2**power times those of the user's rows."""
        self.bandwidth_ = None
        if self.weights == "binary":
            return np.ones_like(distances)
        if self.weights == "heat":
            if self.metric == "cosine":
                distances, power = np.sqrt(2 * distances), 0
            if self.bandwidth == "local":
                return local_heat_weights(distances, indices)
            if self.bandwidth == "mean":
                bandwidth = float(distances.mean()) if distances.size else 0.0
                _warn_of_far_rows(distances, bandwidth)
                self.bandwidth_ = float(np.ldexp(bandwidth, -power))
            else:
                self.bandwidth_ = float(self.bandwidth)
                least = np.finfo(np.float64).smallest_subnormal  # 0 would mean equal rows
                bandwidth = max(float(np.ldexp(self.bandwidth_, power)), float(least))
            return heat_weights(distances, bandwidth)
        if self.metric == "cosine":
            return np.clip(1 - distances, 0, 1)
        s = X.diagonal().astype(float) if self.metric == "precomputed" else squared_norms(X)
        lengths = np.sqrt(s)[:, None] * np.sqrt(s)[indices]
        dots = (s[:, None] + s[indices] - distances**2) / 2
        return np.clip(np.divide(dots, lengths, where=lengths > 0, out=np.zeros_like(dots)), 0, 1)

    def _check_parameters(self) -> None:
        for name, choices in (("weights", WEIGHTS), ("metric", METRICS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {getattr(self, name)!r}.")
        for name in ("n_neighbors", "power"):
            value = getattr(self, name)
            if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
        if not isinstance(self.normalized, (bool, np.bool_)):
            raise ValueError(f"normalized must be True or False, got {self.normalized!r}.")
        value = self.bandwidth
        good = isinstance(value, numbers.Real) and np.isfinite(value) and value > 0
        if not (good or (isinstance(value, str) and value in ("mean", "local"))):
            raise ValueError(
                f'bandwidth must be "mean", "local" or a positive number, got {value!r}.'
            )

    def to_state(self) -> dict[str, Any]:
        """Return what a model file keeps of a graph, fitted or not."""
        state = {"parameters": self.get_params(deep=False)}
        names = ("affinity_", "backend_", "bandwidth_", "n_features_in_", "_checksum")
        return {**state, **{name: vars(self)[name] for name in names if name in vars(self)}}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> KNNGraph:
        """Return the graph of a model file."""
        graph = cls(**state["parameters"])
        graph._check_parameters()
        if "affinity_" in state:
            W = sp.csr_array(state["affinity_"])
            is_sound = W.dtype.kind == "f" and bool(np.isfinite(W.data).all())
            if W.shape[0] != W.shape[1] or not is_sound or (W.data < 0).any():
                raise ValueError("its graph has an affinity that makes no sense")
            graph.backend_, graph.bandwidth_ = state["backend_"], state["bandwidth_"]
            if "n_features_in_" in state:
                graph.n_features_in_ = int(state["n_features_in_"])
            graph._store(W, checksum=state["_checksum"])
        return graph

    def __sklearn_clone__(self) -> KNNGraph:
        return copy.copy(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "affinity_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric != "precomputed"
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def _warn_of_far_rows(distances: np.ndarray, bandwidth: float) -> None:
    """Warn if the mean distance is that of a few rows, so that all other weights are about one."""
    usual = float(np.median(distances)) if distances.size else 0.0
    if 0 < _MOST_BANDWIDTH * usual < bandwidth:
        far = np.flatnonzero(distances.min(axis=1) > bandwidth)
        listed = ", ".join(map(str, far[:5])) + (", …" if len(far) > 5 else "")
        named = f" ({listed})" if listed else ""  # they may be close to each other
        warn(
            f"the bandwidth of the graph, the mean distance of the rows to their neighbours, is "
            f"{bandwidth / usual:.0f} times the median, because of rows that are far from all "
            f"others{named}: correct or remove them, or give KNNGraph a bandwidth"
        )
