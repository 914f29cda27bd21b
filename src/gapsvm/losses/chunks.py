"""How well chunks are found: precision, recall and F1 by the rule of CoNLL's shared tasks.

Tags are ``B-NP``, ``I-NP``, ``O`` and, where a scheme has them, ``E-NP`` and ``S-NP``.  A chunk
begins at B and S, at any tag after O or the end of a chunk, and where the type changes; it counts
as found where beginning, end and type agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class ChunkScore(NamedTuple):
    """Shares, from 0 to 1, and what they are shares of."""

    precision: float
    recall: float
    f1: float
    n_true: int
    n_predicted: int
    n_right: int


def chunks(tags: Sequence[Any]) -> list[tuple[int, int, str]]:
    """(first, last, type) of the chunks of a sequence, by conlleval's rule."""
    found: list[tuple[int, int, str]] = []
    begun, kind, before = -1, "", "O"
    for t, tag in enumerate([*map(str, tags), "O"]):
        place, _, named = tag.partition("-")
        ends = before in ("E", "S") or place in ("B", "S", "O") or named != kind
        if begun >= 0 and ends:
            found.append((begun, t - 1, kind))
            begun = -1
        if begun < 0 and place != "O":
            begun, kind = t, named
        before = place
    return found


def chunk_f1(
    y_true: Sequence[Sequence[Any]],
    y_pred: Sequence[Sequence[Any]],
) -> ChunkScore:
    """F1 of the chunks in some sequences; 0 where there is none to find.

    Parameters
    ----------
    y_true, y_pred : lists of lists of tags
    """
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} sequences, but y_pred has {len(y_pred)}")
    n_true = n_predicted = n_right = 0
    for i, (truth, told) in enumerate(zip(y_true, y_pred)):
        if len(truth) != len(told):
            raise ValueError(
                f"sequence {i} has {len(truth)} tags in y_true, but {len(told)} in y_pred"
            )
        right, found = chunks(truth), chunks(told)
        n_true, n_predicted = n_true + len(right), n_predicted + len(found)
        n_right += len(set(right) & set(found))
    precision, recall = n_right / max(n_predicted, 1), n_right / max(n_true, 1)
    f1 = 2.0 * precision * recall / (precision + recall) if n_right else 0.0
    return ChunkScore(precision, recall, f1, n_true, n_predicted, n_right)
