"""A file four times larger than the memory a process may have, through ``convert`` and ``fit``,
and through ``stream`` as it is.

    python benchmarks/larger_than_memory.py [--limit-mb 400] [--folder DIR]

The text is imdb, repeated.  The limit is on private memory (RLIMIT_DATA, ``ulimit -d``): mapped
files do not count, everything a program allocates does.  Prints times and the certificate.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

from benchmarks.files import GAPSVM, text_file


def run(limit: int, *arguments: str) -> None:
    def restrict() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    before = time.perf_counter()
    subprocess.run([sys.executable, "-c", GAPSVM, *arguments], check=True, preexec_fn=restrict)
    print(f"gapsvm {arguments[0]}: {time.perf_counter() - before:.1f} s\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit-mb", type=int, default=400)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "gapsvm-bench")
    args = parser.parse_args()
    args.folder.mkdir(exist_ok=True)
    one = text_file(args.folder, "imdb", "unit")
    copies = 4 * args.limit_mb * 10**6 // one.stat().st_size + 1
    text, folder = text_file(args.folder, "imdb", "unit", copies), args.folder / "imdb.gsv"
    shutil.rmtree(folder, ignore_errors=True)
    limit = args.limit_mb * 10**6
    print(f"{text.stat().st_size / 1e6:.0f} MB of text, {args.limit_mb} MB of memory", flush=True)
    run(limit, "convert", str(text), str(folder))
    run(limit, "fit", str(folder), "--lam", "1e-4", "--bias", "none", "--gap", "1e-3")
    shutil.rmtree(folder)
    run(limit, "stream", str(text), "--lam", "1e-4", "--bias", "none", "--classes", "1,-1")
    text.unlink()


if __name__ == "__main__":
    main()
