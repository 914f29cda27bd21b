"""Time to a certified answer beside every peer: the whole table by one command.

    python benchmarks/peers.py --install FOLDER
    python benchmarks/peers.py --peers FOLDER [--table linear|threads|weak|growth|losses]
                               [--only a9a,imdb] [--targets 1e-3,1e-6] [--rounds 5]
                               [--output FOLDER] [--settings-only] [--retry] [--again] [--readme]

gapsvm is timed from ``fit()`` to a *certified* gap of the target, a peer from its own ``fit()``,
its container ready, at the cheapest setting of a sweep that met the target three times out of
three.  Every answer is judged by one objective in float64; contenders take turns; the least time
of the runs that met the target counts.  Settings and cells are kept in ``peers.json`` of the
output folder: an interrupted run goes on where it was, ``--again`` times anew, ``--retry`` sweeps
again where no setting met the target in time (on a busy machine that says little).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import venv
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])  # benchmarks/liblinear.py must not pass for the peer's

import numba
import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.common import TARGETS, Timed, race, versions
from benchmarks.peer_cases import EPSILON, TABLES, PeerCase, Table
from benchmarks.peer_report import markdown, plots, write_pages
from benchmarks.peer_worker import PEERS, Peer, write_arrays

REPEATS = 3
"""A setting must meet its target as often in a row."""
PATIENCE, SHORTEST = 15.0, 2.0
"""A peer is given up at so many times gapsvm's own time, and not before so many seconds."""
FAR = 4.0
"""Peers so many times slower than the fastest run once only."""


class NotReachedError(Exception):
    """The peer failed, or ran out of time."""


def python_of(peer: type[Peer], folder: Path | None) -> Path | None:
    """The interpreter that has the peer; None where it is not installed."""
    if peer.environment is None:
        return Path(sys.executable)
    python = (folder or Path()) / peer.environment / "bin" / "python"
    return python if folder is not None and python.exists() else None


def install(folder: Path) -> None:
    """One virtual environment for each peer that needs its own."""
    for peer in {peer.environment: peer for peer in PEERS.values() if peer.environment}.values():
        place = folder / str(peer.environment)
        if not place.exists():
            venv.create(place, with_pip=True)
        for arguments in peer.pip:
            command = [str(place / "bin" / "python"), "-m", "pip", "install", "-q", *arguments]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                reason = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
                print(f"{peer.environment}: skipped, {reason}")
                (place / "bin" / "python").unlink()
                break
        else:
            print(f"{peer.environment}: installed")


