"""SVC and SVR: LIBSVM's answers where it is exact, and what it lacks."""

from __future__ import annotations

import inspect
import pickle
import signal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from problems import matrix, targets
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapsvm import SVC, SVR, KernelNewton, WorkingSet, get_loss

IRIS = load_iris(return_X_y=True)
X = matrix(80, 5)
LABELS, RESPONSE = targets(X, "margin"), targets(X, "response")
THREE = np.arange(80) % 3
BLOCKS = WorkingSet(block_size=32, whole=0)


@pytest.mark.filterwarnings("ignore:the kernel matrix is not positive definite")
@parametrize_with_checks([SVC(), SVR(), SVC(kernel="precomputed"), SVC(multi_class="ovr")])
def test_scikit_learns_own_checks(estimator, check):
    """No expected failures."""
    check(estimator)


def same_as_libsvm(ours, theirs, X, y, weight=None, tight=2e-6):
    ours.fit(X, y, sample_weight=weight)
    theirs.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    scale = np.abs(theirs.dual_coef_).max()
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-4 * scale)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=tight)
    method = "decision_function" if hasattr(ours, "classes_") else "predict"
    got, want = getattr(ours, method)(X), getattr(theirs, method)(X)
    np.testing.assert_allclose(got, want, atol=tight)
    np.testing.assert_array_equal(
        np.asarray(ours.support_vectors_), np.asarray(theirs.support_vectors_)
    )
    if hasattr(ours, "classes_"):
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


CASES = {
    "iris": (IRIS, {}),
    "iris, pairs": (IRIS, {"decision_function_shape": "ovo"}),
    "iris, ties": (IRIS, {"break_ties": True, "gamma": 0.1}),
    "iris, auto": (IRIS, {"gamma": "auto", "C": 0.3}),
    "iris, balanced": ((IRIS[0][:110], IRIS[1][:110]), {"class_weight": "balanced"}),
    "cancer": (None, {}),
    "cancer, poly": (None, {"kernel": "poly", "coef0": 1.0, "degree": 2}),
    "cancer, weights": (None, {"class_weight": {0: 3.0}, "C": 10.0}),
}


@pytest.mark.parametrize("case", CASES)
def test_classification_is_libsvms(case):
    data, options = CASES[case]
    if data is None:
        features, y = load_breast_cancer(return_X_y=True)
        data = scale(features), y
    tight = 2e-6 * max(1.0, options.get("C", 1.0))  # LIBSVM keeps K in float32
    same_as_libsvm(SVC(**options), svm.SVC(tol=1e-10, **options), *data, tight=tight)


@pytest.mark.parametrize("options", [{}, {"C": 100.0, "epsilon": 5.0}, {"kernel": "poly"}])
def test_regression_is_libsvms(options):
    features, y = load_diabetes(return_X_y=True)
    same_as_libsvm(SVR(**options), svm.SVR(tol=1e-10, **options), features, y, tight=1e-4)


@pytest.mark.parametrize("solver", ["auto", BLOCKS], ids=["whole", "blocks"])
def test_weights_are_libsvms(solver):
    weight = np.random.default_rng(0).uniform(0.2, 3.0, 80)
    ours, theirs = SVC(gamma=0.2, method=solver, tol=1e-9), svm.SVC(gamma=0.2, tol=1e-10)
    ours.fit(X, THREE, weight)
    theirs.fit(X, THREE, weight)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.support_, theirs.support_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array, lambda X: np.asfortranarray(X)])
def test_layouts_give_the_same_model(make, dtype):
    data = X.astype(dtype)
    want = SVC().fit(data, THREE)
    got = SVC().fit(make(data), THREE)
    np.testing.assert_allclose(
        got.decision_function(make(data)), want.decision_function(data), atol=1e-7
    )
    np.testing.assert_allclose(got.decision_function(data), want.decision_function(data), atol=1e-7)
    long = make(data)
    if sp.issparse(long):
        long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
        again = SVC().fit(long, THREE)
        np.testing.assert_array_equal(again.dual_coef_.toarray(), got.dual_coef_.toarray())
        assert sp.issparse(got.support_vectors_)


