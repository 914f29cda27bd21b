"""The registry of named data sets."""

from __future__ import annotations

import hashlib
import json
import shutil

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse

from gapsvm import datasets
from gapsvm.datasets import describe, load, names, optimum
from gapsvm.datasets.catalogue import SETS, SHA256
from gapsvm.datasets.dataset import DataFile, NamedSet
from gapsvm.io.svmlight_writer import write_svmlight

ABSENT = ["ccat", "rcv1_train.binary", "real-sim", "news20.binary", "combined", "astro-ph"]

# name: rows and columns of train, stored values of train, classes
SHAPES = {
    "a9a": (32_561, 123, 451_592, 2),
    "w8a": (49_749, 300, 579_586, 2),
    "ijcnn1": (49_990, 22, 649_870, 2),
    "covtype": (581_012, 54, 6_901_775, 7),
    "connect-4": (67_557, 126, 2_837_394, 3),
    "connect4": (67_557, 126, 2_837_394, 2),
    "mnist": (60_000, 784, 8_994_156, 10),
    "usps": (7_291, 256, None, 10),
    "reuters": (7_770, 8_315, 339_837, 2),
    "news20-20": (11_314, 130_108, 1_787_580, 20),
    "sector": (6_412, 55_197, 1_045_412, 105),
    "letter": (15_000, 16, None, 26),
    "abalone": (4_177, 8, None, None),
    "cadata": (20_640, 8, None, None),
    "cpusmall": (8_192, 12, None, None),
    "mq2008": (15_211, 46, None, 3),
    "ohsumed": (16_140, 45, None, 3),
}


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)


@pytest.mark.usefixtures("no_folder")
def test_a9a_comes_with_the_package():
    X, y = load("a9a")
    assert X.shape == (32_561, 123)
    assert X.nnz == 451_592
    assert np.bincount((y > 0).astype(int)).tolist() == [24_720, 7_841]
    assert load("a9a", split="test").X.shape == (16_281, 123)
    assert load("a9a", split="all").X.shape == (48_842, 123)


@pytest.mark.usefixtures("no_folder")
def test_scales_and_types():
    X = load("a9a").X
    assert load("a9a", dtype=np.float32).X.dtype == np.float32
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    largest = load("a9a", scale="max").X
    np.testing.assert_allclose((largest - X / norms.max()).data, 0, atol=1e-16)
    unit = load("a9a", scale="unit", dtype=np.float32).X
    assert unit.dtype == np.float32
    np.testing.assert_allclose(np.sqrt(unit.multiply(unit).sum(axis=1)), 1, rtol=1e-6)


def test_a_row_of_zeros_stays_one():
    empty = datasets.Dataset("none", csr_matrix((2, 3)), np.ones(2))
    for scale in ("max", "unit"):
        assert datasets._scaled(empty, scale).nnz == 0


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_the_published_ones(data_folder, name):
    rows, columns, stored, classes = SHAPES[name]
    X, y = load(name, folder=data_folder)
    assert X.shape == (rows, columns)
    assert stored is None or X.nnz == stored
    assert classes is None or len(np.unique(y)) == classes
    assert y.shape == (rows,)
    assert y.dtype == np.float64


def test_optima_belong_to_these_problems(data_folder):
    optima = json.loads((data_folder / "optima.json").read_text())
    for problem in sorted({key.rpartition(":")[0] for key in optima}):
        name, scale = problem.split(":")
        X, y = load(name, scale=scale, folder=data_folder)
        norms = np.sqrt(X.multiply(X).sum(axis=1))
        assert set(np.unique(y)) == {-1, 1}
        for key, entry in optima.items():
            if key.startswith(problem + ":"):
                assert X.shape == (entry["n"], entry["d"])
                assert norms.max() == pytest.approx(entry["max_row_norm"], rel=1e-14)
                lam = float(key.split(":")[2])
                assert optimum(name, scale, lam, folder=data_folder) == entry["primal"]
    assert optimum("a9a", "raw", 0.1 * 1e-3, folder=data_folder) == optima["a9a:raw:1e-4"]["primal"]
    assert optimum("a9a", "raw", 0.5, folder=data_folder) is None


@pytest.mark.parametrize("name", sorted(set(names()) - set(ABSENT)))
def test_every_file_is_listed_with_the_right_checksum(data_folder, name):
    listed = dict(
        reversed(line.split()) for line in (data_folder / "SHA256SUMS").read_text().splitlines()
    )
    chosen = SETS[name]
    for file in chosen.train + chosen.test:
        assert SHA256[f"{chosen.folder}/{file.name}"] == listed[f"./{chosen.folder}/{file.name}"]


