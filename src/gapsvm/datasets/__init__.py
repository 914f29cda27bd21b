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

import bz2
import csv
import gzip
import hashlib
import io
import json
import lzma
import os
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix, vstack

from gapsvm.io.svmlight import read_svmlight

Split = Literal["train", "test", "all"]
Scale = Literal["raw", "max", "unit"]
Folder = str | os.PathLike[str] | None

FOLDER_VARIABLE = "GAPSVM_DATA"
_COMPRESSIONS = ("", ".bz2", ".xz", ".gz")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A loaded data set; ``X, y = dataset`` unpacks the two fields that every set has.

    Attributes
    ----------
    name : str
    X
        Rows: a CSR matrix; a dense array (ocr-letters); a list of sentences, each a list of
        (word, part of speech) (conll2000); a list of sequences (rna).
    y
        Labels of the rows: an array; a list of lists of chunk tags (conll2000); a list of
        dot-bracket structures (rna).
    qid : array or None
        The query of each row (mq2008, ohsumed).
    folds : array or None
        The fold of each row: 1-5 (mq2008, ohsumed), 0-9 (ocr-letters).
    groups : array or None
        The word that each letter belongs to (ocr-letters), the family of each sequence (rna).
    description : str
    """

    name: str
    X: Any
    y: Any
    qid: np.ndarray | None = None
    folds: np.ndarray | None = None
    groups: np.ndarray | None = None
    description: str = ""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))


@dataclass(frozen=True)
class _File:
    """A file of the collection, or a member of an archive."""

    name: str
    rows: int
    member: str = ""


@dataclass(frozen=True)
class _Set:
    """A named set: its files, how they are read, and the task made of their labels."""

    folder: str
    description: str
    n_features: int
    train: tuple[_File, ...]
    test: tuple[_File, ...] = ()
    read: Callable[[_Set, list[Any], Any], Dataset] | None = None
    positive: tuple[int, ...] = ()  # the classes labelled +1 against -1; () leaves labels alone
    unit_columns: bool = False  # scale each column to [0, 1]


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
    read = chosen.read or _read_svmlight
    dataset = replace(
        read(chosen, contents, np.dtype(dtype)), name=name, description=chosen.description
    )
    if _checksum(chosen, files[0]) is None:
        _check_rows(dataset, chosen)
    if chosen.positive:
        y = np.where(np.isin(dataset.y, chosen.positive), 1.0, -1.0)
        dataset = replace(dataset, y=y)
    if scale != "raw":
        dataset = replace(dataset, X=_scaled(dataset, scale))
    return dataset


def names() -> list[str]:
    """The names that `load` knows, whether or not their files are at hand."""
    return sorted(_SETS)


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


def _find(name: str) -> _Set:
    if name not in _SETS:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(names())}")
    return _SETS[name]


def _root(folder: Folder) -> Path:
    """The data folder: the argument, or else the environment's."""
    root = folder if folder is not None else os.environ.get(FOLDER_VARIABLE)
    if not root:
        raise FileNotFoundError(f"pass folder=... or set {FOLDER_VARIABLE} to the data folder")
    return Path(root)


def _content(chosen: _Set, file: _File, name: str, folder: Folder) -> bytes | Path:
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


def _checksum(chosen: _Set, file: _File) -> str | None:
    """The SHA-256 of a file; None for the sets of which only the size is known."""
    return _SHA256.get(f"{chosen.folder}/{file.name}")


