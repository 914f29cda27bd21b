"""ChainSVC and ChainCRF: sequences labelled by chains, a certificate with every fit."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from gapsvm.estimators.certified import CertifiedFit
from gapsvm.estimators.whole import whole_fit
from gapsvm.models.chain import ChainModel, read_chain, write_chain
from gapsvm.problems.limits import lam_of
from gapsvm.problems.structured.base import checked_example_weights
from gapsvm.problems.structured.chain import ChainProblem
from gapsvm.problems.structured.likelihood import ChainLikelihood
from gapsvm.rows.matrix import joined_notes
from gapsvm.rows.tokens import (
    Sequences,
    TokenEncoder,
    count_of,
    encoded_labels,
    later_tokens,
    seen_steps,
)

_STACKED = "X was copied once: a list into one matrix, which gapsvm.Sequences takes as it is"


class _ChainEstimator(CertifiedFit):
    """What the estimators of sequences share: encoding, the fit, its report, and files."""

    _loss: ClassVar[str]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "transitions": [StrOptions({"all", "seen"}), "array-like"],
        "edge_features": ["boolean"],
        "features": [StrOptions({"names", "hashed"})],
        "n_hashed": [Interval(Integral, 1, None, closed="left")],
        "method": [str, HasMethods(["init", "advance", "iterate"])],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callbacks": ["array-like", callable, None],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        lam: float | None = None,
        tol: float = 1e-3,
        transitions: Any = "all",
        edge_features: bool = False,
        features: str = "names",
        n_hashed: int = 1 << 20,
        method: Any = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        self.C = C
        self.lam = lam
        self.tol = tol
        self.transitions = transitions
        self.edge_features = edge_features
        self.features = features
        self.n_hashed = n_hashed
        self.method = method
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    # -- fitting -----------------------------------------------------------------------------------

    @whole_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on sequences.

        Parameters
        ----------
        X : list of arrays (tokens × features), of sparse matrices, or of lists of tokens; or \
``gapsvm.Sequences``
            A token by name is a dict ``{name: value}`` or a list of names.
        y : list of lists of labels
            For ``Sequences`` also one array with a label for each token of all.
        sample_weight : array, optional
            A weight for each sequence.
        """
        self._validate_params()
        if count_of(X) == 0:
            raise ValueError("X has no sequences")
        encoder = TokenEncoder.of(X, self.features == "hashed", self.n_hashed)
        matrix, starts = encoder.learn(X)
        labels, classes = encoded_labels(y, starts)
        if len(classes) < 2:
            raise ValueError(
                f"y has one label only, {classes[0].item()!r}; there is nothing to tell apart"
            )
        allowed = self._allowed(labels, classes, starts)
        weight = checked_example_weights(sample_weight, len(starts) - 1)
        lam = self.lam if self.lam is not None else lam_of(self.C, float(weight.sum()))
        problem = self._problem(
            *(matrix, starts, labels, len(classes), lam),
            sample_weight=weight,
            allowed=allowed,
            paired=self.edge_features,
        )
        result = self._solved(problem)
        solution, certificate = result.solution, result.certificate
        self._model = ChainModel(
            *(solution.w, classes, encoder, self._loss, lam),
            *(certificate.primal, certificate.dual, allowed, bool(self.edge_features)),
        )
        self._solution = solution
        self._set_fitted()
        listed = encoder.kind == "arrays" and not isinstance(X, Sequences)
        self.copy_note_ = joined_notes(_STACKED if listed else None, problem.rows.note)
        self._set_ending(result)
        return self

    def _problem(self, *arrays: Any, **options: Any) -> Any:
        raise NotImplementedError

    def _allowed(self, labels: Any, classes: Any, starts: Any) -> Any:
        """Which label may follow which: None for all."""
        if isinstance(self.transitions, str) and self.transitions == "all":
            return None
        K = len(classes)
        if isinstance(self.transitions, str):
            return seen_steps(labels, starts, K)
        allowed = np.zeros((K, K), dtype=bool)
        number = {label: k for k, label in enumerate(classes.tolist())}
        for pair in self.transitions:
            try:
                a, b = pair
            except (TypeError, ValueError):
                raise ValueError(
                    f"transitions must be 'all', 'seen' or a list of pairs (label, next label); "
                    f"got {pair!r} in it"
                ) from None
            if a in number and b in number:  # others do not occur in y: nothing is lost
                allowed[number[a], number[b]] = True
        later = later_tokens(starts)
        before, after = labels[later - 1], labels[later]
        wrong = np.flatnonzero(~allowed[before, after])
        if len(wrong):
            i = int(np.searchsorted(starts, later[wrong[0]], side="right")) - 1
            a, b = (classes[side[wrong[0]]].item() for side in (before, after))
            raise ValueError(
                f"sequence {i} has label {b!r} after {a!r}, a step that transitions does not allow"
            )
        return allowed

    def _set_fitted(self) -> None:
        """The attributes that show the model."""
        model = self._model
        d, K = model.weights.n_features, len(model.classes)
        self.classes_ = model.classes
        self.coef_ = model.W[:d].T
        self.transition_coef_ = model.weights.transitions(model.W)
        if model.paired:
            self.edge_coef_ = model.weights.pairs(model.W).reshape(d, K, K)
        self.n_features_in_ = d
        if model.encoder.names:
            self.feature_names_ = model.encoder.names
        self.primal_objective_, self.dual_objective_ = model.primal, model.dual
        self.dual_gap_ = model.gap

    # -- what a fitted model says ------------------------------------------------------------------

    def predict(self, X: Any) -> list[Any]:
        """The labels of each sequence: a list of arrays."""
        check_is_fitted(self)
        return self._model.predict(X, self._backend())

    def sequence_scores(self, X: Any, y: Any = None) -> Any:
        """The score of a labelling of each sequence: of the best one, or of ``y``."""
        check_is_fitted(self)
        if y is None:
            return self._model.best(X, self._backend())[1]
        scores = self._model.scores(X, self._backend())
        labels, _ = encoded_labels(y, scores.chains.starts.astype(np.int64), self.classes_)
        return scores.of(labels.astype(np.uint16))

    def predict_k_best(self, X: Any, k: int) -> list[list[tuple[float, Any]]]:
        """The k best labellings of each sequence: lists of (score, labels), best first."""
        check_is_fitted(self)
        if not k >= 1:
            raise ValueError(f"k must be at least 1, got {k!r}")
        scores = self._model.scores(X, self._backend())
        found = [scores.k_best(i, int(k)) for i in range(len(scores.chains))]
        return [
            [(float(value), self.classes_[labels]) for labels, value in zip(*best)]
            for best in found
        ]

    def token_scores(self, X: Any) -> list[Any]:
        """Of each token and label: the best score of a labelling that has this label there.

        A list of arrays (tokens × labels), in the order of ``classes_``.
        """
        check_is_fitted(self)
        scores = self._model.scores(X, self._backend())
        found = scores.max_marginals()
        return [found[a:b] for a, b in pairwise(scores.chains.starts.astype(np.int64))]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of tokens whose label is right; sequences may have weights."""
        check_is_fitted(self)
        labels, _, starts = self._model.best(X, self._backend())
        right = np.empty(len(labels), dtype=bool)
        for i, ((first, last), told) in enumerate(zip(pairwise(starts), _by_sequence(y, starts))):
            if len(told) != last - first:
                raise ValueError(
                    f"sequence {i} has {last - first} tokens, but y has {len(told)} labels for it"
                )
            right[first:last] = self.classes_[labels[first:last]] == np.asarray(told)
        if sample_weight is None:
            return float(right.mean())
        return float(np.average(right, weights=np.repeat(sample_weight, np.diff(starts))))

    def strongest_weights(self, count: int = 20) -> list[tuple[float, str, Any]]:
        """(weight, feature, label) of the features' largest weights by size."""
        check_is_fitted(self)
        return self._model.strongest(count)

    def strongest_transitions(self, count: int = 20) -> list[tuple[float, Any, Any]]:
        """(weight, label, next label) of the largest weights of steps by size."""
        check_is_fitted(self)
        return self._model.strongest_transitions(count)

    # -- files -------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model: weights, names, labels, certificate and parameters; no pickle.

        What is as long as the training data stays out, and so do parameters that are objects.
        """
        check_is_fitted(self)
        metadata = {"estimator": self._described()}
        write_chain(path, replace(self._model, metadata=metadata))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The estimator of a file that ``save`` wrote, fitted as it was.

        Raises
        ------
        ModelFormatError
            A ValueError that names the file and what is wrong with it.
        """
        model = read_chain(path)
        estimator = cls._restored(model.metadata.get("estimator", {}), path)
        estimator._model = model
        estimator._set_fitted()
        return estimator


