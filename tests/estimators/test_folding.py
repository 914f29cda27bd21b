"""RNAFolder: from sequences and dots and brackets to a model and back."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from gapsvm import RNAFolder
from gapsvm.models.base import ModelFormatError
from gapsvm.models.folding import read_folding

X = [
    "GGGGAAAACCCC", "GGCGAAAACGCC", "AAGGCGUUCGCGCCAA", "GGGAAAUCCC", "CCCCAGAAGGGG",
    "GCGCAAAAGCGC", "GGAUCGAAAGAUCC", "AGGCUAUUUAGCCU",
]  # fmt: skip
Y = [
    "((((....))))", "((((....))))", "..((((....))))..", "(((....)))", "((((....))))",
    "((((....))))", "(((((....)))))", "(((((....)))))",
]  # fmt: skip


@pytest.fixture(scope="module")
def fitted():
    return RNAFolder(C=1.0, wrong_pair=1.0, random_state=0).fit(X, Y)


def test_it_learns_and_says_how_well(fitted):
    assert fitted.converged_
    assert 0 <= fitted.dual_gap_ <= 1e-2 * 6
    assert fitted.score(X, Y) > 0.95
    assert fitted.predict(["ggggaaaacccc", "NNNNNNNNNN", "A"]) == [
        "((((....))))",
        "..........",
        ".",
    ]
    score = fitted.pair_score(X, Y)
    assert score.n_true == sum(text.count("(") for text in Y)
    assert len(fitted.coef_) == len(fitted.feature_names_)
    assert fitted.strongest_weights(3)[0][0] == pytest.approx(
        fitted.coef_[abs(fitted.coef_).argmax()]
    )
    assert fitted.sequence_scores(["A" * 5])[0] == pytest.approx(
        5 * fitted.coef_[fitted.feature_names_.index("external unpaired")]
    )


def test_dna_letters_and_case_are_the_same_sequence(fitted):
    again = RNAFolder(C=1.0, wrong_pair=1.0, random_state=0)
    again.fit([text.lower().replace("u", "t") for text in X], Y)
    np.testing.assert_array_equal(again.coef_, fitted.coef_)


def test_save_load_pickle_and_clone(fitted, tmp_path):
    path = tmp_path / "folder.safetensors"
    fitted.save(path)
    for again in (RNAFolder.load(path), pickle.loads(pickle.dumps(fitted))):
        assert again.predict(X) == fitted.predict(X)
        assert again.get_params() == fitted.get_params()
        assert (again.dual_gap_, again.status_) == (fitted.dual_gap_, fitted.status_)
    assert clone(fitted).get_params() == fitted.get_params()
    damaged = path.read_bytes()
    (tmp_path / "short").write_bytes(damaged[:-9])
    (tmp_path / "named").write_bytes(damaged.replace(b"pair AU", b"pair XX"))
    for name in ("short", "named"):
        with pytest.raises(ModelFormatError, match=name):
            RNAFolder.load(tmp_path / name)
    assert read_folding(path).primal == fitted.primal_objective_


def test_a_budget_that_ends_first_is_a_warning():
    with pytest.warns(ConvergenceWarning, match="certified gap"):
        RNAFolder(C=10.0, tol=1e-9, max_iter=2).fit(X, Y)


def test_warm_start_and_methods():
    model = RNAFolder(warm_start=True, random_state=0).fit(X, Y)
    first = model.n_iter_
    assert model.fit(X, Y).n_iter_ <= first
    for method in ("bundle", "proximal-bundle", "pegasos(average=tail)"):
        other = RNAFolder(method=method, tol=0.1, random_state=0).fit(X, Y)
        assert other.converged_
        assert other.dual_objective_ <= model.primal_objective_ + 1e-9


def test_every_parameter_of_the_loss_acts():
    base = RNAFolder(random_state=0).fit(X, Y).primal_objective_
    for change in ({"wrong_pair": 1.0}, {"missed_pair": 0.5}, {"per_base": False}, {"C": 3.0}):
        assert RNAFolder(random_state=0, **change).fit(X, Y).primal_objective_ != base
    lonely = ["(((......)))", *Y[1:]], ["(..(....)..)", *Y[1:]]
    counts = [RNAFolder(random_state=0).fit(X, y).n_dropped_pairs_ for y in lonely]
    assert counts == [0, 2]
    kept = RNAFolder(lonely_pairs="keep", random_state=0).fit(X, lonely[1])
    assert kept.n_dropped_pairs_ == 0


def test_weights_of_sequences():
    """Weight 2 is the sequence twice: both are within their gaps of one optimum."""
    folder = RNAFolder(lam=0.05, tol=1e-5, per_base=False, random_state=0)
    twice = clone(folder).fit([*X, X[0]], [*Y, Y[0]])
    double = clone(folder).fit(X, Y, np.r_[2.0, np.ones(len(X) - 1)])
    for one, other in ((twice, double), (double, twice)):
        assert one.converged_
        assert one.dual_objective_ <= other.primal_objective_ + 1e-12


def test_in_a_grid_search():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        folder = RNAFolder(tol=0.05, random_state=0)
        search = GridSearchCV(folder, {"C": [1e-6, 1.0]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"C": 1.0}  # the other one predicts next to nothing
    assert 0.0 <= search.best_score_ <= 1.0


@pytest.mark.parametrize(
    ("sequences", "brackets", "message"),
    [
        ([], [], "no sequences"),
        (["ACGU", "AC-U"], ["....", "...."], "sequence 1 has '-' at position 3"),
        (["ACGU"], ["...."] * 2, "1 sequences but 2 structures"),
        (["ACGU"], ["(..]"], "crosses"),
    ],
)
def test_bad_input(sequences, brackets, message):
    with pytest.raises(ValueError, match=message):
        RNAFolder().fit(sequences, brackets)


def test_bad_input_of_a_fitted_model(fitted):
    with pytest.raises(ValueError, match="sequence 1 is empty"):
        fitted.predict(["ACGU", ""])
    with pytest.raises(TypeError, match="sequence 0 must be a text"):
        fitted.predict([7])
    with pytest.raises(ValueError, match="1 sequences but y has 0"):
        fitted.score(["ACGU"], [])


@pytest.mark.parametrize(
    ("change", "message"),
    [({"wrong_pair": 0.0, "missed_pair": 0.0}, "both 0"), ({"lam": 1e-320}, "lam"), ({}, "empty")],
)
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(change, message):
    model = RNAFolder(random_state=0).fit(X, Y)
    before = model.predict(X)
    sequences = X if change else [*X[1:], ""]
    with pytest.raises(ValueError, match=message):
        model.set_params(**change).fit(sequences, Y)
    assert model.predict(X) == before


@pytest.mark.parametrize("method", ["auto", "bundle", "proximal-bundle", "pegasos", "proximal"])
def test_nothing_to_learn_is_certified_at_once(method):
    """A sequence without a pair, and a base that pairs with nothing: P = 0 whatever w."""
    model = RNAFolder(method=method).fit(["AAAA", "N"], ["....", "."])
    assert (model.primal_objective_, model.dual_gap_) == (0.0, 0.0)
    assert model.predict(["AAAA", "N"]) == ["....", "."]


@pytest.mark.parametrize("odd", [None, 3, "GGGAAACCC"])
def test_one_text_is_no_list_of_sequences(odd):
    fitted = RNAFolder(max_iter=5).fit(["GGGAAACCC", "GGAAACC"], ["(((...)))", "((...))"])
    for call in (fitted.predict, lambda X: RNAFolder().fit(X, ["(((...)))"])):
        with pytest.raises(TypeError, match="X must be a list of sequences, each a text"):
            call(odd)


def test_sequences_that_are_no_texts():
    with pytest.raises(TypeError, match="sequence 0 must be a text, got int"):
        RNAFolder().fit([1, 2], ["(((...)))", "((...))"])
