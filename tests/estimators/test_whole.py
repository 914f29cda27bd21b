"""What every estimator owes to whoever gives it nonsense: a model that is finite and certified, or
an error that names the cause and leaves the estimator as it was."""

from __future__ import annotations

import warnings

import numpy as np
import own
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from gapsvm import (
    SVC,
    SVR,
    ChainCRF,
    ChainSVC,
    LinearSVC,
    LinearSVR,
    OnlineSVC,
    OnlineSVR,
    RankSVC,
    Sequences,
    StructuredSVC,
)

N, D = 40, 4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
RESPONSE = X[:, 0] + 0.1 * RNG.normal(size=N)
LABEL = (X[:, 0] + 0.3 * RNG.normal(size=N) > 0).astype(int)
GRADE = np.clip(np.round(RESPONSE + 1), 0, 3)
QUERY = np.repeat(np.arange(8), 5)
STARTS = np.arange(0, N + 1, 5)


def _sequences(X):
    return Sequences(X, STARTS)


def _same(X):
    return X


MODELS = {
    "LinearSVC": (LinearSVC(max_iter=200), _same, LABEL, {}, {"lam": 1e-320}),
    "LinearSVC of several": (LinearSVC(max_iter=200), _same, GRADE, {}, {"lam": 1e-320}),
    "LinearSVC of all at once": (
        LinearSVC(max_iter=200, multi_class="crammer_singer", fit_intercept=False),
        *(_same, GRADE, {}, {"lam": 1e-320}),
    ),
    "LinearSVR": (LinearSVR(max_iter=200), _same, RESPONSE, {}, {"lam": 1e-320}),
    "SVC": (SVC(max_iter=5000), _same, LABEL, {}, {"lam": 1e-320}),
    "SVC of several": (SVC(max_iter=5000), _same, GRADE, {}, {"lam": 1e-320}),
    "linear SVC": (SVC(kernel="linear", max_iter=5000), _same, LABEL, {}, {"lam": 1e-320}),
    "SVR": (SVR(max_iter=5000), _same, RESPONSE, {}, {"lam": 1e-320}),
    "linear SVR": (SVR(kernel="linear", max_iter=5000), _same, RESPONSE, {}, {"C": 1e308}),
    "RankSVC": (RankSVC(max_iter=50), _same, GRADE, {"qid": QUERY}, {"lam": 1e-320}),
    "RankSVC by ndcg": (
        *(RankSVC(loss="ndcg", max_iter=50), _same, GRADE),
        *({"qid": QUERY}, {"C": 1e308}),
    ),
    "ChainSVC": (ChainSVC(max_iter=50), _sequences, LABEL, {}, {"lam": 1e-320}),
    "StructuredSVC": (
        StructuredSVC(own.Multilabel(D, 2), max_iter=20),
        *(_same, np.stack([LABEL, GRADE > 1], axis=1), {}, {"lam": 1e-320}),
    ),
    "ChainCRF": (ChainCRF(max_iter=50), _sequences, LABEL, {}, {"C": 1e308}),
}
ONLINE = {
    "OnlineSVC": (OnlineSVC(random_state=0), _same, LABEL, {}, {"lam": 1e-320}),
    "OnlineSVR": (OnlineSVR(random_state=0), _same, RESPONSE, {}, {"lam": 1e-320}),
}


def _fresh(case):
    """A new estimator, data, labels, what fit needs besides, and parameters that it refuses."""
    model, made, y, more, refused = {**MODELS, **ONLINE}[case]
    return type(model)(**model.get_params()), made, y, more, refused


def _quietly(call, *args, **options):
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        return call(*args, **options)


def _outputs(model, data):
    found = [_quietly(model.predict, data)]
    for name in ("decision_function", "token_scores", "predict_proba"):
        if hasattr(model, name):
            found.append(_quietly(getattr(model, name), data))
    return [np.concatenate(some) if isinstance(some, list) else some for some in found]


def _spoiled(kind):
    rows = X.copy()
    if kind == "zero rows":
        rows[::3] = 0.0
    elif kind == "a zero column":
        rows[:, 1] = 0.0
    elif kind == "a huge row":
        rows[0] *= 1e150
    else:
        rows *= kind
    return rows


@pytest.mark.parametrize(
    "kind", [1e30, 1e100, 1e200, 1e-30, 1e-160, 0.0, "zero rows", "a zero column", "a huge row"]
)
@pytest.mark.parametrize("case", MODELS)
def test_a_model_is_finite_and_no_worse_than_zero(case, kind):
    """Or the data are refused, naming X or, of an oracle, its features."""
    model, made, y, more, _ = _fresh(case)
    data = made(_spoiled(kind))
    try:
        _quietly(model.fit, data, y, **more)
    except ValueError as error:
        assert "X" in str(error) or "features" in str(error), error  # noqa: PT017
        return
    gaps, primal = np.atleast_1d(model.dual_gap_), np.atleast_1d(model.primal_objective_)
    assert np.isfinite(gaps).all()
    assert np.isfinite(primal).all()
    zero, *_ = _fresh(case)
    _quietly(zero.set_params(time_limit=0).fit, data, y, **more)
    assert np.max(gaps) <= np.max(zero.dual_gap_) * (1 + 1e-9) + 1e-12
    for some in _outputs(model, data):
        assert np.isfinite(np.asarray(some, dtype=float)).all()


