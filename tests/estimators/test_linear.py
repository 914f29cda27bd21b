"""LinearSVC and LinearSVR minimise what they say, to the gap they report."""

from __future__ import annotations

import inspect
import threading

import numpy as np
import pytest
import sklearn.svm
from problems import DTYPES, LAYOUTS, matrix, targets
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from gapsvm import LinearSVC, LinearSVR, get_loss

X = matrix(70, 5)
LABELS, RESPONSE = targets(X, "margin"), targets(X, "response")
WEIGHT = np.random.default_rng(0).uniform(0.3, 3, 70)
METHODS = ("auto", "sdca", "interior")


def test_parameters_are_scikit_learns_and_few_more():
    """What tunes a method or a loss is a parameter of the method or the loss."""
    theirs = set(inspect.signature(sklearn.svm.LinearSVC).parameters)
    more = {"lam", "method", "penalize_intercept", "time_limit", "warm_start", "n_jobs"}
    assert len(theirs) == 12
    assert set(inspect.signature(LinearSVC).parameters) == theirs | more | {"callbacks"}


def documented(model, X, y, coef, intercept, weight=None):
    """C Σ s φ + ‖w‖²/2, plus (b/scaling)²/2 where the intercept is penalised."""
    parameters = {"epsilon": model.epsilon} if "epsilon" in model.loss else {}
    loss = get_loss(model.loss, **parameters)
    f = np.asarray(X @ np.ravel(coef)).ravel() + np.squeeze(intercept)
    z, t = (y * f, 1.0) if loss.kind == "margin" else (f, y)
    s = np.ones(len(y)) if weight is None else weight
    penalty = 0.5 * float(np.ravel(coef) @ np.ravel(coef))
    if model.penalize_intercept:
        penalty += 0.5 * float(np.squeeze(intercept) / model.intercept_scaling) ** 2
    return model.C * float(s @ loss.curve.value(z, t)) + penalty


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scaling", [1.0, 0.5, 4.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_penalised_intercept_is_scikit_learns_objective(loss, scaling, method):
    """LinearSVC reaches the minimum that liblinear finds with a tiny tolerance, to 1e-6."""
    theirs = sklearn.svm.LinearSVC(
        loss=loss, C=0.3, intercept_scaling=scaling, dual=True, tol=1e-10, max_iter=10**6
    ).fit(X, LABELS)
    ours = LinearSVC(
        loss=loss,
        C=0.3,
        intercept_scaling=scaling,
        penalize_intercept=True,
        method=method,
        tol=1e-8,
    ).fit(X, LABELS)
    a = documented(ours, X, LABELS, ours.coef_, ours.intercept_)
    b = documented(ours, X, LABELS, theirs.coef_, theirs.intercept_)
    assert a == pytest.approx(b, rel=1e-6)
    assert ours.primal_objective_ == pytest.approx(a / (0.3 * 70), rel=1e-10)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scaling", [1.0, 3.0])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_the_same_for_regression(loss, scaling, method):
    theirs = sklearn.svm.LinearSVR(
        loss=loss,
        C=0.3,
        epsilon=0.2,
        intercept_scaling=scaling,
        dual=True,
        tol=1e-10,
        max_iter=10**6,
    ).fit(X, RESPONSE)
    ours = LinearSVR(
        loss=loss,
        C=0.3,
        epsilon=0.2,
        intercept_scaling=scaling,
        penalize_intercept=True,
        method=method,
        tol=1e-8,
        max_iter=10**5,
    ).fit(X, RESPONSE)
    a = documented(ours, X, RESPONSE, ours.coef_, ours.intercept_)
    b = documented(ours, X, RESPONSE, theirs.coef_, theirs.intercept_)
    assert a == pytest.approx(b, rel=1e-6)


def test_weights_are_scikit_learns_too():
    """sample_weight × class_weight in the objective, λ = 1/(C·S)."""
    options = {"loss": "hinge", "C": 0.2, "class_weight": {-1.0: 1.0, 1.0: 2.5}}
    theirs = sklearn.svm.LinearSVC(dual=True, tol=1e-10, max_iter=10**6, **options)
    theirs.fit(X, LABELS, sample_weight=WEIGHT)
    ours = LinearSVC(penalize_intercept=True, tol=1e-8, **options)
    ours.fit(X, LABELS, sample_weight=WEIGHT)
    s = WEIGHT * np.where(LABELS > 0, 2.5, 1.0)
    a = documented(ours, X, LABELS, ours.coef_, ours.intercept_, s)
    assert a == pytest.approx(
        documented(ours, X, LABELS, theirs.coef_, theirs.intercept_, s), rel=1e-6
    )


