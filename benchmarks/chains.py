"""Sequences: CoNLL-2000 chunking and OCR words, beside python-crfsuite in the same run.

    python benchmarks/chains.py decoding svc crf ocr multiclass      (all of them by default)

python-crfsuite is used where it is installed; its objective is Σ log-loss + c2‖w‖², so that
λ = 2·c2/S in the mean convention.  Both sides have all features with all labels and all steps.
Beside wall time stands that of the process on all cores, which others' work changes less.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from itertools import pairwise
from typing import Any

import numpy as np

from gapsvm import (
    ChainCRF,
    ChainLikelihood,
    ChainProblem,
    ChainSVC,
    FrankWolfe,
    LevelBundle,
    MulticlassProblem,
    Sequences,
    Template,
    chunk_f1,
    datasets,
    solve,
)
from gapsvm.backends import get_backend
from gapsvm.rows.tokens import TokenEncoder, encoded_labels

USUAL = """
U00:%x[-2,0]\nU01:%x[-1,0]\nU02:%x[0,0]\nU03:%x[1,0]\nU04:%x[2,0]
U05:%x[-1,0]/%x[0,0]\nU06:%x[0,0]/%x[1,0]
U10:%x[-2,1]\nU11:%x[-1,1]\nU12:%x[0,1]\nU13:%x[1,1]\nU14:%x[2,1]
U15:%x[-2,1]/%x[-1,1]\nU16:%x[-1,1]/%x[0,1]\nU17:%x[0,1]/%x[1,1]\nU18:%x[1,1]/%x[2,1]
U20:%x[-2,1]/%x[-1,1]/%x[0,1]\nU21:%x[-1,1]/%x[0,1]/%x[1,1]\nU22:%x[0,1]/%x[1,1]/%x[2,1]
B
"""
"""CRF++'s template for CoNLL-2000."""


class Chunking:
    """CoNLL-2000 with CRF++'s template, encoded once."""

    def __init__(self, threads: int) -> None:
        template, before = Template.parsed(USUAL), time.perf_counter()
        train, test = (datasets.load("conll2000", split=part) for part in ("train", "test"))
        self.names, self.test_names = template.features(train.X), template.features(test.X)
        named = time.perf_counter()
        self.encoder = TokenEncoder("names")
        self.rows, self.starts = self.encoder.learn(self.names)
        self.test = Sequences(*self.encoder.encode(self.test_names))
        self.tags, self.test_tags = train.y, test.y
        self.labels, self.classes = encoded_labels(train.y, self.starts)
        self.backend, self.n = get_backend("cpu", threads), len(self.starts) - 1
        done = time.perf_counter()
        print(
            f"CoNLL-2000: {self.n} sentences, {self.rows.shape[0]} tokens × {self.rows.shape[1]} "
            f"features, {len(self.classes)} labels; template {named - before:.1f} s, columns "
            f"{done - named:.1f} s; {threads} threads"
        )

    def problem(self, kind: Any, lam: float) -> Any:
        return kind(self.rows, self.starts, self.labels, len(self.classes), lam)

    def f1(self, problem: Any, w: Any) -> str:
        from gapsvm.rows.chains import Chains, ChainScores
        from gapsvm.rows.matrix import checked_rows

        rows = checked_rows(self.test.X, self.backend)
        chains = Chains(rows, self.test.starts.astype(np.uint64))
        scores = ChainScores(chains, problem.weights, w, self.backend)
        labels, _ = scores.best(chains.everything)
        told = [self.classes[labels[a:b]] for a, b in pairwise(self.test.starts)]
        right = np.mean(np.concatenate(told) == np.concatenate(list(map(np.array, self.test_tags))))
        return f"chunk F1 {100 * chunk_f1(self.test_tags, told).f1:.2f}, tokens {100 * right:.2f} %"


