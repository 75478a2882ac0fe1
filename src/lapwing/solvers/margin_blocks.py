"""Unlabelled rows in blocks as a term of a semi-supervised objective.

The labelled rows are in memory; the others contribute one number and one gradient per column, which
are sums over the blocks. Knows nothing of how blocks are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..losses import Loss, Pair
from ..spaces.affine import AffineSpace
from ..spaces.feature_blocks import FeatureBlocks, RowFactors
from .line_ahead import VectorLoss


@dataclass(frozen=True)
class UnlabelledBlocks:
    """Unlabelled rows of equal weight in blocks, among labelled ones.

    Sums are over all rows, labelled ones included. A problem therefore lists the latter as
    unlabelled rows of negative weight, so that their share is subtracted.

    Attributes
    ----------
    rows : FeatureBlocks
        All rows.
    weight : float
        v, the weight of an unlabelled row.
    factors : RowFactors or None
        Random factors of the weights in all stages but the last.
    factor_of : ndarray of int, shape (c,), or None
        The factor of each column, −1 for none.
    """

    rows: FeatureBlocks
    weight: float
    factors: RowFactors | None = None
    factor_of: np.ndarray | None = None

    def loss(
        self, space: AffineSpace, of_rows: Loss, weights: np.ndarray, *, disturbed: bool
    ) -> VectorLoss:
        """Return the sum of the losses of all rows, as a function of vectors.

        Cost of an evaluation: one pass over the blocks, for all columns together.

        Parameters
        ----------
        space : AffineSpace
            Space of the vectors.
        of_rows : Loss
            The loss, which needs no targets.
        weights : ndarray of shape (c,)
            Factors of the sums of all columns, beside the weight of a row.
        disturbed : bool
            Whether rows have their random factors.
        """
        factors = self.factors if disturbed else None

        def evaluate(vectors: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            coef, intercept = space.coef_and_intercept(vectors, columns)
            which = None if self.factor_of is None else self.factor_of[columns]
            value, products, totals = self.rows.sum_losses(
                coef, intercept, _WithoutTargets(of_rows), factors, which
            )
            scale = self.weight * weights[columns]
            products *= scale
            return scale * value, space.gradient_of_sums(products, scale * totals)

        return evaluate


@dataclass(frozen=True)
class _WithoutTargets:
    """A loss of values alone; sent to workers of Dask."""

    loss: Loss

    def __call__(self, values: np.ndarray) -> Pair:
        return self.loss.value_and_derivative(values, 0.0)
