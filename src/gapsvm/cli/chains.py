"""``gapsvm fit --task chain`` and what ``gapsvm predict`` does with such a model: CoNLL files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.cli.files import followed, write_text
from gapsvm.cli.fit import BUDGET_ENDED, CERTIFIED, FitRequest, weights_of
from gapsvm.cli.output import print_data, print_json, say
from gapsvm.cli.saved import One, trained, write_trace
from gapsvm.cli.structured import check_request, lam_for, tell
from gapsvm.cli.tasks import Chain
from gapsvm.io.conll import Sentence, Template, read_conll, split_labels
from gapsvm.losses.chunks import chunk_f1
from gapsvm.models.base import ModelFormatError
from gapsvm.models.chain import ChainModel, read_chain, write_chain
from gapsvm.problems.structured.base import checked_example_weights
from gapsvm.problems.structured.chain import ChainProblem
from gapsvm.problems.structured.likelihood import ChainLikelihood
from gapsvm.rows.tokens import TokenEncoder, encoded_labels, seen_steps
from gapsvm.training.checkpoint import fingerprint

_PROBLEMS: dict[str, Any] = {"hinge": ChainProblem, "logistic": ChainLikelihood}

_LOSSES = {"hinge": "hinge", "logistic": "log"}
"""As model files name them."""


def run_chain_fit(request: FitRequest) -> int:
    """Read, train, write; returns the exit code."""
    _check(request)
    task = request.task
    assert isinstance(task, Chain)
    template = Template.read(task.template)
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
    weight = checked_example_weights(weights_of(request, len(tokens), "sequences"), len(tokens))
    lam = lam_for(request, float(weight.sum()))
    allowed = seen_steps(labels, starts, len(classes)) if task.transitions == "seen" else None
    problem = _PROBLEMS[request.loss](
        *(rows, starts, labels, len(classes), lam),
        sample_weight=weight,
        allowed=allowed,
        paired=task.edge_features,
    )
    started = time.perf_counter()
    [fit] = trained(request, One(problem), lambda: fingerprint(problem))
    seconds, result = time.perf_counter() - started, fit.result
    if request.model is not None:
        described = {"template": list(template.lines), "columns": len(tokens[0][0]) + 1}
        certificate = result.certificate
        model = ChainModel(
            *(result.solution.w, classes, encoder, _LOSSES[request.loss]),
            *(lam, certificate.primal, certificate.dual),
            allowed=allowed,
            paired=task.edge_features,
            metadata={**described, "status": result.status.name, "passes": result.passes},
        )
        write_chain(followed(request.model), model)
    write_trace(request.trace, [fit])
    tell(request, fit, lam, (read_seconds, seconds))
    return CERTIFIED if result.converged else BUDGET_ENDED


def _check(request: FitRequest) -> None:
    if request.loss not in _PROBLEMS:
        names = ", ".join(_PROBLEMS)
        raise ValueError(f"--task chain has the losses {names}, not {request.loss}")
    check_request(request)


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
