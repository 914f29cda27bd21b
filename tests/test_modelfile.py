"""Model files: they come back as they were, and nothing unsound comes in."""

from __future__ import annotations

import errno
import json
import os
import struct
import subprocess
import sys
import tracemalloc
from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from gapsvm.io.tensors import TensorFileError, read_tensors, write_tensors
from gapsvm.models.base import ModelFormatError
from gapsvm.models.files import read_model
from gapsvm.models.liblinear import read_liblinear, write_liblinear
from gapsvm.models.linear import LinearModel
from gapsvm.models.native import write_native

FUZZ = settings(deadline=None, max_examples=300)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4))


def a_model(**changes):
    options = {
        "coef": RNG.normal(size=(1, 4)),
        "intercept": [0.25],
        "classes": [-1, 1],
        "loss": "hinge",
        "lam": 0.1,
        "bias": "free",
        "primal": 0.5,
        "dual": 0.4375,
        "method": "sdca",
        "passes": 12.5,
        "status": "CONVERGED",
        "feature_names": ["a", "b", "c", "d"],
        "label": "kind",
        "metadata": {"note": ["any", {"thing": 1.5}], "none": None},
    }
    return LinearModel(**{**options, **changes})


def three_classes(**changes):
    return a_model(coef=RNG.normal(size=(3, 4)), intercept=[1, 2, 3], classes=[5, 3, 4], **changes)


def assert_same(a, b):
    for field in fields(LinearModel):
        one, other = getattr(a, field.name), getattr(b, field.name)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        else:
            assert one == other, field.name


# -- the model itself ------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix, np.float32])
def test_predictions(layout):
    rows = layout(X)
    dense = np.asarray(rows.todense() if sp.issparse(rows) else rows, dtype=np.float64)
    binary, several = a_model(), three_classes()
    score = dense @ binary.coef[0] + 0.25
    np.testing.assert_allclose(binary.decision_function(rows), score, rtol=1e-12)
    np.testing.assert_array_equal(binary.predict(rows), np.where(score > 0, 1, -1))
    scores = dense @ several.coef.T + [1, 2, 3]
    np.testing.assert_allclose(several.decision_function(rows), scores, rtol=1e-12)
    np.testing.assert_array_equal(several.predict(rows), np.array([5, 3, 4])[scores.argmax(1)])
    regression = a_model(classes=None, loss="huber")
    np.testing.assert_array_equal(regression.predict(rows), regression.decision_function(rows))


def test_no_rows_and_one_class():
    for model in (a_model(), three_classes(), a_model(classes=None)):
        assert len(model.predict(np.empty((0, 4)))) == 0
    assert a_model(classes=[7]).predict(X).tolist() == [7] * len(X)


def test_gap():
    assert a_model().gap.tolist() == [0.0625]
    assert np.isnan(a_model(primal=np.nan).gap).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"coef": [1.0, 2.0]}, "two dimensions"),
        ({"coef": [[1.0, np.nan, 0, 0]]}, "coef contains NaN"),
        ({"intercept": [np.inf]}, "intercept contains"),
        ({"intercept": [1, 2]}, r"intercept must have shape \(1,\)"),
        ({"primal": [1, 2]}, "primal must have shape"),
        ({"classes": [1, 2, 3]}, "does not fit 3 classes"),
        ({"classes": [1, 1]}, "twice"),
        ({"classes": [[1, 2]]}, "list of integers"),
        ({"classes": [1j, 2]}, "list of integers"),
        ({"classes": np.array([1, "a"], dtype=object)}, "list of integers"),
        ({"coef": np.ones((2, 4)), "intercept": 0.0, "classes": None}, "regression"),
        ({"bias": "some"}, "bias must be one of"),
        ({"feature_names": ["a"]}, "1 feature names for 4"),
    ],
)
def test_models_that_make_no_sense(changes, words):
    with pytest.raises(ValueError, match=words):
        a_model(**changes)


def test_the_wrong_width_is_refused():
    with pytest.raises(ValueError, match="3 features, but the model has 4"):
        a_model().predict(X[:, :3])


