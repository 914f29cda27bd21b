"""Text to numbers: the kernels behind the svmlight and CSV readers.

Text ends in a newline, always.  No number, index or blank contains one, so every inner loop stops
there by itself and needs no bounds check.  Helpers take the text's address instead of the array:
handing an array from kernel to kernel counts references, which costs as much as parsing a number.

Decimal numbers are rounded as Python's ``float`` rounds them, by the method of Lemire, *Number
parsing at a gigabyte per second* (2021): the decimal mantissa (at most 19 digits, exact in 64
bits) times a 128-bit power of five decides the rounding.  What it does not decide (more digits,
subnormal numbers, overflow) is reported as UNDECIDED, and the caller asks ``float``.
"""

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from gapsvm.backends.numba.jit import kernel
from gapsvm.types.text import (
    ABOVE_LIMIT,
    BELOW_BASE,
    DONE,
    INDEX,
    LABEL,
    NO_QID,
    ORDER,
    QID,
    VALUE,
)

# What is known of a number.
NO_NUMBER, EXACT, UNDECIDED = range(3)

_TAB, _NEWLINE, _RETURN, _SPACE, _HASH, _PLUS, _COMMA, _MINUS, _DOT = b"\t\n\r #+,-."
_ZERO, _COLON, _UPPER_E, _LOWER_E, _D, _I, _Q = b"0:Eediq"
_LAST_INT64 = np.iinfo(np.int64).max
_HUGE_EXPONENT = 10**15
_SMALLEST_POWER, _LARGEST_POWER = -342, 308


def _powers_of_five() -> tuple[np.ndarray, np.ndarray]:
    """The top 128 bits of 5**q for q = -342..308, as their upper and lower halves.

    Rounded down, but for -27 <= q < 0 up: there the product can be exact, which a reciprocal
    rounded down would hide.
    """
    halves = []
    for q in range(_SMALLEST_POWER, _LARGEST_POWER + 1):
        power = 5 ** abs(q)
        length = power.bit_length()
        if q >= 0:
            bits = power << 128 >> length
        else:
            bits = (1 << length + 127) // power + (q >= -27)
        halves.append((bits >> 64, bits & 0xFFFFFFFFFFFFFFFF))
    upper, lower = np.array(halves, dtype=np.uint64).T.copy()
    return upper, lower


_POWER_UPPER, _POWER_LOWER = _powers_of_five()

# Helpers live only inside the kernels that call them: no Python entry point, no cache file of
# their own.  That takes a third off the time of the first call.
_helper = numba.njit(
    nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
)


@intrinsic
def _byte(typingctx, text, position):
    """The byte at ``position`` of the text at the address ``text``."""

    def codegen(context, builder, signature, args):
        address = builder.add(args[0], args[1])
        return builder.load(builder.inttoptr(address, ir.IntType(8).as_pointer()))

    return types.uint8(types.int64, types.int64), codegen