SMOOTH = [
    *((LinearSVC, loss) for loss in ("squared_hinge", "smoothed_hinge", "logistic")),
    *((LinearSVR, loss) for loss in ("squared_epsilon_insensitive", "huber", "half_squared")),
]


@pytest.mark.parametrize("intercept", ["none", "penalized", "free"])
@pytest.mark.parametrize(("model", "loss"), SMOOTH)
def test_the_documented_objective_against_scipy(model, loss, intercept):
    """The unpenalised intercept is exact: a general minimiser finds nothing better."""
    y = LABELS if model is LinearSVC else RESPONSE
    ours = model(
        loss=loss,
        C=0.5,
        tol=1e-8,
        fit_intercept=intercept != "none",
        penalize_intercept=intercept == "penalized",
        intercept_scaling=2.0,
        max_iter=100_000,
        random_state=0,
    ).fit(X, y, sample_weight=WEIGHT)

    def at(v):
        return documented(ours, X, y, v[:5], v[5] * (intercept != "none"), WEIGHT)

    found = minimize(at, np.zeros(6), method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    mine = documented(ours, X, y, ours.coef_, ours.intercept_, WEIGHT)
    assert mine == pytest.approx(found.fun, rel=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method", ["sdca", "interior", "pegasos"])
@pytest.mark.parametrize("model", [LinearSVC, LinearSVR])
def test_the_gap_is_honest_through_the_estimator(model, method, layout, dtype):
    """The reported numbers are those of coef_, intercept_ and dual_coef_, recomputed."""
    data = matrix(70, 5, layout=layout, dtype=dtype)
    y = LABELS if model is LinearSVC else RESPONSE
    fitted = model(method=method, tol=0.05, C=0.1, max_iter=5000, random_state=0).fit(data, y)
    lam, alpha = 1 / (0.1 * 70), fitted.dual_coef_.ravel()
    assert fitted.converged_
    mine = documented(fitted, data, y, fitted.coef_, fitted.intercept_)
    assert fitted.primal_objective_ == pytest.approx(lam * mine, rel=1e-10)
    parameters = {"epsilon": 0.0} if model is LinearSVR else {}
    loss, sign = get_loss(fitted.loss, **parameters), y if model is LinearSVC else np.ones(70)
    t = np.ones(70) if model is LinearSVC else y
    w = np.asarray(data.T @ (sign * alpha)).ravel().astype(float) / (lam * 70)
    dual = -float(np.mean(loss.curve.conjugate(alpha, t))) - 0.5 * lam * float(w @ w)
    assert abs(float(sign @ alpha)) <= 1e-9 * 70
    assert fitted.dual_objective_ == pytest.approx(dual, rel=1e-6, abs=1e-9)
    assert fitted.dual_gap_ >= -1e-12


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", ["auto", "sdca", "interior"])
@pytest.mark.parametrize(
    ("model", "loss"),
    [(LinearSVC, "hinge"), (LinearSVC, "squared_hinge"), (LinearSVR, "epsilon_insensitive")],
)
def test_weights_are_repetitions(model, loss, method, fit_intercept):
    """Weight 2 ≡ row twice, weight 0 ≡ row removed; small problems by auto exactly."""
    y = LABELS if model is LinearSVC else RESPONSE
    count = np.random.default_rng(1).integers(0, 3, 70)
    count[:2] = 1, 2
    options = {"loss": loss, "method": method, "fit_intercept": fit_intercept, "tol": 1e-7}
    options |= {"max_iter": 10**5, "random_state": 0}
    a = model(**options).fit(X, y, sample_weight=count)
    b = model(**options).fit(np.repeat(X, count, 0), np.repeat(y, count))
    close = 1e-6 if method == "auto" else 3e-2
    np.testing.assert_allclose(a.coef_, b.coef_, atol=close)
    assert a.primal_objective_ == pytest.approx(b.primal_objective_, rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_counts_weights(weighted):
    """ "balanced" with repetitions as weights ≡ with the rows repeated."""
    count = np.random.default_rng(2).integers(0, 3, 70) if weighted else np.ones(70, dtype=int)
    count[:2] = 1, 2
    a = LinearSVC(class_weight="balanced").fit(X, LABELS, sample_weight=count)
    b = LinearSVC(class_weight="balanced").fit(np.repeat(X, count, 0), np.repeat(LABELS, count))
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-6)
    mass = {k: count[k == LABELS].sum() for k in (-1.0, 1.0)}
    explicit = {k: count.sum() / (2 * m) for k, m in mass.items()}
    c = LinearSVC(class_weight=explicit).fit(X, LABELS, sample_weight=count)
    np.testing.assert_allclose(a.coef_, c.coef_, atol=1e-6)


def test_one_vs_rest_is_one_problem_per_class():
    y = np.argmax(X[:, :3] + np.random.default_rng(3).normal(size=(70, 3)), axis=1)
    together = LinearSVC(tol=1e-9).fit(X, y)
    for k in range(3):
        alone = LinearSVC(tol=1e-9).fit(X, np.where(y == k, 1, -1))
        np.testing.assert_allclose(together.coef_[k], alone.coef_[0], atol=1e-6)
        assert together.primal_objective_[k] == pytest.approx(alone.primal_objective_, rel=1e-9)
    np.testing.assert_array_equal(together.predict(X), together.decision_function(X).argmax(axis=1))


@pytest.mark.parametrize("method", ["sdca", "interior", "pegasos"])
def test_threads_change_nothing(method):
    """Classes over one, two or all threads: the same model, bit for bit."""
    y = np.arange(70) % 4
    options = {"method": method, "tol": 0.3, "random_state": 5}
    one, two, all_ = (LinearSVC(n_jobs=k, **options).fit(X, y) for k in (1, 2, -1))
    for other in (two, all_):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.dual_gaps_, other.dual_gaps_)


@pytest.mark.parametrize("method", ["sdca", "pegasos"])
def test_same_seed_same_model_twenty_times(method):
    options = {"method": method, "tol": 0.2, "random_state": 11}
    first = LinearSVC(**options).fit(X, LABELS)
    for _ in range(19):
        again = LinearSVC(**options).fit(X, LABELS)
        np.testing.assert_array_equal(again.coef_, first.coef_)
        np.testing.assert_array_equal(again.intercept_, first.intercept_)


def test_two_fits_at_once_on_one_matrix():
    models = [LinearSVC(method="sdca", tol=1e-6, random_state=0, C=c) for c in (0.1, 1.0)]
    alone = [LinearSVC(**m.get_params()).fit(X, LABELS).coef_ for m in models]
    threads = [threading.Thread(target=m.fit, args=(X, LABELS)) for m in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model, coef in zip(models, alone):
        np.testing.assert_array_equal(model.coef_, coef)


@pytest.mark.parametrize("method", ["auto", "sdca"])
@pytest.mark.parametrize(
    ("model", "loss"),
    [(LinearSVC, "hinge"), (LinearSVC, "logistic"), (LinearSVR, "epsilon_insensitive")],
)
def test_refitting_at_the_optimum_stops_within_two_passes(model, loss, method):
    y = LABELS if model is LinearSVC else RESPONSE
    fitted = model(
        loss=loss, method=method, warm_start=True, tol=1e-5, max_iter=50_000, random_state=0
    ).fit(X, y)
    before = fitted.primal_objective_
    fitted.fit(X, y)
    assert fitted.n_iter_ <= 2
    assert fitted.primal_objective_ == pytest.approx(before, rel=2e-5)


@pytest.mark.parametrize("change", ["C", "labels", "weights", "rows", "loss"])
def test_warm_start_is_never_wrong(change):
    """The old α is only a start: another C, other labels, weights or rows reach their optimum."""
    options = {"method": "sdca", "tol": 1e-5, "max_iter": 50_000, "random_state": 0}
    model = LinearSVC(warm_start=True, **options).fit(X, LABELS)
    data, y, weight = X, LABELS, None
    if change == "C":
        model.set_params(C=20.0)
    elif change == "labels":
        y = np.where(RESPONSE > 1.0, -1.0, 1.0)
    elif change == "weights":
        weight = np.where(LABELS > 0, 5.0, 0.2)
    elif change == "rows":
        data, y = X[:50], LABELS[:50]
    else:
        model.set_params(loss="squared_hinge")
    model.fit(data, y, sample_weight=weight)
    cold = LinearSVC(loss=model.loss, C=model.C, **options).fit(data, y, sample_weight=weight)
    assert model.converged_
    assert model.primal_objective_ == pytest.approx(cold.primal_objective_, rel=1e-4)


def test_the_choice_of_method_is_visible():
    assert LinearSVC().fit(X, LABELS).method_ == "exact"
    assert LinearSVC(loss="logistic").fit(X, LABELS).method_ == "exact"
    assert LinearSVC(loss="logistic", method="sdca").fit(X, LABELS).method_ == "sdca"
    assert LinearSVC(method="pegasos", tol=0.5).fit(X, LABELS).method_ == "pegasos"
    assert LinearSVC().fit(X, np.arange(70) % 3).method_ == ["exact"] * 3


def test_small_problems_are_solved_exactly():
    """Whatever tol is: 1e-12 of P₀, by auto."""
    for model, y in (
        (LinearSVC(tol=0.5), LABELS),
        (LinearSVC(tol=0.5, loss="logistic"), LABELS),
        (LinearSVR(tol=0.5), RESPONSE),
    ):
        assert model.fit(X, y).dual_gap_ <= 1e-11


def test_convergence_warning_has_the_numbers():
    """Gap, tol and passes; the model is in place and usable."""
    model = LinearSVC(method="sdca", tol=1e-10, max_iter=3, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, LABELS)
    message = str(caught[0].message)
    assert f"{model.dual_gap_:.3e}" in message
    assert "tol=1e-10" in message
    assert "3 passes" in message
    assert caught[0].filename == __file__
    assert model.converged_ is False
    assert model.status_ == "MAX_PASSES"
    assert model.n_iter_ == 3
    assert model.predict(X).shape == (70,)


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ({"max_iter": 1}, "MAX_PASSES"),
        ({"time_limit": 0.0}, "TIME_LIMIT"),
        ({"tol": 0.0, "max_iter": 9}, "MAX_PASSES"),
        ({"callbacks": lambda record: True}, "STOPPED_BY_CALLBACK"),
    ],
)
@pytest.mark.parametrize("model", [LinearSVC, LinearSVR])
def test_every_early_end_warns_and_leaves_a_model(model, parameters, status):
    y = LABELS if model is LinearSVC else RESPONSE
    fitted = model(**{"method": "sdca", "tol": 1e-12, "random_state": 0, **parameters})
    with pytest.warns(ConvergenceWarning, match="certified gap"):
        fitted.fit(X, y)
    assert fitted.status_ == status
    assert fitted.converged_ is False
    assert np.isfinite(fitted.predict(X)).all()
    assert fitted.dual_gap_ >= -1e-12


