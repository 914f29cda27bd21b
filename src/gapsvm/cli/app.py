"""The commands: what they take and in which order they run; the work is done elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import gapsvm
from gapsvm.cli.idle import refuse_idle
from gapsvm.cli.options import (
    CORES,
    LAM_HELP,
    BiasOption,
    DataArgument,
    FittingThreads,
    HeaderOption,
    JsonOption,
    LabelOption,
    LamOption,
    LossOption,
    ModelOption,
    NFeatures,
    NoVerifyOption,
    Precision,
    ReadingThreads,
    TimeLimit,
    not_negative,
    positive,
)
from gapsvm.cli.tasks import TASKS, Chain, Fold, Rank
from gapsvm.system.cores import at_most_cores

app = typer.Typer(
    name="gapsvm",
    help="Support vector machines with a certificate: every fit says how far it is from optimal.",
    epilog="Exit codes: 0 certified, 2 a budget ended before the gap was reached, 1 an error, "
    "130 Ctrl-C before there was a result.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"gapsvm {gapsvm.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options of every command."""


@app.command()
def fit(
    context: typer.Context,
    data: DataArgument,
    model: ModelOption = None,
    task: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="auto (classes or numbers, by the loss), joint, rank, 'chain(template=FILE)' or "
            "fold; see gapsvm tasks.",
        ),
    ] = "auto",
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="A kernel machine, one class against one: rbf, poly, sigmoid, linear, laplacian "
            "or chi2, with parameters as 'rbf(gamma=0.1)'; see gapsvm kernels.",
        ),
    ] = None,
    gap: Annotated[
        float,
        typer.Option(
            callback=not_negative,
            help="Certified gap to reach, as a share of P(0), the objective of the zero model.",
        ),
    ] = 1e-3,
    lam: LamOption = None,
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            callback=positive,
            show_default="1",
            help="In place of --lam: λ = 1/(C · sum of weights).",
        ),
    ] = None,
    loss: LossOption = "hinge",
    method: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="auto, a name, or name(parameter=value), as "
            "'minibatch(rule=aggressive, batch_size=64)'; see gapsvm methods.",
        ),
    ] = "auto",
    bias: BiasOption = "free",
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="A text file with a weight on each line, for each row (--task chain: each "
            "sequence); or the word balanced, the same total weight for every class. Give the "
            "option twice for both.",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            callback=not_negative, help="The same seed and --threads give the same model."
        ),
    ] = 0,
    threads: FittingThreads = CORES,
    time_limit: TimeLimit = None,
    max_passes: Annotated[
        float,
        typer.Option(callback=not_negative, help="Passes over the data, for each class."),
    ] = 1000.0,
    trace: Annotated[
        Path | None, typer.Option(help="Evaluate after every pass and write it here, as CSV.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Save here, now and then, where the training stands.")
    ] = None,
    checkpoint_every: Annotated[
        float, typer.Option(callback=not_negative, help="Seconds between two saves.")
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
    n_features: NFeatures = None,
    json: JsonOption = False,
) -> None:
    """Train on a file and say how far the model is from the optimum."""
    refuse_idle(context)
    chosen = TASKS.make(task)
    from gapsvm.cli.fit import FitRequest, run_fit

    request = FitRequest(
        data=data,
        model=model,
        gap=gap,
        lam=lam,
        C=C,
        loss=loss,
        method=method,
        bias=bias,
        weights=weights or (),
        seed=seed,
        threads=threads,
        time_limit=time_limit,
        max_passes=max_passes,
        trace=trace,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
        resume=resume,
        single=dtype == "float32",
        label=label,
        header=header,
        verify=not no_verify,
        n_features=n_features,
        as_json=json,
        kernel=kernel,
        task=chosen,
    )
    if isinstance(chosen, Chain):
        from gapsvm.cli.chains import run_chain_fit

        raise typer.Exit(run_chain_fit(request))
    if isinstance(chosen, Fold):
        from gapsvm.cli.folding import run_folding_fit

        raise typer.Exit(run_folding_fit(request, chosen))
    if isinstance(chosen, Rank):
        from gapsvm.cli.rank import run_rank

        raise typer.Exit(run_rank(request))
    raise typer.Exit(run_fit(request))


