"""Progress a person can read: passes, certified gap, time; shown only when it takes a while."""

from __future__ import annotations

import math
import time
from typing import Any

from gapsvm.trace import Record


class ProgressBar:
    """A callback that draws how far the gap has come, on a log scale, from its first value to tol.

    Use as a context manager; nothing is drawn before ``delay`` seconds have passed.
    """

    def __init__(self, target: float, title: str = "fit", delay: float = 0.0) -> None:
        self.target, self.title, self.delay = target, title, delay
        self.started = time.perf_counter()
        self.first_gap = math.nan
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, record: Record) -> None:
        if math.isnan(self.first_gap):
            self.first_gap = max(record.gap, self.target)
        if self.bar is None:
            if time.perf_counter() - self.started < self.delay:
                return
            self._open()
        log_range = math.log(self.first_gap / self.target) if self.first_gap > self.target else 1.0
        gap = max(record.gap, self.target)
        done = 1.0 - math.log(gap / self.target) / log_range
        self.bar.update(self.task, completed=max(0.0, done), passes=record.passes, gap=record.gap)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("pass {task.fields[passes]:.1f}  gap {task.fields[gap]:.2e}"),
            TextColumn(f"→ {self.target:.1e}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self.task = self.bar.add_task(self.title, total=1.0, passes=0.0, gap=math.nan)
        self.bar.start()
