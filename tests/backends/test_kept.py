"""Kernels on disk: a file that is damaged, unreadable or cannot be written is done without."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from gapsvm.backends.numba import kept
from gapsvm.backends.numba.jit import kernel


def twice(x):
    return 2 * x


def compiled() -> tuple[int, int]:
    """A kernel that was never loaded before, called: how often it was found and compiled."""
    fresh = kernel(twice)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fresh(3) == 6
    return sum(fresh.stats.cache_hits.values()), sum(fresh.stats.cache_misses.values())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept, "kept_in", lambda: tmp_path / "kernels")
    return tmp_path / "kernels"


def test_a_kernel_is_kept_and_found(folder):
    assert compiled() == (0, 1)
    assert compiled() == (1, 0)
    assert [path.suffix for path in folder.iterdir()] == [".nbc"]


def halved(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def bit_flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def of_another_signature(path: Path) -> None:
    """A whole file under a name that is not its own."""
    other = kernel(twice)
    other(3.0)
    (theirs,) = (one for one in path.parent.iterdir() if one != path)
    theirs.replace(path)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "one byte": lambda path: path.write_bytes(b"\x80"),
    "halved": halved,
    "garbage": lambda path: path.write_bytes(b"not a kernel" * 1000),
    "bit flipped": bit_flipped,
    "of another signature": of_another_signature,
    "a folder": a_folder,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_compiled_anew_without_a_word(damage, folder):
    compiled()
    (path,) = folder.iterdir()
    DAMAGES[damage](path)
    assert compiled() == (0, 1)
    assert compiled() == ((0, 1) if damage == "a folder" else (1, 0))


def test_an_unreadable_file_is_compiled_anew(folder, monkeypatch):
    compiled()

    def refused(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refused)
    assert compiled() == (0, 1)


def test_a_full_disk_leaves_nothing_and_breaks_nothing(folder, monkeypatch):
    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert compiled() == (0, 1)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null/kernels", None])
def test_without_a_place_for_kernels_nothing_is_left_behind(place, tmp_path, monkeypatch):
    """No folder can be made there (not by root either), or there is no home directory."""
    monkeypatch.setattr(kept, "kept_in", lambda: None if place is None else Path(place))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert compiled() == (0, 1)
    assert compiled() == (0, 1)
    assert list(tmp_path.iterdir()) == []


def test_no_home_directory_is_no_obstacle(monkeypatch):
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    kept.kept_in.cache_clear()
    try:
        assert kept.kept_in() is None
    finally:
        kept.kept_in.cache_clear()