def _by_sequence(y: Any, starts: Any) -> Any:
    """The labels of each sequence, where they may come as one array."""
    if isinstance(y, np.ndarray) and y.dtype != object and len(y) == starts[-1]:
        return [y[a:b] for a, b in pairwise(starts)]
    if len(y) != len(starts) - 1:
        raise ValueError(f"X has {len(starts) - 1} sequences, but y has {len(y)}")
    return y


class ChainSVC(_ChainEstimator):
    """Sequences labelled by a chain with the largest margin, with a certified duality gap.

    Minimises ``C * Σ_i s_i max_y [wrong labels of y + score_i(y) − score_i(truth)] + ‖w‖²/2``;
    the score of a labelling sums a weight for each feature of a token with its label and one for
    each step from label to label.  Solved by block-coordinate Frank–Wolfe on the dual, certified
    by a pass of Viterbi's algorithm over all sequences.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses.
    lam : float, optional
        λ of the mean convention instead of C; λ = 1/(C · sum of sequence weights).
    tol : float, default=1e-3
        Certified gap to reach, relative to the objective at w = 0, which is the mean length of a
        sequence.
    transitions : "all", "seen" or a list of pairs, default="all"
        Which label may follow which: any, those that do so in y, or those of the list.  Labels
        that would need another step are never predicted.
    edge_features : bool, default=False
        Features have weights for steps from label to label as well as for labels.
    features : "names" or "hashed", default="names"
        Tokens that come as dicts or lists of names: a column for each name, or ``n_hashed``
        columns that names are hashed to.
    n_hashed : int, default=2**20
        Columns for features="hashed".
    method : "auto", a name, a spec or a solver, default="auto"
        "auto": "frank-wolfe"; others are "level-bundle", "pegasos(average=tail)".
    max_iter : int, default=1000
        Passes over the data at most.
    time_limit : float, optional
        Seconds.
    warm_start : bool, default=False
        Begin at the solution of the last fit, if it has the same shape.
    n_jobs : int, optional
        Threads; −1 for all cores.
    random_state : int, RandomState or None
        Seeds the order of sequences.
    verbose : int, default=0
        Show progress.
    callbacks : callable or list of callables, optional
        Called with every ``Record``; a true answer stops the fit.

    Attributes
    ----------
    classes_ : array of labels
    coef_ : array (labels × features)
    transition_coef_ : array (labels × labels), from the row's label to the column's
    edge_coef_ : array (features × labels × labels), with ``edge_features``
    dual_gap_, primal_objective_, dual_objective_ : float
        The certificate: the objective (in the mean convention) is within the gap of its minimum.
    converged_, status_, n_iter_, history_
        How the fit ended and how it went.
    feature_names_ : list of texts
        Of the columns, where features come by name.
    """

    _loss = "hinge"

    def _problem(self, *arrays: Any, **options: Any) -> ChainProblem:
        return ChainProblem(*arrays, **options)


