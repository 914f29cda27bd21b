"""Shalev-Shwartz, Singer, Srebro, Cotter 2011: Table 1 with Figure 4, Figures 7, 8 and 9.

Their astro-ph and CCAT are not to be had here; imdb stands in and is named so everywhere.
"""

from __future__ import annotations

from gapsvm.reproduce.framework import Experiment
from gapsvm.reproduce.pegasos import figure4, figure7, figure8, figure9
from gapsvm.reproduce.pegasos.tasks import PAPER

EXPERIMENTS = (
    Experiment(
        name="pegasos-table1",
        paper=f"{PAPER}, Table 1 and Figure 4",
        shows="sub-optimality and test error against time, Pegasos and SDCA",
        data=("imdb", "cov1"),
        time="2 min",
        cell=figure4.TimeCell,
        columns=figure4.COLUMNS,
        plan=figure4.plan,
        measure=figure4.measure,
        report=figure4.report,
    ),
    Experiment(
        name="pegasos-fig7",
        paper=f"{PAPER}, Figure 7",
        shows="sub-optimality against mini-batch size k at fixed kT, and against kT at fixed k",
        data=("imdb",),
        time="2 min",
        cell=figure7.BatchCell,
        columns=figure7.COLUMNS,
        plan=figure7.plan,
        measure=figure7.measure,
        report=figure7.report,
    ),
    Experiment(
        name="pegasos-fig8",
        paper=f"{PAPER}, Figure 8",
        shows="rows drawn independently, in one order, in a new order each pass",
        data=("imdb",),
        time="30 s",
        cell=figure8.SamplerCell,
        columns=figure8.COLUMNS,
        plan=figure8.plan,
        measure=figure8.measure,
        report=figure8.report,
    ),
    Experiment(
        name="pegasos-fig9",
        paper=f"{PAPER}, Figure 9",
        shows="Pegasos beside Norma and beside constant steps",
        data=("imdb",),
        time="1 min",
        cell=figure9.RateCell,
        columns=figure9.COLUMNS,
        plan=figure9.plan,
        measure=figure9.measure,
        report=figure9.report,
    ),
)