def test_time_limit_is_shared_by_the_classes():
    """One budget for all of them, each with a certificate."""
    model = LinearSVC(method="pegasos", tol=1e-9, max_iter=10**9, time_limit=0.4, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, np.arange(70) % 4)
    assert model.status_ == "TIME_LIMIT"
    assert np.isfinite(model.dual_gaps_).all()
    spent = [history[-1].seconds for history in model.history_]
    assert min(spent) > 0


def test_callbacks_get_records():
    records = []
    model = LinearSVC(method="sdca", tol=1e-6, callbacks=records.append, random_state=0)
    model.fit(X, LABELS)
    assert records[-1].gap == model.dual_gap_
    assert [r.passes for r in records] == sorted(r.passes for r in records)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_that_raises_leaves_no_thread(n_jobs):
    def broken(record):
        raise RuntimeError("broken callback")

    before = threading.active_count()
    with pytest.raises(RuntimeError, match="broken callback"):
        LinearSVC(method="sdca", callbacks=broken, n_jobs=n_jobs).fit(X, np.arange(70) % 3)
    assert threading.active_count() == before


def test_verbose_shows_progress(capsys):
    LinearSVC(verbose=1).fit(X, LABELS)
    assert "LinearSVC" in capsys.readouterr().err
    LinearSVC().fit(X, LABELS)
    captured = capsys.readouterr()
    assert captured.err == captured.out == ""
