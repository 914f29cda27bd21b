"""Named data sets: ``X, y = load("a9a")``.

Files lie in a folder of the user's choice, ``folder/set/file``, named by the argument ``folder``
or by the environment variable GAPSVM_DATA; each is checked against its SHA-256 before it is read.
a9a comes with the package.

The names are those of the folders, and of the binary tasks made from them, as the papers and the
certified optima use them:

- ``cov1``, ``cov2``: covtype with columns scaled to [0, 1], class 1 or 2 against the rest.
- ``mnist8``: 8 against the other digits; ``mnist`` has all ten.  Pixels are divided by 255.
- ``connect4``: a win (class 2) against the rest; ``connect-4`` has the three classes.
- ``news20``: classes 1-10 (+1) against 11-20 (-1); ``news20b`` the same with bigrams;
  ``news20-20`` has the twenty classes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gapsvm.datasets.catalogue import EMBEDDED, SETS, SHA256
from gapsvm.datasets.dataset import DataFile, Dataset, NamedSet
from gapsvm.datasets.readers import read_svmlight_files
from gapsvm.system.lazy import sparse

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Split = Literal["train", "test", "all"]
Scale = Literal["raw", "max", "unit"]
Folder = str | os.PathLike[str] | None

FOLDER_VARIABLE = "GAPSVM_DATA"
_COMPRESSIONS = ("", ".bz2", ".xz", ".gz")


def load(
    name: str,
    *,
    split: Split = "train",
    scale: Scale = "raw",
    dtype: Any = np.float64,
    folder: Folder = None,
) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name
        One of `names`.
    split
        "train"; "test", where the set has test files; "all", train and test together.  Sets that
        are published in one part are all "train".
    scale
        "raw", as published; "max", divided by the largest row norm; "unit", each row by its norm.
    dtype
        float64 or float32.
    folder
        Where the files are; by default the environment variable GAPSVM_DATA.

    Raises
    ------
    FileNotFoundError
        With the files that are needed and the place to put them.
    ValueError
        If a file is not the one that is meant, or if there is no such set, split or scale.
    """
    chosen = _find(name)
    if split not in ("train", "test", "all"):
        raise ValueError(f"split must be 'train', 'test' or 'all', got {split!r}")
    if scale not in ("raw", "max", "unit"):
        raise ValueError(f"scale must be 'raw', 'max' or 'unit', got {scale!r}")
    if split == "test" and not chosen.test:
        raise ValueError(f"{name} has no test files; split='train' has all its rows")
    files = {"train": chosen.train, "test": chosen.test, "all": chosen.train + chosen.test}[split]
    contents = [_content(chosen, file, name, folder) for file in files]
    read = chosen.read or read_svmlight_files
    dataset = replace(
        read(chosen, contents, np.dtype(dtype)), name=name, description=chosen.description
    )
    if _checksum(chosen, files[0]) is None:
        _check_rows(dataset, files)
    if chosen.positive:
        y = np.where(np.isin(dataset.y, chosen.positive), 1.0, -1.0)
        dataset = replace(dataset, y=y)
    if scale != "raw":
        dataset = replace(dataset, X=_scaled(dataset, scale))
    return dataset


def names() -> list[str]:
    """The names that `load` knows, whether or not their files are at hand."""
    return sorted(SETS)


def describe(name: str) -> str:
    """What a data set is, in a sentence."""
    return _find(name).description


def available(name: str, *, folder: Folder = None) -> bool:
    """Whether the files of a data set lie where `load` looks for them; they are not read."""
    chosen = _find(name)
    return all(
        any(candidate.is_file() for candidate in _candidates(chosen, file, folder))
        for file in chosen.train + chosen.test
    )


def optimum(name: str, scale: Scale, lam: float, *, folder: Folder = None) -> float | None:
    """The certified minimum of mean hinge loss + lam/2 |w|^2 (no bias), if the folder lists it.

    ``optima.json`` in the data folder maps ``name:scale:lam`` to the optimum and its certificate.
    """
    path = _root(folder) / "optima.json"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; it lists the certified optima")
    for key, entry in json.loads(path.read_text(encoding="utf-8")).items():
        listed_name, listed_scale, listed_lam = key.split(":")
        if (listed_name, listed_scale) == (name, scale) and np.isclose(
            float(listed_lam), lam, rtol=1e-12, atol=0
        ):
            return float(entry["primal"])
    return None


