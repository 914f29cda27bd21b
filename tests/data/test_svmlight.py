"""The svmlight reader and writer: exact, line-numbered in their errors, bounded in memory."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import random
import struct
import subprocess
import sys
import threading
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from gapsvm.io import svmlight
from gapsvm.io.svmlight import SvmlightError, read_svmlight
from gapsvm.io.svmlight_writer import write_svmlight

FUZZ = settings(deadline=None, max_examples=200)
PLAIN = b"1 1:0.5 3:-2\n-1 2:1e-3\n"


def same_bits(a, b):
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def read_values(tokens, **options):
    return read_svmlight("\n".join(f"1 1:{token}" for token in tokens).encode(), **options).X.data


# -- what is accepted ------------------------------------------------------------------------------


def test_rows_labels_and_indices():
    X, y, qid = read_svmlight(PLAIN)
    np.testing.assert_array_equal(X.toarray(), [[0.5, 0, -2], [0, 1e-3, 0]])
    np.testing.assert_array_equal(y, [1, -1])
    assert qid is None
    assert isinstance(X, csr_matrix)
    assert (X.indices.dtype, X.indptr.dtype, X.dtype) == (np.int32, np.int32, np.float64)
    assert X.has_canonical_format


@pytest.mark.parametrize(
    "text",
    [
        PLAIN[:-1],
        PLAIN.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + PLAIN,
        PLAIN.replace(b" ", b"\t  "),
        b"# head 1:2\n\n" + PLAIN + b"  \n\r\n#tail",
        PLAIN.replace(b"\n", b" # note: 7:8\n"),
        PLAIN.replace(b"\n", b"#\0\n"),
        PLAIN.replace(b"1 1", b"+1 1"),
        PLAIN.replace(b"1 1", b"1 qid:7 1"),
        PLAIN.replace(b"-2", b"-2.").replace(b"0.5", b".5"),
        b"  " + PLAIN,
    ],
)
def test_variants_of_the_same_rows(text):
    X, y, _ = read_svmlight(text)
    expected = read_svmlight(PLAIN)
    assert same_bits(X.toarray(), expected.X.toarray())
    assert same_bits(y, expected.y)


def test_rows_without_features_and_explicit_zeros():
    X, y, _ = read_svmlight(b"1\n2 1:0 2:-0\n3 # nothing\n")
    np.testing.assert_array_equal(y, [1, 2, 3])
    np.testing.assert_array_equal(X.indptr, [0, 0, 2, 2])
    assert np.signbit(X.data).tolist() == [False, True]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compression_is_recognised_by_content(compress, tmp_path):
    path = tmp_path / "rows.svm"
    path.write_bytes(compress(PLAIN) + compress(PLAIN))  # concatenated streams are one file
    X, y, _ = read_svmlight(path)
    assert X.shape == (4, 3)
    assert read_svmlight(path.read_bytes()).X.nnz == X.nnz
    assert read_svmlight(str(path)).y.tolist() == y.tolist()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_can_be_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(PLAIN,))
    writer.start()
    assert read_svmlight(pipe).X.shape == (2, 3)
    writer.join()


@pytest.mark.parametrize(
    ("zero_based", "text", "columns"),
    [
        ("auto", b"1 1:1\n1 3:1\n", [0, 2]),
        ("auto", b"1 1:1\n1 0:1\n", [1, 0]),
        (True, b"1 1:1\n1 3:1\n", [1, 3]),
        (False, b"1 1:1\n1 3:1\n", [0, 2]),
    ],
)
def test_where_indices_start(zero_based, text, columns):
    X = read_svmlight(text, zero_based=zero_based).X
    assert X.indices.tolist() == columns
    assert X.shape[1] == max(columns) + 1


def test_n_features_widens():
    assert read_svmlight(PLAIN, n_features=10).X.shape == (2, 10)
    assert read_svmlight(b"1 0:1 2:1", n_features=3).X.shape == (1, 3)


def test_query_ids():
    data = read_svmlight(b"2 qid:10 1:1\n0 qid:9223372036854775807\n", query_id=True)
    assert data.qid.tolist() == [10, 2**63 - 1]
    assert data.qid.dtype == np.int64


def test_indices_over_int32_become_int64():
    text = b"1 1:1 2:2\n" * 10 + b"1 5:1 3000000000:2\n" + b"1 1:1\n"
    for threads in (1, 2):
        X = read_svmlight(text, threads=threads).X
        assert X.indices.dtype == X.indptr.dtype == np.int64
        assert X.shape == (12, 3_000_000_000)
        assert X.indices[-3:].tolist() == [4, 2_999_999_999, 0]
    assert read_svmlight(b"1 2147483647:1").X.indices.dtype == np.int32


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_chunks_and_threads_change_nothing(monkeypatch, threads):
    rng = np.random.default_rng(0)
    lines = []
    for row in range(300):
        columns = np.flatnonzero(rng.random(30) < 0.3) + 1
        pairs = " ".join(f"{column}:{rng.standard_normal()!r}" for column in columns)
        comment = " # a:b" if row % 7 == 0 else ""
        lines.append(f"{rng.integers(3)} qid:{row} {pairs}{comment}\n" + "\n" * (row % 3 == 0))
    text = "".join(lines).encode()
    whole = read_svmlight(text, query_id=True)
    monkeypatch.setattr(svmlight, "_CHUNK_BYTES", 700)
    for source in (text, gzip.compress(text, mtime=0)):
        parts = read_svmlight(source, query_id=True, threads=threads)
        for name in ("data", "indices", "indptr"):
            assert same_bits(getattr(parts.X, name), getattr(whole.X, name))
        assert same_bits(parts.y, whole.y)
        assert same_bits(parts.qid, whole.qid)


def test_agrees_with_scikit_learn(data_folder):
    from sklearn.datasets import load_svmlight_file

    path = data_folder / "reuters" / "reuters.bz2"
    expected, labels = load_svmlight_file(str(path))
    X, y, _ = read_svmlight(path, threads=2)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(X, name), getattr(expected, name))
    np.testing.assert_array_equal(y, labels)


# -- numbers ---------------------------------------------------------------------------------------


def test_numbers_are_those_of_float():
    generator = random.Random(0)
    bits = [generator.getrandbits(64) for _ in range(20_000)]
    numbers = [struct.unpack("<d", struct.pack("<Q", word))[0] for word in bits]
    numbers = [number for number in numbers if np.isfinite(number)]
    tokens = [repr(number) for number in numbers]
    tokens += [f"{number:.{generator.randrange(25)}e}" for number in numbers]
    tokens += [repr(generator.random()) for _ in range(20_000)]
    tokens += [f"{generator.random():.{generator.randrange(1, 30)}f}" for _ in range(20_000)]
    tokens = [token for token in tokens if np.isfinite(float(token))]
    assert same_bits(read_values(tokens), np.array([float(token) for token in tokens]))


def test_numbers_halfway_between_two_doubles_go_to_the_even_one():
    generator = random.Random(0)
    tokens = []
    for exponent in range(-60, 61):
        for nudge in (-1, 0, 1):
            odd = 2 * (generator.getrandbits(52) | 1 << 52) + 1
            exact = Fraction(odd) * Fraction(2) ** exponent
            power = exact.denominator.bit_length() - 1
            tokens.append(f"{exact.numerator * 5**power * 10 + nudge}e-{power + 1}")
    assert same_bits(read_values(tokens), np.array([float(token) for token in tokens]))


@pytest.mark.parametrize(
    "token",
    [
        "0",
        "-0",
        "+0",
        "0.0",
        "00012",
        "1.",
        ".5",
        "-.5",
        "+.5e1",
        "1e22",
        "1e23",
        "1E-5",
        "9007199254740993",
        "9007199254740992.5",
        "9999999999999999999",
        "18446744073709551616",
        "123456789012345678901234567890",
        "1.7976931348623157e308",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308",
        "5e-324",
        "1e-400",
        "0e999999999999999999999",
        "0.00000000000000000000000000000001",
        "1e-99999999999999999999999",
    ],
)
def test_numbers_at_the_edges(token):
    assert same_bits(read_values([token]), np.array([float(token)]))
    assert same_bits(read_svmlight(token.encode()).y, np.array([float(token)]))


def test_exponents_that_make_up_for_many_digits():
    tokens = ["1" + "0" * 400 + "e-400", "0." + "0" * 400 + "1e401", "0" * 400 + "7"]
    assert read_values(tokens).tolist() == [1.0, 1.0, 7.0]


def test_float32_is_the_rounded_float64():
    tokens = ["0.1", "1e-50", "3.4028235e38", "16777217", "1" * 30]
    assert same_bits(read_values(tokens, dtype=np.float32), np.float64(tokens).astype(np.float32))


@FUZZ
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 30))
def test_any_way_to_write_a_number(number, digits):
    tokens = [repr(number), f"{number:.{digits}e}", f"{number:.{digits}f}"]
    tokens = [token for token in tokens if np.isfinite(float(token))]
    assert same_bits(read_values(tokens), np.array([float(token) for token in tokens]))


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1 -1:2", "negative index"),
        ("1 9223372036854775808:1", "index:value"),
        ("1 9223372036854775807:1", "index:value"),
        ("1 99999999999999999999999:1", "index:value"),
        ("1 3:1 2:1", "ascend"),
        ("1 2:1 2:1", "ascend"),
        ("1 1:", "finite decimal number"),
        ("1 :1", "index:value"),
        ("1 1", "index:value"),
        ("1 1:2:3", "finite decimal number"),
        ("1 1:nan", "finite decimal number"),
        ("1 1:-inf", "finite decimal number"),
        ("1 1:0x10", "finite decimal number"),
        ("1 1:1_0", "finite decimal number"),
        ("1 1:1e", "finite decimal number"),
        ("1 1:.", "finite decimal number"),
        ("1 1:-", "finite decimal number"),
        ("1 1:1e400", "finite decimal number"),
        ("1 1:" + "9" * 400, "finite decimal number"),
        ("1 1 :2", "index:value"),
        ("1 x:2", "index:value"),
        ("nan 1:1", "label"),
        ("1e400 1:1", "label"),
        ("spam", "label"),
        ("1,2 1:1", "label"),
        ("1:1 2:1", "a label must come first"),
        ("qid:1 2:1", "a label must come first"),
        ("1 qid:x 1:1", "qid:number"),
        ("1 qid:-1 1:1", "qid:number"),
        ("1 qid:9223372036854775808", "qid:number"),
        ("1 1:1 qid:1", "index:value"),
        ("1 1:1\0 2:2", "NUL"),
        ("\0", "NUL"),
        ("1 1:1\r2:2", None),
        ("1 \x0b1:1", "index:value"),
        ("1 １:1", "index:value"),
    ],
)
@pytest.mark.parametrize("threads", [1, 3])
def test_errors_name_file_and_line(tmp_path, monkeypatch, threads, line, words):
    monkeypatch.setattr(svmlight, "_CHUNK_BYTES", 100)
    path = tmp_path / "rows.svm"
    path.write_text("# head\n\n" + "1 1:1\n" * 50 + line + "\n" + "1 1:1\n" * 50, encoding="utf-8")
    if words is None:  # a lone carriage return is a blank
        assert read_svmlight(path, threads=threads).X.shape == (101, 2)
        return
    with pytest.raises(SvmlightError, match=words) as caught:
        read_svmlight(path, threads=threads)
    assert str(caught.value).startswith(f"{path}, line 53: ")


def test_the_first_of_two_errors_is_reported():
    with pytest.raises(SvmlightError, match="line 1: '1:1e400'"):
        read_svmlight(b"1 1:1e400\n1 1:x\n")


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (b"1 0:1", {"zero_based": False}, "line 1: '0:1' has index 0"),
        (b"1 1:1\n1 4:1", {"n_features": 3}, "line 2: '4:1' is beyond n_features=3"),
        (b"1 3:1", {"n_features": 3, "zero_based": True}, "the last index is 2"),
        (b"1 3000000000:1", {"n_features": 3}, "beyond n_features=3"),
        (b"1 0:1 3:1", {"n_features": 3}, "too large for n_features=3"),
        (b"1 1:1e39", {"dtype": np.float32}, "fits float32"),
        (b"1 1:" + b"9" * 60, {"dtype": np.float32}, "fits float32"),
        (b"1 qid:1\n1 1:1", {"query_id": True}, "line 2: '1:1' stands where qid:number"),
        (b"", {}, "empty"),
        (b"\xef\xbb\xbf", {}, "empty"),
        (b"\n# only this\n", {}, "empty"),
        (gzip.compress(b"", mtime=0), {}, "empty"),
        (gzip.compress(PLAIN, mtime=0)[:-9], {}, "damaged"),
        (gzip.compress(PLAIN, mtime=0)[:-8] + b"12345678", {}, "damaged"),
        (bz2.compress(PLAIN)[:-9], {}, "damaged"),
        (b"BZh9" + PLAIN, {}, "damaged"),
        (lzma.compress(PLAIN)[:-9], {}, "damaged"),
        (b"\xfd7zXZ\x00" + PLAIN, {}, "damaged"),
        (b"\x1f\x8b" + PLAIN, {}, "damaged"),
    ],
)
def test_refused(text, options, words):
    with pytest.raises(SvmlightError, match=words):
        read_svmlight(text, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": int},
        {"zero_based": "yes"},
        {"threads": 0},
        {"max_line_bytes": 0},
        {"n_features": 0},
        {"n_features": 2**63},
    ],
)
def test_options_out_of_range(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        read_svmlight(PLAIN, **options)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        read_svmlight(tmp_path / "absent")
    with pytest.raises(OSError, match=tmp_path.name):
        read_svmlight(tmp_path)


# -- bounded memory --------------------------------------------------------------------------------


def peak_memory(action):
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_longest_line_is_exact(monkeypatch):
    monkeypatch.setattr(svmlight, "_CHUNK_BYTES", 8)
    for end in (b"\n", b""):
        line = b"1 1:" + b"1" * 96 + end
        assert read_svmlight(b"1\n" + line, max_line_bytes=100).X.nnz == 1
        with pytest.raises(SvmlightError, match=r"line 2: .* max_line_bytes=99"):
            read_svmlight(b"1\n" + line, max_line_bytes=99)


@pytest.mark.parametrize("unit", [b"1", b" ", b"#"])
def test_a_line_without_end_does_not_fill_memory(unit):
    bomb = gzip.compress(b"1 1:1\n" + unit * (64 << 20), compresslevel=1)

    def read():
        with pytest.raises(SvmlightError, match=r"line 2: .* max_line_bytes"):
            read_svmlight(bomb, max_line_bytes=1 << 20)

    read_svmlight(PLAIN)  # compile outside the measurement
    assert peak_memory(read) < 8 << 20


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("unit", [b"1", b" "])
def test_a_bomb_is_refused_in_little_memory(compress, unit):
    """256 MB of one line were decompressed first, and copied twice."""
    half = b"1 1:1\n" * 1000 + unit * (20 << 20)
    if compress is gzip.compress:
        bomb = gzip.compress(half, compresslevel=1) + gzip.compress(unit * (20 << 20), 1)
    else:
        bomb = compress(half)

    def read():
        with pytest.raises(SvmlightError, match=r"line 1001: .* no data shrink so far"):
            read_svmlight(bomb)

    read_svmlight(PLAIN)
    assert peak_memory(read) < 64 << 20


def test_a_long_line_that_is_data_is_read():
    values = np.random.default_rng(0).integers(1000, size=2_000_000)
    text = b"1 " + b" ".join(b"%d:%d" % pair for pair in enumerate(values.tolist(), 1)) + b"\n"
    assert len(text) > 1 << 24
    assert read_svmlight(gzip.compress(text, 1)).X.nnz == len(values)


def test_a_dictionary_larger_than_memory_is_refused():
    """What the header of an xz file asks for is not given without a look."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    with pytest.raises(SvmlightError, match=r"damaged.*[Mm]emory"):
        read_svmlight(lzma.compress(PLAIN, filters=filters))


