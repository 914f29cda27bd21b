"""Tables for the terminal."""

from __future__ import annotations

from rich.table import Table

from gapsvm.training.train import Fit


def certificate_table(fit: Fit, seconds: float) -> Table:
    """What a fit proved and what it took."""
    certificate = fit.result.certificate
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row("primal", f"{certificate.primal:.10f}", "objective of this model")
    table.add_row("dual", f"{certificate.dual + 0.0:.10f}", "no model has a lower objective")
    relative = certificate.gap / fit.primal_at_zero if fit.primal_at_zero else 0.0
    table.add_row("gap", f"{certificate.gap:.2e}", f"{relative:.1e} of P(0): {fit.result.ending}")
    table.add_row("method", fit.method, fit.note)
    table.add_row("passes", f"{fit.result.passes:.1f}")
    table.add_row("time", f"{seconds:.2f} s")
    return table
