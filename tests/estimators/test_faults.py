"""Bad input and faults (FAULTS.md: Data, Control, Estimator): an error that names the cause."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from problems import matrix, targets
from sklearn.exceptions import ConvergenceWarning

from gapsvm import LinearSVC, LinearSVR

X = matrix(60, 4)
LABELS, RESPONSE = targets(X, "margin"), targets(X, "response")
METHODS = ("auto", "sdca", "interior", "pegasos")

IMPOSSIBLE = {
    "penalty": (LinearSVC(penalty="l1"), r"'penalty'.*\{'l2'\}"),
    "loss": (LinearSVC(loss="hingee"), "unknown loss 'hingee' .did you mean 'hinge'"),
    "svr loss": (LinearSVR(loss="hinge"), "for classes; for numbers .* epsilon_insensitive"),
    "svr epsilon": (LinearSVR(loss="huber", epsilon=0.2), "epsilon=0.2 changes nothing"),
    "loss parameter": (LinearSVR(loss="huber(width=2)"), "no parameter 'width'; it takes: delta"),
    "multi_class": (LinearSVC(multi_class="ovo"), "'multi_class'.*'ovr'"),
    "method": (LinearSVC(method="neuton"), "unknown method .*did you mean 'newton'"),
    "C": (LinearSVC(C=0.0), "'C'.*"),
    "C negative": (LinearSVR(C=-1.0), "'C'.*"),
    "lam": (LinearSVC(lam=0.0), "'lam'.*"),
    "tol": (LinearSVC(tol=-1e-3), "'tol'.*"),
    "max_iter": (LinearSVC(max_iter=0), "'max_iter'.*"),
    "time_limit": (LinearSVC(time_limit=-1.0), "'time_limit'.*"),
    "intercept_scaling": (LinearSVC(intercept_scaling=0.0), "'intercept_scaling'.*"),
    "epsilon": (LinearSVR(epsilon=-0.1), "'epsilon'.*"),
    "n_jobs": (LinearSVC(n_jobs=0), "n_jobs must not be 0; use None for one thread"),
    "callbacks": (LinearSVC(callbacks=3), "'callbacks'.*callable"),
    "dual, pegasos": (
        LinearSVC(dual=True, method="pegasos"),
        "dual=True and method='pegasos' exclude each other: that is a primal method",
    ),
    "primal, sdca": (
        LinearSVR(dual=False, method="sdca"),
        "dual=False and method='sdca' exclude each other: that is a dual method",
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_impossible_parameters_say_what_is_possible(case):
    model, message = IMPOSSIBLE[case]
    with pytest.raises(ValueError, match=message):
        model.fit(X, LABELS)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", [LinearSVC, LinearSVR])
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.full(60, np.nan), "sample_weight contains NaN"),
        (np.r_[np.inf, np.ones(59)], "sample_weight contains infinity"),
        (np.r_[-1.0, np.ones(59)], "sample_weight contains negative"),
        (np.ones(7), "sample_weight has shape"),
        (np.ones((60, 2)), "sample_weight has shape"),
        (np.zeros(60), "all sample weights are zero"),
    ],
)
def test_bad_weights(model, method, weight, message):
    with pytest.raises(ValueError, match=message):
        model(method=method).fit(X, LABELS, sample_weight=weight)


def test_a_number_as_weight_is_that_weight_for_all():
    a = LinearSVC().fit(X, LABELS, sample_weight=2.0)
    b = LinearSVC(C=2.0).fit(X, LABELS)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-7)


@pytest.mark.parametrize(
    ("y", "weight", "named"),
    [
        (np.ones(60), None, "1."),
        (["only"] * 60, None, "only"),
        (np.where(LABELS > 0, "a", "b"), (LABELS > 0).astype(float), "'b'"),
        (np.where(LABELS > 0, "a", "b"), (LABELS < 0).astype(float), "'a'"),
        (np.array(list("abc") * 20), np.tile([1.0, 0.0, 1.0], 20), "'b'"),
    ],
)
def test_a_class_without_rows_or_weight_is_named(y, weight, named):
    with pytest.raises(ValueError, match="class") as error:
        LinearSVC().fit(X, y, sample_weight=weight)
    assert named in str(error.value)


def test_a_class_weight_of_zero_removes_a_class():
    with pytest.raises(ValueError, match="class"):
        LinearSVC(class_weight={-1.0: 0.0, 1.0: 1.0}).fit(X, LABELS)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_responses(bad):
    with pytest.raises(ValueError, match=r"NaN|infinity|Infinity"):
        LinearSVR().fit(X, np.r_[bad, RESPONSE[1:]])


ODD = {
    "n=2": (np.array([[1.0, 2.0], [-1.0, 0.5]]), 2),
    "d=1": (X[:, :1], 60),
    "all zero": (np.zeros((60, 3)), 60),
    "zero rows": (X * (np.arange(60) % 2)[:, None], 60),
    "zero columns": (X * [1.0, 0.0, 1.0, 0.0], 60),
    "d≫n": (matrix(12, 400), 12),
    "equal rows": (np.ones((60, 3)), 60),
    "csr without values": (sp.csr_matrix((60, 3)), 60),
    "duplicated columns": (np.repeat(X[:, :1], 4, axis=1), 60),
}


@pytest.mark.parametrize("model", [LinearSVC, LinearSVR])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", ODD)
def test_odd_data_has_a_defined_answer(case, method, model):
    data, n = ODD[case]
    y = (LABELS if model is LinearSVC else RESPONSE)[:n]
    fitted = model(method=method, tol=0.1, C=0.1, max_iter=5000, random_state=0).fit(data, y)
    assert fitted.converged_
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.dual_gap_)
    assert fitted.dual_gap_ >= -1e-12


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [0.0, 3.0, -1e6])
def test_a_constant_response_is_no_failure(value, method):
    """P₀ = 0: the zero model with the right intercept is the exact answer."""
    fitted = LinearSVR(method=method, epsilon=0.1, random_state=0).fit(X, np.full(60, value))
    assert fitted.converged_
    assert abs(fitted.intercept_[0] - value) <= 0.1 + 1e-6 * abs(value)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("C", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [LinearSVC, LinearSVR])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_extreme_scales_are_honest(model, dtype, scale, C, method):
    """Rows × 1e±8, C = 1e±8: no NaN, no exception, and the gap that is reported is the gap."""
    data = (X * scale).astype(dtype)
    y = LABELS if model is LinearSVC else RESPONSE
    fitted = model(method=method, C=C, max_iter=30, tol=1e-3, random_state=0).fit(data, y)
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.intercept_).all()
    assert np.isfinite(fitted.dual_gap_)
    assert fitted.dual_gap_ >= -1e-9 * (1 + abs(fitted.primal_objective_))
    f = data.astype(float) @ fitted.coef_.ravel() + fitted.intercept_[0]
    loss = np.maximum(0, 1 - y * f) if model is LinearSVC else np.abs(f - y)
    primal = loss.mean() + 0.5 / (C * 60) * float(fitted.coef_.ravel() @ fitted.coef_.ravel())
    assert fitted.primal_objective_ == pytest.approx(primal, rel=1e-6, abs=1e-9)
    assert fitted.converged_ or fitted.status_ != "CONVERGED"


@pytest.mark.parametrize("rows", [1e-8, 1e8])
@pytest.mark.parametrize("method", ["auto", "sdca", "interior"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_single_extreme_rows(rows, method):
    data = X.copy()
    data[::7] *= rows
    fitted = LinearSVC(method=method, max_iter=100, random_state=0).fit(data, LABELS)
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.dual_gap_)
    assert fitted.dual_gap_ >= -1e-9


@pytest.fixture
def harmless_sigint():
    """A stray SIGINT must not end pytest itself."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("classes", [2, 3])