class ChainCRF(_ChainEstimator):
    """A conditional random field on chains, with a certified duality gap.

    Minimises ``C * Σ_i s_i log-loss_i + ‖w‖²/2``, the log-loss being −log P(truth | sequence) in
    the model where a labelling has a probability in proportion to e^score.  Solved by L-BFGS; the
    certificate is P − D ≤ ‖∇P‖²/(2λ), D the dual value of the model's own marginals.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses.
    lam : float, optional
        λ of the mean convention instead of C; λ = 1/(C · sum of sequence weights).
    tol : float, default=1e-3
        Certified gap to reach, relative to the objective at w = 0, which is the mean length of a
        sequence times the logarithm of the number of labels.
    transitions : "all", "seen" or a list of pairs, default="all"
        Which label may follow which: any, those that do so in y, or those of the list.  Labels
        that would need another step are never predicted.
    edge_features : bool, default=False
        Features have weights for steps from label to label as well as for labels.
    features : "names" or "hashed", default="names"
        Tokens that come as dicts or lists of names: a column for each name, or ``n_hashed``
        columns that names are hashed to.
    n_hashed : int, default=2**20
        Columns for features="hashed".
    method : "auto", a name, a spec or a solver, default="auto"
        "auto": "lbfgs"; others are "level-bundle", "pegasos(average=tail)".
    max_iter : int, default=1000
        Passes over the data at most.
    time_limit : float, optional
        Seconds.
    warm_start : bool, default=False
        Begin at the solution of the last fit, if it has the same shape.
    n_jobs : int, optional
        Threads; −1 for all cores.
    random_state : int, RandomState or None
        Seeds the order of sequences.
    verbose : int, default=0
        Show progress.
    callbacks : callable or list of callables, optional
        Called with every ``Record``; a true answer stops the fit.

    Attributes
    ----------
    classes_ : array of labels
    coef_ : array (labels × features)
    transition_coef_ : array (labels × labels), from the row's label to the column's
    edge_coef_ : array (features × labels × labels), with ``edge_features``
    dual_gap_, primal_objective_, dual_objective_ : float
        The certificate: the objective (in the mean convention) is within the gap of its minimum.
    converged_, status_, n_iter_, history_
        How the fit ended and how it went.
    feature_names_ : list of texts
        Of the columns, where features come by name.
    """

    _loss = "log"

    def _problem(self, *arrays: Any, **options: Any) -> ChainLikelihood:
        return ChainLikelihood(*arrays, **options)

    def predict_proba(self, X: Any) -> list[Any]:
        """The probability of each label at each token: arrays (tokens × labels), a list of them.

        Labels in the order of ``classes_``.
        """
        check_is_fitted(self)
        return self._model.marginals(X, self._backend())

    def sequence_log_proba(self, X: Any, y: Any = None) -> Any:
        """log P(labelling | sequence) of ``y``, or of the labellings that ``predict`` gives."""
        check_is_fitted(self)
        log_z = self._model.scores(X, self._backend()).marginals().log_z
        return self.sequence_scores(X, y) - log_z