def decoding(data: Chunking, rounds: int) -> None:
    """A pass of Viterbi over the training sentences, at weights that are not zero."""
    problem = data.problem(ChainProblem, 1.0 / data.n)
    w = 1e-3 * np.random.default_rng(0).normal(size=problem.shape)
    seconds = []
    for _ in range(rounds + 1):
        before = time.perf_counter()
        problem.worst(w, problem.chains.everything, data.backend)
        seconds.append(time.perf_counter() - before)
    print(f"decoding pass: {min(seconds[1:]):.2f} s, the best of {rounds}")


def svc(data: Chunking, goal: float = 0.01) -> None:
    """ChainSVC at λ = 1/n to a gap of 1 % of the objective."""
    problem = data.problem(ChainProblem, 1.0 / data.n)
    solve(problem, FrankWolfe(), gap=0, max_passes=0.01)  # compiles
    before, told = time.perf_counter(), []

    def watch(record: Any) -> bool:
        told.append((time.perf_counter() - before, record.gap / record.primal))
        return bool(record.gap <= goal * record.primal)

    result = solve(problem, FrankWolfe(), gap=0, callbacks=[watch], backend=data.backend)
    for seconds, gap in told:
        print(f"  {seconds:7.1f} s  relative gap {gap:.4f}")
    print(
        f"ChainSVC λ = 1/n: {told[-1][0]:.1f} s, {result.passes:.1f} passes, P "
        f"{result.certificate.primal:.6f}, D {result.certificate.dual:.6f}, "
        f"{data.f1(problem, result.solution.w)}"
    )


def crf(data: Chunking, c2: float = 1.0, goal: float = 1e-4) -> None:
    """ChainCRF to crfsuite's final objective + 1e-4 of it, and crfsuite itself."""
    from gapsvm import LBFGS

    peer = _crfsuite(data, c2)
    problem = data.problem(ChainLikelihood, 2.0 * c2 / data.n)
    solve(problem, LBFGS(), gap=0, max_passes=1)  # compiles
    target = peer[1] * (1 + goal) / data.n if peer else -np.inf
    clock, reached = Clock(), (np.inf, np.inf)

    def watch(record: Any) -> bool:
        nonlocal reached
        seconds = clock.seconds
        print(f"  {seconds[0]:7.1f} s  {data.n * record.primal:.2f}  gap {data.n * record.gap:.2f}")
        if record.primal <= target:
            reached = min(reached, seconds)
        return bool(record.gap <= goal * record.primal)

    result = solve(problem, LBFGS(), gap=0, callbacks=[watch], backend=data.backend)
    seconds = clock.seconds
    found = result.certificate
    print(
        f"ChainCRF c2 = {c2:g}: certified to {goal:g} in {both(seconds)}; objective "
        f"{data.n * found.primal:.2f}, gap {data.n * found.gap:.3f}, "
        f"{data.f1(problem, result.solution.w)}"
    )
    if peer:
        print(
            f"python-crfsuite: {both(peer[0])}, objective {peer[1]:.2f}, {peer[2]}; ChainCRF is at "
            f"that + 1e-4 after {both(reached)}"
        )


class Clock:
    """Seconds of wall time and of the process, since it was made."""

    def __init__(self) -> None:
        self.began = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> tuple[float, float]:
        return time.perf_counter() - self.began[0], time.process_time() - self.began[1]


def both(seconds: tuple[float, float]) -> str:
    return f"{seconds[0]:.1f} s ({seconds[1]:.1f} s of processor time)"


