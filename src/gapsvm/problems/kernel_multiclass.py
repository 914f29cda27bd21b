"""Several classes at once over rows of a kernel matrix (Pegasos §4 and §5).

    f_r = Σ_j V_jr K(x_j, ·),   P(f) = (1/S) Σ s_i φ((f_r(x_i))_r, y_i) + (λ/2) Σ_r ‖f_r‖²

and D as for a ``MulticlassProblem``, V(A) = (1/(λS)) s_i (e_{y_i} − A_i) in the place of W(A).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.kernels.rows import KernelRows
from gapsvm.problems.multiclass import MulticlassProblem


class KernelMulticlassProblem(MulticlassProblem):
    """Functions of a reproducing kernel space, one a class, and one loss over all of them.

    W of an iterate holds the coefficients V, rows × classes.  There is no bias.

    Parameters
    ----------
    rows : KernelRows
        Where values of K come from.
    y : array of integers
        Classes 0, …, n_classes − 1.
    n_classes : int
        How many there are, two at least.
    loss : "crammer_singer" or "multinomial"
    lam : float
        λ > 0.
    costs : array (n_classes × n_classes), optional
        costs[y, r] ≥ 0: what it costs to say r where y is right; 1 for every mistake by default.
    sample_weight : array, optional
        s_i ≥ 0 with a positive sum; 1 by default.
    """

    def __init__(
        self,
        rows: KernelRows,
        y: Any,
        n_classes: int,
        loss: str,
        lam: float,
        *,
        costs: Any = None,
        sample_weight: Any = None,
    ) -> None:
        super().__init__(rows, y, n_classes, loss, lam, costs=costs, sample_weight=sample_weight)

    def _take_rows(self, X: Any, backend: str | Backend) -> None:
        self.rows = X

    @property
    def sq_norms(self) -> Any:
        """K(x_i, x_i)."""
        return self.rows.diagonal

    @property
    def default_method(self) -> str:
        """Pegasos, kernelised."""
        return "pegasos(average=tail)"

    @property
    def n_rows(self) -> int:
        return int(self.rows.n_rows)

    @property
    def n_features(self) -> int:
        """Coefficients of a function."""
        return int(self.rows.n_rows)

    @property
    def slice_rows(self) -> int:
        """A solver's round is its own grain."""
        return 1 << 40

    def _margins(self, V: Any) -> Any:
        """f_r(x_i)."""
        return np.stack([self.rows.product(V[:-1, r].copy()) for r in range(V.shape[1])], axis=1)

    def _primal(self, W: Any, backend: Backend) -> tuple[float, Any]:
        scores = self._margins(W)
        losses = float(np.sum(self.weight * self.curve.value(scores, self.y)))
        square = float(np.sum(W[:-1] * scores))
        primal = losses / self.total_weight + 0.5 * self.lam * square
        return (primal if not np.isnan(primal) else np.inf), scores

    def _dual(self, A: Any, backend: Backend) -> tuple[float, Any]:
        conjugates = float(np.sum(self.weight * self.curve.conjugate(A, self.y)))
        V = np.zeros((self.n_rows + 1, self.n_classes))
        V[:-1] = -A
        V[np.arange(self.n_rows), self.y] += 1.0
        V[:-1] *= (self.weight / (self.lam * self.total_weight))[:, None]
        square = float(np.sum(V[:-1] * self._margins(V)))
        dual = -conjugates / self.total_weight - 0.5 * self.lam * square
        return (dual if not np.isnan(dual) else -np.inf), V