@intrinsic
def _multiply_high(typingctx, a, b):
    """The upper 64 bits of the 128-bit product of two uint64."""

    def codegen(context, builder, signature, args):
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, wide(64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def _leading_zeros(typingctx, a):
    """How many of a uint64's bits stand above its highest set one; it must not be zero."""

    def codegen(context, builder, signature, args):
        return builder.ctlz(args[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), codegen


@_helper
def _round_decimal(mantissa, exponent):
    """The double nearest to mantissa * 10**exponent (Lemire 2021, Algorithm 1).

    Given: a uint64 mantissa > 0 and an int64 exponent.
    Returns: (value, EXACT), or (0, UNDECIDED).
    """
    if exponent == 0 and mantissa < np.uint64(1 << 53):
        return np.float64(mantissa), EXACT
    if exponent < _SMALLEST_POWER or exponent > _LARGEST_POWER:
        return 0.0, UNDECIDED
    zeros = _leading_zeros(mantissa)
    scaled = mantissa << zeros
    power = _POWER_UPPER[exponent - _SMALLEST_POWER]
    high = _multiply_high(scaled, power)
    low = scaled * power
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # the power's lower half may matter
        carry = _multiply_high(scaled, _POWER_LOWER[exponent - _SMALLEST_POWER])
        low += carry
        if low < carry:
            high += np.uint64(1)
        if ~low == np.uint64(0):
            return 0.0, UNDECIDED
    top = high >> np.uint64(63)
    bits = high >> (top + np.uint64(9))  # 53 bits and one to round by
    # exponent * 217706 >> 16 is floor(log2(10**exponent)) over the whole table
    binary_exponent = ((exponent * 217706) >> 16) + 1086 + np.int64(top) - np.int64(zeros)
    if binary_exponent <= 0 or binary_exponent >= 2046:
        return 0.0, UNDECIDED
    between = low <= np.uint64(1) and -4 <= exponent <= 23 and bits & np.uint64(3) == np.uint64(1)
    if between and bits << (top + np.uint64(9)) == high:  # exactly: round to the even neighbour
        bits -= np.uint64(1)
    bits = (bits + (bits & np.uint64(1))) >> np.uint64(1)
    # The leading one adds 1 to the exponent field, and a carry out of the rounding one more.
    packed = (np.uint64(binary_exponent - 1) << np.uint64(52)) + bits
    return np.uint64(packed).view(np.float64), EXACT


@_helper
def _digits(text, position, number):
    """Append digits to a uint64: (number modulo 2**64, position after them)."""
    digit = np.uint8(_byte(text, position) - _ZERO)
    while digit < 10:
        number = number * np.uint64(10) + np.uint64(digit)
        position += 1
        digit = np.uint8(_byte(text, position) - _ZERO)
    return number, position


@_helper
def _integer(text, position):
    """Read digits: (value, position after them), value -1 for none or more than an int64."""
    start = position
    number, position = _digits(text, position, np.uint64(0))
    n_digits = position - start
    if n_digits == 0 or n_digits > 19 or number > np.uint64(_LAST_INT64):
        return -1, position
    return np.int64(number), position


@_helper
def _skip_blanks(text, position):
    """The next position that is no blank; a comment is blank up to its newline."""
    byte = _byte(text, position)
    while byte in (_SPACE, _TAB, _RETURN):
        position += 1
        byte = _byte(text, position)
    if byte == _HASH:
        while _byte(text, position) != _NEWLINE:
            position += 1
    return position


@_helper
def _inside_token(byte):
    """Whether a byte right after a number makes it part of a longer, malformed token."""
    return byte > _SPACE and byte != _HASH


@_helper
def _exponent(text, position):
    """Read [+-]digits after an 'e': (exponent, position after it), position -1 for no digits.

    Sixteen digits are as good as infinitely many: no text is long enough to make up for them.
    """
    negative = _byte(text, position) == _MINUS
    if negative or _byte(text, position) == _PLUS:
        position += 1
    value, after = _digits(text, position, np.uint64(0))
    if after == position:
        return 0, -1
    exponent = np.int64(value) if after - position < 16 else _HUGE_EXPONENT
    return -exponent if negative else exponent, after


@_helper
def _decimal(text, position):
    """Read the token [+-]digits[.digits][e[+-]digits] that starts at ``position``.

    Returns: (value, position after it, NO_NUMBER | EXACT | UNDECIDED).
    """
    negative = _byte(text, position) == _MINUS
    if negative or _byte(text, position) == _PLUS:
        position += 1
    first = position
    mantissa, position = _digits(text, position, np.uint64(0))
    n_digits = position - first
    exponent = 0
    if _byte(text, position) == _DOT:
        point = position + 1
        mantissa, position = _digits(text, point, mantissa)
        exponent = point - position
        n_digits -= exponent
    if n_digits == 0:
        return 0.0, position, NO_NUMBER
    if _byte(text, position) == _LOWER_E or _byte(text, position) == _UPPER_E:
        power, position = _exponent(text, position + 1)
        exponent += power
    if position < 0 or _inside_token(_byte(text, position)):
        return 0.0, position, NO_NUMBER
    if n_digits > 19:
        return 0.0, position, UNDECIDED
    value, state = 0.0, EXACT
    if mantissa != np.uint64(0):
        value, state = _round_decimal(mantissa, exponent)
    return -value if negative else value, position, state


@_helper
def _query(text, position, required):
    """Read ``qid:number`` if it is here: (qid or NO_QID, position after it, DONE or QID)."""
    named = _byte(text, position) == _Q and _byte(text, position + 1) == _I
    if not (named and _byte(text, position + 2) == _D and _byte(text, position + 3) == _COLON):
        return NO_QID, position, QID if required else DONE
    qid, position = _integer(text, position + 4)
    wrong = qid < 0 or _inside_token(_byte(text, position))
    return qid, position, QID if wrong else DONE


@_helper
def _index(text, position, previous, lowest, limit):
    """Read ``index:``; previous < index and lowest <= index < limit must hold.

    Returns: (index, position after the colon, DONE or what is wrong).
    """
    index, position = _integer(text, position)
    code = DONE
    if index < 0 or _byte(text, position) != _COLON:
        code = INDEX
    elif index <= previous:
        code = ORDER
    elif index < lowest:
        code = BELOW_BASE
    elif index >= limit:
        code = ABOVE_LIMIT
    return index, position + 1, code


@kernel
def count(text):
    """How many (newlines, colons) the text has: bounds on its rows and on its values."""
    newlines = 0
    colons = 0
    for byte in text:
        newlines += byte == _NEWLINE
        colons += byte == _COLON
    return newlines, colons


@_helper
def _note(undecided, count, start, end, slot, line):
    """A number that ``float`` must read; how many there are with it."""
    undecided[count, 0], undecided[count, 1] = start, end
    undecided[count, 2], undecided[count, 3] = slot, line
    return count + 1


@kernel
def parse_rows(
    text, offset, lowest, limit, qid_required, labels, qids, row_ends, indices, values, undecided
):
    """Read svmlight rows: ``label [qid:number] index:value ... [# comment]``, blank lines skipped.

    Given: the ``offset`` to subtract from indices, the bounds ``lowest`` <= index < ``limit``,
    whether every row must have a qid, and arrays to fill, with the room that `count` asks for.
    Fills: labels, qids, row_ends (values seen after each row), indices, values, and undecided
    (start, end, slot, line) of each number that ``float`` must read; slot -1 - row is its label.
    Returns: (DONE or what is wrong, position of the wrong token, lines before it, rows, values,
    largest index or -1, whether index 0 occurs, undecided numbers).
    """
    address = np.int64(text.ctypes.data)
    n_lines = n_rows = n_values = n_undecided = position = np.int64(0)
    largest = np.int64(-1)
    zero_seen = False
    code = DONE
    token = position
    while position < len(text):
        token = _skip_blanks(address, position)
        if text[token] == _NEWLINE:
            position = token + 1
            n_lines += 1
            continue
        labels[n_rows], position, state = _decimal(address, token)
        if state == NO_NUMBER:
            code = LABEL
            break
        if state == UNDECIDED:
            n_undecided = _note(undecided, n_undecided, token, position, -1 - n_rows, n_lines)
        token = _skip_blanks(address, position)
        qids[n_rows], position, code = _query(address, token, qid_required)
        if code != DONE:
            break
        index, row_start = np.int64(-1), n_values
        token = _skip_blanks(address, position)
        while text[token] != _NEWLINE:
            index, start, code = _index(address, token, index, lowest, limit)
            if code != DONE:
                break
            value, position, state = _decimal(address, start)
            indices[n_values] = index - offset
            values[n_values] = value
            # A finite number can be too large for float32.
            if state == NO_NUMBER or np.isinf(values[n_values]):
                code = VALUE
                break
            if state == UNDECIDED:
                n_undecided = _note(undecided, n_undecided, start, position, n_values, n_lines)
            n_values += 1
            token = _skip_blanks(address, position)
        if code != DONE:
            break
        if n_values > row_start:  # indices ascend: the first is the least, the last the largest
            zero_seen |= indices[row_start] + offset == 0
            largest = max(largest, index)
        row_ends[n_rows] = n_values
        n_rows, n_lines, position = n_rows + 1, n_lines + 1, token + 1
    return code, token, n_lines, n_rows, n_values, largest, zero_seen, n_undecided


@kernel
def parse_integer_table(text, table):
    """Read comma-separated integers, line by line, into the rows of ``table``.

    Returns: the rows read, fewer than the table has if one is missing or malformed.
    """
    address = np.int64(text.ctypes.data)
    position = 0
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            if position >= len(text):
                return row
            negative = text[position] == _MINUS
            value, position = _integer(address, position + negative)
            separator = _COMMA if column < table.shape[1] - 1 else _NEWLINE
            if value < 0 or text[position] != separator:
                return row
            table[row, column] = -value if negative else value
            position += 1
    return table.shape[0]
