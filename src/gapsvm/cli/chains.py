"""``gapsvm fit --task chain`` and what ``gapsvm predict`` does with such a model: CoNLL files."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.cli.files import check_target, followed, write_text
from gapsvm.cli.output import Cell, Exact, print_data, print_json, require_output, say, show_facts
from gapsvm.cli.streams import is_terminal
from gapsvm.io.conll import Sentence, Template, read_conll, split_labels
from gapsvm.losses.chunks import chunk_f1
from gapsvm.models.base import ModelFormatError
from gapsvm.models.chain import ChainModel, read_chain, write_chain
from gapsvm.problems.limits import lam_of
from gapsvm.problems.structured.chain import ChainProblem
from gapsvm.problems.structured.likelihood import ChainLikelihood
from gapsvm.rows.tokens import TokenEncoder, encoded_labels
from gapsvm.solvers.base import Foreseen
from gapsvm.solvers.loop import solve
from gapsvm.solvers.trace import Result
from gapsvm.training.methods import AUTO, name_of, solver_of
from gapsvm.training.plan import check_name
from gapsvm.training.progress import ProgressBar

_PROBLEMS: dict[str, Any] = {"hinge": ChainProblem, "logistic": ChainLikelihood}

_LOSSES = {"hinge": "hinge", "logistic": "log"}
"""As model files name them."""


@dataclass(frozen=True)
class ChainRequest:
    """What the command line asked for."""

    data: Path
    template: Path
    model: Path | None
    loss: str
    method: str
    lam: float | None
    C: float | None
    gap: float
    max_passes: float
    time_limit: float | None
    seed: int
    threads: int
    as_json: bool


def run_chain_fit(request: ChainRequest) -> int:
    """Read, train, write; returns the exit code: 0 certified, 2 a budget ended first."""
    _check(request)
    template = Template.read(request.template)
    started = time.perf_counter()
    tokens, y = split_labels(read_conll(request.data), str(request.data))
    if not tokens:
        raise ValueError(f"{request.data} has no sequences")
    encoder = TokenEncoder("names")
    rows, starts = encoder.learn(template.features(tokens))
    labels, classes = encoded_labels(y, starts)
    if len(classes) < 2:
        raise ValueError(f"{request.data} has one label only, {classes[0]!r}: nothing to learn")
    read_seconds = time.perf_counter() - started
    say(
        f"{request.data}: {len(tokens):,} sequences, {rows.shape[0]:,} tokens × "
        f"{rows.shape[1]:,} features, {len(classes)} labels, read in {read_seconds:.2f} s",
        error=request.as_json,
    )
    C = 1.0 if request.C is None else request.C
    lam = request.lam if request.lam is not None else lam_of(C, float(len(tokens)))
    problem = _PROBLEMS[request.loss](rows, starts, labels, len(classes), lam)
    started = time.perf_counter()
    result = _solved(request, problem)
    seconds = time.perf_counter() - started
    if request.model is not None:
        described = {"template": list(template.lines), "columns": len(tokens[0][0]) + 1}
        certificate = result.certificate
        model = ChainModel(
            *(result.solution.w, classes, encoder, _LOSSES[request.loss]),
            *(lam, certificate.primal, certificate.dual),
            metadata={**described, "status": result.status.name, "passes": result.passes},
        )
        write_chain(followed(request.model), model)
    _tell(request, result, problem.primal_at_zero, lam, (read_seconds, seconds))
    return 0 if result.converged else 2


def _check(request: ChainRequest) -> None:
    """What is asked for goes together, what is read is there and what is written can be."""
    check_name(request.method)
    if request.lam is not None and request.C is not None:
        raise ValueError("give --lam or --C, not both: λ = 1/(C · number of sequences)")
    if request.loss not in _PROBLEMS:
        names = ", ".join(_PROBLEMS)
        raise ValueError(f"--task chain has the losses {names}, not {request.loss}")
    if request.as_json or request.model is None:
        require_output("--model FILE keeps the model, without --json")
    for path in (request.data, request.template):
        os.stat(path)
        if request.model is not None and followed(request.model) == followed(path):
            raise ValueError(f"--model: {path} is named twice; it would be overwritten")
    check_target(request.model, "--model")


def _solved(request: ChainRequest, problem: Any) -> Result:
    method = problem.default_method if request.method == AUTO else request.method
    solver = solver_of(method, problem, Foreseen(request.gap, request.max_passes))
    with ProgressBar("fit", delay=1.0, shown=is_terminal(sys.stderr)) as bar:
        return solve(
            problem,
            solver,
            gap=request.gap * problem.primal_at_zero,
            max_passes=request.max_passes,
            time_limit=request.time_limit,
            callbacks=bar.watch(),
            backend=get_backend("cpu", request.threads),
            seed=request.seed,
        )


def _tell(
    request: ChainRequest, result: Result, at_zero: float, lam: float, seconds: tuple[float, float]
) -> None:
    found, passes = result.certificate, result.passes
    method = name_of(result.solver)
    if request.as_json:
        print_json(
            {
                "converged": result.converged,
                "status": result.status.name,
                "gap": found.gap,
                "primal": found.primal,
                "dual": found.dual,
                "method": method,
                "passes": passes,
                "lam": lam,
                "read_seconds": seconds[0],
                "fit_seconds": seconds[1],
                "model": None if request.model is None else str(request.model),
            }
        )
        return
    relative = found.gap / at_zero if at_zero else 0.0
    rows: list[list[Cell]] = [
        ["primal", Exact(found.primal, f"{found.primal:.10f}"), "objective of this model"],
        ["dual", Exact(found.dual, f"{found.dual:.10f}"), "no model has a lower objective"],
        [
            "gap",
            Exact(found.gap, f"{found.gap:.2e}"),
            f"{relative:.1e} of P(0): {result.ending}",
        ],
        ["method", method],
        ["passes", Exact(passes, f"{passes:.1f}")],
        ["time", Exact(seconds[1], f"{seconds[1]:.2f} s")],
    ]
    show_facts(rows)
    if request.model is not None:
        say(f"model: {request.model}")


# -- prediction ------------------------------------------------------------------------------------


def run_chain_predict(
    model_path: Path, data: Path, output: Path | None, as_json: bool, threads: int
) -> None:
    """The columns of every token with the predicted label as one more; quality to standard error
    (or into the JSON)."""
    model = read_chain(model_path)
    template = _template_of(model, model_path)
    sentences = read_conll(data)
    told, tokens = _told_labels(sentences, int(model.metadata["columns"]), data)
    predicted = model.predict(template.features(tokens), get_backend("cpu", threads))
    lines = []
    for sentence, labels in zip(sentences, predicted):
        lines += [" ".join([*token, str(label)]) for token, label in zip(sentence, labels)]
        lines.append("")
    text = "\n".join(lines) + "\n" if lines else ""
    if output is not None:
        write_text(output, text)
    elif not as_json:
        print_data(text)
    quality = _quality(told, predicted) if told is not None else {}
    counts = {"sequences": len(sentences), "tokens": sum(map(len, sentences))}
    if as_json:
        print_json({**counts, **quality})
        return
    said = ", ".join(f"{name} {value:.6g}" for name, value in quality.items())
    said = said or "nothing to compare with"
    say(f"{counts['sequences']:,} sequences, {counts['tokens']:,} tokens: {said}", error=True)


def _template_of(model: ChainModel, path: Path) -> Template:
    lines, columns = model.metadata.get("template"), model.metadata.get("columns")
    sound = isinstance(lines, list) and all(isinstance(line, str) for line in lines)
    if not sound or type(columns) is not int:
        raise ModelFormatError(
            f"{path} was not made by gapsvm fit --task chain: it holds no template; it predicts in "
            "Python (ChainSVC.load, ChainCRF.load)"
        )
    return Template.parsed("\n".join(lines or ()), str(path))


def _told_labels(
    sentences: list[Sentence], columns: int, data: Path
) -> tuple[list[list[str]] | None, list[Sentence]]:
    """The labels of a file that has them, and its other columns."""
    width = len(sentences[0][0]) if sentences else columns
    if width == columns:
        tokens, told = split_labels(sentences, str(data))
        return told, tokens
    if width == columns - 1:
        return None, sentences
    raise ValueError(
        f"{data} has {width} columns, but the model was fitted to {columns}, the last one the "
        f"label; {columns - 1} would do"
    )


def _quality(told: list[list[str]], predicted: list[Any]) -> dict[str, float]:
    """Accuracy by token, and F1 of chunks by the CoNLL rule where tags have that form."""
    total = sum(map(len, told))
    if not total:
        return {}
    right = sum(int(np.sum(np.array(a) == np.array(b))) for a, b in zip(told, predicted))
    found = {"accuracy": right / total}
    tags = {label for labels in told for label in labels}
    if any(tag.startswith("B-") for tag in tags):
        score = chunk_f1(told, predicted)
        found.update(precision=score.precision, recall=score.recall, f1=score.f1)
    return found
