"""Estimators of sequences: every form of input, what they predict, files, bad input."""

from __future__ import annotations

import pickle
from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from gapsvm import ChainCRF, ChainSVC, FrankWolfe, Sequences
from gapsvm.models.base import ModelFormatError

ESTIMATORS = [ChainSVC, ChainCRF]
every = pytest.mark.parametrize("Estimator", ESTIMATORS)
NAMES = np.array(["B", "I", "O"])


def arrays(n=25, seed=0):
    """Noisy one-hot tokens of a sticky chain, as a list of arrays."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for length in rng.integers(1, 9, n):
        labels = np.repeat(rng.integers(0, 3, length), rng.integers(1, 4, length))[:length]
        X.append(np.eye(4)[labels] + 0.7 * rng.normal(size=(length, 4)))
        y.append(NAMES[labels])
    return X, y


def words(n=25, seed=1):
    """The same with features by name."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for length in rng.integers(1, 7, n):
        labels = rng.integers(0, 3, length)
        said = np.where(rng.random(length) < 0.8, labels, rng.integers(0, 3, length))
        X.append([{"word": f"w{s}", "bias": 1.0, "odd": bool(s % 2)} for s in said])
        y.append([str(NAMES[k]) for k in labels])
    return X, y


def together(X, y):
    """The same tokens with boundaries."""
    starts = np.r_[0, np.cumsum([len(x) for x in X])]
    return starts, np.vstack(X), np.concatenate(y)


@every
def test_every_form_of_input_gives_the_same_model(Estimator):
    X, y = arrays()
    starts, stacked, labels = together(X, y)
    first = Estimator(tol=1e-6).fit(X, y)
    for form, told in (
        ([sp.csr_matrix(x) for x in X], y),
        (Sequences(stacked, starts), labels),
        (Sequences(sp.csr_matrix(stacked), starts), [list(part) for part in y]),
    ):
        again = Estimator(tol=1e-6).fit(form, told)
        assert again.primal_objective_ == pytest.approx(first.primal_objective_, rel=1e-5)
        for one, other in zip(first.predict(X), again.predict(form)):
            assert list(one) == list(other)
        assert again.score(form, told) == first.score(X, y)


@every
def test_features_by_name(Estimator):
    X, y = words()
    clf = Estimator(tol=1e-5).fit(X, y)
    assert clf.converged_
    assert set(clf.feature_names_) == {"word:w0", "word:w1", "word:w2", "bias", "odd"}
    new = [[{"word": "w1", "never": "seen"}, {}], [{"word": "w2"}]]
    assert [len(part) for part in clf.predict(new)] == [2, 1]
    assert clf.score(X, y) > 0.6
    names = [[[f"{k}:{v}" for k, v in token.items() if k == "word"] for token in s] for s in X]
    assert Estimator().fit(names, y).feature_names_
    hashed = Estimator(features="hashed", n_hashed=512, tol=1e-5).fit(X, y)
    assert hashed.coef_.shape == (3, 512)
    assert hashed.score(X, y) == pytest.approx(clf.score(X, y), abs=0.05)


def test_dicts_inside_a_token():
    """As sklearn-crfsuite takes them."""
    X = [[{"near": {"left": {"pos": "DT"}, "dist": 2, "end": ["s", "t"]}}, {"first": True}]]
    clf = ChainCRF().fit(X, [["B", "O"]])
    assert clf.feature_names_ == [
        "near:left:pos:DT",
        "near:dist",
        "near:end:s",
        "near:end:t",
        "first",
    ]
    with pytest.raises(ValueError, match="token 0 of sequence 0 has no value for 'near:left'"):
        clf.predict([[{"near": {"left": None}}]])


@every
def test_certificate_and_attributes(Estimator):
    X, y = arrays()
    clf = Estimator(lam=0.05, tol=1e-3, edge_features=True).fit(X, y)
    assert clf.dual_gap_ == clf.primal_objective_ - clf.dual_objective_
    assert clf.dual_gap_ >= 0
    assert clf.converged_
    assert clf.history_[-1].gap == clf.dual_gap_
    assert clf.coef_.shape == (3, 4)
    assert clf.transition_coef_.shape == (3, 3)
    assert clf.edge_coef_.shape == (4, 3, 3)
    weights = clf.strongest_weights(5)
    assert [abs(w) for w, _, _ in weights] == sorted((abs(w) for w, _, _ in weights), reverse=True)
    assert weights[0][1] in {"x0", "x1", "x2", "x3"}
    assert {a for _, a, _ in clf.strongest_transitions(9)} == set(NAMES)


