"""What ``gapsvm fit --task`` learns; options of one task alone are parameters of its spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gapsvm.registry import Registry


class FitTask:
    """What is learned from a file."""


@dataclass(frozen=True)
class Separate(FitTask):
    """Classes or numbers, as the loss says; several classes by one problem each."""


@dataclass(frozen=True)
class Joint(FitTask):
    """One problem over all classes."""


@dataclass(frozen=True)
class Rank(FitTask):
    """Documents by query.

    Parameters
    ----------
    average : "pairs" or "queries"
        What counts the same.
    """

    average: Literal["pairs", "queries"] = "pairs"


@dataclass(frozen=True)
class Chain(FitTask):
    """Sequences, token by token.

    Parameters
    ----------
    template : str
        The file of CRF++'s notation that turns columns into features.
    transitions : "all" or "seen"
        Which label may follow which: any, or those that do so in the file.
    edge_features : bool
        Features have weights for steps from label to label as well.
    """

    template: str
    transitions: Literal["all", "seen"] = "all"
    edge_features: bool = False


@dataclass(frozen=True)
class Fold(FitTask):
    """RNA sequences, by their structures.

    Parameters
    ----------
    wrong_pair, missed_pair : float
        What a pair that the truth has not, and one that it has alone, add to the loss.
    per_base : bool
        Losses count in inverse proportion to the length of the sequence.
    lonely_pairs : "drop" or "keep"
        Whether pairs that are stacked on no other are left out.
    """

    wrong_pair: float = 0.1
    missed_pair: float = 1.0
    per_base: bool = True
    lonely_pairs: Literal["drop", "keep"] = "drop"


TASKS: Registry[FitTask] = Registry("task")
TASKS.add("auto", Separate, "classes or numbers, by the loss")
TASKS.add("joint", Joint, "one problem over all classes, not one a class")
TASKS.add(
    "rank",
    Rank,
    "documents by query, svmlight text with qid; average: what counts the same, pairs or queries",
)
TASKS.add(
    "chain",
    Chain,
    "sequences in a CoNLL file, a token a line, its label last, by --loss hinge or logistic; "
    "template: a file that makes features of columns, in CRF++'s notation; transitions=seen bars "
    "other steps from label to label, edge_features=True gives these features",
)
TASKS.add(
    "fold",
    Fold,
    "RNA: FASTA with lines of dots and brackets, or CSV with columns sequence and dot_bracket; "
    "wrong_pair, missed_pair, per_base, lonely_pairs: what the loss counts",
)
