"""What dual steps ask of a problem: the vector that α makes, and rows to read it from.

Of a ``LinearProblem`` the vector is w(α), of a ``KernelProblem`` the margins Kv of all rows: a
row's margin is then at hand, and a move adds a row of K.  The loops are the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol

import numpy as np

from gapsvm.backends import Backend
from gapsvm.kernels.lines import TOGETHER, add_rows, margin_rows
from gapsvm.kernels.spectral import kernel_sigma2
from gapsvm.problems.kernel import KernelIterate, KernelProblem
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.rows.spectral import Sigma2, sigma2
from gapsvm.types.matrices import MarginRows
from gapsvm.types.tables import ALPHA, SIGNED_WEIGHT


class DualRows(Protocol):
    """A problem as dual steps see it."""

    together: float
    """Rows that a call of a loop may visit."""

    @property
    def size(self) -> int:
        """Numbers in the vector."""

    def combine(self, coef: Any, w: Any, backend: Backend) -> float:
        """The vector of Σ coef_i x_i, and ‖Σ coef_i x_i‖².  Modified: w."""

    def stepping(
        self, visited: Any, table: Any, w: Any, *, keep: bool = False
    ) -> AbstractContextManager[Any]:
        """What a loop reads these rows from, while it moves their α and w along; on leaving, all of
        w is up to date.  ``keep``: rows of K are kept where there is room.  Modified: w."""

    def sigma2(self, backend: Backend, *, normalised: bool, sample: int | None) -> Sigma2:
        """σ² of the rows."""

    def iterate(self, w: Any, bias: float, alpha: Any) -> Any:
        """What ``problem.certify`` understands; w None: that of α."""


@singledispatch
def dual_rows_of(problem: Any) -> DualRows:
    """The rows of a problem of this kind."""
    raise TypeError(f"it is for a LinearProblem or a KernelProblem, not a {type(problem).__name__}")


@dual_rows_of.register(LinearProblem)
@dataclass(frozen=True)
class LinearRows:
    """w, and rows of X."""

    problem: LinearProblem
    together: float = math.inf

    @property
    def size(self) -> int:
        return self.problem.n_features

    def combine(self, coef: Any, w: Any, backend: Backend) -> float:
        backend.combination(self.problem.rows.view, coef, w)
        return float(w @ w)

    def stepping(
        self, visited: Any, table: Any, w: Any, *, keep: bool = False
    ) -> AbstractContextManager[Any]:
        return nullcontext(self.problem.rows.view)

    def sigma2(self, backend: Backend, *, normalised: bool, sample: int | None) -> Sigma2:
        return sigma2(self.problem.rows, backend, normalised=normalised, sample=sample)

    def iterate(self, w: Any, bias: float, alpha: Any) -> Iterate:
        return Iterate(w, bias, alpha)


@dual_rows_of.register(KernelProblem)
@dataclass(frozen=True)
class RowsOfKernel:
    """Margins, and rows of K."""

    problem: KernelProblem
    together: float = TOGETHER

    @property
    def size(self) -> int:
        return self.problem.n_rows

    def combine(self, coef: Any, w: Any, backend: Backend) -> float:
        w[:] = self.problem.rows.product(coef)
        return float(coef @ w)

    @contextmanager
    def stepping(
        self, visited: Any, table: Any, w: Any, *, keep: bool = False
    ) -> Iterator[MarginRows]:
        view = margin_rows(self.problem.rows, visited)
        rows = view.columns.astype(np.int64)
        before, alpha = w.copy(), table[rows, ALPHA]
        yield view
        w[:] = before
        pushes = table[rows, SIGNED_WEIGHT] * (table[rows, ALPHA] - alpha)
        moved = np.flatnonzero(pushes)
        add_rows(self.problem.rows, rows[moved], pushes[moved], w, keep=keep)

    def sigma2(self, backend: Backend, *, normalised: bool, sample: int | None) -> Sigma2:
        return kernel_sigma2(self.problem.rows, normalised=normalised, sample=sample)

    def iterate(self, w: Any, bias: float, alpha: Any) -> KernelIterate:
        return KernelIterate(alpha, bias)
