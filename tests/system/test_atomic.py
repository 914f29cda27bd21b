"""Files that appear complete or not at all, and leave nothing behind; files that are none."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from gapsvm import LinearSVC, load_model, read_svmlight, save_model
from gapsvm.io.folder import convert, open_folder
from gapsvm.io.tables import read_table
from gapsvm.models.files import read_model
from gapsvm.models.liblinear import read_liblinear
from gapsvm.system import atomic
from gapsvm.system.atomic import NewFile, check_can_write, claimed, replacing

NAMELESS = hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd")
needs_nameless = pytest.mark.skipif(not NAMELESS, reason="every file has a name here")
needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="no locks of this kind here")
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def without_names(monkeypatch):
    monkeypatch.setattr(atomic, "_nameless", lambda folder: None)


def no_links(monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), "/proc/self/fd/9", None, "a")

    monkeypatch.setattr(os, "link", refuse)


@pytest.fixture(params=["as it is", "names only", "no links"])
def system(request, monkeypatch):
    """What the system can do."""
    {"as it is": lambda m: None, "names only": without_names, "no links": no_links}[request.param](
        monkeypatch
    )
    return request.param


def test_the_name_holds_the_old_content_or_the_new(system, tmp_path):
    path = tmp_path / "a"
    for content in (b"first", b"second"):
        with replacing(path) as file:
            file.write(content)
            assert not path.exists() or path.read_bytes() != content
        assert path.read_bytes() == content
        assert names(tmp_path) == ["a"]
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask
    with pytest.raises(TypeError), replacing(path) as file:
        file.write("text")
    assert path.read_bytes() == b"second"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_errors_speak_of_the_path(system, tmp_path, monkeypatch, step):
    (tmp_path / "a").write_bytes(b"old")

    def no_space(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, no_space)
    complaint = rf"No space left on device: '{tmp_path}/a'$"
    with pytest.raises(OSError, match=complaint), replacing(tmp_path / "a") as file:
        file.write(b"new")
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_missing_folders_are_named(system, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "absent" / "a", tmp_path / "file" / "a"):
        with pytest.raises(OSError, match=f"'{path}'$"), replacing(path):
            pass
        with pytest.raises(OSError, match=f"'{path}'$"):
            check_can_write(path)
    check_can_write(tmp_path / "a")
    assert names(tmp_path) == ["file"]


def test_names_may_be_as_long_as_the_system_allows(system, tmp_path):
    for _ in range(2):
        with replacing(tmp_path / ("x" * 255)) as file:
            file.write(b"content")
    with pytest.raises(OSError, match="too long"):
        check_can_write(tmp_path / ("x" * 300))


def test_an_error_of_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError, match="other"), replacing(tmp_path / "a"):
        (tmp_path / "other").read_bytes()


def test_a_new_file_can_be_read_before_it_has_a_name(system, tmp_path):
    file = NewFile(tmp_path)
    file.stream.write(b"content")
    file.stream.seek(0)
    assert file.stream.read() == b"content"
    file.close()
    assert names(tmp_path) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from gapsvm.system.atomic import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@needs_nameless
def test_a_kill_leaves_nothing(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a")])
    assert done.returncode == -signal.SIGKILL
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


CONVERTED = """
import os, signal, sys
from gapsvm.io.folder import convert
convert(sys.argv[1], sys.argv[2], progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL))
"""


@needs_nameless
def test_a_kill_leaves_nothing_of_a_folder(tmp_path):
    (tmp_path / "rows.svm").write_bytes(b"1 1:1\n-1 2:1\n")
    arguments = [str(tmp_path / "rows.svm"), str(tmp_path / "a")]
    done = subprocess.run([sys.executable, "-c", CONVERTED, *arguments])
    assert done.returncode == -signal.SIGKILL
    assert names(tmp_path) == ["rows.svm"]


TEMPORARY = ".a.0123abcd.tmp"


def left(path, *, folder, age=60.0):
    """What a kill leaves."""
    if folder:
        path.mkdir()
        (path / "data.npy").write_bytes(b"half")
    else:
        path.write_bytes(b"half")
    past = time.time() - age
    os.utime(path, (past, past))
    return path


@needs_locks
@pytest.mark.parametrize("folder", [True, False])
def test_what_a_kill_has_left_goes_with_the_next_write(tmp_path, folder):
    left(tmp_path / TEMPORARY, folder=folder)
    others = {".b.0123abcd.tmp", ".a.0123abcd.tmp2", "a.0123abcd.tmp", ".a.0123.tmp"}
    for name in others:
        left(tmp_path / name, folder=False)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".a.aaaaaaaa.tmp").symlink_to(tmp_path / "elsewhere")
    check_can_write(tmp_path / "a")
    assert set(names(tmp_path)) == {*others, "elsewhere", ".a.aaaaaaaa.tmp"}


@needs_locks
def test_what_another_writes_at_the_moment_stays(tmp_path):
    """Claimed, or too new to tell."""
    left(tmp_path / TEMPORARY, folder=True)
    left(tmp_path / ".a.11111111.tmp", folder=False, age=1.0)
    with claimed(tmp_path / TEMPORARY):
        check_can_write(tmp_path / "a")
        assert len(names(tmp_path)) == 2
    check_can_write(tmp_path / "a")
    assert names(tmp_path) == [".a.11111111.tmp"]


@needs_locks
def test_where_every_file_has_a_name_a_write_removes_what_was_left(tmp_path, monkeypatch):
    without_names(monkeypatch)
    left(tmp_path / ".new.0123abcd.tmp", folder=False)
    with replacing(tmp_path / "a") as file:
        mine = next(name for name in names(tmp_path) if name.startswith(".new."))
        past = time.time() - 60.0
        os.utime(tmp_path / mine, (past, past))
        check_can_write(tmp_path / "b")
        assert mine in names(tmp_path)
        file.write(b"new")
    assert names(tmp_path) == ["a"]


@needs_locks
def test_convert_removes_what_a_kill_has_left(tmp_path):
    left(tmp_path / TEMPORARY, folder=True)
    (tmp_path / "rows.svm").write_bytes(b"1 1:1\n-1 2:1\n")
    convert(tmp_path / "rows.svm", tmp_path / "a")
    assert names(tmp_path) == ["a", "rows.svm"]


# -- what is read ----------------------------------------------------------------------------------

READERS = {
    "model": read_model,
    "estimator": load_model,
    "LIBLINEAR model": read_liblinear,
    "table.csv": read_table,
    "table.parquet": read_table,
}


@needs_pipes
@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", READERS)
def test_a_pipe_is_no_file(kind, tmp_path):
    """It was waited for, for ever."""
    path = tmp_path / kind
    os.mkfifo(path)
    with pytest.raises(OSError, match=f"it is a pipe or a device, not a file: '{path}'"):
        READERS[kind](path)


@needs_pipes
@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "name", ["header.json", "data.npy", "indices.npy", "indptr.npy", "labels.npy", "checksums.npy"]
)
def test_a_pipe_in_a_folder_is_no_file(name, tmp_path):
    convert(b"1 1:1\n-1 2:1\n", tmp_path / "a")
    (tmp_path / "a" / name).unlink()
    os.mkfifo(tmp_path / "a" / name)
    with pytest.raises((OSError, ValueError), match=r"not a file|no header\.json"):
        open_folder(tmp_path / "a")


@needs_pipes
@pytest.mark.timeout(20)
def test_a_pipe_is_no_checkpoint(tmp_path):
    from gapsvm.training.checkpoint import load_tree

    os.mkfifo(tmp_path / "a")
    with pytest.raises(OSError, match="not a file"):
        load_tree(tmp_path / "a", {})


def test_devices_and_folders_are_no_files(tmp_path):
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        read_model(tmp_path)
    if os.path.exists("/dev/null"):
        with pytest.raises(OSError, match="not a file: '/dev/null'"):
            read_model("/dev/null")


@needs_pipes
def test_text_may_come_through_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(
        [sys.executable, "-c", f"open({str(tmp_path / 'pipe')!r}, 'w').write('1 1:1\\n')"]
    )
    assert read_svmlight(tmp_path / "pipe").y.tolist() == [1.0]
    assert writer.wait() == 0


def test_a_model_replaces_a_model(tmp_path):
    model = LinearSVC().fit(np.eye(4), [0, 1, 0, 1])
    for _ in range(2):
        save_model(model, tmp_path / "model.safetensors")
    assert names(tmp_path) == ["model.safetensors"]
    np.testing.assert_array_equal(load_model(tmp_path / "model.safetensors").coef_, model.coef_)
