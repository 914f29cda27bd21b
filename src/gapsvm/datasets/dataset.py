"""What a data set is: its rows when loaded, its files before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Dataset:
    """A loaded data set; ``X, y = dataset`` unpacks the two fields that every set has.

    Attributes
    ----------
    name : str
    X
        Rows: a CSR matrix; a dense array (ocr-letters); a list of sentences, each a list of
        (word, part of speech) (conll2000); a list of sequences (rna).
    y
        Labels of the rows: an array; a list of lists of chunk tags (conll2000); a list of
        dot-bracket structures (rna).
    qid : array or None
        The query of each row (mq2008, ohsumed).
    folds : array or None
        The fold of each row: 1-5 (mq2008, ohsumed), 0-9 (ocr-letters).
    groups : array or None
        The word that each letter belongs to (ocr-letters), the family of each sequence (rna).
    description : str
    """

    name: str
    X: Any
    y: Any
    qid: np.ndarray | None = None
    folds: np.ndarray | None = None
    groups: np.ndarray | None = None
    description: str = ""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))


@dataclass(frozen=True)
class DataFile:
    """A file of the collection, or a member of an archive."""

    name: str
    rows: int
    member: str = ""


@dataclass(frozen=True)
class NamedSet:
    """A named set: its files, how they are read, and the task made of their labels."""

    folder: str
    description: str
    n_features: int
    train: tuple[DataFile, ...]
    test: tuple[DataFile, ...] = ()
    read: Callable[[NamedSet, list[Any], Any], Dataset] | None = None
    positive: tuple[int, ...] = ()  # the classes labelled +1 against -1; () leaves labels alone
    unit_columns: bool = False  # scale each column to [0, 1]
