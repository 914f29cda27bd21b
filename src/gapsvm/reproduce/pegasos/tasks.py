"""The data of §7.4–7.6: imdb in place of astro-ph."""

from __future__ import annotations

from gapsvm.reproduce.framework import Settings
from gapsvm.reproduce.linear import Task

PAPER = "Shalev-Shwartz 2011"

TASK = Task("imdb", "imdb", "unit", 5e-5, 25_000, paper="astro-ph", stand_in=True)
"""λ is astro-ph's."""
QUICK = Task("a9a-quick", "a9a", "unit", 1e-3, 4_000, "split")


def task_of(settings: Settings) -> Task:
    return QUICK if settings.quick else TASK


BY_NAME = {task.name: task for task in (TASK, QUICK)}
