"""svmlight / LIBSVM text files: ``label [qid:number] index:value ... [# comment]``.

`SvmlightReader` streams: a chunk of whole lines is parsed by compiled kernels into a few small
arrays, which the next chunk overwrites.  `read_svmlight` gathers them into one matrix, `convert`
(in ``folder.py``) appends them to files.  Memory is what a chunk of a few megabytes (or the longest
line) takes, and the result with an eighth of it as room to grow, whatever the file holds.
The file is read, not mapped: that works for pipes and compressed files too, and a file cut short by
someone else ends in an error instead of a crash.
"""

from __future__ import annotations

import io
import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from gapsvm.backends.reference.text import parse_plain_rows
from gapsvm.backends.renting import is_due, rented
from gapsvm.io.compressed import (
    LONG_LINE,
    LONGEST_MAGIC,
    MOST_SHRUNK,
    NO_DATA,
    CompressedError,
    Decompressed,
    is_compressed,
)
from gapsvm.system.cores import at_most_cores
from gapsvm.system.lazy import sparse
from gapsvm.types import text as text_codes

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Source = str | os.PathLike[str] | bytes | bytearray | memoryview

_CHUNK_BYTES = 1 << 20  # with its rows it stays in the processor's cache
_PLAIN = 8e-8
"""Seconds a byte, where NumPy parses."""
_LAST_INT32 = np.iinfo(np.int32).max
_LAST_INT64 = np.iinfo(np.int64).max
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SvmlightError(ValueError):
    """A file that is not svmlight text; the message names the file, the line and what would do."""


class SvmlightData(NamedTuple):
    """What `read_svmlight` returns: rows, labels and, if asked for, query numbers."""

    X: csr_matrix
    y: np.ndarray
    qid: np.ndarray | None


def read_svmlight(
    source: Source,
    *,
    n_features: int | None = None,
    dtype: Any = np.float64,
    zero_based: bool | Literal["auto"] = "auto",
    query_id: bool = False,
    threads: int = 1,
    max_line_bytes: int = 1 << 28,
) -> SvmlightData:
    """Read an svmlight / LIBSVM file.

    Numbers are those of Python's ``float``, to the last bit.  Comments (``# ...``), blank lines,
    tabs, CRLF line ends, a byte order mark and a missing final newline are accepted; explicit
    zeros are kept.  Indices must ascend within a row.

    Parameters
    ----------
    source
        A path, or the file's bytes; gzip, bzip2 and xz are recognised by content.
    n_features
        The number of columns; by default as many as the largest index needs.
    dtype
        float64 or float32 (each number rounded to float64 first).
    zero_based
        Whether indices start at 0.  "auto": they do if index 0 occurs anywhere.
    query_id
        Return the ``qid:`` numbers; every row must then have one.
    threads
        Threads that parse, no more than there are cores; decompression is done by one.
    max_line_bytes
        Longer lines are refused: memory must not depend on a file without line ends.

    Raises
    ------
    SvmlightError
        A ValueError with file name and line number, if the text is not what is described here.
    """
    reader = SvmlightReader(
        source,
        n_features=n_features,
        dtype=dtype,
        zero_based=zero_based,
        query_id=query_id,
        threads=threads,
        max_line_bytes=max_line_bytes,
    )
    rows = _Rows(reader)
    for block in reader:
        rows.append(block)
    return rows.result()


class TextBlock(NamedTuple):
    """Rows of a chunk of text; the arrays hold until the next block is asked for."""

    labels: np.ndarray
    qids: np.ndarray
    """-1 where there is none."""
    row_ends: np.ndarray
    """Values of the block up to the end of each row."""
    indices: np.ndarray
    """int32, or int64 from the chunk on that needs it; see `SvmlightReader.columns`."""
    values: np.ndarray