def test_import_is_light():
    script = "import sys, gapsvm.models.files; assert not {'numba', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


# -- our files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classes",
    [
        None,
        [-1, 1],
        np.array([1, 2], dtype=np.int8),
        np.array([0, 2**63], dtype=np.uint64),
        [0.5, 1e300],
        np.array([0.5, 2], dtype=np.float16),
        [False, True],
        ["ham", "späm"],
        np.array(["ham", "späm"], dtype=object),
        np.array([1, 2], dtype=">i4"),
    ],
)
def test_round_trip(tmp_path, classes):
    model = a_model(classes=classes)
    write_native(tmp_path / "model", model)
    back = read_model(tmp_path / "model")
    if classes is not None and model.classes.dtype.byteorder == ">":
        model = a_model(coef=model.coef, classes=model.classes.astype("=i4"))
    assert_same(back, model)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_round_trip_of_several_classes_and_unknowns(tmp_path):
    unknown = {"lam": None, "feature_names": None, "label": 3, "status": "", "metadata": {}}
    for model in (three_classes(), three_classes(primal=np.nan, dual=-np.inf, **unknown)):
        write_native(tmp_path / "model", model)
        assert_same(read_model(tmp_path / "model"), model)


def test_it_is_a_safetensors_file(tmp_path):
    numpy_files = pytest.importorskip("safetensors.numpy")
    model = three_classes()
    write_native(tmp_path / "model", model)
    tensors = numpy_files.load_file(tmp_path / "model")
    np.testing.assert_array_equal(tensors["coef"], model.coef)
    with pytest.importorskip("safetensors").safe_open(tmp_path / "model", "numpy") as file:
        assert json.loads(file.metadata()["model"])["loss"] == "hinge"
    numpy_files.save_file(tensors, tmp_path / "foreign", {"format": "pt"})
    with pytest.raises(ModelFormatError, match="no metadata of gapsvm"):
        read_model(tmp_path / "foreign")


def test_metadata_must_be_json(tmp_path):
    for thing in (object(), np.nan, {1, 2}):
        with pytest.raises(ValueError, match="JSON"):
            write_native(tmp_path / "model", a_model(metadata={"thing": thing}))
    assert list(tmp_path.iterdir()) == []


def rewritten(path, *, tensors=None, described=None, texts=None):
    """The model at ``path`` written again with changes, its checksum made to fit."""
    old_tensors, old_texts = read_tensors(path)
    old_described = json.loads(old_texts["model"])
    for change, old in ((tensors, old_tensors), (described, old_described)):
        for name, value in (change or {}).items():
            old[name] = value
            if value is KeyError:
                del old[name]
    old_texts["model"] = json.dumps(old_described)
    write_tensors(path, old_tensors, {**old_texts, **(texts or {})})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"texts": {"format": "gapsvm checkpoint"}}, "holds 'gapsvm checkpoint'"),
        ({"texts": {"format_version": "3"}}, "newer gapsvm"),
        ({"texts": {"format_version": "x"}}, "not a format version"),
        ({"texts": {"model": "{"}}, "not a sound model"),
        ({"texts": {"model": "[" * 100_000}}, "not a sound model"),
        ({"texts": {"model": "[]"}}, "not a JSON object"),
        ({"tensors": {"coef": KeyError}}, "lacks"),
        ({"tensors": {"extra": np.ones(3)}}, "unknown arrays"),
        ({"tensors": {"coef": np.ones((1, 4), dtype=np.float32)}}, "must be float64"),
        ({"tensors": {"coef": np.full((1, 4), np.nan)}}, "coef contains NaN"),
        ({"tensors": {"coef": np.ones((2, 4))}}, "must have shape"),
        ({"tensors": {"coef": np.ones(4)}}, "two dimensions"),
        ({"tensors": {"classes": np.ones((2, 2), dtype=np.int64)}}, "list of integers"),
        ({"tensors": {"classes": np.array([300, 1])}}, "do not fit int8"),
        ({"tensors": {"classes": np.array([0.5, np.nan])}}, "do not fit int8"),
        ({"tensors": {"classes": KeyError}}, "make no sense"),
        ({"described": {"classes_dtype": KeyError}}, "missing"),
        ({"described": {"classes_dtype": "V8"}}, "make no sense"),
        ({"described": {"classes_dtype": "str"}}, "do not fit str"),
        ({"described": {"classes": ["a", "b"]}}, "make no sense"),
        ({"described": {"loss": KeyError}}, "'loss' is missing"),
        ({"described": {"loss": 1}}, "'loss' has the wrong type int"),
        ({"described": {"lam": True}}, "'lam' has the wrong type"),
        ({"described": {"lam": float("nan")}}, "not JSON"),
        ({"described": {"passes": 10**400}}, "not a sound model"),
        ({"described": {"metadata": []}}, "'metadata' has the wrong type"),
        ({"described": {"feature_names": [1, 2, 3, 4]}}, "not all texts"),
        ({"described": {"bias": "other"}}, "bias must be"),
        ({"described": {"more": 1}}, "unknown fields: 'more'"),
    ],
)
def test_sound_files_of_unsound_models(tmp_path, changes, words):
    path = tmp_path / "model"
    write_native(path, a_model(classes=np.array([1, 2], dtype=np.int8)))
    rewritten(path, **changes)
    with pytest.raises(ModelFormatError, match=words) as caught:
        read_model(path)
    assert str(path) in str(caught.value)