@every
def test_scores_of_sequences_and_tokens(Estimator):
    X, y = arrays()
    clf = Estimator().fit(X, y)
    best = clf.sequence_scores(X)
    np.testing.assert_allclose(clf.sequence_scores(X, clf.predict(X)), best)
    assert np.all(clf.sequence_scores(X, y) <= best + 1e-9)
    for tokens, labels, top in zip(clf.token_scores(X), clf.predict(X), best):
        np.testing.assert_allclose(tokens.max(axis=1), top)
        assert list(clf.classes_[tokens.argmax(axis=1)]) == list(labels)


@every
@pytest.mark.parametrize("options", [{}, {"edge_features": True}, {"transitions": "seen"}], ids=str)
def test_the_best_labellings_are_those_of_all(Estimator, options):
    """Against all labellings listed; fewer where there are fewer."""
    X, y = arrays()
    clf = Estimator(**options).fit(X, y)
    chosen = [*[x[:4] for x in X if len(x) > 1][:6], X[0][:1]]
    for x, found in zip(chosen, clf.predict_k_best(chosen, 7)):
        every_one = [list(labels) for labels in product(NAMES, repeat=len(x))]
        scores = np.array([clf.sequence_scores([x], [labels])[0] for labels in every_one])
        known = np.sort(scores[np.isfinite(scores)])[::-1][:7]
        np.testing.assert_allclose([score for score, _ in found], known)
        told = [clf.sequence_scores([x], [labels])[0] for _, labels in found]
        np.testing.assert_allclose(told, known)
        assert len({tuple(labels) for _, labels in found}) == len(found)
    assert list(clf.predict_k_best(chosen, 1)[0][0][1]) == list(clf.predict(chosen)[0])
    with pytest.raises(ValueError, match="k must be at least 1"):
        clf.predict_k_best(chosen, 0)


@every
def test_transitions_that_are_barred_are_never_predicted(Estimator):
    X, y = arrays()
    seen = {pair for part in y for pair in pairwise(part.tolist())}
    for transitions in ("seen", sorted(seen)):
        clf = Estimator(transitions=transitions).fit(X, y)
        found = {pair for part in clf.predict(arrays(60, 5)[0]) for pair in pairwise(part.tolist())}
        assert found <= seen
    with pytest.raises(ValueError, match="a step that transitions does not allow"):
        Estimator(transitions=[("B", "B")]).fit(X, y)