@app.command()
def stream(
    context: typer.Context,
    data: DataArgument,
    model: ModelOption = None,
    lam: Annotated[float, typer.Option(callback=positive, help=LAM_HELP)] = 1e-4,
    loss: LossOption = "hinge",
    method: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="auto, or a subgradient method, as 'pegasos(batch_size=10, average=uniform)'.",
        ),
    ] = "auto",
    bias: BiasOption = "free",
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="LABELS",
            show_default="a first look at all labels",
            help="The labels that occur, as 1,-1.",
        ),
    ] = None,
    max_passes: Annotated[
        int, typer.Option(min=1, metavar="N", help="Times through the file.")
    ] = 1,
    threads: ReadingThreads = CORES,
    time_limit: TimeLimit = None,
    dtype: Annotated[Precision, typer.Option(help="Type of the values in memory.")] = "float32",
    no_verify: NoVerifyOption = False,
    n_features: NFeatures = None,
    json: JsonOption = False,
) -> None:
    """Learn while reading, in bounded memory: no certificate, but the error on rows not yet seen.

    Each row is predicted, then learnt from, then forgotten.
    """
    refuse_idle(context)
    from gapsvm.cli.stream import StreamRequest, run_stream

    request = StreamRequest(
        data=data,
        model=model,
        lam=lam,
        loss=loss,
        method=method,
        bias=bias,
        classes=classes,
        max_passes=max_passes,
        threads=threads,
        time_limit=time_limit,
        single=dtype == "float32",
        verify=not no_verify,
        n_features=n_features,
        as_json=json,
    )
    raise typer.Exit(run_stream(request))


@app.command()
def predict(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="A model of gapsvm, of LIBLINEAR or of LIBSVM.")],
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
    at: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="K", show_default="10", help="K of NDCG@K, for a model that ranks."
        ),
    ] = None,
    threads: ReadingThreads = CORES,
    json: JsonOption = False,
) -> None:
    """Predict the rows of a file, and count what is right where labels are there."""
    refuse_idle(context)
    from gapsvm.cli.predict import run_predict

    verify = not no_verify
    run_predict(model, data, output, scores, json, threads, label, no_label, header, verify, at)


@app.command()
def inspect(
    data: DataArgument,
    threads: ReadingThreads = CORES,
    label: LabelOption = None,
    header: HeaderOption = None,
    no_verify: NoVerifyOption = False,
    json: JsonOption = False,
    kernel: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="σ² of the matrix of a kernel, as with fit --kernel."),
    ] = None,
) -> None:
    """Say what is in a file: sizes, sparsity, labels, norms, σ² and the batch size worth using.

    Of a model file: what it predicts with, and what is proved of it.
    """
    from gapsvm.cli.inspect import run_inspect

    run_inspect(data, json, threads, label, header, not no_verify, kernel)


