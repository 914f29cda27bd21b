"""``gapsvm fit --task rank`` and what ``gapsvm predict`` says of a ranking: svmlight with qid."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.cli.files import followed
from gapsvm.cli.fit import BUDGET_ENDED, CERTIFIED, FitRequest, check_files, weights_of
from gapsvm.cli.output import note, print_json, require_output, say, show_facts
from gapsvm.cli.predictions import hand_out
from gapsvm.cli.saved import One, trained, write_trace
from gapsvm.cli.tables import certificate_table
from gapsvm.cli.tasks import Rank
from gapsvm.io.svmlight import SvmlightData, SvmlightError, read_svmlight
from gapsvm.io.tables import is_table
from gapsvm.losses.ranking import RANKING_LOSSES, mean_average_precision, mean_ndcg
from gapsvm.models.linear import LinearModel
from gapsvm.models.native import write_native
from gapsvm.problems.limits import lam_of
from gapsvm.problems.structured.ranking import RankingProblem
from gapsvm.registry import parsed
from gapsvm.rows.queries import queries_of
from gapsvm.training.checkpoint import fingerprint
from gapsvm.training.plan import check_name
from gapsvm.training.train import Fit

TRUNCATION = 10


@dataclass(frozen=True)
class _Loss:
    """pairs, or ndcg(truncation=k)."""

    name: str
    truncation: int = TRUNCATION


def run_rank(request: FitRequest) -> int:
    """Read, train, write; returns the exit code."""
    loss = _loss_of(request.loss)
    check_name(request.method)
    if request.lam is not None and request.C is not None:
        raise ValueError("give --lam or --C, not both: λ = 1/(C · queries)")
    if request.model is not None and request.model.suffix == ".liblinear":
        raise ValueError("LIBLINEAR's format holds no rankings; name the model without .liblinear")
    if request.as_json or request.model is None:
        require_output("--model FILE keeps the model, without --json")
    check_files(request)
    _check_svmlight(request.data)
    started = time.perf_counter()
    data = read_svmlight(
        request.data,
        n_features=request.n_features,
        dtype=np.float32 if request.single else np.float64,
        query_id=True,
        threads=request.threads,
    )
    seconds = time.perf_counter() - started
    queries = len(queries_of(data.qid, len(data.y)))
    size = f"{data.X.shape[0]:,} rows × {data.X.shape[1]:,} features, {queries:,} queries"
    say(f"{request.data}: {size}, read in {seconds:.2f} s", error=request.as_json)
    problem = _problem(request, loss, data, queries)
    started = time.perf_counter()
    [fit] = trained(request, One(problem), lambda: fingerprint(problem))
    seconds = time.perf_counter() - started
    model = _model(problem, loss, fit)
    if request.model is not None:
        write_native(followed(request.model), model)
    write_trace(request.trace, [fit])
    if fit.result.converged and not model.coef.any():
        note(["every weight is 0, which is within the gap of the optimum: all scores are equal"])
    skipped = len(problem.skipped)
    if request.as_json:
        print_json(
            {
                "converged": fit.result.converged,
                "status": model.status,
                "gap": fit.result.gap,
                "primal": fit.result.certificate.primal,
                "dual": fit.result.certificate.dual,
                "method": fit.method,
                "passes": fit.result.passes,
                "lam": problem.lam,
                "queries": queries,
                "skipped": skipped,
                "fit_seconds": seconds,
                "model": None if request.model is None else str(request.model),
            }
        )
    else:
        if skipped:
            say(f"queries without two different grades, left out: {skipped:,}")
        show_facts(certificate_table(fit, seconds))
        if request.model is not None:
            say(f"model: {request.model}")
    return CERTIFIED if fit.result.converged else BUDGET_ENDED


def _loss_of(spec: str) -> _Loss:
    """hinge, the command's default, is that of all pairs."""
    name, given = parsed("pairs" if spec == "hinge" else spec, "loss")
    if name not in RANKING_LOSSES or set(given) - ({"truncation"} if name == "ndcg" else set()):
        raise ValueError(
            f"--task rank has the losses pairs (hinge) and ndcg(truncation=10), not {spec}"
        )
    return _Loss(name, **given)


def _check_svmlight(path: Path) -> None:
    if is_table(path) or path.is_dir():
        raise ValueError(f"--task rank reads svmlight text, where rows have a qid, not {path}")


def _problem(request: FitRequest, loss: _Loss, data: SvmlightData, queries: int) -> RankingProblem:
    C = 1.0 if request.C is None else request.C
    weight = weights_of(request, len(data.y))
    assert isinstance(request.task, Rank)
    return RankingProblem(
        data.X,
        data.y,
        data.qid,
        lam_of(C, float(queries)) if request.lam is None else request.lam,
        loss=loss.name,  # type: ignore[arg-type]
        average=request.task.average,
        sample_weight=weight,
        truncation=loss.truncation,
    )


def _model(problem: RankingProblem, loss: _Loss, fit: Fit) -> LinearModel:
    certificate = fit.result.certificate
    return LinearModel(
        coef=np.atleast_2d(fit.solution.w),
        intercept=np.zeros(1),
        loss=loss.name,
        lam=problem.lam,
        primal=np.array([certificate.primal]),
        dual=np.array([certificate.dual]),
        method=fit.method,
        passes=fit.result.passes,
        status=fit.result.status.name,
        metadata={"truncation": loss.truncation},
    )


# -- prediction ------------------------------------------------------------------------------------


def run_predict_rank(
    model: LinearModel,
    data: Path,
    output: Path | None,
    as_json: bool,
    threads: int,
    at: int | None,
) -> None:
    """A score for every document; NDCG and MAP where qids are there."""
    _check_svmlight(data)
    read: dict[str, Any] = {"n_features": model.n_features, "threads": threads}
    try:
        found = read_svmlight(data, query_id=True, **read)
    except SvmlightError as error:
        found = read_svmlight(data, **read)
        note([f"nothing to compare with: {error}"])
    scores = model.predict(found.X)
    truncation = at or model.metadata.get("truncation", TRUNCATION)
    quality = {}
    if found.qid is not None:
        quality = {
            f"NDCG@{truncation}": mean_ndcg(found.y, scores, found.qid, truncation),
            "MAP": mean_average_precision(found.y, scores, found.qid),
        }
    hand_out([f"{score:.17g}" for score in scores], quality, output, as_json)