class SvmlightReader:
    """svmlight text as a stream of rows: iterate once, then ask for `columns`.

    Each item is a `TextBlock`, in the order of the text.  With several threads some chunks are
    parsed ahead while the caller is busy with a block.  Parameters and errors are those of
    `read_svmlight`.
    """

    def __init__(
        self,
        source: Source,
        *,
        n_features: int | None = None,
        dtype: Any = np.float64,
        zero_based: bool | Literal["auto"] = "auto",
        query_id: bool = False,
        threads: int = 1,
        max_line_bytes: int = 1 << 28,
    ) -> None:
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, got {dtype}")
        for option, number in (("threads", threads), ("max_line_bytes", max_line_bytes)):
            if number < 1:
                raise ValueError(f"{option} must be at least 1, got {number}")
        if n_features is not None and not 1 <= n_features < _LAST_INT64:
            raise ValueError(f"n_features must be a positive int64, got {n_features}")
        self.rules = _Rules.of(zero_based, n_features, query_id)
        self.threads = at_most_cores(threads)  # each has chunks of its own in memory
        self.max_line_bytes = max_line_bytes
        in_memory = isinstance(source, bytes | bytearray | memoryview)
        self.name: str = "<bytes>" if in_memory else os.fsdecode(source)  # type: ignore[arg-type]
        self.n_bytes = 0
        """Length of the text, 0 if unknown."""
        self.bytes_parsed = 0
        self.file_bytes = 0
        """Length of the file, compressed as it may be; 0 if unknown."""
        self.file_bytes_read = 0
        self.n_rows = 0
        self._source = source
        self._n_lines = 0
        self._zero_seen = False
        self._largest = -1  # of the indices, as written
        self._index_dtype: np.dtype = np.dtype(np.int32)

    def __iter__(self) -> Iterator[TextBlock]:
        with ExitStack() as stack:
            pool = stack.enter_context(ThreadPoolExecutor(self.threads))
            run = pool.submit if self.threads > 1 else _at_once
            stream, file, self.file_bytes = stack.enter_context(_open(self._source))
            self.n_bytes = self.file_bytes if stream is file else 0
            try:
                for block in self._blocks(stream, run):
                    self.file_bytes_read = file.tell() if self.file_bytes else self.bytes_parsed
                    yield block
            except _Problem as problem:
                where = f"{self.name}, line {self._n_lines + problem.lines_before + 1}"
                raise SvmlightError(f"{where}: {problem}") from None
            except CompressedError as error:
                raise SvmlightError(
                    f"{self.name}: the compressed data is damaged after line {self._n_lines}: "
                    f"{error}"
                ) from error
        if self.n_rows == 0:
            raise SvmlightError(f"{self.name} is empty: it has no line with a label")

    def columns(self) -> tuple[int, int]:
        """What to add to the indices of all blocks, and the number of columns then.

        Where indices start is known at the end only: with zero_based="auto" they are counted from
        1, and 1 is to be added if index 0 has occurred.
        """
        rules = self.rules
        shift = int(rules.auto_base and self._zero_seen)
        largest = self._largest - rules.offset + shift
        n_features = rules.n_features if rules.n_features is not None else max(largest + 1, 0)
        if largest >= n_features:
            raise SvmlightError(
                f"{self.name}: index 0 occurs, so indices start at 0, but so does index {largest}, "
                f"too large for n_features={n_features}; pass zero_based=True to see where"
            )
        return shift, n_features

    def _blocks(self, stream: IO[bytes], run: Callable[..., Any]) -> Iterator[TextBlock]:
        """Parse the stream, with up to ``lanes`` chunks at work at a time."""
        lanes = 1 if self.threads == 1 else self.threads + 2
        free = [_Scratch(self.dtype) for _ in range(lanes)]
        at_work: deque[tuple[np.ndarray, _Scratch, Any]] = deque()

        def oldest() -> Iterator[TextBlock]:
            text, scratch, future = at_work.popleft()
            yield self._block(text, scratch, future.result())
            free.append(scratch)

        start: Callable[..., Any] = _at_once  # the first chunk loads the kernels, on one thread
        for text in _chunks(stream, lanes, self.max_line_bytes):
            scratch = free.pop()
            at_work.append((text, scratch, start(self._parse, text, scratch)))
            start = run
            if not free:
                yield from oldest()
        while at_work:
            yield from oldest()

    def _block(self, text: np.ndarray, scratch: _Scratch, outcome: _Outcome) -> TextBlock:
        """What was parsed, or the error; everything before this chunk was in order."""
        is_int32 = scratch.indices.dtype == np.int32
        if outcome.code == text_codes.ABOVE_LIMIT and is_int32 and self.rules.limit > _LAST_INT32:
            self._index_dtype = np.dtype(np.int64)  # int32 was all that was in the way
            scratch.indices = np.empty(0, dtype=np.int64)
            outcome = self._parse(text, scratch)
        if outcome.code != text_codes.DONE:
            token = _token(text, outcome.position)
            message = _explain(outcome.code, token, self.rules, self.dtype)
            raise _Problem(message, outcome.n_lines)
        self._n_lines += outcome.n_lines
        self.bytes_parsed += len(text)
        self.n_rows += outcome.n_rows
        self._zero_seen |= outcome.zero_seen
        self._largest = max(self._largest, outcome.largest)
        return scratch.block(outcome.n_rows, outcome.n_values, self._index_dtype)

    def _parse(self, text: np.ndarray, scratch: _Scratch) -> _Outcome:
        rules = self.rules
        limit = min(rules.limit, int(np.iinfo(scratch.indices.dtype).max) + 1)
        if not rules.qid_required and not is_due("text", "parse_rows", _PLAIN * len(text)):
            with rented():
                plain = parse_plain_rows(text, rules.offset, rules.lowest, limit, self.dtype)
            if plain is not None:
                return self._taken(text, scratch, plain)
        from gapsvm.backends.numba import text as kernels

        scratch.reserve(*kernels.count(text))
        *outcome, n_undecided = kernels.parse_rows(
            text, rules.offset, rules.lowest, limit, rules.qid_required, *scratch.arrays()
        )
        for start, end, slot, line in scratch.undecided[:n_undecided].tolist():
            number = float(text[start:end].tobytes())
            column, row, code = (scratch.values, slot, text_codes.VALUE)
            if slot < 0:
                column, row, code = (scratch.labels, -1 - slot, text_codes.LABEL)
            with np.errstate(over="ignore"):
                column[row] = number
            if np.isinf(column[row]):
                return _Outcome(code, start, line, 0, 0, -1, False)
        return _Outcome(*outcome)

    def _taken(self, text: np.ndarray, scratch: _Scratch, plain: Any) -> _Outcome:
        """Rows that NumPy has parsed, where the compiled parser would have put them."""
        labels, _, _, indices, values = plain
        scratch.reserve(labels.size, values.size)
        for name, column in zip(("labels", "qids", "row_ends", "indices", "values"), plain):
            getattr(scratch, name)[: column.size] = column
        largest = int(indices.max(initial=-1 - self.rules.offset)) + self.rules.offset
        zero_seen = bool(np.any(indices == -self.rules.offset))
        n_lines = int(np.count_nonzero(text == ord("\n")))
        sizes = labels.size, values.size, largest, zero_seen
        return _Outcome(text_codes.DONE, len(text), n_lines, *sizes)


