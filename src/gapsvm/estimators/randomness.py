"""Seeds from what scikit-learn calls ``random_state``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def seed_of(random_state: Any) -> int:
    """A seed drawn from a random state; None draws one from NumPy's."""
    return (_seed_of_number if isinstance(random_state, int) else _seed)(random_state)


def _seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


_seed_of_number = lru_cache(_seed)
"""The same, remembered: RandomState takes a while to set up."""
