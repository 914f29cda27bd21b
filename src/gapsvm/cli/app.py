"""The commands: what they take and in which order they run; the work is done elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

import gapsvm

app = typer.Typer(
    name="gapsvm",
    help="Support vector machines with a certificate: every fit says how far it is from optimal.",
    epilog="Exit codes: 0 certified, 2 a budget ended before the gap was reached, 1 an error.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

LossName = Literal[
    "hinge",
    "squared_hinge",
    "smoothed_hinge",
    "logistic",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "absolute",
    "huber",
    "half_squared",
]
MethodName = Literal["auto", "sdca", "interior", "pegasos"]
BiasName = Literal["free", "penalized", "none"]
Precision = Literal["float32", "float64"]

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

DataArgument = Annotated[
    Path,
    typer.Argument(
        help="svmlight text (plain, .gz, .bz2, .xz), .csv/.tsv/.parquet, or a converted folder."
    ),
]
ThreadsOption = Annotated[
    int, typer.Option(min=1, show_default="all cores", help="For reading, and for classes.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
LabelOption = Annotated[
    str | None, typer.Option(help="Label column of a table: name or number; else the last.")
]


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
def fit(
    data: DataArgument,
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", help="Where the model goes; *.liblinear: in that format."),
    ] = None,
    gap: Annotated[
        float, typer.Option(min=0, help="Certified gap to reach, relative to P(0).")
    ] = 1e-3,
    lam: Annotated[float | None, typer.Option(help="λ of the mean convention.")] = None,
    C: Annotated[
        float, typer.Option("--C", help="Instead of λ: λ = 1/(C · sum of weights).")
    ] = 1.0,
    loss: Annotated[LossName, typer.Option(help="Margin or response loss.")] = "hinge",
    epsilon: Annotated[float, typer.Option(min=0, help="Half width of the tube (SVR).")] = 0.1,
    method: Annotated[MethodName, typer.Option(help="How to train.")] = "auto",
    bias: Annotated[BiasName, typer.Option(help="The intercept.")] = "free",
    bias_scale: Annotated[
        float, typer.Option(help="Value of the penalised constant feature.")
    ] = 1.0,
    weights: Annotated[Path | None, typer.Option(help="One sample weight per line.")] = None,
    balanced: Annotated[bool, typer.Option("--balanced", help="Equal weight for classes.")] = False,
    seed: Annotated[int, typer.Option(help="Same seed, same model.")] = 0,
    threads: ThreadsOption = CORES,
    time_limit: Annotated[float | None, typer.Option(min=0, help="Seconds of training.")] = None,
    max_passes: Annotated[float, typer.Option(min=0, help="Passes over the data.")] = 1000,
    trace: Annotated[Path | None, typer.Option(help="Every evaluation, as CSV.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Save the state here now and then.")
    ] = None,
    checkpoint_every: Annotated[float, typer.Option(min=0, help="Seconds between saves.")] = 30.0,
    resume: Annotated[
        Path | None, typer.Option(help="Go on from a checkpoint, bit for bit.")
    ] = None,
    dtype: Annotated[Precision, typer.Option(help="Of the values in memory.")] = "float32",
    label: LabelOption = None,
    n_features: Annotated[
        int | None, typer.Option(min=1, help="Columns, if more than seen.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Train on a file and say how far the model is from the optimum."""
    from gapsvm.cli.fit import FitRequest, run_fit
    from gapsvm.train import Options

    request = FitRequest(
        data=data,
        model=model,
        options=Options(
            method=method,
            tol=gap,
            max_passes=max_passes,
            time_limit=time_limit,
            seed=seed,
            evaluate_every=1.0 if trace is not None else None,
        ),
        loss=loss,
        epsilon=epsilon,
        lam=lam,
        C=C,
        bias=bias,
        bias_scale=bias_scale,
        weights=weights,
        balanced=balanced,
        threads=threads,
        trace=trace,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
        resume=resume,
        as_json=json,
        single=dtype == "float32",
        label=label,
        n_features=n_features,
    )
    raise typer.Exit(run_fit(request))


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model of gapsvm or of LIBLINEAR.")],
    data: DataArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Instead of standard output.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Scores instead of labels.")] = False,
    threads: ThreadsOption = CORES,
    json: JsonOption = False,
) -> None:
    """Predict the rows of a file, and count what is right where labels are there."""
    from gapsvm.cli.predict import run_predict

    run_predict(model, data, output, scores, json, threads)


@app.command()
def inspect(
    data: DataArgument,
    threads: ThreadsOption = CORES,
    label: LabelOption = None,
    json: JsonOption = False,
) -> None:
    """Say what is in a file: sizes, sparsity, labels, norms."""
    from gapsvm.cli.inspect import run_inspect

    run_inspect(data, json, threads, label)


@app.command()
def path(
    data: DataArgument,
    lam: Annotated[list[float] | None, typer.Option(help="A λ; give as many as you like.")] = None,
    n_lams: Annotated[int, typer.Option(min=1, help="How many, if none is given.")] = 10,
    loss: Annotated[LossName, typer.Option(help="Margin or response loss.")] = "hinge",
    gap: Annotated[float, typer.Option(min=0, help="Certified gap at every point.")] = 1e-3,
    intercept: Annotated[bool, typer.Option(help="With a free intercept.")] = True,
    test: Annotated[Path | None, typer.Option(help="A file for the test error.")] = None,
    threads: ThreadsOption = CORES,
) -> None:
    """Train at many λ, each started from the one before and certified."""
    from gapsvm.cli.path import run_path

    certified = run_path(data, lam or None, n_lams, loss, gap, intercept, test, threads)
    raise typer.Exit(0 if certified else 2)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="svmlight text, of any size.")],
    folder: Annotated[Path, typer.Argument(help="The folder to make.")],
    dtype: Annotated[Precision, typer.Option(help="Of the values.")] = "float32",
    threads: ThreadsOption = CORES,
) -> None:
    """Turn text into a memory-mapped folder, which fit opens at once, larger than memory or not."""
    from gapsvm.cli.data import run_convert

    run_convert(source, folder, dtype == "float32", threads)


@app.command()
def data(
    name: Annotated[str | None, typer.Argument(help="A data set; none: list them all.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where they lie; else GAPSVM_DATA.")] = None,
) -> None:
    """List the data sets that gapsvm knows by name, or check one."""
    from gapsvm.cli.data import run_data

    run_data(name, folder)


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