@dataclass
class Worker:
    """A peer in its own process, with its own copy of the problem."""

    peer: type[Peer]
    threads: int
    python: Path
    folder: Path
    problem: dict[str, Any] = field(default_factory=dict)
    version: str = ""
    process: subprocess.Popen[str] | None = None

    @property
    def label(self) -> str:
        return self.peer.name if self.threads == 1 else f"{self.peer.name} ×{self.threads}"

    def load(self, case: PeerCase) -> None:
        """Tell which problem comes next; the data are read when the first fit is asked for."""
        self.close()
        self.problem = {
            "folder": str(self.folder),
            "loss": case.loss,
            "lam": case.lam,
            "epsilon": EPSILON,
            "threads": self.threads,
        }

    def fit(self, settings: dict[str, Any], limit: float) -> tuple[float, np.ndarray]:
        """Seconds and weights; a fit that takes longer than ``limit`` is ended."""
        if self.process is None:
            names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
            script = str(Path(__file__).parent / "peer_worker.py")
            self.process = subprocess.Popen(
                [str(self.python), "-P", script, self.peer.name],
                env={**os.environ, **dict.fromkeys(names, str(self.threads))},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self.version = str(self._ask({"load": self.problem}, 600.0)["version"])
        weights = self.folder / "weights" / f"{self.peer.name}.npy"
        answer = self._ask({"fit": settings, "weights": str(weights)}, limit)
        return float(answer["seconds"]), np.load(weights)

    def _ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        process: Any = self.process
        alarm = threading.Timer(limit, process.kill)
        alarm.start()
        try:
            print(json.dumps(request), file=process.stdin, flush=True)
            line = process.stdout.readline()
        finally:
            alarm.cancel()
        answer = json.loads(line) if line else {"error": f"no answer within {limit:.0f} s"}
        if "error" in answer:
            self.close()
            raise NotReachedError(answer["error"])
        return dict(answer)

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


@contextmanager
def workers(table: Table, installed: Path | None, shared: Path) -> Iterator[list[Worker]]:
    """A process for each peer of the table, at each number of threads that it may use."""
    started = []
    for name in table.peers or PEERS:
        python = python_of(PEERS[name], installed)
        if python is None:
            say(f"{name}: skipped, not in {installed}; see --install")
            continue
        counts = [n for n in PEERS[name].threads if n <= table.threads]
        started += [Worker(PEERS[name], n, python, shared) for n in counts]
    try:
        yield started
    finally:
        for worker in started:
            worker.close()


@dataclass
class Bench:
    """One problem, loaded, and all who solve it."""

    case: PeerCase
    threads: int
    results: dict[str, Any]
    targets: Sequence[float]
    paces: dict[float, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.X, self.y = self.case.load()
        self.minimum = self.results["optima"].get(self.case.key)
        if self.minimum is None:
            say(f"{self.case.title}: certifying the minimum")
            self.minimum = self.case.minimum(self.X, self.y, min(TARGETS) / 100)
            self.results["optima"][self.case.key] = self.minimum

    def above(self, w: np.ndarray) -> float:
        """P(w) − P*."""
        return self.case.objective(self.X, self.y, w) - self.minimum

    def ours(self, target: float) -> Timed:
        """gapsvm as a contender."""
        estimator = self.case.estimator(target, self.y, self.threads)

        def excess(model: Any) -> float:
            return self.above(model.coef_.ravel()) if model.converged_ else np.inf

        return Timed("gapsvm", lambda: estimator.fit(self.X, self.y), excess)

    def pace(self, target: float) -> float:
        """Seconds that gapsvm takes, roughly."""
        if target not in self.paces:
            ours = self.ours(target)
            race([ours], target, 2)
            self.paces[target] = min(ours.best, 60.0)
        return self.paces[target]

    def settings(self, worker: Worker) -> dict[str, Any]:
        """The cheapest setting for each target, found by a sweep or found before."""
        found = self.results["settings"].setdefault(self.case.key, {})
        known = found.get(worker.label, {"targets": {}})
        missing = [target for target in self.targets if f"{target:g}" not in known["targets"]]
        if missing and self.case.loss in worker.peer.variants:
            say(f"{self.case.title}: settings of {worker.label}")
            limit = max(SHORTEST, PATIENCE * self.pace(min(missing)))
            sweeps = [
                self.sweep(worker, variant, sorted(missing, reverse=True), limit)
                for variant in worker.peer.variants[self.case.loss]
            ]
            for target in missing:
                met = [sweep[target] for sweep, _ in sweeps if target in sweep]
                cheapest = min(met, key=lambda one: one["seconds"], default=None)
                known["targets"][f"{target:g}"] = cheapest
            known["nearest"] = min([known.get("nearest", np.inf), *(near for _, near in sweeps)])
            known["version"] = worker.version
            found[worker.label] = known
        return dict(known["targets"])

    def sweep(
        self, worker: Worker, variant: dict[str, Any], targets: list[float], limit: float
    ) -> tuple[dict[float, Any], float]:
        """The loosest setting for each target, from loose to tight, and the least P − P* seen."""
        found, nearest, left = {}, np.inf, list(targets)
        for value in worker.peer.values:
            settings = {**variant, worker.peer.knob: value}
            runs: list[tuple[float, float]] = []
            try:
                while left and len(runs) < REPEATS:
                    seconds, w = worker.fit(settings, limit)
                    runs.append((seconds, self.above(w)))
                    nearest = min(nearest, runs[-1][1])
                    if runs[-1][1] > left[0]:
                        break
            except NotReachedError as reason:
                say(f"{self.case.title}: {worker.label} {settings}: {reason}")
                break
            worst = max(excess for _, excess in runs)
            while left and len(runs) == REPEATS and worst <= left[0]:
                least = min(seconds for seconds, _ in runs)
                found[left.pop(0)] = {"settings": settings, "seconds": least}
            if not left:
                break
        return found, nearest

    def time(self, target: float, crew: Sequence[Worker], rounds: int) -> dict[str, Any]:
        """One cell: everybody's least time to the target, and how much memory ours moved."""
        chosen = {worker.label: self.settings(worker).get(f"{target:g}") for worker in crew}
        fastest = min((one["seconds"] for one in chosen.values() if one), default=np.inf)
        ours = self.ours(target)
        ours.run()  # compile
        contenders = [ours]
        for worker in crew:
            one = chosen[worker.label]
            if one is not None:
                contenders.append(
                    Timed(
                        worker.label,
                        lambda worker=worker, one=one: attempt(worker, one),
                        lambda answer: self.above(answer[1]) if answer else np.inf,
                        clock=lambda answer: answer[0] if answer else np.inf,
                        rounds=1 if one["seconds"] > FAR * fastest else rounds,
                    )
                )
        race(contenders, target, rounds)
        race([one for one in contenders if not one.met], target, REPEATS)  # the unlucky
        model = ours.run()
        raced = {one.label: one.best for one in contenders[1:] if one.met}
        passes = model.history_[-1].passes + len(model.history_)
        return {
            "seconds": ours.best if ours.met else None,
            "reached": ours.reached if ours.met else None,
            "method": model.method_,
            "passes": passes,
            "bytes": passes * bytes_of_a_pass(self.X),
            "peers": {worker.label: raced.get(worker.label) for worker in crew},
        }


def attempt(worker: Worker, one: dict[str, Any]) -> tuple[float, np.ndarray] | None:
    try:
        return worker.fit(one["settings"], max(60.0, 10 * one["seconds"]))
    except NotReachedError:
        return None


def bytes_of_a_pass(X: Any) -> int:
    """Values, indices and pointers of all rows, and the label, the norm and α of each."""
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes
    return int(stored + 24 * X.shape[0])


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def _triad(a: Any, b: Any, c: Any) -> None:
    for i in numba.prange(len(a)):
        a[i] = b[i] + 3.0 * c[i]


def triad_bandwidth(threads: int) -> float:
    """Bytes a second of a ← b + 3c, the best of ten."""
    numba.set_num_threads(threads)
    a, b, c = (np.ones(1 << 24) for _ in range(3))
    _triad(a, b, c)
    best = np.inf
    for _ in range(10):
        before = time.perf_counter()
        _triad(a, b, c)
        best = min(best, time.perf_counter() - before)
    return float(3 * a.nbytes / best)


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def run(table: Table, args: argparse.Namespace, results: dict[str, Any], save: Any) -> None:
    """Fill the cells of a table that are missing."""
    with tempfile.TemporaryDirectory() as shared, workers(table, args.peers, Path(shared)) as crew:
        (Path(shared) / "weights").mkdir()
        for number, case in enumerate(table.cases, 1):
            cells = {target: f"{case.key}|{table.threads}|{target:g}" for target in table.targets}
            if args.settings_only:
                cells = {}
            elif not args.again:
                cells = {t: cell for t, cell in cells.items() if cell not in results["cells"]}
            if not cells and all(swept(case, worker, table.targets, results) for worker in crew):
                continue
            say(f"{table.title}: {number} of {len(table.cases)}, {case.title}")
            bench = Bench(case, table.threads, results, table.targets)
            write_arrays(Path(shared), bench.X, bench.y)
            for worker in crew:
                worker.load(case)
            with threadpool_limits(table.threads):
                numba.set_num_threads(table.threads)
                for worker in crew:
                    bench.settings(worker)
                    save()
                for target, cell in cells.items():
                    results["cells"][cell] = bench.time(target, crew, args.rounds)
                    results["versions"] = versions("gapsvm", "numba", "numpy", "scikit-learn")
                    save()


def swept(
    case: PeerCase, worker: Worker, targets: Sequence[float], results: dict[str, Any]
) -> bool:
    """Whether the peer's settings for the case are known, or there can be none."""
    known = results["settings"].get(case.key, {}).get(worker.label, {"targets": {}})
    asked = {f"{target:g}" for target in targets}
    return case.loss not in worker.peer.variants or asked <= known["targets"].keys()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--install", type=Path, metavar="FOLDER", help="make the peers' venvs")
    parser.add_argument("--peers", type=Path, metavar="FOLDER", help="where --install made them")
    parser.add_argument("--table", choices=TABLES, help="one of the tables; all by default")
    parser.add_argument("--only", default="", help="names of data sets, separated by commas")
    parser.add_argument("--targets", default="", help="gaps, separated by commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--settings-only", action="store_true", help="sweep, time nothing")
    parser.add_argument("--retry", action="store_true", help="sweep again where none was found")
    parser.add_argument("--again", action="store_true", help="time cells that have a time, too")
    parser.add_argument("--write", action="store_true", help="write the tables of the pages here")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.install:
        install(args.install)
        return
    args.output.mkdir(parents=True, exist_ok=True)
    path = args.output / "peers.json"
    results = {"optima": {}, "settings": {}, "cells": {}, "bandwidth": {}}
    if path.exists():
        results |= json.loads(path.read_text(encoding="utf-8"))
    if args.retry:
        for one in (one for found in results["settings"].values() for one in found.values()):
            one["targets"] = {t: setting for t, setting in one["targets"].items() if setting}

    def save() -> None:
        fresh = path.with_suffix(".part")
        fresh.write_text(json.dumps(results, indent=1, default=float), encoding="utf-8")
        fresh.replace(path)

    only = set(filter(None, args.only.split(",")))
    targets = tuple(float(target) for target in args.targets.split(",") if target)
    chosen = {}
    for name in [args.table] if args.table else TABLES:
        table = TABLES[name]
        cases = tuple(case for case in table.cases if not only or case.name in only)
        table = replace(table, cases=cases, targets=targets or table.targets)
        chosen[name] = table
        unknown = str(table.threads) not in results["bandwidth"]
        if not args.settings_only and (args.again or unknown):
            results["bandwidth"][str(table.threads)] = triad_bandwidth(table.threads)
        run(table, args, results, save)
    text = "\n\n".join(markdown(table, results) for table in chosen.values())
    print(text)
    (args.output / "peers.md").write_text(text + "\n", encoding="utf-8")
    plots(chosen, results, args.output)
    if args.write:
        write_pages(Path(__file__).parent, results)


if __name__ == "__main__":
    main()
