"""Progress a person can read: passes, certified gap and time, one line per problem."""

from __future__ import annotations

import math
import time
from typing import Any

from gapsvm.backends.compiling import CompilerNotice
from gapsvm.solvers.trace import Callback, Record


class ProgressBar:
    """Draws how far the gap has come, on a log scale, from its first value to the target.

    Use as a context manager; ``watch`` gives the callbacks of one problem.

    Parameters
    ----------
    shown : bool
        False: ``watch`` gives no callbacks and nothing is drawn.
    delay : float
        Seconds before anything is drawn.
    """

    def __init__(self, title: str, *, shown: bool = True, delay: float = 0.0) -> None:
        self.title, self.shown, self.delay = title, shown, delay
        self.started = time.perf_counter()
        self.bar: Any = None
        self.notice = CompilerNotice()

    def __enter__(self) -> ProgressBar:
        if self.shown:
            self.notice.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.notice.end()
        if self.bar is not None:
            self.bar.stop()

    def watch(self, problem: int = 0, problems: int = 1) -> list[Callback]:
        """The callbacks of one of so many problems."""
        if not self.shown:
            return []
        title = self.title if problems == 1 else f"{self.title} {problem + 1}/{problems}"
        line: dict[str, Any] = {"task": None, "first": math.nan}

        def on_record(record: Record) -> None:
            if time.perf_counter() - self.started < self.delay:
                return
            if self.bar is None:
                self._open()
            if line["task"] is None:
                line["first"] = max(record.gap, record.target)
                line["task"] = self.bar.add_task(title, total=1.0, record=record)
            self.bar.update(line["task"], completed=_share(record, line["first"]), record=record)

        return [on_record]

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn(
                "pass {task.fields[record].passes:.1f}  gap {task.fields[record].gap:.2e}"
                " → {task.fields[record].target:.1e}"
            ),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self.bar.start()


def _share(record: Record, first: float) -> float:
    """0 at the first gap, 1 at the target, linear in the logarithm."""
    if record.target <= 0 or first <= record.target or record.gap <= record.target:
        return float(record.gap <= record.target)
    return max(0.0, 1.0 - math.log(record.gap / record.target) / math.log(first / record.target))
