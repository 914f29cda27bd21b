"""Shalev-Shwartz, Singer, Srebro, Cotter 2011: §6 and §7, for linear problems.

Their astro-ph and CCAT are not to be had here; imdb stands in and is named so everywhere.
"""

from __future__ import annotations

from gapsvm.reproduce.framework import Experiment
from gapsvm.reproduce.pegasos import bias, figure4, figure6, figure7, figure8, figure9, flat
from gapsvm.reproduce.pegasos.tasks import PAPER

EXPERIMENTS = (
    Experiment(
        name="pegasos-table1",
        paper=f"{PAPER}, Table 1 and Figure 4",
        shows="sub-optimality and test error against time, ours and others",
        data=("imdb", "cov1"),
        time="4 min",
        cell=figure4.TimeCell,
        columns=figure4.COLUMNS,
        plan=figure4.plan,
        measure=figure4.measure,
        report=figure4.report,
        verdicts=figure4.verdicts,
    ),
    Experiment(
        name="pegasos-flat",
        paper=f"{PAPER}, §7.1",
        shows="updates and time to a fixed ε on parts of covtype, of different size",
        data=("cov1",),
        time="2 min",
        cell=flat.FlatCell,
        columns=flat.COLUMNS,
        plan=flat.plan,
        measure=flat.measure,
        report=flat.report,
    ),
    Experiment(
        name="pegasos-fig6",
        paper=f"{PAPER}, Figure 6, for linear problems",
        shows="sub-optimality against λ after so many iterations, Pegasos and SDCA",
        data=("imdb", "cov1"),
        time="2 min",
        cell=figure6.LambdaCell,
        columns=figure6.COLUMNS,
        plan=figure6.plan,
        measure=figure6.measure,
        report=figure6.report,
        verdicts=figure6.verdicts,
    ),
    Experiment(
        name="pegasos-fig7",
        paper=f"{PAPER}, Figure 7",
        shows="sub-optimality against mini-batch size k at fixed kT, and against kT at fixed k",
        data=("imdb", "news20"),
        time="3 min",
        cell=figure7.BatchCell,
        columns=figure7.COLUMNS,
        plan=figure7.plan,
        measure=figure7.measure,
        report=figure7.report,
        verdicts=figure7.verdicts,
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
        verdicts=figure8.verdicts,
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
        verdicts=figure9.verdicts,
    ),
    Experiment(
        name="pegasos-bias",
        paper=f"{PAPER}, §6",
        shows="four treatments of the bias: sub-optimality against rows visited",
        data=("w8a", "cov1"),
        time="2 min",
        cell=bias.BiasCell,
        columns=bias.COLUMNS,
        plan=bias.plan,
        measure=bias.measure,
        report=bias.report,
        verdicts=bias.verdicts,
    ),
)
