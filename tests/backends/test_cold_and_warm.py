"""A kernel that was just compiled and the same kernel from disk: the same bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gapsvm

PROGRAM = Path(__file__).with_name("every_kernel.py")


def run(direction: str, cache: Path) -> tuple[dict[str, str], list[str]]:
    """The digest of what every kernel did, and the kernels that were not reached."""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONPATH": str(Path(gapsvm.__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, str(PROGRAM), direction],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    digests, unreached = map(json.loads, done.stdout.splitlines())
    return digests, unreached


@pytest.mark.slow
def test_every_kernel_does_the_same_fresh_and_from_disk_in_any_order(tmp_path):
    """Jobs in the opposite order load kernels in another order, which must not matter either."""
    fresh, unreached = run("forwards", tmp_path)
    assert unreached == []
    from_disk, _ = run("backwards", tmp_path)  # kernels within others come with them
    assert from_disk == fresh
