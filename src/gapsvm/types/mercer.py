"""Kernels K(x, x'): what compiled loops are overloaded on, each with its definition in NumPy.

A kernel is a NamedTuple of numbers, since that is what a compiled loop can take.  Those "of
products" are functions of ⟨x, x'⟩ and the two squared norms; the others look at the coordinates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Linear(NamedTuple):
    """⟨x, x'⟩."""

    def of_products(self, products: Any, squares: Any, other_squares: Any) -> Any:
        return products

    def on_diagonal(self, squares: Any) -> Any:
        return squares.copy()

    @property
    def is_definite(self) -> bool | None:
        return True


class Gaussian(NamedTuple):
    """exp(−γ‖x − x'‖²)."""

    gamma: Any = "scale"

    def of_products(self, products: Any, squares: Any, other_squares: Any) -> Any:
        distances = squares[:, None] + other_squares[None, :] - 2.0 * products
        return np.exp(-self.gamma * np.maximum(distances, 0.0))

    def on_diagonal(self, squares: Any) -> Any:
        return np.ones_like(squares)

    @property
    def is_definite(self) -> bool | None:
        return True


class Polynomial(NamedTuple):
    """(γ⟨x, x'⟩ + c)^degree."""

    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 0.0

    def of_products(self, products: Any, squares: Any, other_squares: Any) -> Any:
        return (self.gamma * products + self.coef0) ** self.degree

    def on_diagonal(self, squares: Any) -> Any:
        return (self.gamma * squares + self.coef0) ** self.degree

    @property
    def is_definite(self) -> bool | None:
        return True if self.gamma >= 0 and self.coef0 >= 0 else None


class Sigmoid(NamedTuple):
    """tanh(γ⟨x, x'⟩ + c): not positive definite in general."""

    gamma: Any = "scale"
    coef0: float = 0.0

    def of_products(self, products: Any, squares: Any, other_squares: Any) -> Any:
        return np.tanh(self.gamma * products + self.coef0)

    def on_diagonal(self, squares: Any) -> Any:
        return np.tanh(self.gamma * squares + self.coef0)

    @property
    def is_definite(self) -> bool | None:
        return None


class Laplacian(NamedTuple):
    """exp(−γ Σ|x_k − x'_k|)."""

    gamma: Any = "scale"

    def of_rows(self, a: Any, b: Any) -> Any:
        distances = np.abs(a[:, None, :] - b[None, :, :]).sum(axis=2)
        return np.exp(-self.gamma * distances)

    def on_diagonal(self, squares: Any) -> Any:
        return np.ones_like(squares)

    @property
    def is_definite(self) -> bool | None:
        return True


class ChiSquared(NamedTuple):
    """exp(−γ Σ (x_k − x'_k)²/(x_k + x'_k)) for x ≥ 0; 0/0 counts as 0."""

    gamma: Any = "scale"

    def of_rows(self, a: Any, b: Any) -> Any:
        difference, total = a[:, None, :] - b[None, :, :], a[:, None, :] + b[None, :, :]
        shares = difference * difference / np.where(total > 0, total, 1.0)
        return np.exp(-self.gamma * shares.sum(axis=2))

    def on_diagonal(self, squares: Any) -> Any:
        return np.ones_like(squares)

    @property
    def is_definite(self) -> bool | None:
        return True


OF_PRODUCTS = (Linear, Gaussian, Polynomial, Sigmoid)
"""Kernels whose values follow from products and squared norms."""


class Block(NamedTuple):
    """A block of the dual in v = c∘α: maximise ⟨y, v⟩ − ε‖v‖₁ − ½vᵀQv over lower ≤ v ≤ upper.

    ``kernel`` is K over the block; Q = K + diag(ridge), ``diagonal`` is Q's.
    """

    kernel: np.ndarray
    diagonal: np.ndarray
    ridge: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    eps: float


class BlockPoint(NamedTuple):
    """Where a block stands, and what its steps write to.

    ``pull`` is y − Qv, the gradient without the term of ε.  ``rise`` and ``fall`` are scratch: what
    is added to the pull for the slope of a move up or down, infinite where a bound forbids it.
    ``low`` is scratch, too.
    """

    coef: np.ndarray
    pull: np.ndarray
    rise: np.ndarray
    fall: np.ndarray
    low: np.ndarray
