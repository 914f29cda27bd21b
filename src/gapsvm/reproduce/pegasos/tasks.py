"""The data of §7: imdb in place of astro-ph and CCAT, where those are not at hand."""

from __future__ import annotations

from gapsvm.reproduce.framework import Settings
from gapsvm.reproduce.linear import ASTRO_PH, CCAT, Task, by_name, with_originals

PAPER = "Shalev-Shwartz 2011"

TASK = Task(
    "imdb", "imdb", "unit", 5e-5, 25_000, paper="astro-ph", stand_in=True, original=ASTRO_PH
)
"""λ is astro-ph's."""
SECOND = Task("news20", "news20", "unit", 1e-4, 11_314, paper="CCAT", stand_in=True, original=CCAT)
"""Where the paper says that CCAT looks the same; λ is CCAT's."""
QUICK = Task("a9a-quick", "a9a", "unit", 1e-3, 4_000, "split")


def task_of(settings: Settings) -> Task:
    return QUICK if settings.quick else with_originals([TASK], settings)[0]


BY_NAME = by_name((TASK, SECOND, QUICK))
