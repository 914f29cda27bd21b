"""Table 1's λ_best, "the optimal setting for ensuring good generalization, by cross-validation"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.losses.registry import get_loss
from gapsvm.problems.linear import LinearProblem
from gapsvm.reproduce import style
from gapsvm.reproduce.claims import Bar, Claim, Verdict, sentences
from gapsvm.reproduce.do.tasks import BY_NAME, PAPER, tasks
from gapsvm.reproduce.framework import Bench, Row, Settings, as_numbers, markdown_table
from gapsvm.reproduce.linear import (
    Task,
    TaskCell,
    about,
    heading,
    load,
    short,
    stand_in_note,
    title,
)
from gapsvm.rows.matrix import checked_rows
from gapsvm.training.train import Options, train

GRID = tuple(10.0**-k for k in range(2, 10))
QUICK_GRID = (1e-2, 1e-4, 1e-6)
FOLDS = 5
GAP = 1e-3
"""Share of P(0) to which every fit is certified, if the time does."""
SECONDS = 60.0
"""Of one fit at most."""

AGREES = Claim(
    "λ_best as printed is the best by cross-validation",
    "its error less the least of all λ, in standard errors over the folds",
    Bar(1.0, 3.0),
)
OFTEN_SMALL = Claim(
    "the best λ is often very small",
    "share of the sets on which no λ above 1e-6 is as good as the best, to one standard error",
    Bar(0.5, 0.25),
)
SMALL = 1e-6

COLUMNS = ("error", "gap", "passes", "n_train")


@dataclass(frozen=True)
class FoldCell(TaskCell):
    """A fit on all folds but one, judged on that."""

    fold: int
    folds: int
    tol: float
    seconds: float


def plan(settings: Settings) -> list[FoldCell]:
    grid = QUICK_GRID if settings.quick else GRID
    return [
        FoldCell(
            **about(replace(task, lam=float(f"{lam:g}"))),
            fold=fold,
            folds=FOLDS,
            tol=GAP,
            seconds=SECONDS,
        )
        for task in tasks(settings)
        for lam in grid
        for fold in range(FOLDS)
    ]


@dataclass(frozen=True)
class Fold:
    """Rows to learn from, and rows to judge."""

    rows: Any
    y: Any
    X_held: Any
    y_held: Any


def fold_of(task: Task, fold: int, bench: Bench) -> Fold:
    """Folds of a permutation of the training rows, made once for all λ."""

    def make() -> Fold:
        loaded = load(task, bench)
        X = loaded.rows.to_scipy()
        order = np.random.default_rng(FOLDS).permutation(len(loaded.y))
        held = np.zeros(len(order), dtype=bool)
        held[order[fold::FOLDS]] = True
        rows = checked_rows(X[~held], get_backend())
        return Fold(rows, loaded.y[~held], X[held], loaded.y[held])

    made: Fold = bench.once(("fold", task.name, fold), make)
    return made


def measure(cell: FoldCell, bench: Bench) -> list[Row]:
    task = replace(BY_NAME[cell.task], lam=cell.lam)
    fold = fold_of(task, cell.fold, bench)
    problem = LinearProblem(fold.rows, fold.y, get_loss("hinge"), cell.lam)
    options = Options(tol=cell.tol, max_passes=5000, time_limit=cell.seconds)
    fit = train(problem, options, cancelled=bench.cancelled)
    bench.check()
    scores = fold.X_held @ fit.result.solution.w
    wrong = np.where(scores > 0, 1.0, -1.0) != fold.y_held
    return [
        {
            "error": f"{np.mean(wrong):.6f}",
            "gap": f"{fit.result.gap / problem.primal_at_zero:.3g}",
            "passes": f"{fit.result.passes:.4g}",
            "n_train": len(fold.y),
        }
    ]


@dataclass(frozen=True)
class Validated:
    """One task: λ from the least on, the mean error over the folds and its standard error."""

    task: Task
    lam: Any
    error: Any
    deviation: Any
    gap: float
    """The largest of all fits."""

    @property
    def best(self) -> int:
        """The largest λ of the least error."""
        return int(np.flatnonzero(self.error == self.error.min())[-1])

    @property
    def largest_as_good(self) -> float:
        """The largest λ within one standard error of the least."""
        good = self.error <= self.error[self.best] + self.deviation[self.best]
        return float(self.lam[good].max())

    @property
    def behind(self) -> float:
        """Standard errors from the least error to that at the printed λ."""
        at = int(np.argmin(np.abs(np.log(self.lam / self.task.lam))))
        extra = float(self.error[at] - self.error[self.best])
        return extra / max(float(self.deviation[self.best]), 1e-12) if extra > 0 else 0.0


def validated_of(rows: Sequence[Row]) -> list[Validated]:
    grouped: dict[str, dict[float, list[Row]]] = {}
    for row in map(as_numbers, rows):
        grouped.setdefault(row["task"], {}).setdefault(float(row["lam"]), []).append(row)
    found = []
    for name, by_lam in grouped.items():
        lam = np.array(sorted(by_lam))
        errors = np.array([[float(r["error"]) for r in by_lam[v]] for v in lam])
        deviation = errors.std(axis=1, ddof=1) / math.sqrt(errors.shape[1])
        gap = max(float(r["gap"]) for some in by_lam.values() for r in some)
        found.append(Validated(BY_NAME[name], lam, errors.mean(axis=1), deviation, gap))
    return found


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = validated_of(rows)
    draw(folder / "do-lambda.png", found, settings)
    (folder / "do-lambda.md").write_text(text(found, settings), encoding="utf-8")


def draw(path: Path, found: Sequence[Validated], settings: Settings) -> None:
    columns = min(4, len(found))
    lines = math.ceil(len(found) / columns)
    with style.drawing(path, max(7.4, 3.5 * columns), 3.0 * lines + 0.6) as figure:
        grid = figure.subplots(lines, columns, squeeze=False, sharex=True).ravel()
        for axes, one in zip(grid, found):
            mean, spread = 100 * one.error, 100 * one.deviation
            axes.plot(one.lam, mean, "o-", color=style.BLUE)
            axes.fill_between(one.lam, mean - spread, mean + spread, color=style.BLUE, alpha=0.2)
            axes.axvline(one.task.lam, color=style.ORANGE, ls="--", lw=1.2)
            axes.axvline(one.lam[one.best], color=style.BLUE, ls=":", lw=1.2)
            axes.set(xscale="log")
            axes.set_title(one.task.title, fontsize=10)
            axes.spines["right"].set_visible(False)
        for axes in grid[len(found) :]:
            axes.axis("off")
        for axes in grid[max(0, len(found) - columns) : len(found)]:
            axes.set_xlabel("λ")
        for axes in grid[::columns]:
            axes.set_ylabel("error held out (%)")
        figure.legend(handles=_handles(), loc="outside lower center", ncols=3)
        title(figure, f"{PAPER}, Table 1: λ by cross-validation", settings)


def _handles() -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=style.BLUE, marker="o", label="mean over the folds ± standard error"),
        Line2D([], [], color=style.BLUE, ls=":", label="best"),
        Line2D([], [], color=style.ORANGE, ls="--", label="λ_best as printed"),
    ]


def text(found: Sequence[Validated], settings: Settings) -> str:
    table = [
        [
            one.task.title,
            short(one.task.lam),
            short(float(one.lam[one.best])),
            f"{short(one.largest_as_good)}",
            f"{100 * one.error[one.best]:.2f} ± {100 * one.deviation[one.best]:.2f}",
            f"{one.behind:.1f}",
            f"{one.gap:.1e}",
        ]
        for one in found
    ]
    header = [
        "data", "λ_best, printed", "ours", "largest λ as good", "error, %",
        "printed λ is behind by", "largest gap",
    ]  # fmt: skip
    lines = [
        heading(PAPER, "Table 1, λ_best", "by cross-validation, beside the printed one", settings),
        "![Cross-validation](do-lambda.png)",
        "",
        f"Mean error over {FOLDS} folds of the training rows, of fits certified to "
        f"{short(GAP)} of P(0) or stopped after {SECONDS:g} s; λ from {short(GRID[0])} to "
        f"{short(GRID[-1])} in powers of ten. *As good*: within one standard error (over the "
        "folds) of the least. The paper does not say its grid, its folds, nor how far its fits "
        "went.",
        "",
        markdown_table(header, table),
        "",
        *sentences(judged(found)),
        "",
        stand_in_note([one.task for one in found]),
        "",
    ]
    return "\n".join(lines)


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return judged(validated_of(rows))


def judged(found: Sequence[Validated]) -> list[Verdict]:
    each = [
        AGREES.judge(
            one.behind,
            one.task.title,
            f"{one.behind:.1f}; printed {short(one.task.lam)}, ours {short(one.lam[one.best])}",
        )
        for one in found
    ]
    small = [one.largest_as_good <= SMALL * 1.01 for one in found]
    share = sum(small) / len(small)
    return [*each, OFTEN_SMALL.judge(share, words=f"{sum(small)} of {len(small)}")]
