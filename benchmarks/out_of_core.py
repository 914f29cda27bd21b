"""A certified fit of a mapped folder four times larger than the memory it may have.

    python benchmarks/out_of_core.py [--mb 2400] [--gap 1e-3] [--folder DIR]

Rows of 1,000 normal numbers and about unit length, labels with noise.  Memory is what a control
group would count: all that the process holds, libraries included, and every page of the folder
that the system keeps, mapped or read ahead.  This script plays the system that is short of it: it
looks every hundredth of a second, evicts pages of the folder from the process and from the page
cache when ``--slack`` or less is left, and ends a fit that is seen above the limit all the same.
Private memory is under RLIMIT_DATA as well.  Needs Linux 6.5 and the right to advise another
process (root, or CAP_SYS_NICE), but no control group.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path[0] = str(Path(__file__).parents[1])

from benchmarks.common import versions
from benchmarks.files import GAPSVM
from gapsvm.io.folder import FORMAT, VERSION

MB = 10**6
WIDTH = 1000
PAGE = resource.getpagesize()
PROCESS_MADVISE, CACHESTAT = 440, 451  # system calls, the same on every architecture but alpha
MADV_PAGEOUT = 21

libc = ctypes.CDLL(None, use_errno=True)


def system_call(number: int, *arguments: Any) -> None:
    if libc.syscall(number, *arguments) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


class Folder:
    """The files of a folder, and which of their pages the system keeps."""

    def __init__(self, path: Path) -> None:
        self.files = {str(file): os.open(file, os.O_RDONLY) for file in path.glob("*.npy")}
        self.size = sum(os.fstat(file).st_size for file in self.files.values())

    def cached(self) -> int:
        """Bytes of the files in the page cache."""
        pages = 0
        everything, found = (ctypes.c_uint64 * 2)(), (ctypes.c_uint64 * 5)()
        for file in self.files.values():
            system_call(CACHESTAT, file, everything, found, 0)
            pages += found[0]
        return pages * PAGE

    def forget(self) -> None:
        """Drop the pages that no process has mapped."""
        for file in self.files.values():
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)

    def read(self) -> None:
        for path in self.files:
            with open(path, "rb") as file:
                while file.read(1 << 22):
                    pass


class Watched:
    """A process and the pages of a folder that it has mapped."""

    def __init__(self, pid: int, folder: Folder) -> None:
        self.folder = folder
        self.pidfd = os.pidfd_open(pid)
        self.proc = Path(f"/proc/{pid}")
        self.ranges: list[tuple[int, int]] = []
        self.libraries = 0  # the most bytes of other files that were mapped
        self._looked = -math.inf

    def memory(self) -> int:
        """Bytes of the process outside the folder, and of the folder in the page cache."""
        if time.monotonic() > self._looked + 0.5:
            self._look_at_mappings()
        status = (self.proc / "status").read_text()
        private = re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+)", status, re.MULTILINE)
        return sum(map(int, private)) * 1024 + self.libraries + self.folder.cached()

    def _look_at_mappings(self) -> None:
        """Slow where much is mapped."""
        libraries, path = 0, ""
        self.ranges = []
        for line in (self.proc / "smaps").read_text().splitlines():
            if line.startswith("Rss:"):
                resident = int(line.split()[1]) * 1024
            elif line.startswith("Anonymous:"):
                own = int(line.split()[1]) * 1024
                libraries += resident - own if path and path not in self.folder.files else 0
            elif not line[0].isupper():
                addresses, *_, inode, path = (*line.split(maxsplit=5), "")[:6]
                path = path if inode != "0" else ""
                if path in self.folder.files:
                    first, last = addresses.split("-")
                    self.ranges.append((int(first, 16), int(last, 16)))
        self.libraries = max(self.libraries, libraries)
        self._looked = time.monotonic()

    def evict(self, enough: int) -> None:
        """Drop the pages of the folder that were used and, if need be, those read ahead."""
        for first, last in self.ranges:
            vector = (ctypes.c_size_t * 2)(first, last - first)
            one = ctypes.c_size_t(1)
            system_call(PROCESS_MADVISE, self.pidfd, vector, one, MADV_PAGEOUT, 0)
        if self.memory() > enough:
            self.folder.forget()


@dataclass
class Run:
    seconds: float
    peak: int
    evictions: int
    bytes_read: int
    said: dict[str, Any]

    def row(self, name: str) -> str:
        said = self.said
        return (
            f"| {name} | {self.peak / MB:.0f} | {self.evictions} | {self.seconds:.1f} | "
            f"{self.bytes_read / 1e9:.2f} | {self.bytes_read / 1e9 / self.seconds:.2f} | "
            f"{said['passes'][0]:.1f} | {said['primal'][0]:.6f} | {said['gap']:.1e} |"
        )


def watched_fit(
    path: Path, folder: Folder, arguments: list[str], limit: int | None, slack: int
) -> Run:
    def restrict() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    command = [sys.executable, "-c", GAPSVM, "fit", str(path), *arguments, "--json"]
    before = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=restrict) as process:
        watched = Watched(process.pid, folder)
        peak = evictions = 0
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            os.kill(process.pid, signal.SIGSTOP)  # or it would run on while we look
            try:
                memory = watched.memory()
                peak = max(peak, memory)
                if limit is not None and memory > limit - slack:
                    evictions += 1
                    watched.evict(limit - slack)
            except ProcessLookupError:
                continue  # it has just ended
            except BaseException:
                os.kill(process.pid, signal.SIGKILL)
                raise
            if limit is not None and memory > limit:
                os.kill(process.pid, signal.SIGKILL)
            os.kill(process.pid, signal.SIGCONT)
            time.sleep(0.01)
        seconds = time.perf_counter() - before
        process.returncode = os.waitstatus_to_exitcode(ended[1])
        assert process.stdout is not None
        text = process.stdout.read()
    if limit is not None and peak > limit:
        raise SystemExit(f"{peak / MB:.0f} MB of memory, more than {limit / MB:.0f}")
    if process.returncode:
        raise SystemExit(f"the fit ended with {process.returncode}")
    return Run(seconds, peak, evictions, ended[2].ru_inblock * 512, json.loads(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=2400)
    parser.add_argument("--gap", default="1e-3")
    parser.add_argument("--lam", default="1e-5")
    parser.add_argument("--slack", type=int, default=150, help="MB")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "gapsvm-bench")
    parser.add_argument("--keep", action="store_true", help="the folder, for the next run")
    args = parser.parse_args()
    args.folder.mkdir(exist_ok=True)
    path = args.folder.resolve() / "out-of-core.gsv"
    if not path.exists():
        make(path, args.mb * MB)
    folder = Folder(path)
    limit, slack = folder.size // 4, args.slack * MB
    arguments = ["--lam", args.lam, "--bias", "none", "--gap", args.gap, "--threads", "1"]
    print(versions("gapsvm", "numba", "numpy"))
    print(f"{folder.size / MB:.0f} MB of data, a limit of {limit / MB:.0f} MB\n")
    print("| fit | peak MB | evictions | s | GB read | GB/s | passes | P | certified gap |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    folder.forget()
    limited = watched_fit(path, folder, arguments, limit, slack)
    print(limited.row("a quarter of the data"), flush=True)
    folder.forget()
    print(watched_fit(path, folder, arguments, None, 0).row("no limit, from disk"), flush=True)
    folder.read()
    print(watched_fit(path, folder, arguments, None, 0).row("no limit, read before"))
    if not args.keep:
        shutil.rmtree(path)


def make(path: Path, size: int) -> None:
    """A folder of about ``size`` bytes, as ``convert`` would write it."""
    n_rows = size // (8 * WIDTH)
    n_values = n_rows * WIDTH
    index = np.int32 if n_values < 2**31 else np.int64
    path.mkdir()
    arrays = {
        name: np.lib.format.open_memmap(path / f"{name}.npy", "w+", dtype, (length,))
        for name, dtype, length in (
            ("data", np.float32, n_values),
            ("indices", index, n_values),
            ("indptr", index, n_rows + 1),
            ("labels", np.float64, n_rows),
        )
    }
    rng = np.random.default_rng(0)
    truth = rng.normal(size=WIDTH)
    arrays["indptr"][:] = np.arange(n_rows + 1) * WIDTH
    for first in range(0, n_rows, 4000):
        last = min(first + 4000, n_rows)
        inside = slice(first * WIDTH, last * WIDTH)
        X = rng.standard_normal((last - first, WIDTH), dtype=np.float32)
        X /= np.sqrt(WIDTH)
        noise = 0.5 * rng.normal(size=last - first)
        arrays["data"][inside] = X.ravel()
        arrays["indices"][inside] = np.tile(np.arange(WIDTH), last - first)
        arrays["labels"][first:last] = np.where(X @ truth + noise > 0, 1.0, -1.0)
    entries = {}
    for name, array in arrays.items():
        array.flush()
        entries[name] = {
            "dtype": array.dtype.name,
            "length": array.size,
            "sha256": hashlib.sha256(array.data).hexdigest(),
        }
    header = {"format": FORMAT, "version": VERSION, "shape": (n_rows, WIDTH), "arrays": entries}
    (path / "header.json").write_text(json.dumps(header))


if __name__ == "__main__":
    main()
