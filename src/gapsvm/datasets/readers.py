"""One reader for each kind of file."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
from typing import TYPE_CHECKING, Any

import numpy as np

from gapsvm.datasets.dataset import Dataset, NamedSet
from gapsvm.io.svmlight import read_svmlight
from gapsvm.system.lazy import sparse

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def read_svmlight_files(chosen: NamedSet, contents: list[Any], dtype: Any) -> Dataset:
    parts = [
        read_svmlight(content, n_features=chosen.n_features, dtype=dtype, zero_based=False)
        for content in contents
    ]
    X = sparse.vstack([part.X for part in parts], format="csr") if len(parts) > 1 else parts[0].X
    return Dataset(chosen.folder, X, np.concatenate([part.y for part in parts]))


def read_ranking(chosen: NamedSet, contents: list[Any], dtype: Any) -> Dataset:
    """Five files of queries, which are the folds."""
    parts = [
        read_svmlight(
            content, n_features=chosen.n_features, dtype=dtype, zero_based=False, query_id=True
        )
        for content in contents
    ]
    return Dataset(
        chosen.folder,
        sparse.vstack([part.X for part in parts], format="csr"),
        np.concatenate([part.y for part in parts]),
        qid=np.concatenate([part.qid for part in parts]),
        folds=np.repeat(np.arange(1, len(parts) + 1), [len(part.y) for part in parts]),
    )


def read_covtype(chosen: NamedSet, contents: list[Any], dtype: Any) -> Dataset:
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


def read_mnist(chosen: NamedSet, contents: list[Any], dtype: Any) -> Dataset:
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
    return sparse.csr_matrix((data, indices, indptr), shape=table.shape)


def read_ocr(chosen: NamedSet, contents: list[Any], dtype: Any) -> Dataset:
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


def read_conll(chosen: NamedSet, contents: list[Any], dtype: Any) -> Dataset:
    """A line "word tag chunk" for each token, a blank line after each sentence."""
    blocks = [block for text in contents for block in text.decode("ascii").strip().split("\n\n")]
    sentences = [[line.split() for line in block.split("\n")] for block in blocks]
    X = [[(word, tag) for word, tag, _ in sentence] for sentence in sentences]
    return Dataset(chosen.folder, X, [[chunk for *_, chunk in sentence] for sentence in sentences])


def read_rna(chosen: NamedSet, contents: list[Any], dtype: Any) -> Dataset:
    """CSV of sequence_id, sequence, dot_bracket; the family is the id up to its underscore."""
    rows = list(csv.DictReader(io.StringIO(bz2.decompress(contents[0]).decode("ascii"))))
    return Dataset(
        chosen.folder,
        [row["sequence"] for row in rows],
        [row["dot_bracket"] for row in rows],
        groups=np.array([row["sequence_id"].partition("_")[0] for row in rows]),
    )
