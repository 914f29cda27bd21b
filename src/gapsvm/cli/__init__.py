"""The ``gapsvm`` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

ERROR = 1


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: an error is one sentence on standard error and exit code 1."""
    import typer

    from gapsvm.cli.app import app

    command = typer.main.get_command(app)
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = command.main(args=given or ["--help"], prog_name="gapsvm", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        code = _complain("interrupted")
    except OSError as error:
        by_the_system = error.filename is not None and error.strerror
        code = _complain(f"{error.filename}: {error.strerror}" if by_the_system else str(error))
    except (ValueError, NotImplementedError, ImportError) as error:
        code = _complain(str(error))
    except MemoryError:
        code = _complain("not enough memory; 'gapsvm convert' makes a folder that fit can map")
    except Exception as error:
        if not hasattr(error, "format_message"):  # not a wrong use of the command: a fault of ours
            raise
        code = _complain(f"{error.format_message()} (see gapsvm --help)")
    sys.exit(code)


def _complain(sentence: str) -> int:
    print(f"gapsvm: {' '.join(sentence.split())}", file=sys.stderr)
    return ERROR