@pytest.mark.parametrize(("name", "n_queries"), [("mq2008", 784), ("ohsumed", 106)])
def test_ranking_sets(data_folder, name, n_queries):
    data = load(name, folder=data_folder)
    assert len(np.unique(data.qid)) == n_queries
    assert np.unique(data.folds).tolist() == [1, 2, 3, 4, 5]
    folds_of_query = {(query, fold) for query, fold in zip(data.qid, data.folds)}
    assert len(folds_of_query) == n_queries


def test_structured_sets(data_folder):
    letters = load("ocr-letters", folder=data_folder)
    assert letters.X.shape == (52_152, 128)
    assert len(np.unique(letters.groups)) == 6_877
    assert np.unique(letters.folds).tolist() == list(range(10))
    for split, n_sentences, n_tokens in (("train", 8_936, 211_727), ("test", 2_012, 47_377)):
        X, y = load("conll2000", split=split, folder=data_folder)
        assert len(X) == len(y) == n_sentences
        assert sum(map(len, X)) == sum(map(len, y)) == n_tokens
    assert len(load("conll2000", split="all", folder=data_folder).X) == 8_936 + 2_012
    assert X[0][0] == ("Rockwell", "NNP")
    rna = load("rna", folder=data_folder)
    assert len(rna.X) == 3_975
    assert sum(map(len, rna.X)) == 847_929
    assert all(len(bases) == len(structure) for bases, structure in zip(*rna))
    assert "tRNA" in rna.groups
    with pytest.raises(ValueError, match="scale='raw'"):
        load("rna", scale="unit", folder=data_folder)


def test_test_splits(data_folder):
    assert load("mnist8", split="test", folder=data_folder).X.shape == (10_000, 784)
    assert load("mnist8", split="all", folder=data_folder).X.shape == (70_000, 784)
    with pytest.raises(ValueError, match="cov1 has no test files"):
        load("cov1", split="test", folder=data_folder)


def test_unknown_names_and_options():
    with pytest.raises(ValueError, match=r"no data set 'a8a'; there are .*a9a"):
        load("a8a")
    with pytest.raises(ValueError, match="split must be"):
        load("a9a", split="half")
    with pytest.raises(ValueError, match="scale must be"):
        load("a9a", scale="l1")


@pytest.mark.usefixtures("no_folder")
def test_missing_files_are_named_with_their_place(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        load("w8a")
    for words in ("FOLDER/w8a/w8a.t.bz2", "49749 x 300", "SHA-256 d7fe0ec5", "GAPSVM_DATA=FOLDER"):
        assert words in str(caught.value)
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        load("a9a", folder=tmp_path)
    with pytest.raises(FileNotFoundError, match="GAPSVM_DATA"):
        optimum("a9a", "raw", 1e-4)
    with pytest.raises(FileNotFoundError, match=r"optima\.json"):
        optimum("a9a", "raw", 1e-4, folder=tmp_path)


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        load("w8a")
    assert load("a9a").X.shape[0] == 32_561  # not there, so from the package


def test_a_changed_file_is_refused(tmp_path):
    (tmp_path / "a9a").mkdir()
    content = b"1 1:1\n"
    (tmp_path / "a9a" / "a9a.bz2").write_bytes(content)
    with pytest.raises(ValueError, match=r"a9a\.bz2") as caught:
        load("a9a", folder=tmp_path)
    assert hashlib.sha256(content).hexdigest() in str(caught.value)
    assert "d2c0a40d" in str(caught.value)


@pytest.mark.parametrize("suffix", ["", ".bz2", ".gz"])
def test_sets_without_a_checksum_are_checked_by_shape(tmp_path, monkeypatch, suffix):
    with pytest.raises(FileNotFoundError, match=r"FOLDER/combined/combined .*78823 x 100"):
        load("combined", folder=tmp_path)
    (tmp_path / "combined").mkdir()
    path = tmp_path / "combined" / f"combined{suffix}"
    write_svmlight(path, csr_matrix(np.eye(3, 100)), np.ones(3))
    with pytest.raises(ValueError, match="78823 rows, but has 3"):
        load("combined", folder=tmp_path)
    smaller = NamedSet("combined", "", 100, (DataFile("combined", 3),))
    monkeypatch.setitem(SETS, "combined", smaller)
    assert load("combined", folder=tmp_path).X.shape == (3, 100)
    write_svmlight(path, csr_matrix(np.eye(3, 101, k=98)), np.ones(3))
    with pytest.raises(ValueError, match="beyond n_features=100"):
        load("combined", folder=tmp_path)


def test_absent_sets_are_known():
    assert set(ABSENT) < set(names())
    assert all(describe(name).endswith(".") for name in names())


def test_vectors_are_sparse_rows(data_folder, tmp_path):
    shutil.copytree(data_folder / "abalone", tmp_path / "abalone")
    data = load("abalone", folder=str(tmp_path))
    assert issparse(data.X)
    assert (data.name, data.qid, data.folds, data.groups) == ("abalone", None, None, None)
