"""Memory-mapped folders: what the text says, mapped without a copy, complete or not there."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import matrix, targets

import gapsvm
from gapsvm.backends import get_backend
from gapsvm.io import folder as folders
from gapsvm.io import svmlight
from gapsvm.io.files import load_data
from gapsvm.io.folder import FolderError, convert, open_folder
from gapsvm.io.svmlight import SvmlightError, read_svmlight
from gapsvm.models.linear import LinearModel
from gapsvm.rows.matrix import as_rows
from gapsvm.rows.spectral import sigma2
from gapsvm.system import checksums
from gapsvm.system.checksums import confirm

PLAIN = b"1 1:0.5 3:-2\n-1 2:1e-3\n"


def random_text(n_rows=300, qid=False, first=1):
    rng = np.random.default_rng(0)
    lines = []
    for row in range(n_rows):
        columns = np.flatnonzero(rng.random(30) < 0.3) + first
        pairs = " ".join(f"{column}:{rng.standard_normal()!r}" for column in columns)
        query = f"qid:{row // 7} " if qid else ""
        lines.append(f"{rng.integers(3)} {query}{pairs}\n" + "# pause: 1\n" * (row % 5 == 0))
    return "".join(lines).encode()


def assert_like_reading(folder, text, dtype=np.float32, **options):
    expected = read_svmlight(text, dtype=dtype, **options)
    X, y, qid = open_folder(folder, verify=True)
    assert X.shape == expected.X.shape
    for name in ("data", "indices", "indptr"):
        ours, theirs = getattr(X, name), getattr(expected.X, name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(y, expected.y)
    if expected.qid is None:
        assert qid is None
    else:
        np.testing.assert_array_equal(qid, expected.qid)


# -- what is written -------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("qid", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_as_if_read(tmp_path, monkeypatch, threads, dtype, qid, first):
    monkeypatch.setattr(svmlight, "_CHUNK_BYTES", 1000)
    monkeypatch.setattr(folders, "_VALUES_PER_COPY", 100)
    text = random_text(qid=qid, first=first)
    for source in (text, gzip.compress(text, mtime=0)):
        folder = tmp_path / str(len(source))
        info = convert(source, folder, dtype=dtype, threads=threads)
        assert_like_reading(folder, text, dtype, query_id=qid)
        assert (info.path, info.n_rows, info.n_features) == (folder, 300, 30)
        assert (info.dtype, info.has_qid) == (np.dtype(dtype).name, qid)
        assert info.n_values == open_folder(folder).X.nnz


def test_options_of_the_reader(tmp_path):
    convert(PLAIN, tmp_path / "a", n_features=10, zero_based=True)
    assert_like_reading(tmp_path / "a", PLAIN, n_features=10, zero_based=True)


def test_plain_npy_files(tmp_path):
    convert(PLAIN, tmp_path / "a")
    X, y, _ = open_folder(tmp_path / "a")
    for name, array in (("data", X.data), ("indices", X.indices), ("labels", y)):
        loaded = np.load(tmp_path / "a" / f"{name}.npy")
        assert loaded.dtype == array.dtype
        np.testing.assert_array_equal(loaded, array)
    names = {file.name for file in (tmp_path / "a").iterdir()}
    arrays = {f"{name}.npy" for name in ("data", "indices", "indptr", "labels", "checksums")}
    assert names == {*arrays, "header.json"}


def test_rows_without_values(tmp_path):
    convert(b"1\n2\n", tmp_path / "a", n_features=3)
    assert_like_reading(tmp_path / "a", b"1\n2\n", n_features=3)


def test_large_indices(tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "_CHUNK_BYTES", 10)
    text = b"1 1:1 2:2\n" * 10 + b"1 5:1 3000000000:2\n" + b"1 1:1\n"
    convert(text, tmp_path / "a", threads=2)
    assert_like_reading(tmp_path / "a", text)
    convert(b"1 0:1 2147483647:1", tmp_path / "b")
    assert_like_reading(tmp_path / "b", b"1 0:1 2147483647:1")


def test_many_values_need_long_row_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "_CHUNK_BYTES", 1000)
    monkeypatch.setattr(folders, "_LAST_INT32", 1000)
    convert(random_text(), tmp_path / "a")
    X = open_folder(tmp_path / "a").X
    expected = read_svmlight(random_text(), dtype=np.float32).X
    assert X.indptr.dtype == X.indices.dtype == np.int64
    np.testing.assert_array_equal(X.toarray(), expected.toarray())


def test_progress(tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "_CHUNK_BYTES", 1000)
    for source in (random_text(), gzip.compress(random_text(), mtime=0)):
        path = tmp_path / f"{len(source)}.svm"
        path.write_bytes(source)
        calls = []
        convert(path, tmp_path / str(len(source)), progress=lambda *c, to=calls: to.append(c))
        assert calls == sorted(calls)
        assert calls[-1] == (len(source), len(source))
        assert len(calls) > 10


# -- nothing half-written --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PLAIN + b"spam\n", "line 3: label"),
        (b"", "empty"),
        (b"1 qid:1 1:1\n1 qid:2\n1 1:1\n", "row 3 has no qid"),
        (b"1 1:1\n1 qid:1 1:1\n", "row 2 has a qid"),
        (gzip.compress(PLAIN, mtime=0)[:-9], "damaged"),
    ],
)
def test_unsound_text_leaves_no_folder(tmp_path, text, words):
    with pytest.raises(SvmlightError, match=words):
        convert(text, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_not_replaced(tmp_path):
    convert(PLAIN, tmp_path / "a")
    for name in ("a", "file"):
        (tmp_path / "file").write_text("")
        with pytest.raises(FileExistsError, match=f"{name}'"):
            convert(b"1 1:1", tmp_path / name)
    assert_like_reading(tmp_path / "a", PLAIN)


@pytest.mark.parametrize("step", ["fsync", "rename"])
def test_a_full_disk_leaves_no_folder(tmp_path, monkeypatch, step):
    def no_space(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, no_space)
    with pytest.raises(OSError, match=str(tmp_path / "a")):
        convert(PLAIN, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_parent_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent/a'"):
        convert(PLAIN, tmp_path / "absent" / "a")


def test_an_interrupt_leaves_no_folder(tmp_path):
    def interrupt(*progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(PLAIN, tmp_path / "a", progress=interrupt)
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
from gapsvm.io.folder import convert

convert(sys.argv[1], sys.argv[2], progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_a_kill_leaves_no_folder_of_that_name(tmp_path):
    (tmp_path / "rows.svm").write_bytes(random_text())
    arguments = [str(tmp_path / "rows.svm"), str(tmp_path / "a")]
    assert subprocess.run([sys.executable, "-c", KILLED, *arguments]).returncode == -signal.SIGKILL
    assert not (tmp_path / "a").exists()


# -- opening ---------------------------------------------------------------------------------------


def test_nothing_is_copied(tmp_path):
    convert(random_text(), tmp_path / "a")
    tracemalloc.start()
    try:
        X, y, _ = open_folder(tmp_path / "a")
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    for array in (X.data, X.indices, X.indptr, y):
        assert not array.flags.writeable
        assert not array.flags.owndata
        assert isinstance(array.base, np.memmap)
    rows = as_rows(X)
    assert rows.note is None
    assert np.shares_memory(rows.view.data, X.data)
    assert np.shares_memory(rows.view.indices, X.indices)
    assert np.shares_memory(rows.to_scipy().indices, X.indices)


def test_a_fit_from_a_folder_is_the_fit_from_the_text(tmp_path):
    from gapsvm import LinearProblem, get_loss, solve

    text = random_text()
    convert(text, tmp_path / "a", dtype=np.float64)
    fits = []
    for X, y in (open_folder(tmp_path / "a")[:2], read_svmlight(text)[:2]):
        target = np.where(y == 1, 1.0, -1.0)
        fits.append(solve(LinearProblem(X, target, get_loss("hinge"), 0.01), "sdca"))
    assert fits[0].solution.w.tobytes() == fits[1].solution.w.tobytes()


def change_header(folder, **changes):
    header = json.loads((folder / "header.json").read_text())
    for name, value in changes.items():
        place = header
        *path, last = name.split("__")
        for key in path:
            place = place[key]
        place[last] = value
        if value is KeyError:
            del place[last]
    header["sha256"] = folders._header_digest(header)
    (folder / "header.json").write_text(json.dumps(header))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 3}, "newer gapsvm"),
        ({"version": 1}, "older gapsvm .* convert it again"),
        ({"version": "1"}, "damaged"),
        ({"format": "other"}, "format is 'other'"),
        ({"format": KeyError}, "damaged"),
        ({"shape": [2]}, "damaged"),
        ({"shape": [2, 3, 4]}, "damaged"),
        ({"shape": [2, -3]}, "damaged"),
        ({"shape": [2, 3.0]}, "damaged"),
        ({"shape": [2, 2**63]}, "damaged"),
        ({"shape": [1, 3]}, "indptr has 3 numbers, not 2"),
        ({"shape": [2**62, 3]}, "indptr has 3 numbers"),
        ({"arrays": []}, "does not list data"),
        ({"arrays": 5}, "damaged"),
        ({"arrays__labels": KeyError}, "does not list labels"),
        ({"arrays__labels": 5}, "damaged"),
        ({"arrays__labels__length": 10**15}, "labels.npy has 144 bytes, but 8000000000000128"),
        ({"arrays__labels__length": 1}, "has 144 bytes, but 136"),
        ({"arrays__data__dtype": "float64"}, "data.npy has 140 bytes, but 152"),
        ({"arrays__data__dtype": "int32"}, "data must be float32 or float64"),
        ({"arrays__indptr__dtype": "O"}, "indptr must be int32"),
        ({"arrays__data__sha256": 1}, "damaged"),
        ({"arrays__data__sha256": "0"}, "checksums.npy is damaged: it is of another data.npy"),
        ({"arrays__checksums": KeyError}, "does not list checksums"),
        ({"arrays__checksums__length": 64}, "checksums.npy has 256 bytes, but 192"),
    ],
)
def test_unsound_headers(tmp_path, changes, words):
    convert(PLAIN, tmp_path / "a")
    change_header(tmp_path / "a", **changes)
    with pytest.raises(FolderError, match=words) as caught:
        open_folder(tmp_path / "a", verify=True)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("text", [b"", b"[", b"[]", b"[" * 60_000, b"\xff", b"{" + b" " * 100_000])
def test_headers_that_are_none(tmp_path, text):
    convert(PLAIN, tmp_path / "a")
    (tmp_path / "a" / "header.json").write_bytes(text)
    with pytest.raises(FolderError, match="damaged"):
        open_folder(tmp_path / "a")


def test_damaged_arrays(tmp_path):
    convert(PLAIN, tmp_path / "a")
    path = tmp_path / "a" / "indptr.npy"
    content = path.read_bytes()
    for damaged, words in (
        (content[:-1], "bytes, but"),
        (content + b"\0", "bytes, but"),
        (b"x" + content[1:], "does not start as an array"),
        (content[:-4] + b"\x09\0\0\0", "from 0 to 3"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(FolderError, match=words):
            open_folder(tmp_path / "a", verify=False)
    path.write_bytes(content[:-8] + b"\xff" * 4 + content[-4:])
    with pytest.raises(FolderError, match="contents are not those"):
        open_folder(tmp_path / "a")
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"indptr\.npy"):
        open_folder(tmp_path / "a")


def test_indices_are_checked_before_use(tmp_path):
    convert(PLAIN, tmp_path / "a")
    path = tmp_path / "a" / "indices.npy"
    path.write_bytes(path.read_bytes()[:-4] + b"\xff\xff\xff\x7f")
    X, _, _ = open_folder(tmp_path / "a", verify=False)
    with pytest.raises(ValueError, match="column index outside"):
        LinearModel(np.ones((1, 3)), [0.0]).predict(X)


def flip(path, where):
    content = bytearray(path.read_bytes())
    content[where] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["data", "indices", "indptr", "labels", "qid", "checksums"])
def test_a_flipped_bit_is_found(tmp_path, name):
    """Two classes became three."""
    convert(random_text(qid=True), tmp_path / "a")
    open_folder(tmp_path / "a")
    flip(tmp_path / "a" / f"{name}.npy", 135)
    with pytest.raises(FolderError, match=rf"{'checksums' if name == 'checksums' else name}\.npy"):
        open_folder(tmp_path / "a")
    if name in ("data", "labels"):
        open_folder(tmp_path / "a", verify=False)


def test_a_changed_header_is_found(tmp_path):
    convert(PLAIN, tmp_path / "a")
    path = tmp_path / "a" / "header.json"
    text = path.read_text()
    assert text.count("    3\n") == 1  # the number of columns
    path.write_text(text.replace("    3\n", "    9\n"))
    with pytest.raises(FolderError, match=r"header\.json is damaged"):
        open_folder(tmp_path / "a", verify=False)


READERS = {
    "fit": lambda X, y: gapsvm.LinearSVC().fit(X, y),
    "predict": lambda X, y: MODEL.predict(X),
    "partial_fit": lambda X, y: gapsvm.OnlineSVC().partial_fit(X, y, classes=[0, 1, 2]),
    "online fit": lambda X, y: gapsvm.OnlineSVC().fit(X, y),
    "model": lambda X, y: LinearModel(np.ones((1, 30)), [0.0]).predict(X),
    "spectral": lambda X, y: sigma2(as_rows(X), get_backend()),
}
MODEL = gapsvm.LinearSVC().fit(matrix(40, 30), targets(matrix(40, 30), "margin"))


@pytest.mark.parametrize("name", ["data", "indices"])
@pytest.mark.parametrize("reader", READERS)
def test_large_arrays_are_checked_when_they_are_read(tmp_path, monkeypatch, reader, name):
    monkeypatch.setattr(folders, "_SMALL", 0)
    monkeypatch.setattr(checksums, "CHUNK", 1000)
    monkeypatch.setattr("gapsvm.rows.matrix._VALUES_PER_READ", 100)
    convert(random_text(), tmp_path / "a")
    hashed = []
    X, y, _ = open_folder(tmp_path / "a")

    def counted(contents):
        hashed.append(contents)
        return hashlib.sha256(contents)

    with monkeypatch.context() as patch:
        patch.setattr(checksums, "hashlib", SimpleNamespace(sha256=counted))
        for _ in range(2):  # once each
            READERS[reader](X, y)
            assert len(hashed) == -(-X.data.nbytes // 1000) + -(-X.indices.nbytes // 1000)
    flip(tmp_path / "a" / f"{name}.npy", 128 + 2500)
    X, y, _ = open_folder(tmp_path / "a")
    complaint = rf"{name}\.npy is damaged: .* between bytes 2000 and 3000"
    with pytest.raises(ValueError, match=complaint):
        READERS[reader](X, y)
    X, y, _ = open_folder(tmp_path / "a", verify=False)
    confirm(X.data)


def test_a_part_is_checked_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_SMALL", 0)
    monkeypatch.setattr(checksums, "CHUNK", 1000)
    convert(random_text(), tmp_path / "a")
    flip(tmp_path / "a" / "data.npy", 128 + 2500)
    data = open_folder(tmp_path / "a").X.data
    confirm(data[:500])
    confirm(data[750:])
    confirm(data[:0])
    for part in (data[499:501], data[::2]):
        with pytest.raises(ValueError, match="between bytes 2000 and 3000"):
            confirm(part)


def test_no_folder_of_ours(tmp_path):
    with pytest.raises(FolderError, match=r"no header\.json"):
        open_folder(tmp_path)
    with pytest.raises(FileNotFoundError, match="absent"):
        open_folder(tmp_path / "absent")


# -- load_data -------------------------------------------------------------------------------------


def test_load_data_from_text_and_folder(tmp_path):
    (tmp_path / "rows.svm").write_bytes(PLAIN)
    (tmp_path / "rows.gz").write_bytes(gzip.compress(PLAIN, mtime=0))
    convert(PLAIN, tmp_path / "rows.gsv")
    for name in ("rows.svm", "rows.gz", "rows.gsv"):
        X, y, *_ = load_data(tmp_path / name)
        np.testing.assert_allclose(X.toarray(), [[0.5, 0, -2], [0, 1e-3, 0]], rtol=1e-6)
        np.testing.assert_array_equal(y, [1, -1])
        assert load_data(tmp_path / name, n_features=7).X.shape == (2, 7)
        with pytest.raises(ValueError, match="2"):
            load_data(tmp_path / name, n_features=2)
    assert load_data(tmp_path / "rows.svm", dtype=np.float32).X.dtype == np.float32
    wide = load_data(tmp_path / "rows.gsv", n_features=7).X
    assert isinstance(wide.data.base, np.memmap)
    assert isinstance(wide.indptr.base, np.memmap)


# -- larger than memory ----------------------------------------------------------------------------

LIMITED = """
import resource, sys
from gapsvm.backends import renting
from gapsvm.io.folder import convert, open_folder
from gapsvm.io.svmlight import read_svmlight

