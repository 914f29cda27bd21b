"""RankSVC: scikit-learn's contract, qid as an argument or a column, certificate and file."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapsvm import Bundle, RankingProblem, RankSVC, load_model, mean_ndcg, save_model, solve

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 5))
Q = np.arange(120) // 10
Y = np.clip(np.round(X[:, 0] - X[:, 1] + 0.7 * RNG.normal(size=120) + 1), 0, 2)


class OneQuery(RankSVC):
    """All rows are documents of one query: scikit-learn's checks know nothing of qid."""

    def _queries(self, X, qid):
        return np.zeros(X.shape[0])


@parametrize_with_checks([OneQuery()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_it_solves_the_problem_it_says():
    """λ = 1/(C·queries); the certificate is that of the problem, the score NDCG@10."""
    model = RankSVC(C=2.0, tol=1e-5).fit(X, Y, qid=Q)
    problem = RankingProblem(X, Y, Q, 1 / (2.0 * 12))
    exact = solve(problem, Bundle(), gap=1e-7)
    assert model.converged_
    assert model.primal_objective_ == pytest.approx(exact.certificate.primal, abs=2e-5)
    assert model.dual_gap_ == model.primal_objective_ - model.dual_objective_ <= 1e-5
    scores = model.predict(X)
    np.testing.assert_allclose(scores, X @ model.coef_)
    assert model.score(X, Y, Q) == mean_ndcg(Y, scores, Q) > 0.8


def test_a_column_of_qids():
    """The same model, whatever the order of the rows; cross-validation and searches work."""
    both = np.column_stack([X[:, :2], Q, X[:, 2:]])
    plain = RankSVC(tol=1e-7).fit(X, Y, qid=Q)
    model = RankSVC(qid_column=2, tol=1e-7)
    order = RNG.permutation(120)
    for rows in (both, sp.csr_matrix(both)):
        fitted = clone(model).fit(rows[order], Y[order])
        assert fitted.coef_[2] == 0.0
        np.testing.assert_allclose(np.delete(fitted.coef_, 2), plain.coef_, atol=1e-3)
        assert fitted.score(rows, Y) == pytest.approx(plain.score(X, Y, Q), abs=0.02)
    folds = GroupKFold(3)
    assert (cross_val_score(model, both, Y, groups=Q, cv=folds) > 0.7).all()
    search = GridSearchCV(model, {"C": [0.01, 1.0]}, cv=folds).fit(both, Y, groups=Q)
    assert search.best_score_ > 0.7


def test_a_column_of_qids_by_its_name(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=list("abcde")).assign(query=Q)
    model = RankSVC(qid_column="query").fit(table, Y)
    assert model.coef_[5] == 0.0
    np.testing.assert_array_equal(model.coef_[:5], RankSVC().fit(X, Y, qid=Q).coef_)
    assert model.score(table, Y) == mean_ndcg(Y, model.predict(table), Q)
    assert type(model.primal_objective_) is type(model.dual_gap_) is float
    save_model(model, tmp_path / "rank")
    assert load_model(tmp_path / "rank").score(table, Y) == model.score(table, Y)


ACTS = {
    "C": 0.01,
    "lam": 1.0,
    "loss": "ndcg",
    "average": "queries",
    "tol": 0.3,
    "method": "bundle",
    "max_iter": 2,
}


@pytest.mark.parametrize("name", ACTS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_parameters_act(name):
    weight = RNG.uniform(0.5, 2, 120)
    changed = RankSVC(**{name: ACTS[name]})
    options = {} if name == "loss" else {"sample_weight": weight}
    plain = RankSVC().fit(X, Y, qid=Q, **options)
    assert not np.allclose(changed.fit(X, Y, qid=Q, **options).coef_, plain.coef_)
    with pytest.raises(ValueError, match=name):
        changed.set_params(**{name: -1.0}).fit(X, Y, qid=Q)


def test_weights_of_queries_and_documents():
    """A query of weight 0 is not there; one of weight 2 is there twice."""
    weight = np.where(np.arange(12) < 6, 1.0, 0.0)
    some = Q < 6
    a = RankSVC(tol=1e-7).fit(X, Y, qid=Q, query_weight=weight)
    b = RankSVC(tol=1e-7).fit(X[some], Y[some], qid=Q[some])
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-3)
    c = RankSVC(tol=1e-7, lam=0.1).fit(X, Y, qid=Q, sample_weight=some.astype(float))
    d = RankSVC(tol=1e-7, lam=0.1).fit(X[some], Y[some], qid=Q[some])
    np.testing.assert_allclose(c.coef_, d.coef_, atol=1e-3)
    truncated = RankSVC(loss="ndcg", truncation=1, tol=1e-2).fit(X, Y, qid=Q)
    assert truncated.converged_


@pytest.mark.parametrize(
    "method", ["pair-sdca", "bundle", "proximal-bundle", "level-bundle", "pegasos", "proximal"]
)
def test_methods_by_name_find_one_optimum(method):
    exact = RankSVC(lam=0.1, tol=1e-6).fit(X, Y, qid=Q)
    found = RankSVC(lam=0.1, tol=0.03, method=method, random_state=0).fit(X, Y, qid=Q)
    assert found.converged_
    assert found.method_ == method
    assert found.dual_objective_ <= exact.primal_objective_ + 1e-9
    assert found.primal_objective_ - exact.primal_objective_ <= found.dual_gap_


def test_pairs_are_listed_only_where_that_is_asked_for():
    listed = RankSVC(lam=0.1, method="pair-sdca").fit(X, Y, qid=Q)
    assert "differences of rows were listed" in listed.copy_note_
    by_itself = RankSVC(lam=0.1).fit(X, Y, qid=Q)
    assert by_itself.method_ == "level-bundle"
    assert by_itself.copy_note_ is None
    with pytest.raises(ValueError, match="not a sum over pairs"):
        RankSVC(loss="ndcg", method="pair-sdca").fit(X, Y, qid=Q)


def test_a_model_of_nothing_is_said_to_be_one():
    """The NDCG loss of grades that are noise has its minimum at 0."""
    rng = np.random.default_rng(0)
    noise, grades = rng.normal(size=(200, 3)), rng.integers(0, 2, 200).astype(float)
    with pytest.warns(UserWarning, match="every weight is 0"):
        model = RankSVC(loss="ndcg", tol=1e-2).fit(noise, grades, qid=np.arange(200) // 20)
    assert not model.coef_.any()
    assert model.converged_


def test_how_a_fit_may_end():
    with pytest.warns(ConvergenceWarning, match="certified gap .* raise max_iter"):
        model = RankSVC(max_iter=2).fit(X, Y, qid=Q)
    assert not model.converged_
    seen = []
    with pytest.warns(ConvergenceWarning, match="a callback asked to stop"):
        RankSVC(callbacks=lambda record: seen.append(record) or True).fit(X, Y, qid=Q)
    assert len(seen) == 1
    warm = RankSVC(warm_start=True, tol=1e-6).fit(X, Y, qid=Q)
    first = warm.history_[-1].primal
    warm.fit(X, Y, qid=Q)
    assert warm.history_[0].primal == pytest.approx(first, abs=1e-9)


def test_a_model_file(tmp_path):
    names = [f"f{k}" for k in range(5)]
    model = RankSVC(C=0.5, average="queries", tol=1e-4).fit(X, Y, qid=Q)
    save_model(model, tmp_path / "rank.safetensors")
    again = load_model(tmp_path / "rank.safetensors")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.dual_gap_ == model.dual_gap_
    assert len(names) == again.n_features_in_


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({}, {}, "qid is missing"),
        ({}, {"qid": np.zeros(7)}, "qid has shape"),
        ({}, {"qid": np.arange(120)}, "nothing to rank"),
        ({}, {"qid": [*Q[:-1].tolist(), None]}, "qid is missing in row 119"),
        ({}, {"qid": np.array([*Q[:-1].tolist(), "a"], object)}, "texts or numbers, not both"),
        ({"qid_column": 5}, {}, "qid_column = 5, but X has 5 columns"),
        ({"qid_column": "query"}, {}, "qid_column = 'query', but X has no column so named"),
        ({"loss": "ndcg"}, {"qid": Q, "sample_weight": np.ones(120)}, "query_weight"),
        ({"n_jobs": 0}, {"qid": Q}, "n_jobs"),
    ],
)
def test_bad_input_is_named(options, arguments, message):
    with pytest.raises(ValueError, match=message):
        RankSVC(**options).fit(X, Y, **arguments)
