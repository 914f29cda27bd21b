"""The commands: what they take and in which order they run; the work is done elsewhere."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import gapsvm
from gapsvm.cli.idle import is_given, refuse_idle
from gapsvm.system.cores import at_most_cores, usable_cores

app = typer.Typer(
    name="gapsvm",
    help="Support vector machines with a certificate: every fit says how far it is from optimal.",
    epilog="Exit codes: 0 certified, 2 a budget ended before the gap was reached, 1 an error, "
    "130 Ctrl-C before there was a result.",
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
MethodName = Literal[
    "auto",
    "sdca",
    "accelerated",
    "interior",
    "pegasos",
    "norma",
    "zhang",
    "adaptive",
    "proximal",
    "optimistic",
]
BiasName = Literal["free", "penalized", "none"]
BiasStep = Literal["gradient", "batch", "outer"]
RuleName = Literal["naive", "safe", "aggressive", "exact"]
FormName = Literal["auto", "unit", "rows", "tight"]
AverageName = Literal["none", "uniform", "tail", "decaying", "random"]
SamplerName = Literal["subsets", "multisets", "permutation", "fixed", "streams"]
StopName = Literal["gap", "bound", "sampled"]
_BATCHES = "Mini-batches (sdca, subgradient methods)"
_ENDS = "An earlier end (subgradient methods)"
Precision = Literal["float32", "float64"]

CORES = usable_cores()


def _positive(value: Any) -> Any:
    """Refuses numbers, one or several, that are not positive and finite."""
    for number in value if isinstance(value, list) else [value]:
        if number is not None and not 0 < number < math.inf:
            raise typer.BadParameter(f"must be positive and finite, got {number:g}")
    return value


def _finite(value: Any) -> Any:
    """Refuses what is neither 0 nor positive and finite."""
    return value if value == 0 else _positive(value)


def _batch_size(value: str) -> str:
    """Refuses what is neither a positive whole number nor auto."""
    if value != "auto" and not (value.isdecimal() and int(value) > 0):
        raise typer.BadParameter(f"must be auto or a whole number from 1, got {value}")
    return value


def _sigma2(value: str | None) -> Any:
    """Refuses what is neither a positive number, bound nor estimate; a number becomes one."""
    if value in (None, "bound", "estimate"):
        return value
    try:
        number = float(value or "")
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise typer.BadParameter(f"must be bound, estimate or a positive number, got {value}")
    return value


def _not_negative(value: Any) -> Any:
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
    LossName,
    typer.Option(
        metavar="NAME",
        help="Classes: hinge, squared_hinge, smoothed_hinge, logistic. Numbers: "
        "epsilon_insensitive, squared_epsilon_insensitive, absolute, huber, half_squared.",
    ),
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
    context: typer.Context,
    data: DataArgument,
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", help="Write the model here; *.liblinear: as LIBLINEAR does."),
    ] = None,
    gap: Annotated[
        float,
        typer.Option(
            callback=_not_negative,
            help="Certified gap to reach, as a share of P(0), the objective of the zero model.",
        ),
    ] = 1e-3,
    lam: Annotated[
        float | None,
        typer.Option(callback=_finite, help="λ, where the objective is mean loss + λ/2 · ‖w‖²."),
    ] = None,
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            callback=_positive,
            show_default="1",
            help="In place of --lam: λ = 1/(C · sum of weights).",
        ),
    ] = None,
    radius: Annotated[
        float | None,
        typer.Option(
            callback=_positive,
            metavar="B",
            help="The largest ‖w‖; λ may then be 0. By a subgradient method, proximal for auto.",
        ),
    ] = None,
    loss: LossOption = "hinge",
    epsilon: Annotated[
        float,
        typer.Option(callback=_not_negative, help="Half width of the tube of the epsilon losses."),
    ] = 0.1,
    method: Annotated[
        MethodName,
        typer.Option(
            metavar="NAME",
            help="auto (what is foreseen to be cheapest), sdca, accelerated (for weak λ), "
            "interior; or a subgradient method: pegasos, norma, zhang, adaptive, proximal, "
            "optimistic.",
        ),
    ] = "auto",
    bias: Annotated[
        BiasName,
        typer.Option(metavar="NAME", help="The intercept: free (not penalised), penalized, none."),
    ] = "free",
    bias_step: Annotated[
        BiasStep,
        typer.Option(
            metavar="NAME",
            help="How a subgradient method finds a free intercept: by a step of its own "
            "(gradient), as the best for each batch (batch), by a search around w (outer).",
        ),
    ] = "gradient",
    bias_scale: Annotated[
        float,
        typer.Option(
            callback=_positive, help="Value of the constant feature of a penalised intercept."
        ),
    ] = 1.0,
    weights: Annotated[
        Path | None, typer.Option(help="A text file with one weight per line and row.")
    ] = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="The same total weight for every class.")
    ] = False,
    seed: Annotated[
        int,
        typer.Option(
            callback=_not_negative, help="The same seed and --threads give the same model."
        ),
    ] = 0,
    threads: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            callback=at_most_cores,
            show_default="all cores",
            help="Threads for reading and fitting, at most one for each core.",
        ),
    ] = CORES,
    time_limit: Annotated[
        float | None,
        typer.Option(callback=_not_negative, help="Seconds that training may take, in all."),
    ] = None,
    max_passes: Annotated[
        float | None,
        typer.Option(
            callback=_not_negative,
            show_default="1000; 1 with --stream",
            help="Passes over the data, for each class.",
        ),
    ] = None,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="Learn while reading, in bounded memory, with one of the subgradient methods: "
            "no certificate, but the error of predictions made before each row was learnt from.",
        ),
    ] = False,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="LABELS",
            show_default="a first look at all labels",
            help="With --stream: the labels that occur, as 1,-1.",
        ),
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Evaluate after every pass and write it here, as CSV.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Save here, now and then, where the training stands.")
    ] = None,
    checkpoint_every: Annotated[
        float, typer.Option(callback=_not_negative, help="Seconds between two saves.")
    ] = 30.0,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Go on from this checkpoint, bit for bit. May be the file of --checkpoint, "
            "which need not exist then."
        ),
    ] = None,
    dtype: Annotated[Precision, typer.Option(help="Type of the values in memory.")] = "float32",
    label: LabelOption = None,
    header: HeaderOption = None,
    no_verify: NoVerifyOption = False,
    n_features: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            show_default="as seen",
            help="Columns, if some at the end are empty.",
        ),
    ] = None,
    json: JsonOption = False,
    batch_size: Annotated[
        str,
        typer.Option(
            metavar="N",
            callback=_batch_size,
            rich_help_panel=_BATCHES,
            help="Rows that step together; auto: what ends first, for sdca what the data allow.",
        ),
    ] = "1",
    rule: Annotated[
        RuleName,
        typer.Option(
            rich_help_panel=_BATCHES,
            help="How the rows of a batch share the way; naive may diverge.",
        ),
    ] = "safe",
    inertia: Annotated[
        float,
        typer.Option(
            rich_help_panel=_BATCHES, help="Aggressive: how slowly β follows, between 0 and 1."
        ),
    ] = 0.95,
    sigma2: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            callback=_sigma2,
            rich_help_panel=_BATCHES,
            show_default="what the rule needs",
            help="σ² of the data: bound, estimate or a number (see gapsvm inspect).",
        ),
    ] = None,
    form: Annotated[
        FormName,
        typer.Option(
            rich_help_panel=_BATCHES,
            help="What bounds the curvature: unit is eq. (15) as printed, for rows of norm ≤ 1.",
        ),
    ] = "auto",
    staleness: Annotated[
        int,
        typer.Option(
            callback=_not_negative, rich_help_panel=_BATCHES, help="Steps by which w lags behind."
        ),
    ] = 0,
    average: Annotated[
        AverageName,
        typer.Option(
            rich_help_panel=_BATCHES, help="Certify the last iterate or an average of them."
        ),
    ] = "none",
    sampler: Annotated[
        SamplerName,
        typer.Option(rich_help_panel=_BATCHES, help="How batches are drawn."),
    ] = "subsets",
    sweeps: Annotated[
        int,
        typer.Option(min=1, rich_help_panel=_BATCHES, help="Exact: times through each block."),
    ] = 1,
    stop: Annotated[
        StopName,
        typer.Option(
            rich_help_panel=_ENDS,
            help="Also end without the gap: at the steps of the theorem that promises --eps "
            "(bound), or as judged by the objective on a sample of rows (sampled).",
        ),
    ] = "gap",
    eps: Annotated[
        float,
        typer.Option(
            callback=_not_negative,
            rich_help_panel=_ENDS,
            show_default="none",
            help="ε of --stop, or of a phase of the method optimistic: an objective within ε of "
            "the optimum.",
        ),
    ] = 0.0,
    delta: Annotated[
        float,
        typer.Option(rich_help_panel=_ENDS, help="The probability with which that may fail."),
    ] = 0.5,
) -> None:
    """Train on a file and say how far the model is from the optimum."""
    if stream:
        from gapsvm.cli.stream import REFUSED, StreamRequest, run_stream

        given = {name for name in context.params if is_given(context, name)}
        for name in REFUSED:
            if name in given:
                raise ValueError(f"--stream does not go with --{name.replace('_', '-')}")
        refuse_idle(context)
        kind = average if "average" in given else "tail"
        raise typer.Exit(
            run_stream(
                StreamRequest(
                    data=data,
                    model=model,
                    loss=loss,
                    epsilon=epsilon,
                    lam=lam,
                    method=method,
                    bias=bias,
                    bias_scale=bias_scale,
                    batch_size=batch_size,
                    average=None if kind == "none" else kind,
                    classes=classes,
                    max_passes=1 if max_passes is None else max_passes,
                    time_limit=time_limit,
                    threads=threads,
                    single=dtype == "float32",
                    n_features=n_features,
                    verify=not no_verify,
                    as_json=json,
                )
            )
        )
    if classes is not None:
        raise ValueError("--classes is for --stream; otherwise the labels are read first")

    refuse_idle(context)
    if lam == 0 and radius is None:
        raise typer.BadParameter(
            "must be positive and finite, got 0; 0 needs --radius", param_hint="'--lam'"
        )
    from gapsvm.cli.fit import FitRequest, run_fit, solver_for, with_bias_step
    from gapsvm.training.train import Options

    batches = {
        "batch_size": batch_size if batch_size == "auto" else int(batch_size),
        "rule": rule,
        "inertia": inertia,
        "sigma2": sigma2,
        "form": form,
        "staleness": staleness,
        "average": None if average == "none" else average,
        "sampler": sampler,
        "sweeps": sweeps,
    }
    ends = {"stop": stop, "eps": eps, "delta": delta}

    request = FitRequest(
        data=data,
        model=model,
        options=Options(
            method=with_bias_step(
                solver_for(method, batches, ends, confined=radius is not None), bias_step, bias
            ),
            tol=gap,
            max_passes=1000 if max_passes is None else max_passes,
            time_limit=time_limit,
            seed=seed,
            evaluate_every=1.0 if trace is not None else None,
        ),
        loss=loss,
        epsilon=epsilon,
        lam=lam,
        C=C,
        radius=radius,
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
        header=header,
        verify=not no_verify,
        n_features=n_features,
    )
    raise typer.Exit(run_fit(request))


@app.command()
def predict(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="A model of gapsvm or of LIBLINEAR.")],
    data: DataArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here, not to standard output.")
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Scores instead of labels, a column per class.")
    ] = False,
    label: LabelOption = None,
    header: HeaderOption = None,
    no_verify: NoVerifyOption = False,
    no_label: Annotated[
        bool, typer.Option("--no-label", help="The table has no label column, only features.")
    ] = False,
    threads: ReadingThreads = CORES,
    json: JsonOption = False,
) -> None:
    """Predict the rows of a file, and count what is right where labels are there."""
    refuse_idle(context)
    from gapsvm.cli.predict import run_predict

    run_predict(model, data, output, scores, json, threads, label, no_label, header, not no_verify)


@app.command()
def inspect(
    data: DataArgument,
    threads: ReadingThreads = CORES,
    label: LabelOption = None,
    header: HeaderOption = None,
    no_verify: NoVerifyOption = False,
    json: JsonOption = False,
) -> None:
    """Say what is in a file: sizes, sparsity, labels, norms, σ² and the batch size worth using."""
    from gapsvm.cli.inspect import run_inspect

    run_inspect(data, json, threads, label, header, not no_verify)


@app.command()
def path(
    context: typer.Context,
    data: DataArgument,
    lam: Annotated[
        list[float] | None,
        typer.Option(callback=_positive, help="A λ; give the option as often as you like."),
    ] = None,
    n_lams: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many λ, evenly spread, if none is given.")
    ] = 10,
    loss: LossOption = "hinge",
    gap: Annotated[
        float,
        typer.Option(callback=_not_negative, help="Certified gap at every λ, relative to P(0)."),
    ] = 1e-3,
    intercept: Annotated[bool, typer.Option(help="With a free intercept, or with none.")] = True,
    test: Annotated[
        Path | None, typer.Option(help="A file of further rows: adds the error on them.")
    ] = None,
    label: LabelOption = None,
    header: HeaderOption = None,
    no_verify: NoVerifyOption = False,
    threads: ReadingThreads = CORES,
    json: JsonOption = False,
) -> None:
    """Train two classes, or a regression, at many λ: each starts from the one before."""
    refuse_idle(context)
    from gapsvm.cli.path import run_path

    lams = lam or None
    certified = run_path(
        data, lams, n_lams, loss, gap, intercept, test, threads, label, header, not no_verify, json
    )
    raise typer.Exit(0 if certified else 2)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="svmlight text, of any size.")],
    folder: Annotated[Path, typer.Argument(help="The folder to make.")],
    dtype: Annotated[Precision, typer.Option(help="Type of the values.")] = "float32",
    threads: ReadingThreads = CORES,
) -> None:
    """Turn text into a memory-mapped folder, which fit opens at once, larger than memory or not."""
    from gapsvm.cli.data import run_convert

    run_convert(source, folder, dtype == "float32", threads)


@app.command()
def data(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="A data set to check; without one, all are listed.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where they lie; else the variable GAPSVM_DATA says.")
    ] = None,
) -> None:
    """List the data sets that gapsvm knows by name, or check one."""
    refuse_idle(context)
    from gapsvm.cli.data import run_data

    run_data(name, folder)


@app.command()
def reproduce(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="A table or figure; without one, all are listed.")
    ] = None,
    list_all: Annotated[
        bool, typer.Option("--list", help="List what there is, the data it needs and the time.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", show_default="gapsvm-reproduce/NAME", help="The folder."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Part of the data, in seconds; a9a if there is no other."),
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each kind.")] = 3,
    threads: Annotated[
        int,
        typer.Option(
            min=1,
            callback=at_most_cores,
            show_default="all cores",
            help="Runs at a time, at most one for each core.",
        ),
    ] = CORES,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over instead of going on.")] = False,
    folder: Annotated[
        Path | None, typer.Option(help="Where data lies; else the variable GAPSVM_DATA says.")
    ] = None,
) -> None:
    """Measure a table or figure of the papers again; a run that is broken off goes on later."""
    refuse_idle(context)
    from gapsvm.cli.reproduce import run_list, run_reproduce

    if list_all or name is None:
        run_list()
        return
    raise typer.Exit(run_reproduce(name, output, quick, seeds, threads, fresh, folder))


@app.command()
def demo(
    gap: Annotated[
        float,
        typer.Option(callback=_not_negative, help="Certified gap to reach, relative to P(0)."),
    ] = 1e-6,
    lam: Annotated[float, typer.Option(callback=_positive, help="Regularisation λ.")] = 1e-4,
    plot: Annotated[Path, typer.Option(help="Where the convergence plot goes.")] = Path(
        "gapsvm-demo.png"
    ),
) -> None:
    """Fit the Adult data that ships with gapsvm, and show what a certificate is."""
    from gapsvm.cli.demo import run_demo
    from gapsvm.cli.files import check_target

    check_target(plot, "--plot")
    run_demo(gap, lam, plot)