def test_products_are_made_where_they_cost_least():
    """Mostly zeros: CSR; hardly any: dense; the copy is told and the model is the same."""
    wide = np.tile(X, 5)
    few = np.where(np.random.default_rng(0).random(wide.shape) < 0.1, wide, 0.0)
    for data, told in ((wide, "dense array"), (few, "most are zeros")):
        other = sp.csr_matrix(data)
        one, two = (SVC(gamma=0.1).fit(d, LABELS) for d in (data, other))
        np.testing.assert_allclose(one.decision_function(data), two.decision_function(other))
        notes = one.copy_note_, two.copy_note_
        assert any(note and told in note for note in notes)
        assert None in notes


@pytest.mark.parametrize("y", [LABELS, THREE], ids=["two", "three"])
def test_a_matrix_and_a_callable_are_the_kernel_by_name(y):
    K = rbf_kernel(X, gamma=0.3)
    named = SVC(gamma=0.3).fit(X, y)
    by_matrix = SVC(kernel="precomputed").fit(K, y)
    by_hand = SVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.3)).fit(X, y)
    spec = SVC(kernel="rbf(gamma=0.3)").fit(X, y)
    for other, data in ((by_matrix, K), (by_hand, X), (spec, X)):
        np.testing.assert_allclose(other.dual_coef_, named.dual_coef_, atol=1e-8)
        np.testing.assert_allclose(
            other.decision_function(data), named.decision_function(X), atol=1e-8
        )
        assert other.gap_is_bound_
        np.testing.assert_array_equal(other.predict(data), named.predict(X))
    with pytest.raises(ValueError, match="80"):
        by_matrix.predict(K[:, :30])
    with pytest.raises(TypeError, match="toarray"):
        SVC(kernel="precomputed").fit(sp.csr_matrix(K), y)


def test_strings_may_be_rows_of_a_callable():
    def letters(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

    words, y = ["abc", "bcd", "xyz", "wxy", "ab", "yz"], [0, 0, 1, 1, 0, 1]
    assert list(SVC(kernel=letters).fit(words, y).predict(["cd", "wx"])) == [0, 1]


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_linear_weights(multi_class):
    fitted = SVC(kernel="linear", multi_class=multi_class, decision_function_shape="ovo")
    fitted.fit(*IRIS)
    got = IRIS[0] @ fitted.coef_.T + fitted.intercept_
    np.testing.assert_allclose(got, fitted.decision_function(IRIS[0]), atol=1e-8)
    with pytest.raises(AttributeError, match="linear"):
        _ = SVC().fit(*IRIS).coef_


def test_an_indefinite_kernel_is_told():
    with pytest.warns(UserWarning, match="not positive definite"):
        fitted = SVC(kernel="precomputed").fit(-rbf_kernel(X) + 0.5, LABELS)
    assert fitted.gap_is_bound_ is False
    many = np.tile(X, (30, 1)) + 0.01 * matrix(2400, 5)
    for data, y in ((X, LABELS), (many, np.tile(LABELS, 30)), (X, THREE)):
        with pytest.warns(UserWarning, match="not positive definite"):
            fitted = SVC(kernel="sigmoid", gamma=0.5, coef0=-0.2).fit(data, y)
        assert fitted.gap_is_bound_ is False
        assert fitted.converged_


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("C", [1.0, 1e8, 1e150])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_an_indefinite_kernel_has_no_gap_below_zero_and_every_fit_ends(loss, C):
    """Without limits: squares of such a kernel have no maximum of the dual."""
    fitted = SVC(kernel="sigmoid", loss=loss, C=C).fit(X, LABELS)
    assert fitted.gap_is_bound_ is False
    assert fitted.dual_gap_ >= -1e-12 * (1 + abs(fitted.primal_objective_))
    assert fitted.status_ in ("CONVERGED", "STALLED")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize(("C", "size"), [(1e150, 1), (1, 1e8), (1, 1e30)])
def test_values_far_from_the_size_of_C_end_a_fit(loss, C, size):
    """A linear kernel of rows that nobody scaled: without limits LIBSVM never returns."""
    fitted = SVC(kernel="linear", loss=loss, C=C).fit(size * X, LABELS)
    assert 0 <= fitted.dual_gap_ <= 1
    assert np.isfinite(fitted.coef_).all()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "smoothed_hinge", "logistic"])
