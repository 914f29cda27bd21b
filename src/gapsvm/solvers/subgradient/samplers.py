"""Which rows step next: batches drawn uniformly, or taken in turn from an order of all rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from gapsvm.backends import Backend
from gapsvm.solvers.row_order import new_order

SamplerName = Literal["subsets", "multisets", "permutation", "fixed", "streams"]


class Sampler(Protocol):
    """Fills batches; what changes is an order of the rows and a seed."""

    @property
    def is_uniform(self) -> bool:
        """Whether each batch is drawn uniformly, whatever was drawn before."""

    def begin(self, order: Any, seed: Any, backend: Backend) -> None:
        """Make the first order.  Modified: order, seed."""

    def draw(
        self, problem: Any, order: Any, seed: Any, batches: Any, first: int, backend: Backend
    ) -> None:
        """Fill ``batches``, those of step ``first`` + 1 on.  Modified: order, seed, batches."""


@dataclass(frozen=True)
class UniformBatches:
    """Subsets of the rows (Takáč's Rand(b)), or independent draws."""

    repeats_rows: bool = False

    is_uniform = True

    def begin(self, order: Any, seed: Any, backend: Backend) -> None:
        pass

    def draw(
        self, problem: Any, order: Any, seed: Any, batches: Any, first: int, backend: Backend
    ) -> None:
        if self.repeats_rows or batches.shape[1] == 1:
            backend.draw_multisets(order.size, batches, seed)
        else:
            backend.draw_subsets(order, batches, seed)


Reorder = Callable[[Any, Any, Any, Backend], None]


def _at_random(problem: Any, order: Any, seed: Any, backend: Backend) -> None:
    backend.shuffle(order, order.size, seed)


def _along_streams(problem: Any, order: Any, seed: Any, backend: Backend) -> None:
    new_order(problem, order, order.size, seed, backend)


@dataclass(frozen=True)
class InPasses:
    """All rows in turn, pass after pass; each in an order of its own, or all in the first one."""

    reorder: Reorder | None = None

    is_uniform = False

    def begin(self, order: Any, seed: Any, backend: Backend) -> None:
        if self.reorder is None:
            backend.shuffle(order, order.size, seed)

    def draw(
        self, problem: Any, order: Any, seed: Any, batches: Any, first: int, backend: Backend
    ) -> None:
        flat, n, filled = batches.ravel(), order.size, 0
        visited = first * batches.shape[1]
        while filled < flat.size:
            place = (visited + filled) % n
            if place == 0 and self.reorder is not None:
                self.reorder(problem, order, seed, backend)
            count = min(n - place, flat.size - filled)
            flat[filled : filled + count] = order[place : place + count]
            filled += count


SAMPLERS: dict[str, Sampler] = {
    "subsets": UniformBatches(),
    "multisets": UniformBatches(repeats_rows=True),
    "permutation": InPasses(_at_random),
    "fixed": InPasses(),
    "streams": InPasses(_along_streams),
}


def sampler_of(name: str) -> Sampler:
    """The sampler of that name."""
    if name not in SAMPLERS:
        raise ValueError(f"sampler must be one of {', '.join(SAMPLERS)}, got {name!r}")
    return SAMPLERS[name]