def test_text_labels_cannot_blow_up(tmp_path):
    path = tmp_path / "model"
    write_native(path, a_model(classes=["a", "b"]))
    rewritten(path, described={"classes": ["x" * 1_000_000, *map(str, range(10_000))]})
    with pytest.raises(ModelFormatError, match="too long"):
        read_model(path)


def with_header(change):
    """A function of a file's bytes that changes its header and leaves the rest."""

    def changed(content):
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        change(header)
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + content[8 + length :]

    return changed


def entry(**values):
    return with_header(lambda header: header["coef"].update(values))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda c: b"", "no model file"),
        (lambda c: c[:7], "no model file"),
        (lambda c: b"\x80\x04K\x01.", "no model file"),  # a pickle
        (lambda c: c[:-1], "truncated"),
        (lambda c: c[:100], "declares a header"),
        (lambda c: c + b"\0", "goes on for 1 bytes"),
        (lambda c: b"\xff" * 8 + c[8:], "declares a header of 18446744073709551615 bytes"),
        (lambda c: c[:-1] + bytes([c[-1] ^ 1]), "checksum"),
        (entry(shape=[1, 4 * 10**12]), "needs 32000000000000 bytes"),
        (entry(shape=[2**62, 2**62, 0], data_offsets=[0, 0]), "starts at byte"),
        (entry(shape=[1, 4 * 10**12], data_offsets=[0, 32 * 10**12]), "starts at|truncated"),
        (entry(shape=[-1, -4]), "makes no sense"),
        (entry(shape=4), "makes no sense"),
        (entry(shape=[1.0, 4]), "makes no sense"),
        (entry(shape=[True, 4]), "makes no sense"),
        (entry(dtype="F16"), "makes no sense"),
        (entry(data_offsets=[8]), "makes no sense"),
        (with_header(lambda h: h.update(x=[])), "makes no sense"),
        (with_header(lambda h: h.update(__metadata__=1)), "no metadata"),
        (with_header(lambda h: h.pop("dual")), "starts at|goes on"),
        (with_header(lambda h: h["__metadata__"].update(more="x")), "checksum"),
    ],
)
def test_damaged_files(tmp_path, damage, words):
    path = tmp_path / "model"
    write_native(path, a_model())
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ModelFormatError, match=words) as caught:
        read_model(path)
    assert str(path) in str(caught.value)