@app.command()
def path(
    context: typer.Context,
    data: DataArgument,
    lam: Annotated[
        list[float] | None,
        typer.Option(callback=positive, help="A λ; give the option as often as you like."),
    ] = None,
    C: Annotated[
        list[float] | None,
        typer.Option(
            "--C", callback=positive, help="With --kernel, in place of --lam: as often as you like."
        ),
    ] = None,
    n_lams: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many λ, evenly spread, if none is given.")
    ] = 10,
    loss: LossOption = "hinge",
    kernel: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Kernel machines, as with fit --kernel."),
    ] = None,
    gap: Annotated[
        float,
        typer.Option(callback=not_negative, help="Certified gap at every λ, relative to P(0)."),
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
    from gapsvm.cli.path import PathRequest, run_path

    certified = run_path(
        PathRequest(
            data=data,
            lams=lam or None,
            C=C or None,
            n_lams=n_lams,
            loss=loss,
            kernel=kernel,
            gap=gap,
            intercept=intercept,
            test=test,
            threads=threads,
            label=label,
            header=header,
            verify=not no_verify,
            as_json=json,
        )
    )
    raise typer.Exit(0 if certified else 2)


@app.command()
def methods(
    name: Annotated[
        str | None, typer.Argument(help="A method; without one, all are listed.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the methods of fit, or the parameters of one."""
    from gapsvm.cli.lists import run_list
    from gapsvm.training.methods import METHODS

    run_list(METHODS, name, json)


@app.command()
def tasks(
    name: Annotated[str | None, typer.Argument(help="A task; without one, all are listed.")] = None,
    json: JsonOption = False,
) -> None:
    """List the tasks of fit, or the parameters of one."""
    from gapsvm.cli.lists import run_list

    run_list(TASKS, name, json)


@app.command()
def kernels(
    name: Annotated[
        str | None, typer.Argument(help="A kernel; without one, all are listed.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the kernels of fit --kernel, or the parameters of one."""
    from gapsvm.cli.lists import run_list
    from gapsvm.kernels.registry import KERNELS

    run_list(KERNELS, name, json)


@app.command()
def losses(
    name: Annotated[str | None, typer.Argument(help="A loss; without one, all are listed.")] = None,
    json: JsonOption = False,
) -> None:
    """List the losses, or the parameters of one."""
    from gapsvm.cli.lists import run_list
    from gapsvm.losses.registry import LOSSES

    run_list(LOSSES, name, json)


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
        str | None,
        typer.Argument(help="A table or figure, or 'all'; without one, they are listed."),
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
    seeds: Annotated[
        int | None, typer.Option(min=1, show_default="3, or 2 for all", help="Runs of each kind.")
    ] = None,
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
    only: Annotated[
        str | None,
        typer.Option(help="Measure the runs of this data set alone; others go on from there."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where data lies; else the variable GAPSVM_DATA says.")
    ] = None,
) -> None:
    """Measure a table or figure of the papers again; a run that is broken off goes on later."""
    refuse_idle(context)
    from gapsvm.cli.reproduce import default_seeds, run_list, run_reproduce
    from gapsvm.reproduce import Settings

    if list_all or name is None:
        run_list()
        return
    folder_of_runs = output or Path("gapsvm-reproduce") / (f"{name}-quick" if quick else name)
    runs = seeds or default_seeds(name)
    settings = Settings(folder_of_runs, quick, runs, threads, fresh, folder, only)
    raise typer.Exit(run_reproduce(name, settings))


@app.command(name="warm-up")
def warm_up(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PARTS]...",
            help="small, text, linear, classes, online, kernels, ranking, sequences; all of them "
            "by default.",
        ),
    ] = None,
) -> None:
    """Compile beforehand what fits would compile when they first need it: some minutes, once.

    For images and clusters. The variable NUMBA_CACHE_DIR names the cache's folder.
    """
    from gapsvm.cli.warm_up import run_warm_up

    run_warm_up(parts or [])


@app.command()
def demo(
    gap: Annotated[
        float,
        typer.Option(callback=not_negative, help="Certified gap to reach, relative to P(0)."),
    ] = 1e-6,
    lam: Annotated[float, typer.Option(callback=positive, help="Regularisation λ.")] = 1e-4,
    plot: Annotated[Path, typer.Option(help="Where the convergence plot goes.")] = Path(
        "gapsvm-demo.png"
    ),
) -> None:
    """Fit the Adult data that ships with gapsvm, and show what a certificate is."""
    from gapsvm.cli.demo import run_demo
    from gapsvm.cli.files import check_target

    check_target(plot, "--plot")
    run_demo(gap, lam, plot)
