"""Options that several commands share, and how their values are checked."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gapsvm.system.cores import at_most_cores, usable_cores

CORES = usable_cores()
LAM_HELP = "λ, where the objective is mean loss + λ/2 · ‖w‖²."
Precision = Literal["float32", "float64"]


def positive(value: Any) -> Any:
    """Refuses numbers, one or several, that are not positive and finite."""
    for number in value if isinstance(value, list) else [value]:
        if number is not None and not 0 < number < math.inf:
            raise typer.BadParameter(f"must be positive and finite, got {number:g}")
    return value


def finite(value: Any) -> Any:
    """Refuses what is neither 0 nor positive and finite."""
    return value if value == 0 else positive(value)


def not_negative(value: Any) -> Any:
    """Refuses negative numbers and NaN; an infinite budget is one without a limit."""
    if value is not None and not value >= 0:
        raise typer.BadParameter(f"must be 0 or more, got {value:g}")
    return value


DataArgument = Annotated[
    Path,
    typer.Argument(
        help="svmlight text (plain, .gz, .bz2, .xz), .csv/.tsv/.parquet, or a converted folder."
    ),
]
ReadingThreads = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        callback=at_most_cores,
        show_default="all cores",
        help="Threads for reading text, at most one for each core.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
LabelOption = Annotated[
    str | None,
    typer.Option(
        show_default="the last",
        help="Label column of a table: its name, or its number from 0, or from -1 at the end.",
    ),
]
HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        show_default="recognised",
        help="Whether .csv and .tsv text begins with a line of names.",
    ),
]
NoVerifyOption = Annotated[
    bool,
    typer.Option("--no-verify", help="Do not compare a converted folder with its checksums."),
]
LossOption = Annotated[
    str,
    typer.Option(
        metavar="SPEC",
        help="A name or name(parameter=value), as huber(delta=2); see gapsvm losses.",
    ),
]
LamOption = Annotated[
    float | None,
    typer.Option(callback=finite, help=LAM_HELP),
]
BiasOption = Annotated[
    str,
    typer.Option(
        metavar="SPEC",
        help="The intercept: free (not penalised), penalized, penalized(scale=2), or none.",
    ),
]
FittingThreads = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        callback=at_most_cores,
        show_default="all cores",
        help="Threads for reading and fitting, at most one for each core.",
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(callback=not_negative, help="Seconds that training may take, in all."),
]
NFeatures = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", show_default="as seen", help="Columns, if some at the end are empty."
    ),
]
ModelOption = Annotated[
    Path | None,
    typer.Option(
        "--model",
        "-m",
        help="Write the model here; *.liblinear and (kernels) *.libsvm: as these do.",
    ),
]
