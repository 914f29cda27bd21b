"""``gapsvm fit --task fold`` and what ``gapsvm predict`` does with such a model: RNA."""

from __future__ import annotations

import time
from pathlib import Path

from gapsvm.backends import get_backend
from gapsvm.cli.files import followed, write_text
from gapsvm.cli.fit import BUDGET_ENDED, CERTIFIED, FitRequest, weights_of
from gapsvm.cli.output import print_data, print_json, say
from gapsvm.cli.saved import One, trained, write_trace
from gapsvm.cli.structured import check_request, lam_for, tell
from gapsvm.cli.tasks import Fold
from gapsvm.io.rna import RNASequences, read_rna, written_rna
from gapsvm.losses.pairs import mean_pair_score, pair_score
from gapsvm.models.folding import FoldingModel, read_folding, write_folding
from gapsvm.problems.structured.base import checked_example_weights
from gapsvm.problems.structured.folding import FoldingProblem, weights_by_length
from gapsvm.rows import folding
from gapsvm.training.checkpoint import fingerprint


def run_folding_fit(request: FitRequest, task: Fold) -> int:
    """Read, train, write; returns the exit code."""
    check_request(request)
    started = time.perf_counter()
    data = read_rna(request.data)
    if data.structures is None:
        raise ValueError(
            f"{request.data} has no structures to learn from: lines of dots and brackets, or a "
            "column dot_bracket"
        )
    count = len(data.sequences)
    weight = checked_example_weights(weights_of(request, count, "sequences"), count)
    lam = lam_for(request, float(weight.sum()))
    problem = FoldingProblem(
        *(data.sequences, data.structures, lam),
        prices=(task.wrong_pair, task.missed_pair),
        lonely_pairs=task.lonely_pairs,
        sample_weight=weight * weights_by_length(data.sequences) if task.per_base else weight,
        names=data.names,
    )
    read_seconds = time.perf_counter() - started
    bases, pairs = sum(map(len, data.sequences)), sum(text.count("(") for text in data.structures)
    say(
        f"{request.data}: {count:,} sequences, {bases:,} bases, {pairs:,} pairs of which "
        f"{problem.n_dropped:,} are left out, {problem.shape[0]} features, "
        f"read in {read_seconds:.2f} s",
        error=request.as_json,
    )
    started = time.perf_counter()
    [fit] = trained(request, One(problem), lambda: fingerprint(problem))
    seconds, result = time.perf_counter() - started, fit.result
    if request.model is not None:
        certificate = result.certificate
        described = {"status": result.status.name, "passes": result.passes}
        model = FoldingModel(
            *(result.solution.w, lam, certificate.primal, certificate.dual),
            metadata={"estimator": {**described, "dropped_pairs": problem.n_dropped}},
        )
        write_folding(followed(request.model), model)
    write_trace(request.trace, [fit])
    tell(request, fit, lam, (read_seconds, seconds))
    return CERTIFIED if result.converged else BUDGET_ENDED


def run_folding_predict(
    model_path: Path, data: Path, output: Path | None, as_json: bool, threads: int
) -> None:
    """FASTA with a line of dots and brackets for each sequence; quality to standard error (or into
    the JSON)."""
    model, rna = read_folding(model_path), read_rna(data)
    found = model.fold(rna.sequences, get_backend("cpu", threads), rna.names)
    brackets = [folding.brackets_of(one.partners) for one in found]
    text = written_rna(rna.names, rna.sequences, brackets)
    if output is not None:
        write_text(output, text)
    elif not as_json:
        print_data(text)
    quality = _quality(rna, found)
    counts = {"sequences": len(rna.sequences), "bases": sum(map(len, rna.sequences))}
    if as_json:
        print_json({**counts, **quality})
        return
    said = ", ".join(f"{name} {value:.6g}" for name, value in quality.items())
    said = said or "nothing to compare with"
    say(f"{counts['sequences']:,} sequences, {counts['bases']:,} bases: {said}", error=True)


def _quality(rna: RNASequences, found: list[folding.Folded]) -> dict[str, float]:
    """Means over the sequences, where the file has structures."""
    if rna.structures is None:
        return {}
    scores = []
    for i, (text, one) in enumerate(zip(rna.structures, found)):
        told = folding.partners_of(text, len(rna.sequences[i]), folding.name_of(i, rna.names))
        scores.append(pair_score(told, one.partners))
    mean = mean_pair_score(scores)
    return {"f": mean.f, "sensitivity": mean.sensitivity, "ppv": mean.ppv}