class _Problem(Exception):
    """Something wrong ``lines_before`` lines into the chunk at hand."""

    def __init__(self, message: str, lines_before: int) -> None:
        super().__init__(message)
        self.lines_before = lines_before


class _Rules(NamedTuple):
    """What the kernel needs to know of indices and qids."""

    auto_base: bool
    offset: int  # subtracted from each index
    lowest: int
    limit: int  # each index is below it
    qid_required: bool
    n_features: int | None

    @classmethod
    def of(cls, zero_based: bool | str, n_features: int | None, query_id: bool) -> _Rules:
        if zero_based not in (True, False, "auto"):
            raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}")
        auto = zero_based == "auto"
        offset = 1 if auto or not zero_based else 0
        lowest = 0 if auto or zero_based else 1
        limit = _LAST_INT64 if n_features is None else n_features + offset
        return cls(auto, offset, lowest, limit, query_id, n_features)


@contextmanager
def _open(source: Source) -> Iterator[tuple[IO[bytes], IO[bytes], int]]:
    """A path or bytes as a stream of text, as the file under it, and the file's length.

    The two are one if nothing has to be decompressed.  A pipe's length is 0.
    """
    with ExitStack() as stack:
        if isinstance(source, bytes | bytearray | memoryview):
            file: Any = io.BufferedReader(io.BytesIO(source))
            n_bytes = memoryview(source).nbytes
        else:
            file = stack.enter_context(open(source, "rb"))
            n_bytes = os.fstat(file.fileno()).st_size
        stream: Any = Decompressed(file) if is_compressed(file.peek(LONGEST_MAGIC)) else file
        yield stream, file, n_bytes


