"""Fuzz everything that reads files: no crash, no hang, no memory without bound.

    python fuzz/fuzz_files.py [--seconds 60] [--seed 0] [--only svmlight model ...]

Each input is a valid file of some kind, changed at a few places, or random bytes.  A reader may
accept it, and then what it returns must be sound, or refuse it with a ValueError of its own, and
do nothing else.  An input that takes more than ten seconds ends the run with a traceback, and the
process may take one gigabyte more than it starts with.  An input that fails is kept in
the folder ``gapsvm-fuzz-failures`` of the system's temporary files.

A random mutator makes the inputs.  With ``--atheris``, where that is installed, libFuzzer does, led
by the lines of Python that an input reaches; its own options follow after ``--``.
"""

from __future__ import annotations

import argparse
import bz2
import faulthandler
import gzip
import hashlib
import lzma
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from gapsvm.io.folder import FolderError, convert, open_folder
from gapsvm.io.svmlight import SvmlightError, read_svmlight
from gapsvm.models.base import ModelFormatError
from gapsvm.models.files import read_model
from gapsvm.models.liblinear import read_liblinear, write_liblinear
from gapsvm.models.linear import LinearModel
from gapsvm.models.native import write_native
from gapsvm.training.checkpoint import CheckpointError, load_tree, save_tree

SECONDS_PER_INPUT = 10
MEMORY = 1 << 30
FAILURES = Path(tempfile.gettempdir()) / "gapsvm-fuzz-failures"
SVMLIGHT = (
    b"# a comment: 1\n1 qid:1 1:0.5 3:-2e-3 2000:1\n\n-1 qid:2 2:1e30\r\n0.25 qid:3 # no values\n"
    b"1e-320 qid:9223372036854775807 5:123456789012345678901 4000000000:1\n"
)
WORDS = [
    *(b"0", b"-1", b"1e400", b"nan", b"inf", b"9" * 25, b":", b" ", b"\n", b"\0", b"#", b"qid:"),
    *(b"\xff" * 8, b"{", b"}", b"[[[[", b'"', b"w\n", b"nr_feature", b"2147483647", b"shape"),
]
SCRATCH = Path(tempfile.mkdtemp(prefix="gapsvm-fuzz-"))


# -- targets: each takes a file's content and raises only what it may ------------------------------


def check_rows(X, y) -> None:
    assert X.shape[0] == len(y) > 0
    assert X.indptr[-1] == X.nnz
    assert np.isfinite(X.data).all()
    assert np.isfinite(y).all()
    if X.nnz:
        assert 0 <= X.indices.min() <= X.indices.max() < X.shape[1]


def svmlight(content: bytes) -> None:
    for threads in (1, 2):
        try:
            X, y, _ = read_svmlight(content, threads=threads, max_line_bytes=1 << 20)
        except SvmlightError:
            continue
        check_rows(X, y)


def folder(content: bytes) -> None:
    """A folder made of any text holds what reading the text gives."""
    path = SCRATCH / "converted"
    shutil.rmtree(path, ignore_errors=True)
    try:
        convert(content, path)
    except SvmlightError:
        assert not path.exists()
        return
    X, y, _ = open_folder(path, verify=True)
    expected = read_svmlight(content, dtype=np.float32)
    assert X.shape == expected.X.shape
    assert X.data.tobytes() == expected.X.data.tobytes()
    assert np.array_equal(X.indices, expected.X.indices)
    assert np.array_equal(X.indptr, expected.X.indptr)
    assert y.tobytes() == expected.y.tobytes()


def header(content: bytes) -> None:
    """A folder with any header is refused, or is what the header says."""
    path = SCRATCH / "folder"
    (path / "header.json").write_bytes(content)
    try:
        X, y, _ = open_folder(path)
    except FolderError:
        return
    assert X.indptr.size == len(y) + 1


def model(content: bytes) -> None:
    path = SCRATCH / "model"
    path.write_bytes(content)
    for read in (read_model, read_liblinear):
        try:
            found = read(path)
        except ModelFormatError:
            continue
        assert np.isfinite(found.coef).all()
        assert len(found.predict(np.zeros((1, found.n_features)))) == 1


def checkpoint(content: bytes) -> None:
    path = SCRATCH / "checkpoint"
    path.write_bytes(content)
    try:
        tree = load_tree(path, {"of": "this"})
    except CheckpointError:
        return
    save_tree(path, tree, {"of": "this"})  # blanks of the header may differ, nothing else
    assert path.read_bytes() == SEEDS["checkpoint"][0], "a changed checkpoint was accepted"


TARGETS: dict[str, Callable[[bytes], None]] = {
    "svmlight": svmlight,
    "folder": folder,
    "header": header,
    "model": model,
    "checkpoint": checkpoint,
}