def test_ctrl_c_leaves_a_usable_model(classes, n_jobs, harmless_sigint):
    """KeyboardInterrupt, and the estimator holds the last certified model."""
    data = matrix(3000, 20)
    y = targets(data, "margin") if classes == 2 else np.arange(3000) % 3
    options = {"method": "sdca", "n_jobs": n_jobs, "random_state": 0}
    LinearSVC(tol=0.9, **options).fit(data, y)  # compiled
    model = LinearSVC(C=1e3, tol=0.0, max_iter=10**9, time_limit=60, **options)
    timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt, match="last certified model"):
            model.fit(data, y)
    finally:
        timer.join()
    assert model.status_ == "INTERRUPTED"
    assert model.converged_ is False
    assert model.predict(data).shape == (3000,)
    assert np.isfinite(model.dual_gap_)


def test_ctrl_c_in_a_real_process():
    """The default handler, as in a terminal: the exception, then a model that predicts."""
    code = """
        import os, signal, threading, numpy as np
        from gapsvm import LinearSVC
        rng = np.random.default_rng(0)
        X = rng.normal(size=(3000, 20)); y = np.where(X[:, 0] + rng.normal(size=3000) > 0, 1, -1)
        LinearSVC(method="sdca").fit(X, y)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        model = LinearSVC(method="sdca", C=1e3, tol=0.0, max_iter=10**9, time_limit=60)
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            print(model.status_, len(model.predict(X)), signal.getsignal(signal.SIGINT).__name__)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.split() == ["INTERRUPTED", "3000", "default_int_handler"], done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_fork_after_a_fit():
    """A child made by fork after kernels and threads were used fits as well."""
    code = """
        import os, warnings, numpy as np
        from gapsvm import LinearSVC
        warnings.simplefilter("ignore")  # Python warns of forks with threads
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 3)); y = np.arange(60) % 3
        fit = lambda: LinearSVC(method="sdca", n_jobs=2, random_state=0).fit(X, y).coef_
        want = fit()
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(fit(), want) else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == "0", done.stderr


def test_dtype_may_change_between_fits():
    model = LinearSVC(warm_start=True, method="sdca", random_state=0)
    for data in (X, X.astype(np.float32), sp.csr_matrix(X)):
        assert model.fit(data, LABELS).converged_
        assert model.coef_.dtype == np.float64
        for other in (X, X.astype(np.float32), sp.csr_matrix(X)):
            assert model.predict(other).shape == (60,)


def test_a_tenth_of_a_second():
    """A budget too small for its problem: a warning with the numbers, a usable model."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(20_000, 60))
    y = np.where(data[:, 0] + rng.normal(size=20_000) > 0, 1, -1)
    model = LinearSVC(method="sdca", tol=1e-12, C=1e3, time_limit=0.1, max_iter=10**6)
    with pytest.warns(ConvergenceWarning, match=r"certified gap .* passes, tol=1e-12"):
        model.fit(data, y)
    assert model.status_ == "TIME_LIMIT"
    assert model.predict(data).shape == (20_000,)
