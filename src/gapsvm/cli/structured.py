"""What ``gapsvm fit`` does for all tasks whose answers are labellings."""

from __future__ import annotations

from gapsvm.cli.fit import FitRequest, check_files
from gapsvm.cli.output import print_json, require_output, say, show_facts
from gapsvm.cli.tables import certificate_table
from gapsvm.problems.limits import lam_of
from gapsvm.training.plan import check_name
from gapsvm.training.train import Fit


def check_request(request: FitRequest) -> None:
    """What is asked for goes together, what is read is there and what is written can be."""
    check_name(request.method)
    if request.lam is not None and request.C is not None:
        raise ValueError("give --lam or --C, not both: λ = 1/(C · number of sequences)")
    if request.as_json or request.model is None:
        require_output("--model FILE keeps the model, without --json")
    check_files(request)


def lam_for(request: FitRequest, total_weight: float) -> float:
    """λ, given or of C."""
    if request.lam is not None:
        return request.lam
    return lam_of(1.0 if request.C is None else request.C, total_weight)


def tell(request: FitRequest, fit: Fit, lam: float, seconds: tuple[float, float]) -> None:
    """The certificate, as a table or as JSON; ``seconds``: of reading and of the fit."""
    if not request.as_json:
        show_facts(certificate_table(fit, seconds[1]))
        if request.model is not None:
            say(f"model: {request.model}")
        return
    result = fit.result
    print_json(
        {
            "converged": result.converged,
            "status": result.status.name,
            "gap": result.gap,
            "primal": result.certificate.primal,
            "dual": result.certificate.dual,
            "method": fit.method,
            "passes": result.passes,
            "lam": lam,
            "read_seconds": seconds[0],
            "fit_seconds": seconds[1],
            "model": None if request.model is None else str(request.model),
        }
    )