# -- finding files ---------------------------------------------------------------------------------


def _find(name: str) -> NamedSet:
    if name not in SETS:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(names())}")
    return SETS[name]


def _root(folder: Folder) -> Path:
    """The data folder: the argument, or else the environment's."""
    root = folder if folder is not None else os.environ.get(FOLDER_VARIABLE)
    if not root:
        raise FileNotFoundError(f"pass folder=... or set {FOLDER_VARIABLE} to the data folder")
    return Path(root)


def _content(chosen: NamedSet, file: DataFile, name: str, folder: Folder) -> bytes | Path:
    """A checked file's bytes, or the path of a file that has no checksum to be checked by."""
    expected = _checksum(chosen, file)
    for candidate in _candidates(chosen, file, folder):
        if not candidate.is_file():
            continue
        if expected is None:
            return Path(str(candidate))
        content = candidate.read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != expected:
            raise ValueError(
                f"{candidate} is not the file that is meant: "
                f"its SHA-256 is {found}, expected {expected}"
            )
        return _member(content, file.member) if file.member else content
    raise FileNotFoundError(_instructions(chosen, name, folder))


def _checksum(chosen: NamedSet, file: DataFile) -> str | None:
    """The SHA-256 of a file; None for the sets of which only the size is known."""
    return SHA256.get(f"{chosen.folder}/{file.name}")


def _member(archive: bytes, member: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return opened.read(member)


def _candidates(chosen: NamedSet, file: DataFile, folder: Folder) -> Iterator[Traversable]:
    """Where a file may lie: in the data folder or, if none is named, in the package."""
    if folder is not None or os.environ.get(FOLDER_VARIABLE):
        place = _root(folder) / chosen.folder
        suffixes = _COMPRESSIONS if _checksum(chosen, file) is None else ("",)
        yield from (place / (file.name + suffix) for suffix in suffixes)
    if folder is None and chosen.folder == EMBEDDED:
        yield resources.files("gapsvm.datasets") / chosen.folder / file.name


def _instructions(chosen: NamedSet, name: str, folder: Folder) -> str:
    """What to put where, so that `load` finds it."""
    root = folder if folder is not None else os.environ.get(FOLDER_VARIABLE)
    lines = [f"the files of data set {name!r} are not in {root or 'any folder: none is named'}"]
    for file in chosen.train + chosen.test:
        checksum = _checksum(chosen, file)
        check = f"SHA-256 {checksum}" if checksum else "plain, or with .bz2, .xz or .gz added"
        size = f"{file.rows} x {chosen.n_features}" if chosen.n_features else f"{file.rows} rows"
        lines.append(f"  FOLDER/{chosen.folder}/{file.name}  ({size}; {check})")
    lines.append(f"put them there and pass folder=FOLDER or set {FOLDER_VARIABLE}=FOLDER")
    return "\n".join(lines)


def _check_rows(dataset: Dataset, files: Sequence[DataFile]) -> None:
    """All that can be checked of files without a checksum (the reader has checked the width)."""
    rows, names = sum(file.rows for file in files), " and ".join(file.name for file in files)
    if len(dataset.y) != rows:
        raise ValueError(f"{names} must have {rows} rows, but has {len(dataset.y)}")


# -- scaling ---------------------------------------------------------------------------------------


def _scaled(dataset: Dataset, scale: str) -> csr_matrix:
    """The rows divided by the largest row norm ("max") or each by its own ("unit")."""
    X = dataset.X
    if not isinstance(X, sparse.csr_matrix):
        raise ValueError(f"{dataset.name} has no sparse rows to scale; use scale='raw'")
    squares = sparse.csr_matrix(
        (np.square(X.data, dtype=np.float64), X.indices, X.indptr), shape=X.shape
    )
    norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    if scale == "max":
        norms[:] = norms.max()
    norms[norms == 0] = 1.0
    data = (X.data / np.repeat(norms, np.diff(X.indptr))).astype(X.dtype, copy=False)
    return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
