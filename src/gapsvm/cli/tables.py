"""Tables that several commands show."""

from __future__ import annotations

from gapsvm.cli.output import Cell, Number
from gapsvm.training.train import Fit


def certificate_table(fit: Fit, seconds: float) -> list[list[Cell]]:
    """What a fit proved and what it took."""
    certificate = fit.result.certificate
    primal, dual = certificate.primal, certificate.dual + 0.0
    relative = certificate.gap / fit.primal_at_zero if fit.primal_at_zero else 0.0
    ending = f"{relative:.1e} of P(0): {fit.result.ending}"
    return [
        [
            "primal",
            Number(primal, f"{primal:.10f}"),
            "objective of this model",
        ],
        ["dual", Number(dual, f"{dual:.10f}"), "no model has a lower objective"],
        ["gap", Number(certificate.gap, f"{certificate.gap:.2e}"), ending],
        ["method", fit.method, fit.note],
        ["passes", Number(fit.result.passes, f"{fit.result.passes:.1f}")],
        ["time", Number(seconds, f"{seconds:.2f} s")],
    ]