def _at_once(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """As an executor's submit, on this thread."""
    future: Future[Any] = Future()
    future.set_result(function(*arguments))
    return future


def _chunks(stream: IO[bytes], n_buffers: int, max_line_bytes: int) -> Iterator[np.ndarray]:
    """Whole lines, about a megabyte at a time; each holds until ``n_buffers`` more are asked for.

    Every chunk ends in a newline, which the kernels rely on.
    """
    longest = max_line_bytes + 1
    size = min(_CHUNK_BYTES, longest)
    buffers = deque(bytearray(size + 1) for _ in range(n_buffers))  # room for a final newline
    buffer = buffers[0]
    filled = 0
    begin = 0
    first = True
    taken = 0
    while n_read := stream.readinto(memoryview(buffer)[filled:-1]):  # type: ignore[attr-defined]
        end = buffer.rfind(b"\n", filled, filled + n_read) + 1
        filled += n_read
        if first:
            begin = len(_BYTE_ORDER_MARK) if buffer.startswith(_BYTE_ORDER_MARK) else 0
        if end > 0:
            yield _text(buffer, begin, end)
            rest = buffer[end:filled]
            buffers.rotate(-1)
            if len(buffers[0]) < len(buffer):
                buffers[0] = bytearray(len(buffer))
            buffer, filled = buffers[0], len(rest)
            buffer[:filled] = rest
            begin, first = 0, False
            taken = stream.bytes_taken if isinstance(stream, Decompressed) else 0
        elif filled == longest:
            raise _Problem(f"the line is longer than max_line_bytes={max_line_bytes}", 0)
        elif isinstance(stream, Decompressed) and filled > max(
            LONG_LINE, MOST_SHRUNK * (stream.bytes_taken - taken)
        ):
            raise _Problem(NO_DATA, 0)
        elif filled == len(buffer) - 1:  # a new buffer: arrays may still look at the old one
            grown = bytearray(1 + filled + min(filled, longest - filled))
            grown[:filled] = memoryview(buffer)[:filled]
            buffer = buffers[0] = grown
    if filled > begin:
        buffer[filled] = ord("\n")
        yield _text(buffer, begin, filled + 1)


def _text(buffer: bytearray, begin: int, end: int) -> np.ndarray:
    """buffer[begin:end], read-only."""
    return np.frombuffer(memoryview(buffer).toreadonly()[begin:end], dtype=np.uint8)


class _Outcome(NamedTuple):
    """How far the kernel came with a piece of text, and why it stopped."""

    code: int
    position: int
    n_lines: int
    n_rows: int
    n_values: int
    largest: int
    zero_seen: bool


class _Scratch:
    """Room for the rows of one piece of text, used again for the next one."""

    def __init__(self, dtype: np.dtype) -> None:
        self.labels = np.empty(0)
        self.qids = np.empty(0, dtype=np.int64)
        self.row_ends = np.empty(0, dtype=np.int64)
        self.indices = np.empty(0, dtype=np.int32)
        self.values = np.empty(0, dtype=dtype)
        self.undecided = np.empty((0, 4), dtype=np.int64)

    def reserve(self, n_rows: int, n_values: int) -> None:
        """Make room for at most so many rows and values; what was there is lost."""
        for name, length in (
            ("labels", n_rows),
            ("qids", n_rows),
            ("row_ends", n_rows),
            ("indices", n_values),
            ("values", n_values),
            ("undecided", n_rows + n_values),
        ):
            array = getattr(self, name)
            if len(array) < length:
                setattr(self, name, np.empty((length, *array.shape[1:]), dtype=array.dtype))

    def arrays(self) -> tuple[np.ndarray, ...]:
        """As the kernel wants them."""
        return (
            self.labels,
            self.qids,
            self.row_ends,
            self.indices,
            self.values,
            self.undecided,
        )

    def block(self, n_rows: int, n_values: int, index_dtype: np.dtype) -> TextBlock:
        return TextBlock(
            self.labels[:n_rows],
            self.qids[:n_rows],
            self.row_ends[:n_rows],
            self.indices[:n_values].astype(index_dtype, copy=False),
            self.values[:n_values],
        )


class _Rows:
    """The result as it grows: labels, qids and the arrays of a CSR matrix."""

    def __init__(self, reader: SvmlightReader) -> None:
        self.reader = reader
        self.n_rows = 0
        self.n_values = 0
        self.labels = np.empty(0)
        self.qids = np.empty(0, dtype=np.int64)
        self.row_ends = np.empty(0, dtype=np.int32)
        self.indices = np.empty(0, dtype=np.int32)
        self.values = np.empty(0, dtype=reader.dtype)

    def append(self, block: TextBlock) -> None:
        """Copy a block to the end of the result."""
        rows = slice(self.n_rows, self.n_rows + block.labels.size)
        values = slice(self.n_values, self.n_values + block.values.size)
        if values.stop > _LAST_INT32:
            self.row_ends = self.row_ends.astype(np.int64, copy=False)
        self.indices = self.indices.astype(block.indices.dtype, copy=False)
        self._reserve(rows.stop, values.stop)
        self.labels[rows] = block.labels
        np.add(block.row_ends, self.n_values, out=self.row_ends[rows], casting="same_kind")
        if self.reader.rules.qid_required:
            self.qids[rows] = block.qids
        self.indices[values] = block.indices
        self.values[values] = block.values
        self.n_rows, self.n_values = rows.stop, values.stop

    def _reserve(self, n_rows: int, n_values: int) -> None:
        """Make room for so many rows and values.

        If the text's length is known, for as many as it will have if it goes on as it began: the
        system commits memory when it is first written to, and gives a large array large pages.
        If not, an eighth more, in place: the old and the new array never exist side by side.
        """
        share_parsed = self.reader.bytes_parsed / max(self.reader.n_bytes, 1)
        for name, used, needed in self._columns(n_rows, n_values):
            array = getattr(self, name)
            if needed <= array.size:
                continue
            size = max(needed, array.size + array.size // 8)
            if self.reader.n_bytes:
                size = max(size, int(1.02 * needed / share_parsed))
                grown = np.empty(size, dtype=array.dtype)
                grown[:used] = array[:used]
                setattr(self, name, grown)
            else:
                array.resize(size, refcheck=False)

    def _columns(self, n_rows: int, n_values: int) -> list[tuple[str, int, int]]:
        """Each array's name, the length used so far and the length asked for."""
        by_row = ["labels", "row_ends", *["qids"] * self.reader.rules.qid_required]
        return [(name, self.n_rows, n_rows) for name in by_row] + [
            (name, self.n_values, n_values) for name in ("indices", "values")
        ]

    def result(self) -> SvmlightData:
        """The arrays, cut to size, as a CSR matrix with its labels."""
        shift, n_features = self.reader.columns()
        for name, used, _ in self._columns(self.n_rows, self.n_values):
            getattr(self, name).resize(used, refcheck=False)
        if shift:
            self.indices += shift
        index_dtype = np.promote_types(self.indices.dtype, self.row_ends.dtype)
        if n_features > _LAST_INT32:
            index_dtype = np.dtype(np.int64)
        indptr = np.zeros(self.n_rows + 1, dtype=index_dtype)
        indptr[1:] = self.row_ends
        arrays = (self.values, self.indices.astype(index_dtype, copy=False), indptr)
        X = sparse.csr_matrix(arrays, shape=(self.n_rows, n_features))
        X.has_sorted_indices = X.has_canonical_format = True  # the kernel has seen to it
        return SvmlightData(X, self.labels, self.qids if self.reader.rules.qid_required else None)


def _token(text: np.ndarray, position: int, reach: int = 40) -> bytes:
    """The token at ``position``, cut off where it goes on for long."""
    before = text[max(0, position - reach) : position].tobytes()
    after = text[position : position + reach].tobytes()
    return re.split(rb"[ \t\r\n#]", before)[-1] + re.split(rb"[ \t\r\n#]", after, maxsplit=1)[0]


def _explain(code: int, token: bytes, rules: _Rules, dtype: np.dtype) -> str:
    """What is wrong with a token, and what would be accepted in its place."""
    shown = repr(token)[1:]
    if b"\0" in token:
        return f"{shown} contains a NUL byte; svmlight files are text"
    if code == text_codes.LABEL:
        if b":" in token:
            return f"the line starts with {shown}; a label must come first"
        return f"label {shown} is not a finite decimal number such as 1, -1 or 0.5"
    if code == text_codes.QID:
        return f"{shown} stands where qid:number is expected, an integer from 0 to 2**63 - 1"
    if code == text_codes.ORDER:
        return f"{shown} follows an index as large or larger; indices must ascend within a row"
    if code == text_codes.BELOW_BASE:
        return f"{shown} has index 0, but indices start at 1 here; zero_based=True accepts it"
    if code == text_codes.ABOVE_LIMIT and rules.n_features is not None:
        last = rules.n_features + rules.offset - 1
        return f"{shown} is beyond n_features={rules.n_features}: the last index is {last}"
    if code == text_codes.VALUE:
        return f"{shown} has no finite decimal number that fits {dtype} after the colon"
    if token.startswith(b"-"):
        return f"{shown} has a negative index; indices start at {rules.lowest}"
    return f"{shown} is not index:value with an index below 2**63 - 1"
