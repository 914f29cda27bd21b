"""The ``gapsvm`` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gapsvm.cli.streams import BROKEN_PIPE, prepare

ERROR = 1
INTERRUPTED = 130
"""Ctrl-C where there is no model to keep: 128 and the number of the signal, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: an error is one sentence on standard error and exit code 1.

    Ctrl-C before there is a model, also while programs are loaded or compiled, is exit code 130.
    """
    prepare()
    try:
        code = _code(arguments)
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:  # typer makes it of some
        _complain("interrupted before there was a result")
    sys.exit(code)


def _code(arguments: Sequence[str] | None) -> int:
    """Run the command line and say how it ended."""
    import typer

    from gapsvm.cli.app import app

    command = typer.main.get_command(app)
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = command.main(args=given or ["--help"], prog_name="gapsvm", standalone_mode=False)
        return int(code or 0)
    except typer.Abort:
        return INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE
    except OSError as error:
        by_the_system = error.filename is not None and error.strerror
        return _complain(f"{error.filename}: {error.strerror}" if by_the_system else str(error))
    except (ValueError, NotImplementedError, ImportError) as error:
        return _complain(str(error))
    except MemoryError as error:
        return _complain(_of_memory(str(error)))
    except Exception as error:
        if not hasattr(error, "format_message"):  # not a wrong use of the command: a fault of ours
            raise
        return _complain(f"{error.format_message()} (see {_help_of(error)})")


def _help_of(error: Exception) -> str:
    """Where the command that was used wrongly is described."""
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context is not None else 'gapsvm'} --help"


def _of_memory(said: str) -> str:
    """What there was no memory for, and what helps."""
    if said and not said.startswith("Unable to allocate"):
        return said  # a sentence of ours
    what = f" ({said[0].lower()}{said[1:]})" if said else ""
    return (
        f"not enough memory{what}; rows need not fit into it, 'gapsvm convert' makes a folder that "
        "fit can map, but weights must: for many columns or classes, use fewer"
    )


def _complain(sentence: str) -> int:
    print(f"gapsvm: {' '.join(sentence.split())}", file=sys.stderr)
    return ERROR
