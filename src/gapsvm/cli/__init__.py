"""The ``gapsvm`` command."""

from __future__ import annotations


def main() -> None:
    """Run the command line; imported late, so that ``--help`` is quick."""
    from gapsvm.cli.app import app

    app()