@pytest.mark.parametrize("case", [*MODELS, *ONLINE])
def test_a_first_fit_that_fails_leaves_nothing(case):
    model, made, y, more, refused = _fresh(case)
    before = set(vars(model))
    with pytest.raises(ValueError, match=next(iter(refused))):
        model.set_params(**refused).fit(made(X), y, **more)
    assert set(vars(model)) == before
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.predict(made(X))


@pytest.mark.parametrize("case", [*MODELS, *ONLINE])
def test_a_later_fit_that_fails_leaves_the_model_before(case):
    """Classes and widths of the failed fit would not go with the weights that are there."""
    model, made, y, more, refused = _fresh(case)
    _quietly(model.fit, made(X), y, **more)
    told = _outputs(model, made(X))
    kept = "SVR" in case or "Rank" in case or "Structured" in case
    other = y if kept else np.array([f"label {k}" for k in y])
    with pytest.raises(ValueError, match=next(iter(refused))):
        model.set_params(**refused).fit(
            made(X if "Structured" in case else X[:, :2]), other, **more
        )
    for now, then in zip(_outputs(model, made(X)), told, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("case", MODELS)
def test_ctrl_c_keeps_the_certified_model(case):
    """One before anything is certified leaves nothing."""
    model, made, y, more, _ = _fresh(case)

    def interrupt(record):
        raise KeyboardInterrupt

    model.set_params(callbacks=interrupt, tol=0.0)
    with pytest.raises(KeyboardInterrupt):
        _quietly(model.fit, made(X), y, **more)
    if "dual_gap_" in vars(model):
        assert np.isfinite(model.dual_gap_)
        assert not model.converged_
        model.predict(made(X))
    else:
        with pytest.raises(NotFittedError):
            model.predict(made(X))


@pytest.mark.parametrize("limit", [0, 1e-3])
@pytest.mark.parametrize("case", MODELS)
def test_hardly_any_time_is_an_honest_gap(case, limit):
    model, made, y, more, _ = _fresh(case)
    _quietly(model.set_params(time_limit=limit).fit, made(X), y, **more)
    assert np.isfinite(model.dual_gap_)
    assert model.dual_gap_ <= np.max(model.primal_objective_) + 1e-12


WEIGHTS = {
    "negative": (-1.0, "sample_weight contains negative values"),
    "NaN": (np.nan, "sample_weight contains NaN"),
    "huge": (1e308, "the sum of sample_weight is inf"),
    "tiny": (1e-320, "the sum of sample_weight is"),
    "zero": (0.0, "all sample weights are zero"),
}


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize(
    "case",
    [
        *("LinearSVC", "LinearSVR", "SVC", "SVR", "ChainSVC", "ChainCRF", "StructuredSVC"),
    ],
)
def test_weights_are_blamed_by_name(case, kind):
    """And not C, from which λ is made with their sum."""
    model, made, y, _, _ = _fresh(case)
    value, sentence = WEIGHTS[kind]
    count = len(STARTS) - 1 if made is _sequences else N
    with pytest.raises(ValueError, match=sentence):
        model.fit(made(X), y, sample_weight=np.full(count, value))


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_of_queries_are_blamed_by_name(kind):
    value, sentence = WEIGHTS[kind]
    sentence = sentence.replace("sample", "query")
    with pytest.raises(ValueError, match=sentence):
        RankSVC().fit(X, GRADE, qid=QUERY, query_weight=np.full(8, value))


@pytest.mark.parametrize(
    ("weight", "named"),
    [({1: -1.0}, "is -1.0"), ({1: np.nan}, "is nan"), ({1: 1e308}, "the sum of class_weight")],
)
@pytest.mark.parametrize("make", [LinearSVC, SVC])
def test_weights_of_classes_are_blamed_by_name(make, weight, named):
    with pytest.raises(ValueError, match=named):
        make(class_weight=weight).fit(X, LABEL)


def _corrupted(kind, layout, index_type):
    rows = (sp.csr_matrix if layout == "csr" else sp.csc_matrix)(X)
    rows.indices, rows.indptr = rows.indices.astype(index_type), rows.indptr.astype(index_type)
    if kind == "index beyond":
        rows.indices[5] = 10**6
    elif kind == "negative index":
        rows.indices[5] = -3
    elif kind == "ends beyond":
        rows.indptr[-1] += 10**6
    elif kind == "jump":
        rows.indptr[3] = 10**7
    elif kind == "down":
        rows.indptr[2], rows.indptr[3] = 12, 0
    elif kind == "values missing":
        rows.data = rows.data[:-4]
    return rows


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize(
    "kind", ["index beyond", "negative index", "ends beyond", "jump", "down", "values missing"]
)
def test_corrupted_sparse_rows_are_refused_by_fit_and_predict(kind, layout, index_type):
    sentence = r"X has a (column|row) index outside|X is not a valid CS[RC] matrix"
    for case in [*MODELS, *ONLINE]:
        if case == "StructuredSVC":  # an oracle reads X itself
            continue
        model, made, y, more, _ = _fresh(case)
        if made is _sequences:
            model.fit([X], [y])
            with pytest.raises(ValueError, match=f"sequence 0: ({sentence})"):
                model.predict([_corrupted(kind, layout, index_type)])
        fitted = _fitted_once(case)
        for call in (
            lambda rows, fitted=fitted: fitted.predict(rows),
            lambda rows, model=model, y=y, more=more: model.fit(rows, y, **more),
        ):
            with pytest.raises(ValueError, match=sentence):
                call(made(_corrupted(kind, layout, index_type)))


_FITTED: dict[str, object] = {}


def _fitted_once(case):
    if case not in _FITTED:
        model, made, y, more, _ = _fresh(case)
        _FITTED[case] = _quietly(model.fit, made(sp.csr_matrix(X)), y, **more)
    return _FITTED[case]


def test_a_callable_kernel_gets_sound_rows_only():
    def product(a, b):
        return (a @ b.T).toarray()

    rows = _corrupted("jump", "csr", np.int32)
    with pytest.raises(ValueError, match="X is not a valid CSR matrix"):
        SVC(kernel=product).fit(rows, LABEL)
    model = SVC(kernel=product).fit(sp.csr_matrix(X), LABEL)
    with pytest.raises(ValueError, match="X is not a valid CSR matrix"):
        model.predict(rows)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "absolute", "huber", "half_squared"])