@every
def test_conventions_of_scikit_learn(Estimator):
    X, y = arrays()
    search = GridSearchCV(Estimator(tol=1e-2), {"C": [0.01, 1.0]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5
    clf = clone(Estimator(C=3.0)).fit(X, y)
    assert clf.get_params()["C"] == 3.0
    copied = pickle.loads(pickle.dumps(clf))
    assert list(copied.predict(X)[3]) == list(clf.predict(X)[3])


@every
def test_weights_of_sequences(Estimator):
    X, y = arrays(8)
    weight = np.array([2.0, 1, 1, 1, 1, 1, 1, 1])
    one = Estimator(lam=0.1, tol=1e-7).fit(X, y, sample_weight=weight)
    two = Estimator(lam=0.1, tol=1e-7).fit([X[0], *X], [y[0], *y])
    assert one.primal_objective_ == pytest.approx(two.primal_objective_, rel=1e-5)


@every
def test_files_without_pickle(Estimator, tmp_path):
    for data, options in ((arrays(), {"transitions": "seen"}), (words(), {"C": 2.0})):
        X, y = data
        clf = Estimator(**options).fit(X, y)
        clf.save(tmp_path / "model")
        again = Estimator.load(tmp_path / "model")
        assert again.get_params() == clf.get_params()
        assert again.dual_gap_ == clf.dual_gap_
        np.testing.assert_array_equal(again.coef_, clf.coef_)
        for one, other in zip(clf.predict(X), again.predict(X)):
            assert list(one) == list(other)
    (tmp_path / "model").write_bytes(b"no model")
    with pytest.raises(ModelFormatError, match="damaged or no model"):
        Estimator.load(tmp_path / "model")


@every
def test_warm_start_and_budget(Estimator):
    X, y = arrays()
    clf = Estimator(warm_start=True).fit(X, y)
    passes = clf.n_iter_
    assert clf.fit(X, y).history_[0].passes == 0.0
    assert clf.n_iter_ <= passes
    with pytest.warns(ConvergenceWarning, match="certified gap"):
        Estimator(tol=1e-12, max_iter=1).fit(X, y)


def test_a_solver_as_method_and_threads_change_nothing_but_the_way():
    X, y = arrays()
    one = ChainSVC(tol=1e-6).fit(X, y)
    other = ChainSVC(tol=1e-6, method=FrankWolfe("gap", cached=3), n_jobs=2).fit(X, y)
    assert one.primal_objective_ == pytest.approx(other.primal_objective_, rel=1e-4)


def test_probabilities_of_a_random_field():
    X, y = arrays()
    clf = ChainCRF(tol=1e-6, transitions="seen").fit(X, y)
    for found, x in zip(clf.predict_proba(X), X):
        assert found.shape == (len(x), 3)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
    i = int(np.argmax([len(x) == 1 for x in X]))
    single = clf.predict_proba(X[i : i + 1])[0][0]
    assert single[list(clf.classes_).index(y[i][0])] == pytest.approx(
        np.exp(clf.sequence_log_proba(X[i : i + 1], y[i : i + 1])[0])
    )
    total = -clf.sequence_log_proba(X, y).mean() + 0.5 / len(X) * (
        np.sum(clf.coef_**2) + np.sum(clf.transition_coef_**2)
    )
    assert total == pytest.approx(clf.primal_objective_)


@every
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [np.ones((2, 2)), np.ones((0, 2))]}, "sequence 1 is empty"),
        ({"X": [np.ones((2, 2)), np.ones((1, 3))]}, "sequence 1 has 3 features"),
        ({"X": [np.ones((2, 2)), np.ones(2)]}, "sequence 1 must be an array of tokens"),
        ({"X": [np.ones((2, 2)), np.full((1, 2), np.nan)]}, "sequence 1 contains NaN"),
        ({"X": np.ones((3, 2))}, "list of sequences"),
        *(({"X": odd}, "list of sequences") for odd in (None, 3.0, "text", {"a": 1}, np.ones(3))),
        ({"X": []}, "no sequences"),
        (
            {"X": [[{"a": 1}, {"a": None}], [{"a": 1}]]},
            "token 1 of sequence 0 has no value for 'a'",
        ),
        ({"X": [[{"a": 1}, 3], [{"a": 1}]]}, "token 1 of sequence 0 must be a dict"),
        ({"X": [[{"a": 1}, {}], []]}, "sequence 1 is empty"),
        ({"X": [[{"a": 1}, {}], [{"a": np.inf}]]}, "token 0 of sequence 1 has a value NaN"),
        ({"X": [{"a": 1}, {"a": 2}]}, "sequence 0 is {'a': 1}"),
        ({"X": [["he", "runs"], ["up"]]}, r"sequence 0 is \['he', 'runs'\]"),
        ({"X": [[1.0, 2.0], [3.0]]}, "sequence 0 must be an array of tokens"),
        ({"y": [["B", "I"], [0]]}, "sequence 1 has labels of another kind"),
        ({"y": [["B", None], ["O"]]}, r"sequence 0 has a token without a label \(None\)"),
        ({"transitions": [("B", "B")]}, "sequence 0 has label 'I' after 'B'"),
        ({"y": [["B", "I"], ["O", "O"]]}, "sequence 1 has 1 tokens, but y has 2"),
        ({"y": [["B", "I"]]}, "X has 2 sequences, but y has 1"),
        ({"y": [["B", "B"], ["B"]]}, "one label only"),
        ({"sample_weight": [1.0]}, "there are 2 examples"),
    ],
)
def test_bad_input(Estimator, change, message):
    good = {"X": [np.ones((2, 2)), np.ones((1, 2))], "y": [["B", "I"], ["O"]]}
    options = {name: value for name, value in change.items() if name == "transitions"}
    data = {name: value for name, value in change.items() if name != "transitions"}
    with pytest.raises(ValueError, match=message):
        Estimator(**options).fit(**{**good, **data})


@every
def test_bad_input_to_a_fitted_model(Estimator):
    X, y = arrays(6)
    clf = Estimator().fit(X, y)
    with pytest.raises(ValueError, match="3 features, but the model has 4"):
        clf.predict([np.ones((2, 3))])
    with pytest.raises(ValueError, match="sequence 0 is empty"):
        clf.predict([np.ones((0, 4))])
    with pytest.raises(ValueError, match="sequence 1 has the label 'Z', which fit has not seen"):
        clf.sequence_scores(X[:2], [y[0], ["Z"] * len(y[1])])
    with pytest.raises(ValueError, match="fitted to arrays"):
        clf.predict([[{"a": 1}]])
    assert clf.predict([]) == []
