"""The problems of Figure 3: RNA folding and ranking, at the λ that validation picks and below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm import datasets
from gapsvm.backends import get_backend
from gapsvm.problems.structured.folding import FoldingProblem, weights_by_length
from gapsvm.problems.structured.ranking import RankingProblem
from gapsvm.reproduce.framework import Bench, Interrupted, certified
from gapsvm.solvers.frank_wolfe.solver import FrankWolfe
from gapsvm.solvers.loop import solve
from gapsvm.solvers.trace import Status

FAMILIES = ("5s", "srp", "tRNA", "tmRNA", "RNaseP")
"""Of ArchiveII, with more than a hundred sequences of ``LONGEST`` bases at most."""
LONGEST = 400
FOLDING_GAP, FOLDING_PASSES = 1e-3, 150
"""Share of P(0) to which P* of folding is certified, and the passes that this may take."""
Optimum = tuple[float, float]
"""P of the best w that is known, and how far it is from P* at most."""


@dataclass(frozen=True)
class RankTask:
    """Queries to learn from, and the λ of the best NDCG@10 on a fold of their own."""

    name: str
    lam: float
    train: tuple[int, ...] = (1, 2, 3)
    validate: int = 4
    factors: tuple[float, ...] = (1.0, 1e-2, 1e-4)
    """λ/λ_best, from the top row to the bottom."""

    loss = "pairs"

    @property
    def part(self) -> str:
        return "folds " + "".join(map(str, self.train))

    def data(self, bench: Bench) -> datasets.Dataset:
        return _once(bench, self.name, made_up_queries)

    def problem(self, lam: float, bench: Bench) -> RankingProblem:
        """The hinge loss of all pairs over the folds to train on."""
        data = self.data(bench)
        assert data.qid is not None
        assert data.folds is not None
        rows = np.isin(data.folds, self.train)
        return RankingProblem(data.X[rows], data.y[rows], data.qid[rows], lam)

    def optimum(self, problem: RankingProblem, bench: Bench) -> Optimum:
        """By other solvers, on all pairs."""
        return certified(f"{self.name}, all pairs", problem.pairs, bench)


@dataclass(frozen=True)
class FoldTask:
    """Some RNA sequences of each family to learn from, and the λ of the best F on others, after
    learning from ``VALIDATED[0]`` of each."""

    name: str
    lam: float
    per_family: int = 10
    factors: tuple[float, ...] = (1.0, 1e-1, 1e-2)

    loss = "0.1 wrong + 1 missed pairs, per base"

    @property
    def part(self) -> str:
        return f"{self.per_family} of each family"

    def data(self, bench: Bench) -> datasets.Dataset:
        return _once(bench, self.name, made_up_sequences)

    def problem(self, lam: float, bench: Bench) -> FoldingProblem:
        data = self.data(bench)
        chosen = np.concatenate([some[: self.per_family] for some in drawn(data).values()])
        sequences = [data.X[i] for i in chosen]
        return FoldingProblem(
            sequences,
            [data.y[i] for i in chosen],
            lam,
            sample_weight=weights_by_length(sequences),
        )

    def optimum(self, problem: FoldingProblem, bench: Bench) -> Optimum:
        """By block-coordinate Frank–Wolfe."""
        result = solve(
            problem,
            FrankWolfe(),
            gap=FOLDING_GAP * problem.primal_at_zero,
            max_passes=FOLDING_PASSES,
            backend=get_backend("cpu", bench.settings.threads),
            callbacks=[lambda record: bench.cancelled()],
        )
        if result.status is Status.INTERRUPTED or bench.cancelled():
            raise Interrupted
        return result.certificate.primal, result.gap


Task = RankTask | FoldTask
TASKS: tuple[Task, ...] = (
    FoldTask("rna", 1e-2),
    RankTask("ohsumed", 1e-1),
    RankTask("mq2008", 1e-3),
)
QUICK: tuple[Task, ...] = (
    FoldTask("made-up sequences", 1e-1, per_family=6),
    RankTask("made-up queries", 1e-3),
)
BY_NAME: dict[str, Task] = {task.name: task for task in (*TASKS, *QUICK)}
RANKING_GRID = tuple(10.0**-k for k in range(-1, 7))
FOLDING_GRID = (1e-1, 1e-2, 1e-3)
"""What λ_best was chosen from."""
VALIDATED = 40, 20
"""Sequences of each family that folding's λ_best was chosen with: to learn from, and to fold."""


def _once(bench: Bench, name: str, make_up: Callable[[], datasets.Dataset]) -> datasets.Dataset:
    """The data of a task, read once."""

    def read() -> datasets.Dataset:
        if name.startswith("made-up"):
            return make_up()
        return datasets.load(name, folder=bench.settings.data_folder)

    found: datasets.Dataset = bench.once(("data of", name), read)
    return found


def drawn(data: datasets.Dataset) -> dict[str, Any]:
    """The sequences of each family in a random order: different ones, with pairs, and not too
    long."""
    found = {}
    assert data.groups is not None
    present = list(dict.fromkeys(data.groups.tolist()))
    for family in (name for name in FAMILIES if name in present):
        first: dict[str, int] = {}
        for i in np.flatnonzero(data.groups == family).tolist():
            if len(data.X[i]) <= LONGEST and "(" in data.y[i]:
                first.setdefault(data.X[i], i)
        found[family] = np.random.default_rng(0).permutation(list(first.values()))
    return found


def made_up_queries() -> datasets.Dataset:
    """Queries for a quick run: 60 of ten documents, in five folds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 20))
    noisy = X[:, :3].sum(axis=1) + 2.0 * rng.normal(size=600)
    y = np.digitize(noisy, [1.0, 3.0]).astype(float)
    qid = np.arange(600) // 10
    return datasets.Dataset("made-up queries", X, y, qid=qid, folds=1 + qid % 5)


def made_up_sequences() -> datasets.Dataset:
    """Helices with a hairpin loop between random bases, for a quick run."""
    rng, other = np.random.default_rng(0), str.maketrans("ACGU", "UGCA")
    X, y = [], []
    for _ in range(12):
        left, loop, right = rng.integers(3, 10, 3)
        helix = "".join(rng.choice(list("ACGU"), 6))
        parts = ["".join(rng.choice(list("ACGU"), size)) for size in (left, loop, right)]
        X.append(parts[0] + helix + parts[1] + helix[::-1].translate(other) + parts[2])
        y.append("." * left + "(" * 6 + "." * loop + ")" * 6 + "." * right)
    groups = np.repeat(FAMILIES[:2], 6)
    return datasets.Dataset("made-up sequences", X, y, groups=groups)
