"""What compiled loops over chains of labels are given together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class KeptLabellings(NamedTuple):
    """Labellings of each chain and their weights α; slot 0 holds the truth.

    A labelling of chain i in slot s is ``labels[s, starts[i]:starts[i + 1]]``.
    """

    labels: np.ndarray
    """slots × tokens, uint16."""
    share: np.ndarray
    """α, chains × slots: ≥ 0, of sum 1 for each chain."""
    cost: np.ndarray
    """Δ, chains × slots; negative: the slot is empty."""
