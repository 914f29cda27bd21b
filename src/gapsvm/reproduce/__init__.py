"""The tables and figures of the three papers, measured again: ``gapsvm reproduce NAME``."""

from __future__ import annotations

from gapsvm.reproduce import do, pegasos, takac
from gapsvm.reproduce.framework import Experiment, Outcome, Settings, forget, run

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for paper in (takac, pegasos, do)
    for experiment in paper.EXPERIMENTS
}


def find(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


__all__ = ["EXPERIMENTS", "Experiment", "Outcome", "Settings", "find", "forget", "run"]
