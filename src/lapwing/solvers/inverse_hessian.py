"""The inverse Hessian of L-BFGS in compact form, for many columns at once.

The two-loop recursion (Nocedal & Wright, Algorithm 7.4) reads its pairs of vectors one after the
other, and changes the direction after each. With the inner products of the pairs at hand, the
approximation is a matrix of low rank (Byrd, Nocedal & Schnabel, 1994, Theorem 2.2), whose product
with a gradient is two products of dense blocks: half the memory traffic, in a few calls.

Notation, per column: S and Y hold the steps and the gradient changes, both times a number that
brings sᵢᵀyᵢ to order one, which changes nothing; p = Sᵀg, q = Yᵀg, R the inner products sᵢᵀyⱼ with
i no later than j, D its diagonal, γI the initial matrix.
Must not know what is minimised.
"""

from __future__ import annotations

import numpy as np

from ..arrays.device import is_on_device, like, on_host
from ..arrays.threads import map_blocks, n_threads, row_blocks
from ..operators.rows import THREAD_WORK
from ..spaces.affine import AffineSpace


class InverseHessian:
    """H of the last steps, such that the next direction is −H·gradient.

    Pairs are kept in slots, and the oldest slot is used again. R⁻¹ is kept instead of R: a new last
    column of R changes the last column of R⁻¹ alone, and without the first row and column of R,
    R⁻¹ loses its own. So the slots need no order, and an empty one is a row and column of zeros.

    Parameters
    ----------
    space : AffineSpace
        Its inner product is used.
    memory : int
        Number of pairs.
    scale : ndarray of shape (k,)
        γ before there is a pair.

    Attributes
    ----------
    n_pairs : int
        Number of pairs so far.
    """

    def __init__(self, space: AffineSpace, memory: int, scale: np.ndarray) -> None:
        k = len(scale)
        self.n_pairs, self.scale = 0, scale
        self._space, self._memory = space, memory
        self._pairs: np.ndarray | None = None  # (k, 2·memory, n_coordinates): s₀, y₀, s₁, y₁, …
        self._products = np.zeros((k, 2 * memory))  # of the pairs with the gradient: p₀, q₀, p₁, …
        self._inverse = np.zeros((k, memory, memory))  # R⁻¹
        self._gram = np.zeros((k, memory, memory))  # YᵀY
        self._diagonal = np.zeros((k, memory))  # D

    def keep(self, go: np.ndarray) -> None:
        """Drop the columns that are not in a mask."""
        kept, used = np.flatnonzero(go), self._n_used
        self.scale, self._products = self.scale[go], self._products[go]
        self._inverse, self._gram = self._inverse[go], self._gram[go]
        self._diagonal = self._diagonal[go]
        if self._pairs is not None:
            for i, j in enumerate(kept):
                if i != j:
                    self._pairs[i, :used] = self._pairs[j, :used]
            self._pairs = self._pairs[: len(kept)]

    def add(self, step: np.ndarray, change: np.ndarray, gradient: np.ndarray) -> None:
        """Add a step and the change of the gradient to its present value, each (n_coordinates, k).

        Inner products with the change are differences of those with the two gradients. A pair
        without positive curvature is left out in its column. Cost: one pass over the pairs.
        """
        space, slot = self._space, self.n_pairs % self._memory
        product, curvature = space.dot(step, change), space.dot(change, change)
        useful = (product > 0.0) & (curvature > 0.0)
        if not useful.all():
            step, change = np.where(useful, step, 0.0), np.where(useful, change, 0.0)
        # Near an objective of zero sᵀy is so small that its inverse would overflow.
        exponent = np.where(useful, -(np.frexp(product)[1] // 2), 0)
        product, curvature = np.ldexp(product, 2 * exponent), np.ldexp(curvature, 2 * exponent)
        factor = np.ldexp(1.0, exponent)
        if self._pairs is None:
            shape = (len(useful), 2 * self._memory, len(step))
            self._pairs = np.empty_like(step, shape=shape)
        self._pairs[:, 2 * slot] = (step * factor).T
        self._pairs[:, 2 * slot + 1] = (change * factor).T
        self.n_pairs += 1

        used = self._n_used
        dual = space.dual(gradient).T.copy()[:, :, None]
        products = np.zeros_like(self._products)
        products[:, :used] = on_host(_stacked(self._pairs[:, :used], dual))[:, :, 0]
        with_change = (products - self._products) * factor[:, None]
        self._products = products

        steps, changes = with_change[:, 0::2], with_change[:, 1::2]
        steps[:, slot], changes[:, slot] = 0.0, np.where(useful, curvature, 0.0)
        inverse = np.divide(1.0, product, out=np.zeros_like(product), where=useful)
        R = self._inverse
        R[:, slot, :] = R[:, :, slot] = 0.0
        R[:, :, slot] = _times(R, steps) * -inverse[:, None]
        R[:, slot, slot] = inverse
        self._gram[:, slot, :] = self._gram[:, :, slot] = changes
        self._diagonal[:, slot] = np.where(useful, product, 0.0)
        self.scale = np.divide(product, curvature, out=self.scale.copy(), where=useful)

    def times_gradient(self, gradient: np.ndarray) -> np.ndarray:
        """Return H times the gradient of the last pair. Cost: one pass over the pairs.

        H = γI + S(R⁻ᵀ(D + γYᵀY)R⁻¹)Sᵀ − γ(S R⁻ᵀYᵀ + Y R⁻¹Sᵀ), ibid. eq. (2.6).
        """
        found = gradient * self.scale
        if self._pairs is None:
            return found
        p, q = self._products[:, 0::2], self._products[:, 1::2]
        scale, u = self.scale[:, None], _times(self._inverse, p)
        v = self._diagonal * u + scale * (_times(self._gram, u) - q)
        factors = np.empty_like(self._products)
        factors[:, 0::2] = _times(self._inverse.transpose(0, 2, 1), v)
        factors[:, 1::2] = -scale * u
        pairs = self._pairs[:, : self._n_used]
        factors = like(pairs, factors[:, None, : self._n_used])
        found += _stacked(factors, pairs)[:, 0].T
        return found

    @property
    def _n_used(self) -> int:
        """Number of vectors in slots that have been used."""
        return 2 * min(self.n_pairs, self._memory)


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the product of each matrix with its vector."""
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _stacked(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return AB for stacks of matrices, some of the stack on each thread if that is worth it."""
    k = len(A)
    if is_on_device(A) or A.shape[1] * A.shape[2] * B.shape[2] * k < THREAD_WORK:
        return A @ B
    parts = row_blocks(k, -(-k // n_threads()))
    return np.concatenate(map_blocks(lambda part: A[part] @ B[part], parts))