def _crfsuite(data: Chunking, c2: float) -> tuple[tuple[float, float], float, str] | None:
    try:
        import pycrfsuite
    except ImportError:
        print("python-crfsuite is not installed; pip install python-crfsuite to compare")
        return None
    trainer = pycrfsuite.Trainer(verbose=False)
    for names, tags in zip(data.names, data.tags):
        trainer.append(names, tags)
    trainer.select("lbfgs")
    trainer.set_params(
        {
            "c1": 0.0,
            "c2": c2,
            "feature.possible_states": True,
            "feature.possible_transitions": True,
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock()
        trainer.train(os.path.join(folder, "model"))
        seconds = clock.seconds
        tagger = pycrfsuite.Tagger()
        tagger.open(os.path.join(folder, "model"))
        told = [tagger.tag(names) for names in data.test_names]
    objective = trainer.logparser.last_iteration["loss"]
    return seconds, objective, f"chunk F1 {100 * chunk_f1(data.test_tags, told).f1:.2f}"


def ocr(folds: int, threads: int) -> None:
    """Letter error of words, ten folds: train on one, test on nine, and the other way round."""
    data = datasets.load("ocr-letters")
    letters = data.y.astype(int)
    starts = np.flatnonzero(np.r_[True, np.diff(data.groups) != 0, True])
    fold = data.folds[starts[:-1]]
    words = [data.X[a:b] for a, b in pairwise(starts)]
    labels = [letters[a:b] for a, b in pairwise(starts)]
    for one_fold in (True, False):
        for name, make, C in (("ChainSVC", ChainSVC, 0.1), ("ChainCRF", ChainCRF, 0.3)):
            errors, before, worst = [], time.perf_counter(), 0.0
            for k in range(folds):
                here = (fold == k) == one_fold
                model = make(C=C, tol=1e-2, n_jobs=threads)
                model.fit(_those(words, here), _those(labels, here))
                errors.append(1.0 - model.score(_those(words, ~here), _those(labels, ~here)))
                worst = max(worst, model.dual_gap_ / model.primal_objective_)
            kind = "one fold to train" if one_fold else "nine folds to train"
            print(
                f"OCR, {kind}, {name} C = {C:g}: letter error {100 * np.mean(errors):.2f} % "
                f"(± {100 * np.std(errors):.2f}, {folds} folds), relative gap ≤ {worst:.3f}, "
                f"{time.perf_counter() - before:.1f} s in all"
            )


def _those(items: list[Any], chosen: Any) -> list[Any]:
    return [items[i] for i in np.flatnonzero(chosen)]


def multiclass(rounds: int, goal: float = 1e-2) -> None:
    """One label: chains of one token beside the multiclass problem, to one gap."""
    for name, lam in (("usps", 1e-3), ("letter", 1e-3)):
        X, y = datasets.load(name)
        y = np.unique(y, return_inverse=True)[1]
        K, starts = int(y.max()) + 1, np.arange(len(y) + 1)
        ours = MulticlassProblem(X, y, K, "crammer_singer", lam)
        chain = ChainProblem(X, starts, y, K, lam)
        for label, problem, solver in (
            ("dedicated", ours, LevelBundle()),
            ("chains", chain, FrankWolfe()),
        ):
            solve(problem, solver, gap=0, max_passes=0.1)
            best, result = np.inf, None
            for _ in range(rounds):
                before = time.perf_counter()
                result = solve(problem, solver, gap=goal * problem.primal_at_zero, max_passes=3000)
                best = min(best, time.perf_counter() - before)
            assert result is not None
            found = result.certificate
            print(
                f"{name} {lam:g}, {label}: {best:.2f} s, P {found.primal:.5f}, D {found.dual:.5f}, "
                f"{result.status.name}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    known = ("decoding", "svc", "crf", "ocr", "multiclass")
    parser.add_argument("parts", nargs="*", choices=known, default=known)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folds", type=int, default=10)
    chosen = parser.parse_args()
    if {"decoding", "svc", "crf"} & set(chosen.parts):
        data = Chunking(chosen.threads)
        if "decoding" in chosen.parts:
            decoding(data, chosen.rounds)
        if "svc" in chosen.parts:
            svc(data)
        if "crf" in chosen.parts:
            crf(data)
    if "ocr" in chosen.parts:
        ocr(chosen.folds, chosen.threads)
    if "multiclass" in chosen.parts:
        multiclass(chosen.rounds)


if __name__ == "__main__":
    main()