def test_arrays_numpy_does_not_have(tmp_path):
    path = tmp_path / "model"
    for shape in ([2**62, 0, 2**62], [1] * 100):
        write_tensors(path, {"a": np.ones(1)}, {})
        size = 8 * (0 not in shape)
        spread = {"shape": shape, "data_offsets": [0, size]}
        content = with_header(lambda h, spread=spread: h["a"].update(spread))(path.read_bytes())
        path.write_bytes(content[: len(content) - 8 + size])
        with pytest.raises(ModelFormatError, match="NumPy has no arrays of shape"):
            read_model(path)


def test_another_shape_of_as_many_numbers_is_noticed(tmp_path):
    path = tmp_path / "arrays"
    write_tensors(path, {"a": np.arange(6.0).reshape(2, 3)}, {})
    content = path.read_bytes()
    assert content.count(b"[2, 3]") == 1
    path.write_bytes(content.replace(b"[2, 3]", b"[3, 2]"))
    with pytest.raises(TensorFileError, match="the checksum does not fit"):
        read_tensors(path)


def test_every_single_bit_flip_is_noticed(tmp_path):
    path = tmp_path / "model"
    write_native(path, a_model())
    content = path.read_bytes()
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        with pytest.raises(ModelFormatError):
            read_model(path)


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model"
    old = a_model()
    write_native(path, old)

    def no_space(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    for write in (write_native, write_liblinear):
        with pytest.raises(OSError, match=str(path)):
            write(path, a_model())
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert_same(read_model(path), old)


def test_folders_that_cannot_be_written(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="absent/model'"):
        write_native(tmp_path / "absent" / "model", a_model())
    with pytest.raises(OSError, match="not a file"):
        write_native(tmp_path, a_model())
    tmp_path.chmod(0o500)
    try:
        if not os.access(tmp_path, os.W_OK):  # root may write anywhere
            with pytest.raises(PermissionError, match="model'"):
                write_native(tmp_path / "model", a_model())
    finally:
        tmp_path.chmod(0o700)


def test_missing_files():
    for read in (read_model, read_liblinear):
        with pytest.raises(FileNotFoundError, match="absent"):
            read("absent")


# -- LIBLINEAR's files -----------------------------------------------------------------------------


def liblinear():
    return pytest.importorskip("liblinear.liblinearutil")


def training_labels(solver, classes):
    if solver >= 11:
        return X[:, 0] * 2 + 1
    if classes == 2:
        return np.where(X[:, 0] + 0.1 * RNG.normal(size=len(X)) > 0, -3, 7)
    return RNG.integers(0, classes, len(X)) * 2 - 1


@pytest.mark.parametrize("bias", [-1, 0, 1, 2.5])
@pytest.mark.parametrize(
    ("solver", "classes"),
    [(s, c) for s in range(8) for c in (1, 2, 3)] + [(s, 0) for s in (11, 12, 13)],
)
def test_models_of_liblinear_predict_the_same(tmp_path, solver, classes, bias):
    package = liblinear()
    y = training_labels(solver, classes)
    rows = sp.csr_matrix(X)
    theirs = package.train(y, rows, f"-s {solver} -B {bias} -q")
    package.save_model(str(tmp_path / "model"), theirs)
    ours = read_model(tmp_path / "model")
    labels, _, scores = package.predict(y, rows, theirs, "-q")
    k = ours.coef.shape[0]
    np.testing.assert_allclose(
        ours.decision_function(rows).reshape(-1, k), np.array(scores)[:, :k], atol=1e-12
    )
    np.testing.assert_allclose(ours.predict(rows), labels, rtol=1e-12)
    assert ours.bias == ("none" if bias < 0 else "penalized")
    assert np.isnan(ours.gap).all()


@pytest.mark.parametrize(
    "model",
    [
        a_model(),
        a_model(intercept=[0.0], classes=[2, 1], loss="squared_hinge"),
        a_model(loss="logistic", classes=[0.0, 1.0]),
        a_model(loss="hinge", classes=[False, True]),
        three_classes(),
        three_classes(loss="logistic"),
        a_model(classes=None, loss="epsilon_insensitive"),
        a_model(classes=None, loss="squared_epsilon_insensitive", intercept=[0.0]),
        a_model(classes=None, loss="absolute"),
        a_model(classes=None, loss="half_squared"),
    ],
)
def test_liblinear_reads_our_models(tmp_path, model):
    package = liblinear()
    path = tmp_path / "model"
    write_liblinear(path, model)
    theirs = package.load_model(str(path))
    rows = sp.csr_matrix(X)
    labels, _, scores = package.predict(np.ones(len(X)), rows, theirs, "-q")
    np.testing.assert_allclose(labels, model.predict(rows), rtol=1e-12)
    k = model.coef.shape[0]
    np.testing.assert_allclose(
        np.array(scores)[:, :k], model.decision_function(rows).reshape(-1, k), atol=1e-12
    )
    back = read_model(path)
    assert back.coef.tobytes() == model.coef.tobytes()
    assert back.intercept.tobytes() == model.intercept.tobytes()
    np.testing.assert_array_equal(back.predict(rows), model.predict(rows))
    if model.classes is not None:
        assert back.classes.tolist() == model.classes.tolist()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"loss": "smoothed_hinge"}, "no solver for loss 'smoothed_hinge'"),
        ({"loss": "huber", "classes": None}, "no solver for loss 'huber'"),
        ({"classes": None}, "does not fit a regression"),
        ({"loss": "absolute"}, "does not fit a classification"),
        ({"classes": ["a", "b"]}, "not texts such as 'a'"),
        ({"classes": [0.5, 1]}, "integers of 32 bits"),
        ({"classes": [0, np.inf]}, "integers of 32 bits"),
        ({"classes": [0, 2**31]}, "integers of 32 bits"),
    ],
)
def test_what_liblinear_cannot_hold(tmp_path, changes, words):
    with pytest.raises(ValueError, match=words):
        write_liblinear(tmp_path / "model", a_model(**changes))
    assert list(tmp_path.iterdir()) == []