# -- after compressed data -------------------------------------------------------------------------


COMPRESSORS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_what_may_follow_compressed_data(kind, tmp_path):
    """Further members, and zeros; nothing else, whichever compression it is."""
    one = COMPRESSORS[kind](PLAIN)
    assert read_svmlight(one + one).y.size == 2 * read_svmlight(PLAIN).y.size
    for zeros in (1, 4, 512, 70_000):
        assert read_svmlight(one + bytes(zeros)).y.size == read_svmlight(PLAIN).y.size
        assert read_svmlight(one + bytes(zeros) + one).y.size == 2 * read_svmlight(PLAIN).y.size
    others = [other(PLAIN) for name, other in COMPRESSORS.items() if name != kind]
    path = tmp_path / f"rows.{kind}"
    for junk in (b"x", b"junk" * 30_000, PLAIN, one[:4].replace(b"\x08", b"\x07")[:1], *others):
        for zeros in (0, 5):
            path.write_bytes(one + bytes(zeros) + junk)
            where = rf"rows\.{kind}: .* something else follows it from byte {len(one) + zeros} of"
            with pytest.raises(SvmlightError, match=where):
                read_svmlight(path)
    path.write_bytes(one + one[:-3])
    with pytest.raises(SvmlightError, match="damaged"):
        read_svmlight(path)


