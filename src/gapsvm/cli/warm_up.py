"""``gapsvm warm-up``: compile beforehand, with a bar."""

from __future__ import annotations

from collections.abc import Sequence

from gapsvm.backends.kept_in import kept_in
from gapsvm.cli.output import progress, say


def run_warm_up(parts: Sequence[str]) -> None:
    """Compile the parts, and say where the kernels lie."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

    from gapsvm.estimators.warm_up import warm_up

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with progress(*columns, TimeElapsedColumn()) as bar:
        task = bar.add_task("warm-up", total=None)

        def tell(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=name or "warm-up")

        count = warm_up(*parts, progress=tell)
    folder = kept_in()
    if folder is None or not folder.is_dir():
        say("compiled, but not kept: the cache cannot be written; NUMBA_CACHE_DIR names another")
    else:
        say(f"{count} kernels in {folder}")