@pytest.mark.parametrize("size", [1e-140, 1e-30, 1e30, 1e140])
def test_a_kernel_machine_fits_responses_of_any_size(loss, size):
    width = {"epsilon": 0.1 * size} if loss == "epsilon_insensitive" else {}
    model = SVR(loss=loss, **width).fit(X, size * RESPONSE)
    assert model.converged_
    assert np.isfinite(model.predict(X)).all()


def test_a_width_that_the_data_do_not_give_is_named():
    with pytest.raises(ValueError, match=r"gamma='scale' is 1/\(columns · variance of X\)"):
        SVC().fit(1e-160 * X, LABEL)
    with pytest.raises(ValueError, match=r"values of K\(x, x\) up to inf"):
        SVC(kernel="poly", coef0=1e300).fit(X, LABEL)


@pytest.mark.parametrize("method", ["bundle", "level-bundle"])
@pytest.mark.parametrize("loss", ["pairs", "ndcg"])
def test_a_warm_ranking_has_nothing_to_do(loss, method):
    """On the same data what was proved is still true; on other data it is not."""
    model = RankSVC(loss=loss, method=method, warm_start=True).fit(X, GRADE, qid=QUERY)
    gap = model.dual_gap_
    model.fit(X, GRADE, qid=QUERY)
    assert model.history_[-1].passes == 0
    assert model.dual_gap_ == pytest.approx(gap)
    other = X.copy()
    other[7, 2] += 1e-9
    model.fit(other, GRADE, qid=QUERY)
    assert model.history_[-1].passes > 0


@pytest.mark.parametrize("name", ["predict_proba", "predict_log_proba"])
def test_a_machine_without_probabilities_says_what_to_do(name):
    model = SVC().fit(X, LABEL)
    assert not hasattr(model, name)
    with pytest.raises(AttributeError, match=f"SVC has no {name}: .*CalibratedClassifierCV"):
        getattr(model, name)


@pytest.mark.parametrize(
    ("copied", "note"),
    [
        ((9 * X).astype(np.int16), "int16 to float64"),
        (np.asfortranarray(X), "not in C order"),
        (X.astype(">f8"), "float64 of the other byte order to float64"),
        (sp.csc_matrix(X), "csc to csr"),
        (sp.csr_matrix(X), None),
        (X, None),
    ],
)
@pytest.mark.parametrize("case", [case for case in MODELS if case != "StructuredSVC"])
def test_no_copy_is_silent(case, copied, note):
    model, made, y, more, _ = _fresh(case)
    _quietly(model.fit, made(copied), y, **more)
    assert model.copy_note_ is None if note is None else note in model.copy_note_


def test_a_list_of_sequences_is_copied_and_says_so():
    model = _quietly(ChainSVC(max_iter=5).fit, [X[:20], X[20:]], [LABEL[:20], LABEL[20:]])
    assert "a list into one matrix, which gapsvm.Sequences takes" in model.copy_note_
    named = [[{"a": 1.0}, {"b": 1.0}]]
    assert _quietly(ChainSVC(max_iter=5).fit, named, [[0, 1]]).copy_note_ is None
