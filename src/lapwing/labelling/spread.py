"""The first rows to ask for, before there is any label: they represent all rows.

Rows are chosen one after the other, each for the rows that the ones before do not represent yet.
How well a row represents another is how likely a random walk on the graph of neighbours, on which
the model spreads labels, goes from that one to it. Knows neither sessions nor models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..arrays.duplicates import representative_rows
from ..auto.scaling import learn_scaling
from ..auto.setup import DEFAULT_GRAPH

#: The most rows that are represented, and the most among which rows are chosen.
_ROWS, _CANDIDATES = 3_000, 1_000
#: Steps of a walk. Half of them, at random, stay where they are: without, walks on a graph of two
#: parts would be in one or the other.
_STEPS = 10


def spread_rows(X: Any, n: int, seed: int) -> list[int]:
    """Return at most n rows that represent all rows, the best first; no duplicates.

    Of many rows a random sample is represented. Cost: one graph of at most 3000 rows, ten products
    with it, and n passes over its rows by 1000 candidates.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (rows, d)
        The rows.
    n : int
        Number of rows to choose.
    seed : int
        Seed of the samples.

    References
    ----------
    Bae, Noh & Sutherland (2024), Generalized coverage for more robust low-budget active
    learning: the greedy choice, there with a Gaussian kernel.
    """
    rng = np.random.default_rng([seed, 3])  # apart from the order of random rows
    index = np.sort(rng.permutation(X.shape[0])[:_ROWS])
    rows = learn_scaling(X).apply(X[index])
    distinct, part = np.unique(representative_rows(rows), return_inverse=True)
    weights = np.bincount(part).astype(float)
    if len(distinct) <= n:
        return index[distinct[np.argsort(-weights, kind="stable")]].tolist()
    candidates = np.sort(rng.permutation(len(distinct))[: max(_CANDIDATES, n)])
    cover = _walk_cover(rows[distinct], candidates)
    return index[distinct[candidates[_greedy(cover, weights, n)]]].tolist()


def _walk_cover(rows: Any, candidates: np.ndarray) -> np.ndarray:
    """Return how well candidates represent each row, of shape (rows, candidates).

    It is the probability that a walk from the row ends at the candidate, relative to that of a walk
    from the candidate itself.
    """
    W = clone(DEFAULT_GRAPH).fit(rows).affinity_
    degree = np.maximum(np.asarray(W.sum(axis=1)).ravel(), 1e-300)
    step = (0.5 * (sp.diags_array(1.0 / degree) @ W + sp.eye_array(len(degree)))).tocsr()
    own = candidates, np.arange(len(candidates))
    ends = np.zeros((len(degree), len(candidates)))
    ends[own] = 1.0
    for _ in range(_STEPS):
        ends = step @ ends
    return ends / ends[own]


def _greedy(cover: np.ndarray, weights: np.ndarray, n: int) -> list[int]:
    """Return n columns, each of which raises the weighted sum of the row maxima most."""
    best = np.zeros(len(cover))
    chosen: list[int] = []
    for _ in range(n):
        gains = weights @ np.maximum(cover - best[:, None], 0.0)
        gains[chosen] = -1.0
        chosen.append(int(gains.argmax()))
        best = np.maximum(best, cover[:, chosen[-1]])
    return chosen
