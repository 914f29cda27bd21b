"""What ``gapsvm fit --task`` learns; options of one task alone are parameters of its spec."""

from __future__ import annotations

from dataclasses import dataclass

from gapsvm.registry import Registry


class Task:
    """What is learned from a file."""


@dataclass(frozen=True)
class Separate(Task):
    """Classes or numbers, as the loss says; several classes by one problem each."""


@dataclass(frozen=True)
class Joint(Task):
    """One problem over all classes."""


@dataclass(frozen=True)
class Rank(Task):
    """Documents by query."""


@dataclass(frozen=True)
class Chain(Task):
    """Sequences, token by token.

    Parameters
    ----------
    template : str
        The file of CRF++'s notation that turns columns into features.
    """

    template: str


TASKS: Registry[Task] = Registry("task")
TASKS.add("auto", Separate, "classes or numbers, by the loss")
TASKS.add("joint", Joint, "one problem over all classes, not one a class")
TASKS.add("rank", Rank, "documents by query, svmlight text with qid")
TASKS.add(
    "chain",
    Chain,
    "sequences in a CoNLL file, a token a line, its label last, by --loss hinge or logistic; "
    "template: a file that makes features of columns, in CRF++'s notation",
)
