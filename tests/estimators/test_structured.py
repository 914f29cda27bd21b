"""StructuredSVC: an estimator like any other, with a user's oracle."""

from __future__ import annotations

import pickle

import numpy as np
import own
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from gapsvm import Bundle, OracleError, StructuredSVC

X, Y = own.data(60)


def estimator(**options):
    return StructuredSVC(own.Multilabel(4, 3), **options)


def test_fit_predict_score():
    clf = estimator(C=1.0).fit(X, Y)
    assert clf.converged_
    assert 0 <= clf.dual_gap_ <= 1e-3 * 3
    assert clf.dual_gap_ == clf.primal_objective_ - clf.dual_objective_
    found = np.array(clf.predict(X))
    assert clf.score(X, Y) == -np.mean(np.sum(found != Y, axis=1))
    assert clf.score(X, Y) > -0.9
    assert clf.score(X, Y, sample_weight=np.eye(60)[3]) == -np.sum(found[3] != Y[3])


def test_the_same_seed_is_the_same_model():
    one, two = (estimator(C=1.0, random_state=3).fit(X, Y).coef_ for _ in range(2))
    np.testing.assert_array_equal(one, two)
    three = estimator(C=1.0, random_state=3, n_jobs=2, workers="processes").fit(X, Y)
    np.testing.assert_array_equal(one, three.coef_)


def test_clone_pickle_and_grid_search():
    clf = estimator(C=1.0, tol=0.01)
    again = pickle.loads(pickle.dumps(clone(clf).fit(X, Y)))
    assert len(again.predict(X)) == 60
    search = GridSearchCV(clf, {"C": [1e-4, 1.0]}, cv=3).fit(X, Y)
    assert search.best_params_["C"] == 1.0


def test_files_keep_weights_and_certificate(tmp_path):
    clf = estimator(method=Bundle()).fit(X, Y)
    clf.save(tmp_path / "m")
    again = StructuredSVC.load(tmp_path / "m", own.Multilabel(4, 3))
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    assert (again.dual_gap_, again.converged_) == (clf.dual_gap_, True)
    with pytest.raises(ValueError, match="n_features = 10"):
        StructuredSVC.load(tmp_path / "m", own.Classes(5, 2))
    (tmp_path / "m").write_bytes(b"x")
    with pytest.raises(ValueError, match="damaged or no model"):
        StructuredSVC.load(tmp_path / "m", own.Multilabel(4, 3))


def test_a_budget_that_is_too_small_is_said():
    with pytest.warns(ConvergenceWarning, match="certified gap"):
        clf = estimator(tol=1e-9, max_iter=1).fit(X, Y)
    assert not clf.converged_
    with pytest.warns(ConvergenceWarning, match="certified gap"):
        clf.set_params(warm_start=True).fit(X, Y)
    assert clf.n_iter_ == 1


def test_bad_input():
    with pytest.raises(ValueError, match="X has no examples"):
        estimator().fit([], [])
    with pytest.raises(ValueError, match="60 examples but y has 59"):
        estimator().fit(X, Y[:-1])
    with pytest.raises(ValueError, match="'oracle' parameter"):
        StructuredSVC(object()).fit(X, Y)
    with pytest.raises(NotFittedError):
        estimator().predict(X)
    with pytest.raises(OracleError, match="example 0: argmax raised"):
        estimator().fit([[1.0, 2.0]], [[0, 1, 1]])