def test_certificates_hold_for_every_problem(loss):
    solver = KernelNewton(block_size=32, whole=0) if loss == "logistic" else BLOCKS
    fitted = SVC(loss=loss, method=solver, tol=1e-5).fit(X, THREE)
    assert fitted.converged_
    assert fitted.dual_gaps_.shape == (3,)
    assert fitted.dual_gap_ == fitted.dual_gaps_.max() <= 1e-5
    np.testing.assert_allclose(fitted.primal_objective_ - fitted.dual_objective_, fitted.dual_gaps_)
    assert len(fitted.history_) == 3
    assert fitted.n_kernel_evals_ > 0


def test_losses_and_methods_are_names_specs_and_objects():
    """As everywhere: a name with parameters, or the thing itself."""
    spec = SVR(loss="huber(delta=2)").fit(X, RESPONSE)
    itself = SVR(loss=get_loss("huber", delta=2)).fit(X, RESPONSE)
    np.testing.assert_array_equal(spec.predict(X), itself.predict(X))
    assert np.any(spec.predict(X) != SVR(loss="huber").fit(X, RESPONSE).predict(X))
    tube = SVR(loss="epsilon_insensitive(epsilon=0.3)").fit(X, RESPONSE)
    np.testing.assert_array_equal(tube.predict(X), SVR(epsilon=0.3).fit(X, RESPONSE).predict(X))
    named = SVC(method="working-set(block_size=32, whole=0)").fit(X, LABELS)
    given = SVC(method=BLOCKS).fit(X, LABELS)
    assert named.method_ == given.method_ == "working-set"
    np.testing.assert_array_equal(named.dual_coef_, given.dual_coef_)
    assert SVC(loss="logistic").fit(X, LABELS).method_ == "kernel-newton"


@pytest.mark.parametrize("limit", [{"max_iter": 3}, {"time_limit": 0.0}])
def test_limits_are_kept_and_told(limit):
    model = SVC(tol=1e-9, method=BLOCKS, **limit)
    with pytest.warns(ConvergenceWarning, match=r"certified gap .* not reached"):
        model.fit(X, LABELS)
    assert not model.converged_
    assert model.n_iter_[0] <= 3
    assert np.isfinite(model.decision_function(X)).all()


def test_a_warm_start_goes_on_from_the_last_model():
    model = SVC(warm_start=True, tol=1e-7, method=BLOCKS).fit(X, THREE)
    first = model.n_iter_.copy()
    model.fit(X, THREE)
    assert np.all(model.n_iter_ == 1)
    assert np.all(first > 1)


def test_callbacks_see_the_gap_and_may_stop():
    seen = []
    model = SVC(method=BLOCKS, tol=1e-9, callbacks=lambda record: bool(seen.append(record.gap)))
    model.fit(np.tile(X, (6, 1)), np.tile(LABELS, 6))
    assert seen[-1] == model.dual_gap_
    with pytest.warns(ConvergenceWarning, match="a callback asked to stop"):
        SVC(method=BLOCKS, tol=1e-9, callbacks=lambda record: True).fit(
            np.tile(X, (6, 1)), np.tile(LABELS, 6)
        )


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_threads_change_nothing(monkeypatch, multi_class):
    monkeypatch.setattr("gapsvm.training.machines._WORTH_THREADS", 0.0)
    one = SVC(multi_class=multi_class, method=BLOCKS).fit(X, THREE)
    two = SVC(multi_class=multi_class, method=BLOCKS, n_jobs=2).fit(X, THREE)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("model", [SVC(), SVR()], ids=["svc", "svr"])
def test_copies_predict_the_same(model):
    fitted = clone(model).fit(X, THREE)
    other = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(other.predict(X), fitted.predict(X))
    assert other.history_ == fitted.history_


@pytest.mark.parametrize("cache_size", [1e-9, 0.01])
def test_a_cache_smaller_than_a_row_or_a_block(cache_size):
    small = SVC(cache_size=cache_size, method=BLOCKS, tol=1e-6).fit(X, THREE)
    ample = SVC(method=BLOCKS, tol=1e-6).fit(X, THREE)
    assert small.converged_
    np.testing.assert_allclose(small.primal_objective_, ample.primal_objective_, atol=2e-6)