TEXT = """solver_type L2R_L2LOSS_SVC_DUAL
nr_class 2
label 1 -1
nr_feature 3
bias 1
w
0.5
-1e-3
2
0.25
"""


def read_text(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_model(path)


def test_liblinear_text(tmp_path):
    for text in (TEXT, TEXT.replace("\n", "\r\n"), TEXT.rstrip(), TEXT.replace("\n-", " -")):
        model = read_text(tmp_path / "model", text)
        assert model.coef.tolist() == [[0.5, -1e-3, 2]]
        assert model.intercept.tolist() == [0.25]
        assert model.classes.tolist() == [-1, 1]
        assert model.metadata == {"solver_type": "L2R_L2LOSS_SVC_DUAL"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("L2R_L2LOSS_SVC_DUAL", "L3R_SVC", "solver_type 'L3R_SVC' is unknown"),
        ("L2R_L2LOSS_SVC_DUAL", "ONECLASS_SVM", "one-class"),
        ("L2R_L2LOSS_SVC_DUAL", "", "solver_type must be there, with one value"),
        ("nr_class 2", "nr_class 3", "nr_class is 3, but there are 2 labels"),
        ("nr_class 2", "nr_class 2.0", "not an integer"),
        ("nr_class 2", "nr_class 0", "must be positive"),
        ("nr_class 2\n", "", "nr_class must be there"),
        ("label 1 -1", "label 1 1", "twice"),
        ("label 1 -1", "label 1", "1 labels"),
        ("label 1 -1", "label 1 x", "not an integer"),
        ("label 1 -1\n", "", "no line with labels"),
        ("nr_feature 3", "nr_feature 4", "has 4 of its 5 weights"),
        ("nr_feature 3", "nr_feature 2", "something follows its 3 weights"),
        ("nr_feature 3", "nr_feature 2147483647", "declares 2147483648 weights, but only"),
        ("nr_feature 3", "nr_feature 99999999999999999", "not an integer of 32 bits"),
        ("nr_feature 3", "nr_feature -1", "not negative"),
        ("nr_feature 3", "nr_feature 3\nnr_feature 3", "there twice"),
        ("bias 1", "bias nan", "bias must be finite"),
        ("bias 1", "bias x", "could not convert"),
        ("bias 1", "bias -1", "something follows its 3 weights"),
        ("\nw\n", "\n", "'0.5' is not a field"),
        ("bias 1\n", "bias 1\nrho 2\n", "'rho' is not a field"),
        ("bias 1\n", "bias 1\n\n", "'' is not a field"),
        ("bias 1\n", "bias 1\nsp\xe4m 2\n", "ascii"),
        ("-1e-3", "nan", "coef contains NaN"),
        ("-1e-3", "1e999", "coef contains NaN or infinity"),
        ("-1e-3", "1_0", "not a number"),
        ("-1e-3", "x", "could not convert"),
        ("-1e-3", "\0", "could not convert"),
        ("0.25\n", "0.25\njunk\n", "something follows"),
        ("0.25\n", "", "has 3 of its 4 weights"),
        ("solver_type", "svm_type", "LIBSVM"),
        ("solver_type", "solver_typ", "no model file"),
    ],
)
def test_unsound_liblinear_text(tmp_path, old, new, words):
    assert TEXT.count(old) == 1
    with pytest.raises(ModelFormatError, match=words) as caught:
        read_text(tmp_path / "model", TEXT.replace(old, new))
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        TEXT[: TEXT.index("w\n")] + "w\n" + "1" * (8 << 20),
        TEXT[: TEXT.index("w\n")] + "w\n" + "1 " * (4 << 20),
        "solver_type " + "x" * (8 << 20),
        TEXT.replace("nr_feature 3", "nr_feature 2000000000"),
    ],
)
def test_memory_is_bounded(tmp_path, text):
    path = tmp_path / "model"
    path.write_text(text)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFormatError):
            read_model(path)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_weights_are_read_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("gapsvm.models.liblinear._BYTES_PER_READ", 7)
    model = three_classes()
    write_liblinear(tmp_path / "model", model)
    assert read_model(tmp_path / "model").coef.tobytes() == model.coef.tobytes()


