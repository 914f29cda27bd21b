"""The later part of a run, over which a mean is taken (Takáč's Algorithm 1).

It begins at a step that is given, as ⌊T/2⌋ where T is known; or it moves along: the mean is over
the latest two of windows that begin at the steps 1, 2, 4, 8, …, so that it covers between a half
and three quarters of all.  Whoever takes the mean keeps the sums of this window and of the window
before.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from gapsvm.registry.storable import storable


@storable
@dataclass
class Tail:
    """Which steps count."""

    fixed: int | None = None
    """The step after which the mean begins; None: it moves along."""
    first: int = 0
    """The step after which what counts begins, ..."""
    latest: int = 0
    """... and this window."""

    def turns(self, steps: int) -> bool:
        """Whether a window begins after so many steps."""
        begins = steps == self.fixed if self.fixed is not None else steps & (steps - 1) == 0
        return begins and steps > self.latest

    def turn(self, steps: int) -> bool:
        """Begin it; whether the sums of the window that ends still count."""
        moves = self.fixed is None
        self.first, self.latest = (self.latest if moves else steps), steps
        return moves

    def wait(self, steps: int) -> int:
        """Steps until the next one begins."""
        if self.fixed is None:
            return int(2 ** steps.bit_length()) - steps
        return self.fixed - steps if steps < self.fixed else sys.maxsize

    def count(self, steps: int) -> int:
        """How many of the steps so far count; 0 before the tail begins."""
        return 0 if steps < (self.fixed or 0) else steps - self.first

    def restart(self, steps: int) -> None:
        """Forget all there was until now."""
        self.first = self.latest = steps