def _member(archive: bytes, member: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return opened.read(member)


def _candidates(chosen: _Set, file: _File, folder: Folder) -> Iterator[Traversable]:
    """Where a file may lie: in the data folder or, if none is named, in the package."""
    if folder is not None or os.environ.get(FOLDER_VARIABLE):
        place = _root(folder) / chosen.folder
        suffixes = _COMPRESSIONS if _checksum(chosen, file) is None else ("",)
        yield from (place / (file.name + suffix) for suffix in suffixes)
    if folder is None and chosen.folder == _EMBEDDED:
        yield resources.files("gapsvm.datasets") / chosen.folder / file.name


def _instructions(chosen: _Set, name: str, folder: Folder) -> str:
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


def _check_rows(dataset: Dataset, chosen: _Set) -> None:
    """All that can be checked of a file without a checksum (the reader has checked the width)."""
    (file,) = chosen.train
    if len(dataset.y) != file.rows:
        raise ValueError(f"{file.name} must have {file.rows} rows, but has {len(dataset.y)}")


# -- scaling ---------------------------------------------------------------------------------------


def _scaled(dataset: Dataset, scale: str) -> csr_matrix:
    """The rows divided by the largest row norm ("max") or each by its own ("unit")."""
    X = dataset.X
    if not isinstance(X, csr_matrix):
        raise ValueError(f"{dataset.name} has no sparse rows to scale; use scale='raw'")
    squares = csr_matrix((np.square(X.data, dtype=np.float64), X.indices, X.indptr), shape=X.shape)
    norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    if scale == "max":
        norms[:] = norms.max()
    norms[norms == 0] = 1.0
    data = (X.data / np.repeat(norms, np.diff(X.indptr))).astype(X.dtype, copy=False)
    return csr_matrix((data, X.indices, X.indptr), shape=X.shape)


# -- one reader for each kind of file --------------------------------------------------------------


def _read_svmlight(chosen: _Set, contents: list[Any], dtype: Any) -> Dataset:
    parts = [
        read_svmlight(content, n_features=chosen.n_features, dtype=dtype, zero_based=False)
        for content in contents
    ]
    X = vstack([part.X for part in parts], format="csr") if len(parts) > 1 else parts[0].X
    return Dataset(chosen.folder, X, np.concatenate([part.y for part in parts]))


def _read_ranking(chosen: _Set, contents: list[Any], dtype: Any) -> Dataset:
    """Five files of queries, which are the folds."""
    parts = [
        read_svmlight(
            content, n_features=chosen.n_features, dtype=dtype, zero_based=False, query_id=True
        )
        for content in contents
    ]
    return Dataset(
        chosen.folder,
        vstack([part.X for part in parts], format="csr"),
        np.concatenate([part.y for part in parts]),
        qid=np.concatenate([part.qid for part in parts]),
        folds=np.repeat(np.arange(1, len(parts) + 1), [len(part.y) for part in parts]),
    )


def _read_covtype(chosen: _Set, contents: list[Any], dtype: Any) -> Dataset:
    """A header, then a line of integers for each row, the class last."""
    from gapsvm.backends.numba.text import parse_integer_table

    text = lzma.decompress(contents[0])
    body = np.frombuffer(text, dtype=np.uint8)[text.index(b"\n") + 1 :]
    table = np.empty((chosen.train[0].rows, chosen.n_features + 1), dtype=np.int16)
    n_rows = parse_integer_table(body, table)
    features, labels = table[:n_rows, :-1], table[:n_rows, -1].astype(np.float64)
    if not chosen.unit_columns:
        return Dataset(chosen.folder, _sparse(features, dtype), labels)
    X = _sparse(features - features.min(axis=0), np.float64)
    X.data /= np.ptp(features, axis=0)[X.indices]
    return Dataset(chosen.folder, X.astype(dtype, copy=False), labels)


def _read_mnist(chosen: _Set, contents: list[Any], dtype: Any) -> Dataset:
    """Pairs of idx files: images of 28 x 28 bytes after a header of 16, labels after one of 8."""
    raw = [np.frombuffer(gzip.decompress(content), dtype=np.uint8) for content in contents]
    pixels = np.concatenate([images[16:] for images in raw[::2]]).reshape(-1, chosen.n_features)
    labels = np.concatenate([digits[8:] for digits in raw[1::2]])
    X = _sparse(pixels, np.float64)
    X.data /= 255.0
    return Dataset(chosen.folder, X.astype(dtype, copy=False), labels.astype(np.float64))


def _sparse(table: np.ndarray, dtype: Any) -> csr_matrix:
    """A dense table as CSR, several times faster than by way of scipy's coordinates."""
    positions = np.flatnonzero(table)
    indices = (positions % table.shape[1]).astype(np.int32)
    indptr = np.zeros(len(table) + 1, dtype=np.int32)
    np.cumsum(np.count_nonzero(table, axis=1), out=indptr[1:])
    data = table.ravel()[positions].astype(dtype)
    return csr_matrix((data, indices, indptr), shape=table.shape)


def _read_ocr(chosen: _Set, contents: list[Any], dtype: Any) -> Dataset:
    """Letters of handwritten words, 16 x 8 bits each."""
    with np.load(io.BytesIO(contents[0]), allow_pickle=False) as arrays:
        lengths = np.diff(arrays["offsets"])
        return Dataset(
            chosen.folder,
            np.unpackbits(arrays["pixels"], axis=1).astype(dtype),
            arrays["labels"].astype(np.float64),
            folds=np.repeat(arrays["folds"], lengths).astype(np.int64),
            groups=np.repeat(np.arange(len(lengths)), lengths),
        )


def _read_conll(chosen: _Set, contents: list[Any], dtype: Any) -> Dataset:
    """A line "word tag chunk" for each token, a blank line after each sentence."""
    blocks = [block for text in contents for block in text.decode("ascii").strip().split("\n\n")]
    sentences = [[line.split() for line in block.split("\n")] for block in blocks]
    X = [[(word, tag) for word, tag, _ in sentence] for sentence in sentences]
    return Dataset(chosen.folder, X, [[chunk for *_, chunk in sentence] for sentence in sentences])


def _read_rna(chosen: _Set, contents: list[Any], dtype: Any) -> Dataset:
    """CSV of sequence_id, sequence, dot_bracket; the family is the id up to its underscore."""
    rows = list(csv.DictReader(io.StringIO(bz2.decompress(contents[0]).decode("ascii"))))
    return Dataset(
        chosen.folder,
        [row["sequence"] for row in rows],
        [row["dot_bracket"] for row in rows],
        groups=np.array([row["sequence_id"].partition("_")[0] for row in rows]),
    )


# -- the sets --------------------------------------------------------------------------------------

_EMBEDDED = "a9a"
_TERMS = "For research; terms unclear, not to be redistributed."

_COVTYPE = _Set(
    "covtype",
    "Forest cover types, 7 classes, raw units. UCI, CC BY 4.0.",
    54,
    (_File("covtype.csv.xz", 581_012),),
    read=_read_covtype,
)
_MNIST = _Set(
    "mnist",
    "Handwritten digits, 10 classes, pixels divided by 255.",
    784,
    (_File("train-images-idx3-ubyte.gz", 60_000), _File("train-labels-idx1-ubyte.gz", 60_000)),
    (_File("t10k-images-idx3-ubyte.gz", 10_000), _File("t10k-labels-idx1-ubyte.gz", 10_000)),
    read=_read_mnist,
)
_CONNECT4 = _Set(
    "connect-4",
    "Connect-4 positions after 8 moves: 0 draw, 1 loss, 2 win.",
    126,
    (_File("connect-4.bz2", 67_557),),
)
_NEWS20 = _Set(
    "news20",
    f"20 newsgroups by date, tf-idf: 20 classes. {_TERMS}",
    130_108,
    (_File("news20.xz", 11_314),),
    (_File("news20.t.xz", 7_532),),
)
_FIRST_TEN = tuple(range(1, 11))

_SETS = {
    "a9a": _Set(
        "a9a",
        "Adult: does a person earn over 50,000 dollars? Binary features. UCI, CC BY 4.0.",
        123,
        (_File("a9a.bz2", 32_561),),
        (_File("a9a.t.bz2", 16_281),),
    ),
    "w8a": _Set(
        "w8a",
        f"Web pages of one category (3 percent) or not, by keywords. {_TERMS}",
        300,
        (_File("w8a.bz2", 49_749),),
        (_File("w8a.t.bz2", 14_951),),
    ),
    "ijcnn1": _Set(
        "ijcnn1",
        "IJCNN 2001 challenge. Do et al. train on the first 35,000 rows.",
        22,
        (_File("ijcnn1.bz2", 49_990),),
        (_File("ijcnn1.t.bz2", 91_701),),
    ),
    "covtype": _COVTYPE,
    "cov1": replace(
        _COVTYPE,
        description="Forest cover type 1 against the rest, columns in [0, 1]. UCI, CC BY 4.0.",
        positive=(1,),
        unit_columns=True,
    ),
    "cov2": replace(
        _COVTYPE,
        description="Forest cover type 2 against the rest, columns in [0, 1]. UCI, CC BY 4.0.",
        positive=(2,),
        unit_columns=True,
    ),
    "mnist": _MNIST,
    "mnist8": replace(
        _MNIST,
        description="Handwritten digits, 8 against the rest, pixels divided by 255.",
        positive=(8,),
    ),
    "connect-4": _CONNECT4,
    "connect4": replace(
        _CONNECT4,
        description="Connect-4 positions after 8 moves: a win against the rest.",
        positive=(2,),
    ),
    "news20-20": _NEWS20,
    "news20": replace(
        _NEWS20,
        description=f"20 newsgroups by date, tf-idf: classes 1-10 against 11-20. {_TERMS}",
        positive=_FIRST_TEN,
    ),
    "news20b": replace(
        _NEWS20,
        description=f"Bigrams of news20, 1-10 against 11-20, in place of news20.binary. {_TERMS}",
        n_features=1_181_833,
        train=(_File("news20-bigrams.xz", 11_314),),
        test=(),
        positive=_FIRST_TEN,
    ),
    "imdb": _Set(
        "imdb",
        f"Film reviews, tf-idf. Stands in for rcv1, astro-ph and real-sim. {_TERMS}",
        74_372,
        (_File("imdb.xz", 25_000),),
        (_File("imdb.t.xz", 25_000),),
    ),
    "reuters": _Set(
        "reuters",
        "Reuters-21578, money-fx or not; the Reuters of LASVM and Pegasos.",
        8_315,
        (_File("reuters.bz2", 7_770),),
        (_File("reuters.t.bz2", 3_299),),
    ),
    "usps": _Set(
        "usps",
        f"Handwritten digits, 10 classes, 16 x 16 pixels in [-1, 1]. {_TERMS}",
        256,
        (_File("usps.bz2", 7_291),),
        (_File("usps.t.bz2", 2_007),),
    ),
    "sector": _Set(
        "sector",
        f"Company web pages, 105 industry sectors. {_TERMS}",
        55_197,
        (_File("sector.bz2", 6_412),),
        (_File("sector.t.bz2", 3_207),),
    ),
    "letter": _Set(
        "letter",
        "Statlog letters, 26 classes, scaled.",
        16,
        (_File("letter.bz2", 15_000),),
        (_File("letter.t.bz2", 5_000),),
    ),
    "abalone": _Set("abalone", "Age of abalones. Regression.", 8, (_File("abalone.bz2", 4_177),)),
    "cadata": _Set(
        "cadata", "House prices in California. Regression.", 8, (_File("cadata.bz2", 20_640),)
    ),
    "cpusmall": _Set(
        "cpusmall", "CPU usage of a computer. Regression.", 12, (_File("cpusmall.bz2", 8_192),)
    ),
    "mq2008": _Set(
        "mq2008",
        f"LETOR 4.0, 784 queries. Fold 1 trains on S1-S3, validates on S4, tests on S5. {_TERMS}",
        46,
        (
            _File("S1.txt.gz", 2_933),
            _File("S2.txt.gz", 3_635),
            _File("S3.txt.gz", 3_062),
            _File("S4.txt.gz", 2_707),
            _File("S5.txt.gz", 2_874),
        ),
        read=_read_ranking,
    ),
    "ohsumed": _Set(
        "ohsumed",
        f"LETOR 3.0, 106 queries, normalised by query. Folds as in mq2008. {_TERMS}",
        45,
        (
            _File("S1.txt.gz", 2_570),
            _File("S2.txt.gz", 3_076),
            _File("S3.txt.gz", 3_573),
            _File("S4.txt.gz", 3_538),
            _File("S5.txt.gz", 3_383),
        ),
        read=_read_ranking,
    ),
    "ocr-letters": _Set(
        "ocr-letters",
        "Handwritten words letter by letter: 6,877 words, 26 letters, 10 folds. Taskar.",
        128,
        (_File("ocr-letters.npz", 52_152),),
        read=_read_ocr,
    ),
    "conll2000": _Set(
        "conll2000",
        f"CoNLL 2000 chunking: sentences of tagged words. {_TERMS}",
        0,
        (_File("conll2000.zip", 8_936, member="conll2000/train.txt"),),
        (_File("conll2000.zip", 2_012, member="conll2000/test.txt"),),
        read=_read_conll,
    ),
    "rna": _Set(
        "rna",
        "ArchiveII: RNA sequences, secondary structures without pseudoknots.",
        0,
        (_File("archiveII.csv.bz2", 3_975),),
        read=_read_rna,
    ),
    "rcv1_train.binary": _Set(
        "rcv1_train.binary",
        "Reuters RCV1, tf-idf, two classes.",
        47_236,
        (_File("rcv1_train.binary", 20_242),),
    ),
    "real-sim": _Set(
        "real-sim",
        "Newsgroup articles, real against simulated, tf-idf.",
        20_958,
        (_File("real-sim", 72_309),),
    ),
    "news20.binary": _Set(
        "news20.binary", "20 newsgroups, two classes.", 1_355_191, (_File("news20.binary", 19_996),)
    ),
    "combined": _Set(
        "combined",
        "SensIT vehicles, acoustic and seismic, 3 classes.",
        100,
        (_File("combined", 78_823),),
    ),
    "astro-ph": _Set(
        "astro-ph",
        "Abstracts of the physics archive, astro-ph or not.",
        99_757,
        (_File("astro-ph", 29_882),),
    ),
}

_SHA256 = {
    "a9a/a9a.bz2": "d2c0a40d1962f557f09b4ce19a9db2f4171d7932fdfc76152d1823030981c8fa",
    "a9a/a9a.t.bz2": "e55725b53c3c47f7053bd3ef12e41555539eac4c0fe989e69345cc4dd0ea6e8d",
    "abalone/abalone.bz2": "9d24998fecb496cca34cb56386f99d36edc2aa113f800b1f7c02316e05da80f1",
    "cadata/cadata.bz2": "0fbe0a352168d381eaca44535713296a6df881536c7d69964b43d329af789fbd",
    "conll2000/conll2000.zip": "01e65164f268366e7caa0db92332a1955d081908c87016e2c7640c3c5279b7cd",
    "connect-4/connect-4.bz2": "0ce82545ea0ebd61614d80ddcdbcc72d522ab9b7a685b71d670b682b0d43151a",
    "covtype/covtype.csv.xz": "5087faa89346c62af6424141d4512b74cd850abe42fd10c2064c75288a87310b",
    "cpusmall/cpusmall.bz2": "92db0c01cbbb977ecbb96a0f5b8f5b19481c095cfcfac8958d00031e38898032",
    "ijcnn1/ijcnn1.bz2": "b38a4198ce142d43e96fb86d17b87211feec1f909ac344fa057455c69de29de3",
    "ijcnn1/ijcnn1.t.bz2": "acd1db430684fdd3f0c768ecc49aa8e749d0004fc117611220c2aa576a7b6a24",
    "imdb/imdb.t.xz": "b35e9b1b9a945915e14eb10ebb90cceb59d8a5dbf3f0fce7a3277721cb13c43d",
    "imdb/imdb.xz": "3c33f2f2755cf0103f86bcc79b2f0d619898db6a175af53280f7019950a16b06",
    "letter/letter.bz2": "5abf952504d60cf57a75f663735d73a963c76e4a60d09115736e09ca841e29a9",
    "letter/letter.t.bz2": "4fe53b480de7b2501fae6df8a92a879e98c434af9166e8b62e1b43f1ad2f9507",
    "mnist/t10k-images-idx3-ubyte.gz": (
        "1a1a05eab793c14bb050b398624a11b0ffd1a2953baed553b1b9bd079e2a20be"
    ),
    "mnist/t10k-labels-idx1-ubyte.gz": (
        "b91679a0acfe4ba0e50a2437a903084cba1f5f92592b016a25a7dfd00455798b"
    ),
    "mnist/train-images-idx3-ubyte.gz": (
        "0b367032e93c5d0cea0925647cfdb18614af8ee15f83e6f2fc2ad904a6835971"
    ),
    "mnist/train-labels-idx1-ubyte.gz": (
        "1787548bbe0bff1ec2ecdc0ef292b02df999e2d1a6002d27500982c652b17203"
    ),
    "mq2008/S1.txt.gz": "10212482d6f19ef538242c119d951445ec0b1d486b9d5cf8d83c7f52e4d4026d",
    "mq2008/S2.txt.gz": "939b7307823c281098fcdf203455fccc93edc95c9367d00906d595fdfe9271db",
    "mq2008/S3.txt.gz": "032216a93a46abc681260be09f3d359f02de76e3099dbf667eaaa60b6a41c6b7",
    "mq2008/S4.txt.gz": "c7bc4ddf6645c84232b5e7055ef00678fc6fbbd7946e6a166aa483af76868085",
    "mq2008/S5.txt.gz": "1b76af5009fc175033f6490bd1b8d116e14168bf5bc7d4b20e0aad86e23b5381",
    "news20/news20-bigrams.xz": "11f1cb8b3ce855698790ad3ff01ae83b6e1efe21e67b67aebf55342796c2e9e0",
    "news20/news20.t.xz": "75178062e64dda2bd564d9e8b70b2b513eed445f30b076dfdece362581c05f05",
    "news20/news20.xz": "dcfa32188ce846e76804edf7971b7c2879525d03c74a176e7d7596ac0e69e85c",
    "ocr-letters/ocr-letters.npz": (
        "db2a9293b18ac7bb3d44eebd4783d9cf44eda6bd9952d098f7dac23567a17e22"
    ),
    "ohsumed/S1.txt.gz": "ecebb4469dfceea69264f4ffe84925e0d8d1f036a5d0e03f31605600d5c66f35",
    "ohsumed/S2.txt.gz": "a4db68dd918db4324a77a571bd168b4ab4af5bc5258bc511f5871fbd3e0843e5",
    "ohsumed/S3.txt.gz": "c73927841ce37c349dc3a282d095a7c08478e3862c2ea31b28113ca0dc8fbb32",
    "ohsumed/S4.txt.gz": "05d832d470720c151303ed53637fd98b0d81f1a93111609fdb8f2099cfbbf1cb",
    "ohsumed/S5.txt.gz": "90165ee2204dde5f6790d7ff7439625c4813ac05b8e36bb77d4e71391c2565a4",
    "reuters/reuters.bz2": "e77a3368662c02caebe0d9cbcc97d856019bcfb33a8e9b7c48e0b51ee4cdfb60",
    "reuters/reuters.t.bz2": "3d699b9644a38160bf3228059d18fbfc07474057d8e82d512576a2b82d72e211",
    "rna/archiveII.csv.bz2": "cc8d2b57ac502bfb46cd4b4f25d69a0abd92e91aab99869a574a84bc9f918263",
    "sector/sector.bz2": "cba3d66eed97803665eeb76379fe9d9955712ea0e5c61d7003f644713ed842b5",
    "sector/sector.t.bz2": "c8c26e073abd92dda9e2a7903546fbe3c783a8d6141ec3fad360de4c0a572cbc",
    "usps/usps.bz2": "a063aa911b43b5fd54fae193dc5e5ff48c3c252788761994e3dd5832c238378e",
    "usps/usps.t.bz2": "01e5b05dd0bc8efafbffd2ab1b690f53fcc96959dd7fae51d51b45321a49cf8c",
    "w8a/w8a.bz2": "d7fe0ec5079fb8fb0901f85ecbbf87e05698600dc0326e0edbe222426b438801",
    "w8a/w8a.t.bz2": "91f95d3e1633dbb3b9d61f1452ddad6c6dea5d1edf8d9919413715c14291a7e0",
}