@pytest.mark.parametrize("unit", [b"\n", b"#:::::\n"])
def test_a_bomb_without_rows_does_not_fill_memory(unit):
    bomb = gzip.compress(unit * ((64 << 20) // len(unit)), compresslevel=1)

    def read():
        with pytest.raises(SvmlightError, match="empty"):
            read_svmlight(bomb)

    read_svmlight(PLAIN)
    assert peak_memory(read) < 300 << 20  # what one chunk of nothing but line ends may claim


def test_memory_is_the_result_and_a_chunk(monkeypatch):
    monkeypatch.setattr(svmlight, "_CHUNK_BYTES", 1 << 16)
    text = b"1 1:0.5 2:0.25 3:0.125\n" * 200_000
    read_svmlight(PLAIN)
    result = 200_000 * (8 + 8 + 8 + 4) + 600_000 * (8 + 4)
    for source in (text, gzip.compress(text, mtime=0)):
        assert peak_memory(lambda source=source: read_svmlight(source)) < 1.3 * result + (4 << 20)


# -- fuzzing ---------------------------------------------------------------------------------------


def read_or_refuse(text, **options):
    try:
        X, y, _ = read_svmlight(text, max_line_bytes=1 << 16, **options)
    except ValueError:
        return
    assert X.shape[0] == len(y) > 0
    assert X.indptr[-1] == X.nnz
    assert np.isfinite(X.data).all()
    assert np.isfinite(y).all()
    if X.nnz:
        assert 0 <= X.indices.min() <= X.indices.max() < X.shape[1]


@FUZZ
@given(st.binary(max_size=300), st.sampled_from([1, 2]))
def test_random_bytes(text, threads):
    read_or_refuse(text, threads=threads)


@FUZZ
@given(st.sampled_from([b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00"]), st.binary(max_size=100))
def test_random_bytes_after_a_magic_number(magic, text):
    read_or_refuse(magic + text)


@FUZZ
@given(
    st.lists(
        st.sampled_from(
            [
                b"1",
                b"-1",
                b":",
                b" ",
                b"\n",
                b"#",
                b"qid:",
                b"0",
                b"3:",
                b"e",
                b".",
                b"\r",
                b"\t",
                b"\0",
                b"nan",
                b"5:1 ",
                b"99999999999",
                b"1e400",
                b"\n1 1:2\n",
                b"0.1234567890123",
            ]
        ),
        max_size=60,
    ),
    st.sampled_from([True, False, "auto"]),
)
def test_random_tokens(tokens, zero_based):
    read_or_refuse(b"".join(tokens), zero_based=zero_based, threads=2)


# -- writing ---------------------------------------------------------------------------------------


@st.composite
def rows_and_labels(draw):
    floats = st.floats(allow_nan=False, allow_infinity=False)
    n_rows, n_columns = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    cells = draw(
        st.lists(st.none() | floats, min_size=n_rows * n_columns, max_size=n_rows * n_columns)
    )
    stored = np.array([cell is not None for cell in cells]).reshape(n_rows, n_columns)
    indptr = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    values = np.array([cell for cell in cells if cell is not None], dtype=np.float64)
    X = csr_matrix((values, np.nonzero(stored)[1], indptr), shape=stored.shape)
    return X, np.array(draw(st.lists(floats, min_size=n_rows, max_size=n_rows)))


@FUZZ
@given(rows_and_labels(), st.booleans(), st.booleans())
def test_round_trip(tmp_path_factory, rows, zero_based, with_qid):
    X, y = rows
    qid = np.arange(len(y)) * 10**15 if with_qid else None
    path = tmp_path_factory.getbasetemp() / "round_trip.svm"
    write_svmlight(path, X, y, qid, zero_based=zero_based)
    back = read_svmlight(
        path, n_features=X.shape[1], zero_based=zero_based, query_id=with_qid, threads=2
    )
    assert same_bits(back.X.data, X.data)
    np.testing.assert_array_equal(back.X.indices, X.indices)
    np.testing.assert_array_equal(back.X.indptr, X.indptr)
    assert same_bits(back.y, y)
    assert back.qid is None if qid is None else back.qid.tolist() == qid.tolist()


def test_round_trip_float32(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 5)).astype(np.float32)
    write_svmlight(tmp_path / "rows", X, np.ones(20))
    assert same_bits(read_svmlight(tmp_path / "rows", dtype=np.float32).X.toarray(), X)


def test_text_is_as_short_as_can_be(tmp_path):
    X = csr_matrix([[1.0, 0.0, -0.5], [0.0, 1e22, 1e-7], [0.0, 0.0, 0.0]])
    write_svmlight(tmp_path / "rows", X, [1, -1, 0.1], qid=[1, 1, 2])
    expected = b"1 qid:1 1:1 3:-0.5\n-1 qid:1 2:1e+22 3:1e-07\n0.1 qid:2\n"
    assert (tmp_path / "rows").read_bytes() == expected


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_names_say_how_to_compress(tmp_path, suffix):
    write_svmlight(tmp_path / f"rows{suffix}", np.eye(3), np.ones(3))
    assert not (tmp_path / f"rows{suffix}").read_bytes().startswith(b"1 ")
    assert same_bits(read_svmlight(tmp_path / f"rows{suffix}").X.toarray(), np.eye(3))


def test_unsorted_and_duplicate_entries_are_put_in_order(tmp_path):
    X = csr_matrix((np.array([1.0, 2.0, 3.0]), [2, 0, 2], [0, 3]), shape=(1, 3))
    before = X.indices.copy()
    write_svmlight(tmp_path / "rows", X, [1])
    assert (tmp_path / "rows").read_bytes() == b"1 1:2 3:4\n"
    np.testing.assert_array_equal(X.indices, before)


@pytest.mark.parametrize(
    ("X", "y", "qid", "words"),
    [
        ([[np.nan]], [1], None, "finite"),
        ([[1.0]], [np.inf], None, "finite"),
        ([[1.0]], [1, 2], None, "y has shape"),
        ([[1.0]], [1], [1, 2], "qid has shape"),
        ([[1.0]], [1], [0.5], "qid must be integers"),
        ([[1.0]], [1], [-1], "qid must be integers"),
    ],
)
def test_what_cannot_be_written_leaves_no_file(tmp_path, X, y, qid, words):
    with pytest.raises(ValueError, match=words):
        write_svmlight(tmp_path / "rows", np.array(X), y, qid)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "rows"
    path.write_bytes(PLAIN)

    def no_space(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match=str(path)):
        write_svmlight(path, np.eye(3), np.ones(3))
    assert [file.name for file in tmp_path.iterdir()] == ["rows"]
    assert path.read_bytes() == PLAIN


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(OSError, match="absent"):
        write_svmlight(tmp_path / "absent" / "rows", np.eye(3), np.ones(3))


# -- imports ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["gapsvm.io.svmlight", "gapsvm.datasets"])
def test_import_is_light(module):
    script = f"import sys, {module}; assert not {{'numba', 'sklearn'}} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
