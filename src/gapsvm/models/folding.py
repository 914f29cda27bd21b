"""Models that fold RNA, and their files."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.models.base import ModelFormatError
from gapsvm.models.stored import (
    Described,
    check_arrays,
    read_described,
    stored_names,
    write_described,
)
from gapsvm.rows import folding

FORMAT = "gapsvm folding model"
VERSION = 1


@dataclass(frozen=True, eq=False)
class FoldingModel:
    """Weights of the pieces of RNA structures.

    Parameters
    ----------
    w : array
        A weight for each of ``gapsvm.rows.folding.feature_names()``.
    lam, primal, dual : float
        λ, and the certificate.
    metadata : dict
        Anything else that JSON can hold.
    """

    w: Any
    lam: float
    primal: float = math.nan
    dual: float = math.nan
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        w = np.ascontiguousarray(self.w, dtype=np.float64)
        object.__setattr__(self, "w", w)
        expected = (len(folding.feature_names()),)
        if w.shape != expected:
            raise ValueError(f"w must have shape {expected}, got {w.shape}")
        if not np.isfinite(w).all():
            raise ValueError("w contains NaN or infinity")

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    def fold(
        self, sequences: Sequence[str], backend: Backend, names: Sequence[str] | None = None
    ) -> list[folding.Folded]:
        """The best structure of each sequence, and its score; ``names`` stand in errors."""
        coded = folding.coded_sequences(sequences, names)
        scores = folding.scores_of(self.w)
        return backend.map(lambda codes: folding.fold(codes, scores, backend), coded)

    def predict(self, sequences: Sequence[str], backend: Backend | None = None) -> list[str]:
        """The best structure of each sequence, as dots and brackets."""
        found = self.fold(sequences, backend or get_backend())
        return [folding.brackets_of(one.partners) for one in found]

    def strongest(self, count: int) -> list[tuple[float, str]]:
        """(weight, feature) of the largest weights by size."""
        top = np.argsort(-np.abs(self.w), kind="stable")[: max(count, 0)]
        return [(float(self.w[j]), folding.feature_names()[j]) for j in top]


def write_folding(path: str | os.PathLike[str], model: FoldingModel) -> None:
    """Write a model as safetensors with JSON; the file appears complete or not at all."""
    described = {
        "feature_names": list(folding.feature_names()),
        "lam": float(model.lam),
        "primal": float(model.primal) if math.isfinite(model.primal) else None,
        "dual": float(model.dual) if math.isfinite(model.dual) else None,
        "metadata": model.metadata,
    }
    write_described(path, (FORMAT, VERSION), {"w": model.w}, described)


def read_folding(path: str | os.PathLike[str]) -> FoldingModel:
    """Read what ``write_folding`` wrote.

    Raises
    ------
    ModelFormatError
        A ValueError that names the file and what is wrong with it.
    """
    tensors, described = read_described(path, (FORMAT, VERSION))
    try:
        return _assembled(tensors, described)
    except (ValueError, OverflowError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not a sound model: {error}") from error


def _assembled(tensors: dict[str, np.ndarray], described: Described) -> FoldingModel:
    check_arrays(tensors, {"w"}, set(), {"w"})
    if stored_names(described) != list(folding.feature_names()):
        raise ValueError("its features are not those of this gapsvm")
    model = FoldingModel(
        tensors["w"],
        float(described.take("lam", float, int)),
        _number(described, "primal"),
        _number(described, "dual"),
        described.take("metadata", dict),
    )
    described.end()
    return model


def _number(described: Described, name: str) -> float:
    value = described.take(name, float, int, type(None))
    return math.nan if value is None else float(value)
