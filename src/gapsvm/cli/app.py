"""The commands: what they take and in which order they run; the work is done elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import gapsvm

app = typer.Typer(
    name="gapsvm",
    help="Support vector machines with a certificate: every fit says how far it is from optimal.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"gapsvm {gapsvm.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of every command."""


@app.command()
def demo(
    gap: Annotated[float, typer.Option(help="Certified gap to reach, relative to P(0).")] = 1e-6,
    lam: Annotated[float, typer.Option(help="Regularisation λ.")] = 1e-4,
    plot: Annotated[Path, typer.Option(help="Where the convergence plot goes.")] = Path(
        "gapsvm-demo.png"
    ),
) -> None:
    """Fit the Adult data that ships with gapsvm, and show what a certificate is."""
    from gapsvm.cli.demo import run_demo

    run_demo(gap, lam, plot)