# -- fuzzing ---------------------------------------------------------------------------------------


def read_or_refuse(path, content):
    path.write_bytes(content)
    for read in (read_model, read_liblinear):
        try:
            model = read(path)
        except ModelFormatError:
            continue
        assert np.isfinite(model.coef).all()
        assert model.predict(np.zeros((1, model.n_features))).shape == (1,)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    write_native(folder / "ours", three_classes())
    write_liblinear(folder / "theirs", three_classes())
    return folder


@FUZZ
@given(st.binary(max_size=300), st.sampled_from([b"", b"solver_type ", TEXT[:60].encode()]))
def test_random_bytes(scratch, content, start):
    read_or_refuse(scratch / "random", start + content)


@FUZZ
@given(st.data())
def test_mutated_models(scratch, data):
    content = bytearray((scratch / data.draw(st.sampled_from(["ours", "theirs"]))).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        length = data.draw(st.integers(0, 20))
        content[start : start + length] = data.draw(
            st.binary(max_size=20)
            | st.sampled_from([b"9" * 20, b"-1", b" ", b"\n", b"[[[", b"w\n"])
        )
    read_or_refuse(scratch / "mutated", bytes(content))


@FUZZ
@given(st.lists(st.sampled_from([*TEXT.split(), "\n", " ", "99999999999", "nan"]), max_size=40))
def test_random_words(scratch, words):
    read_or_refuse(scratch / "words", " ".join(["solver_type", *words]).encode())


def test_a_file_of_the_first_version_has_no_label(tmp_path):
    write_native(tmp_path / "model", a_model())
    rewritten(tmp_path / "model", texts={"format_version": "1"}, described={"label": KeyError})
    assert read_model(tmp_path / "model").label is None
    rewritten(tmp_path / "model", described={"label": 1.5})
    with pytest.raises(ModelFormatError, match="'label' has the wrong type"):
        read_model(tmp_path / "model")