@pytest.mark.parametrize("gamma", [0.0, 1e-12, 1e12])
@pytest.mark.parametrize("solver", ["auto", BLOCKS], ids=["whole", "blocks"])
def test_kernels_that_tell_nothing_apart_or_everything(gamma, solver):
    """K = 1 and K = I; rows that are there twice with different labels."""
    data, y = np.vstack([X, X[:20]]), np.append(LABELS, -LABELS[:20])
    fitted = SVC(gamma=gamma, method=solver).fit(data, y)
    assert fitted.converged_
    assert np.isfinite(fitted.decision_function(data)).all()


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
def test_tables_and_their_labels(table):
    names = [f"x{i}" for i in range(5)]
    labels = table({"y": np.array(["no", "yes"])[(LABELS > 0).astype(int)]})["y"]
    data = table({name: X[:, i] for i, name in enumerate(names)})
    fitted = SVC().fit(data, labels)
    assert list(fitted.feature_names_in_) == names
    assert set(fitted.classes_) == {"no", "yes"}
    want = SVC().fit(X, LABELS).predict(X) > 0
    np.testing.assert_array_equal(fitted.predict(data) == "yes", want)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_ctrl_c_leaves_the_last_certified_model(loss):
    def press(record):
        signal.raise_signal(signal.SIGINT)

    solver = BLOCKS if loss == "hinge" else KernelNewton(block_size=32, whole=0)
    model = SVC(loss=loss, method=solver, tol=1e-12, callbacks=press)
    with pytest.raises(KeyboardInterrupt, match="last certified model"):
        model.fit(np.tile(X, (6, 1)), np.tile(LABELS, 6))
    assert model.status_ == "INTERRUPTED"
    assert np.isfinite(model.dual_gap_)
    assert model.predict(X).shape == (80,)


IMPOSSIBLE = {
    "kernel": (SVC(kernel="rbff"), "unknown kernel 'rbff'.*did you mean 'rbf'"),
    "gamma": (SVC(gamma=-1.0), "'gamma'"),
    "gamma, name": (SVC(gamma="scaled"), "'gamma'.*'scale'"),
    "C": (SVC(C=0.0), "'C'"),
    "probability": (SVC(probability=True), "CalibratedClassifierCV"),
    "loss": (SVC(loss="log"), "unknown loss 'log'.*logistic"),
    "svr loss": (SVR(loss="hinge"), "is for classes; for numbers choose .*epsilon_insensitive"),
    "svc loss": (SVC(loss="huber"), "is for numbers; for classes choose .*hinge"),
    "epsilon": (SVR(loss="huber", epsilon=0.3), "epsilon=0.3 changes nothing"),
    "method": (SVC(method="sdca"), "'sdca': .*Methods for this problem: auto, .*working-set"),
    "method, loss": (SVC(method="working-set", loss="logistic"), "for this .*kernel-newton"),
    "method, name": (SVC(method="working"), "unknown method 'working'"),
    "max_iter": (SVC(max_iter=0), "max_iter must be at least 1, or -1"),
    "n_jobs": (SVC(n_jobs=0), "n_jobs must not be 0"),
    "matrix": (SVC(kernel="precomputed"), "must be square"),
    "shape": (SVC(kernel=lambda A, B: A), "gave shape"),
    "class_weight": (SVC(class_weight={7: 2.0}), "not in y"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_impossible_parameters_say_what_is_possible(case):
    model, message = IMPOSSIBLE[case]
    with pytest.raises(ValueError, match=message):
        model.fit(X, LABELS)


def test_ties_need_votes():
    with pytest.raises(ValueError, match="break_ties must be False"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(*IRIS).predict(IRIS[0])


@pytest.mark.parametrize("model", [SVC, SVR])
def test_names_are_scikit_learns(model):
    """A call of scikit-learn's works here."""
    theirs = set(inspect.signature(getattr(svm, model.__name__)).parameters)
    assert theirs <= set(inspect.signature(model).parameters)
