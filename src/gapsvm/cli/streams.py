"""Standard output and standard error, whatever they are: a terminal, a pipe, a full disk, closed.

`prepare` makes them safe to write to before anything is said; `Ended` is how writing fails.
"""

from __future__ import annotations

import codecs
import os
import sys
import unicodedata
from typing import IO, Any

BROKEN_PIPE = 141
"""The reader of standard output is gone: 128 and the number of the signal, as shells have it."""

SPELLED = {
    "×": "x",
    "·": "*",
    "−": "-",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "‖": "||",
    "⟨": "<",
    "⟩": ">",
    "…": "...",
    "²": "^2",
    "ᵀ": "^T",
    "∞": "inf",
    "′": "'",
    "§": "section ",
    "≈": "~",
    "≠": "!=",
    "∈": "in",
    "√": "sqrt ",
    "∇": "grad ",
    "Σ": "sum",
    "λ": "lambda",  # Unicode says lamda
    "á": "a",
    "č": "c",
    "█": "#",
    **dict.fromkeys("▉▊▋▌", "#"),
    **dict.fromkeys("▍▎▏", ""),
    "━": "-",
}
"""How what is not ASCII is written where the encoding has no room for it; Greek letters besides."""

_HANDLER = "gapsvm.spelled"
_closed: set[str] = set()


def prepare() -> None:
    """Make standard output and standard error take any text, and forget widths that are none."""
    codecs.register_error(_HANDLER, _spell)
    _closed.clear()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the shell, as >&- does
            _closed.add(name)
            setattr(sys, name, _nowhere())
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_HANDLER)
    for name in ("COLUMNS", "LINES"):
        if not _is_positive(os.environ.get(name, "1")):
            del os.environ[name]


def is_closed(name: str) -> bool:
    """Whether the shell gave no "stdout" or "stderr"."""
    return name in _closed


def is_terminal(stream: Any) -> bool:
    """Whether a person reads it as it is written."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # something else in its place, or closed since
        return False


def spelled(text: str, stream: Any) -> str:
    """The text as the stream's encoding can hold it: "x" for "×" and so on."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode(encoding, _HANDLER).decode(encoding, "surrogateescape")
    return text


def write_out(text: str) -> None:
    """Write to standard output and see to it that it arrives.

    Raises
    ------
    SystemExit
        With code 141, if nobody reads any more.
    OSError
        Anything else, as a full disk, naming standard output.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon()
        raise SystemExit(BROKEN_PIPE) from None
    except OSError as error:
        _abandon()
        raise OSError(f"standard output cannot be written to: {error.strerror}") from error


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    """What takes the place of characters without a code: their spelling, or else an escape.

    Bytes of file names that are no text stay what they are.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    if 0xDC80 <= ord(character) <= 0xDCFF:
        return bytes([ord(character) - 0xDC00]), error.start + 1
    return spelling(character), error.start + 1


def spelling(character: str) -> str:
    """Its spelling in ASCII: a name of ours, of a Greek letter, a digit, or else an escape."""
    if character in SPELLED:
        return SPELLED[character]
    name = unicodedata.name(character, "")
    if name.startswith("GREEK") and " LETTER " in name:
        letter = name.split(" LETTER ")[1].split()[0].lower()
        return letter.capitalize() if character.isupper() else letter
    if unicodedata.category(character) == "No":  # a digit above or below the line
        return unicodedata.normalize("NFKD", character).replace("\N{FRACTION SLASH}", "/")
    return character.encode("ascii", "backslashreplace").decode("ascii")


def _nowhere() -> IO[str]:
    """A stream that forgets; the standard descriptors are taken first, so that no file gets one."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    return open(os.devnull, "w", encoding="utf-8")


def _abandon() -> None:
    """Let what could not be written go, so that Python does not try again when it ends."""
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)
    except (OSError, ValueError):  # no file of the system stands behind it
        sys.stdout = _nowhere()


def _is_positive(text: str) -> bool:
    return text.isdecimal() and int(text) > 0
