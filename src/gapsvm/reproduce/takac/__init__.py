"""Takáč, Bijral, Richtárik, Srebro 2013: Table 1, Figures 1 and 2.

Their news20, rcv1 and astro-ph are not to be had here; other text stands in for them and is named
as a stand-in wherever it appears.  w̄ is the paper's average of the iterates, w̄ ← 0.9w̄ + 0.1w.
"""

from __future__ import annotations

from gapsvm.reproduce.framework import Experiment
from gapsvm.reproduce.linear import TaskCell
from gapsvm.reproduce.takac import (
    ball,
    beta,
    figure1,
    figure1_claims,
    figure1_report,
    figure2,
    kernels,
    rho,
    table1,
)
from gapsvm.reproduce.takac.tasks import PAPER

EXPERIMENTS = (
    Experiment(
        name="takac-table1",
        paper=f"{PAPER}, Table 1",
        shows="the data, λ, and σ²: the batch size up to which mini-batches help",
        data=("cov1", "imdb", "news20b", "mnist8"),
        time="10 s",
        cell=TaskCell,
        columns=table1.COLUMNS,
        plan=table1.plan,
        measure=table1.measure,
        report=table1.report,
    ),
    Experiment(
        name="takac-fig1",
        paper=f"{PAPER}, Figure 1",
        shows="iterations to 1e-3 against mini-batch size, Pegasos and three SDCA",
        data=("cov1", "imdb", "news20b", "mnist8"),
        time="45 min",
        cell=figure1.CountCell,
        columns=figure1.COLUMNS,
        plan=figure1.plan,
        measure=figure1.measure,
        report=figure1_report.report,
        verdicts=figure1_claims.verdicts,
    ),
    Experiment(
        name="takac-fig1-kernel",
        paper=f"{PAPER}, Figure 1 and footnote 1",
        shows="the same with Gaussian kernels, on Adult and USPS",
        data=("a9a", "usps"),
        time="60 min",
        cell=kernels.CountCell,
        columns=figure1.COLUMNS,
        plan=kernels.plan,
        measure=kernels.measure,
        report=kernels.report,
        verdicts=kernels.verdicts,
    ),
    Experiment(
        name="takac-fig2",
        paper=f"{PAPER}, Figure 2",
        shows="sub-optimality and test error over the iterations, at one large b",
        data=("imdb", "news20b"),
        time="2 min",
        cell=figure2.TraceCell,
        columns=figure2.COLUMNS,
        plan=figure2.plan,
        measure=figure2.measure,
        report=figure2.report,
        verdicts=figure2.verdicts,
    ),
    Experiment(
        name="takac-ball",
        paper=f"{PAPER}, §6",
        shows="the speed-up of mini-batches over a ball without λ, beside Lemma 2's",
        data=("imdb", "news20b", "mnist8"),
        time="3 min",
        cell=ball.BallCell,
        columns=ball.COLUMNS,
        plan=ball.plan,
        measure=ball.measure,
        report=ball.report,
        verdicts=ball.verdicts,
    ),
    Experiment(
        name="takac-beta",
        paper=f"{PAPER}, §4.2 and §6",
        shows="safe and aggressive SDCA against β, and with a σ² that is wrong",
        data=("cov1", "imdb", "news20b", "mnist8"),
        time="5 min",
        cell=beta.SweepCell,
        columns=beta.COLUMNS,
        plan=beta.plan,
        measure=beta.measure,
        report=beta.report,
        verdicts=beta.verdicts,
    ),
    Experiment(
        name="takac-rho",
        paper=f"{PAPER}, §4.3",
        shows="iterating ρ and δ in Algorithm 2",
        data=("cov1", "imdb", "news20b", "mnist8"),
        time="3 min",
        cell=rho.RoundsCell,
        columns=rho.COLUMNS,
        plan=rho.plan,
        measure=rho.measure,
        report=rho.report,
        verdicts=rho.verdicts,
    ),
)