renting.settle()
read_svmlight(b"1 1:1")  # compiled and mapped before the limit is set
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (48 << 20), used + (48 << 20)))
convert(sys.argv[1], sys.argv[2])
try:
    read_svmlight(sys.argv[1])
except MemoryError:
    print("too large to read")
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
def test_a_file_four_times_larger_than_memory(tmp_path):
    line = b"1 " + b" ".join(b"%d:0.123456789" % k for k in range(1, 2000, 3)) + b"\n"
    with open(tmp_path / "rows.svm", "wb") as file:
        while file.tell() < 4 * (48 << 20):
            file.write(line * 100)
    arguments = [str(tmp_path / "rows.svm"), str(tmp_path / "a")]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "too large to read\n"
    X, y, _ = open_folder(tmp_path / "a")
    assert X.shape == (len(y), 1999)
    assert X.nnz == len(y) * 667


# -- fuzzing ---------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_mutated_text_is_refused_or_like_reading(tmp_path_factory, data):
    content = bytearray(
        data.draw(st.sampled_from([PLAIN, b"1 qid:1 0:2\n", gzip.compress(PLAIN, mtime=0)]))
    )
    for _ in range(data.draw(st.integers(0, 4))):
        start = data.draw(st.integers(0, len(content)))
        content[start : start + data.draw(st.integers(0, 3))] = data.draw(
            st.binary(max_size=4)
            | st.sampled_from([b"9" * 12, b"\n1 2:3\n", b"qid:5 ", b"#", b":"])
        )
    folder = tmp_path_factory.mktemp("fuzz") / "a"
    try:
        has_qid = convert(bytes(content), folder).has_qid
    except SvmlightError:
        assert list(folder.parent.iterdir()) == []
    else:
        assert_like_reading(folder, bytes(content), query_id=has_qid)


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_mutated_headers_are_refused_or_sound(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("fuzz") / "a"
    convert(PLAIN, folder)
    header = folder / "header.json"
    content = bytearray(header.read_bytes())
    start = data.draw(st.integers(0, len(content)))
    content[start : start + data.draw(st.integers(0, 5))] = data.draw(
        st.binary(max_size=4) | st.sampled_from([b"9" * 12, b"-1", b"0", b'"', b"[", b"null"])
    )
    header.write_bytes(content)
    try:
        X, y, _ = open_folder(folder)
    except FolderError:
        return
    assert X.indptr.size == len(y) + 1
    assert X.indices.size == X.data.size == X.indptr[-1]