# -- inputs ----------------------------------------------------------------------------------------


def seeds() -> dict[str, list[bytes]]:
    """Valid files of each kind."""

    def written(write, *arguments) -> bytes:
        write(SCRATCH / "seed", *arguments)
        return (SCRATCH / "seed").read_bytes()

    rng = np.random.default_rng(0)
    binary = LinearModel(rng.normal(size=(1, 3)), [0.5], ["ham", "spam"], loss="hinge")
    numbers = LinearModel(rng.normal(size=(1, 3)), [0.5], [-1, 1], loss="hinge")
    several = LinearModel(rng.normal(size=(3, 3)), [1, 2, 3], [1, 2, 3], loss="logistic")
    regression = LinearModel(rng.normal(size=(1, 3)), [0.0], loss="absolute")
    text = [SVMLIGHT, gzip.compress(SVMLIGHT), bz2.compress(SVMLIGHT), lzma.compress(SVMLIGHT)]
    convert(SVMLIGHT, SCRATCH / "folder")
    tree = {"a": np.arange(5.0), "rng": np.random.default_rng(0), "b": [1, None, (0.5, "x")]}
    return {
        "svmlight": text,
        "folder": text,
        "header": [(SCRATCH / "folder" / "header.json").read_bytes()],
        "model": [written(write_native, m) for m in (binary, several, regression)]
        + [written(write_liblinear, m) for m in (numbers, several, regression)],
        "checkpoint": [written(save_tree, tree, {"of": "this"})],
    }


def mutated(content: bytes, source: random.Random) -> bytes:
    """A few changes, small ones and large ones."""
    changed = bytearray(content)
    for _ in range(source.choice((1, 1, 1, 2, 3, 8))):
        place = source.randrange(len(changed) + 1)
        length = source.choice((0, 1, 1, 2, 4, 8, 40))
        match source.randrange(5):
            case 0:
                changed[place : place + length] = source.randbytes(length)
            case 1:
                changed[place : place + length] = source.choice(WORDS)
            case 2:
                del changed[place : place + length]
            case 3:
                changed[place:place] = changed[place : place + length] * source.choice((1, 2, 100))
            case 4 if place < len(changed):
                changed[place] ^= 1 << source.randrange(8)
    return bytes(changed)


def inputs(names: list[str], source: random.Random) -> Iterator[tuple[str, bytes]]:
    while True:
        name = source.choice(names)
        if source.random() < 0.1:
            yield name, source.randbytes(source.randrange(200))
        else:
            yield name, mutated(source.choice(SEEDS[name]), source)


# -- runs ------------------------------------------------------------------------------------------


def attempt(name: str, content: bytes) -> None:
    """One input to one target, under the watch of a clock."""
    faulthandler.dump_traceback_later(SECONDS_PER_INPUT, exit=True)
    try:
        TARGETS[name](content)
    except Exception:
        FAILURES.mkdir(exist_ok=True)
        file = FAILURES / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}"
        file.write_bytes(content)
        print(f"failed; the input is {file}", file=sys.stderr)
        raise
    finally:
        faulthandler.cancel_dump_traceback_later()


def limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    statm = Path("/proc/self/statm")
    if statm.exists():
        most = int(statm.read_text().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def run_random(names: list[str], seconds: float, seed: int) -> None:
    ends_at = time.monotonic() + seconds
    counts = dict.fromkeys(names, 0)
    for name, content in inputs(names, random.Random(seed)):
        attempt(name, content)
        counts[name] += 1
        if time.monotonic() >= ends_at:
            break
    print(", ".join(f"{name} {count}" for name, count in counts.items()), "inputs, no failure")


def run_atheris(names: list[str], options: list[str]) -> None:
    import atheris

    corpus = SCRATCH / "corpus"
    corpus.mkdir()
    for number, name in enumerate(names):
        for k, content in enumerate(SEEDS[name]):
            (corpus / f"{name}-{k}").write_bytes(bytes([number]) + content)

    def one(data: bytes) -> None:
        if data:
            attempt(names[data[0] % len(names)], data[1:])

    atheris.instrument_all()
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--atheris", action="store_true")
    parser.add_argument("options", nargs="*", help="for libFuzzer, after --")
    arguments = parser.parse_args()
    for name in arguments.only:  # compiles what is compiled on first use
        for content in SEEDS[name]:
            attempt(name, content)
    limit_memory()
    if arguments.atheris:
        run_atheris(arguments.only, arguments.options)
    else:
        run_random(arguments.only, arguments.seconds, arguments.seed)


SEEDS = seeds()

if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
