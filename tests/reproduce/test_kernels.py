"""Kernel experiments: what a run is made of, and how its numbers are judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapsvm.reproduce import EXPERIMENTS, Settings, run
from gapsvm.reproduce.claims import Outcome
from gapsvm.reproduce.kernel import ADULT, MNIST, QUICK, REUTERS, USPS
from gapsvm.reproduce.pegasos.kernels import race, throughput
from gapsvm.reproduce.pegasos.kernels.clock import DRAW, PAPERS, solver_of

NAMES = ("pegasos-table2", "pegasos-table3", "pegasos-fig6", "takac-fig1-kernel")


@pytest.fixture(autouse=True)
def _no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GAPSVM_DATA", raising=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run(name: str, tmp_path: Path) -> None:
    """On the data that comes with gapsvm: files are there, and a second run measures nothing."""
    settings = Settings(tmp_path, quick=True, seeds=1)
    outcome = run(EXPERIMENTS[name], settings)
    assert outcome.complete
    assert [file.name for file in outcome.files] == [name + end for end in (".png", ".csv", ".md")]
    png, _, page = outcome.files
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert "quick run" in page.read_text()
    assert run(EXPERIMENTS[name], settings).measured == 0
    only = replace(settings, only=QUICK.name if name != "takac-fig1-kernel" else "a9a")
    assert run(EXPERIMENTS[name], only).complete


def test_the_page_shows_every_experiment() -> None:
    page = Path(__file__).parents[2] / "docs" / "reproduce.md"
    if not page.exists():
        pytest.skip("not in a checkout")
    for name in NAMES:
        assert f"`{name}`" in page.read_text()


def test_the_papers_numbers() -> None:
    """§7.2: sizes, γ and λ; ε and errors of Table 2."""
    numbers = [(t.train, t.gamma, t.lam, t.eps, t.error) for t in (REUTERS, ADULT, USPS, MNIST)]
    assert numbers == [
        (7_770, 1.0, 1.29e-4, 0.00719, 2.88),
        (32_561, 0.05, 3.07e-5, 0.0445, 14.9),
        (7_329, 2.0, 1.36e-4, 0.000381, 0.457),
        (60_000, 0.02, 1.67e-5, 0.00144, 0.57),
    ]


def test_every_data_set_has_every_method(tmp_path: Path) -> None:
    cells = race.plan(Settings(tmp_path, seeds=2))
    assert {cell.task for cell in cells} == {"reuters", "adult", "usps", "mnist"}
    for task in ("reuters", "mnist"):
        seeds = {m: [c.seed for c in cells if (c.task, c.method) == (task, m)] for m in PAPERS}
        assert all(len(found) == (2 if m in DRAW else 1) for m, found in seeds.items())


def fake_race(times: dict[str, float]) -> race.Race:
    """Each method at 0.1 from the beginning, and at 1e-4 from its time on."""
    runs = {m: [np.array([[0.01, 0.1, 0.3], [t, 1e-4, 0.1]])] for m, t in times.items()}
    return race.Race(USPS, runs, 0.05, 0.1)


@pytest.mark.parametrize(
    ("lasvm", "outcome"),
    [(1.0, Outcome.SHOWN), (9.0, Outcome.NOT_SHOWN), (90.0, Outcome.CONTRADICTED)],
)
def test_who_dominates(lasvm: float, outcome: Outcome) -> None:
    found = fake_race({"pegasos": 20.0, "sdca": 10.0, "smo": 5.0, "lasvm": lasvm})
    assert found.eps == 0.1
    verdicts = {v.claim.says: v for v in race.judged([found])}
    assert verdicts[race.DOMINATES.says].outcome is outcome


def test_the_last_entry_below_eps_counts() -> None:
    """A look that falls below ε once and rises again is luck."""
    run_ = np.array([[1, 0.5, 0.3], [2, 0.05, 0.1], [3, 0.2, 0.1], [4, 0.01, 0.1]])
    found = race.Race(USPS, {m: [run_] for m in PAPERS}, 0.0, 0.1)
    assert found.reached("sdca", 0.1)[0] == 4
    assert found.reached("sdca", 1e-3)[0] == np.inf


def test_only_one_data_set_is_measured(tmp_path: Path) -> None:
    settings = Settings(tmp_path, quick=True, seeds=1, only="nobody's")
    with pytest.raises(ValueError, match="a9a-quick"):
        run(EXPERIMENTS["pegasos-table3"], settings)


def test_throughputs_are_relative_to_pegasos() -> None:
    rows = [
        {"task": QUICK.name, "method": m, "seconds": 2.0, "evaluations": e, "seed": 0}
        for m, e in zip(PAPERS, (100, 50, 300, 20))
    ]
    (rates,) = throughput.rates_of(rows)
    assert [rates.relative(m) for m in PAPERS] == [1.0, 0.5, 3.0, 0.2]
    assert throughput.verdicts(rows, Settings(Path()))[0].outcome is Outcome.CONTRADICTED


def test_methods_are_the_papers() -> None:
    assert solver_of("pegasos").batch_size == 1
    assert solver_of("sdca").sampler == "uniform"
