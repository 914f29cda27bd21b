"""RNAFolder: secondary structures of RNA, learnt with the largest margin."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from gapsvm.estimators.certified import CertifiedFit
from gapsvm.estimators.whole import whole_fit
from gapsvm.losses.pairs import PairScore, mean_pair_score, pair_score
from gapsvm.models.folding import FoldingModel, read_folding, write_folding
from gapsvm.problems.limits import lam_of
from gapsvm.problems.structured.base import checked_example_weights
from gapsvm.problems.structured.folding import FoldingProblem, weights_by_length
from gapsvm.rows import folding


class RNAFolder(CertifiedFit):
    """RNA secondary structures by a max-margin model, with a certified duality gap.

    Minimises ``C * Σ_i s_i max_y [loss_i(y) + score_i(y) − score_i(truth)] + ‖w‖²/2``, the loss
    counting wrong and missed pairs.  A structure without pseudoknots scores some 350 weights of its
    pieces: stacked pairs, ends of helices, loops by length.  The best one is found exactly, in time
    O(n³) for n bases.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses.
    lam : float, optional
        λ of the mean convention instead of C; λ = 1/(C · sum of sequence weights).
    tol : float, default=1e-2
        Certified gap to reach, relative to the objective at w = 0.
    wrong_pair : float, default=0.1
        What a pair that the truth has not adds to the loss.  More: fewer pairs are predicted.
    missed_pair : float, default=1.0
        What a pair of the truth that is not predicted adds.
    per_base : bool, default=True
        Losses count in inverse proportion to the length of the sequence, by the mean length, so
        that long sequences do not outvote short ones.
    lonely_pairs : "drop" or "keep", default="drop"
        Whether pairs that are stacked on no other are left out of the structures to learn from.
    method : "auto", a name, a spec or a solver, default="auto"
        "auto": "frank-wolfe"; others are "bundle", "proximal-bundle", "pegasos(average=tail)".
    max_iter : int, default=1000
        Passes over the data at most.
    time_limit : float, optional
        Seconds.
    warm_start : bool, default=False
        Begin at the solution of the last fit, if its sequences are as many.
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
    coef_ : array (features)
    feature_names_ : list of texts
        What each weight is for.
    n_dropped_pairs_ : int
        Pairs of the structures that were not learnt from: of bases that do not pair, with fewer
        than three bases between them, or lonely.
    dual_gap_, primal_objective_, dual_objective_ : float
        The certificate: the objective (in the mean convention) is within the gap of its minimum.
    converged_, status_, n_iter_, history_
        How the fit ended and how it went.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "wrong_pair": [Interval(Real, 0, None, closed="left")],
        "missed_pair": [Interval(Real, 0, None, closed="left")],
        "per_base": ["boolean"],
        "lonely_pairs": [StrOptions({"drop", "keep"})],
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
        tol: float = 1e-2,
        wrong_pair: float = 0.1,
        missed_pair: float = 1.0,
        per_base: bool = True,
        lonely_pairs: str = "drop",
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
        self.wrong_pair = wrong_pair
        self.missed_pair = missed_pair
        self.per_base = per_base
        self.lonely_pairs = lonely_pairs
        self.method = method
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    @whole_fit
    def fit(self, X: Sequence[str], y: Sequence[str], sample_weight: Any = None) -> Self:
        """Train on sequences and their structures.

        Parameters
        ----------
        X : list of str
            Sequences of A, C, G, U (or T) and N, which pairs with nothing; in either case.
        y : list of str
            Their structures, dots and brackets without pseudoknots.
        sample_weight : array, optional
            A weight for each sequence.
        """
        self._validate_params()
        if folding.count_of(X) == 0:
            raise ValueError("X has no sequences")
        if self.wrong_pair == self.missed_pair == 0:
            raise ValueError("wrong_pair and missed_pair are both 0: no structure loses anything")
        weight = checked_example_weights(sample_weight, len(X))
        lam = self.lam if self.lam is not None else lam_of(self.C, float(weight.sum()))
        if self.per_base:
            weight = weight * weights_by_length(X)
        problem = FoldingProblem(
            *(X, y, lam),
            prices=(self.wrong_pair, self.missed_pair),
            lonely_pairs=self.lonely_pairs,  # type: ignore[arg-type]
            sample_weight=weight,
        )
        result = self._solved(problem)
        certificate = result.certificate
        self._model = FoldingModel(result.solution.w, lam, certificate.primal, certificate.dual)
        self._solution = result.solution
        self.n_dropped_pairs_ = problem.n_dropped
        self._set_fitted()
        self._set_ending(result)
        return self

    def _set_fitted(self) -> None:
        model = self._model
        self.coef_, self.feature_names_ = model.w, list(folding.feature_names())
        self.primal_objective_, self.dual_objective_ = model.primal, model.dual
        self.dual_gap_ = model.gap

    # -- what a fitted model says ------------------------------------------------------------------

    def predict(self, X: Sequence[str]) -> list[str]:
        """The best structure of each sequence, as dots and brackets."""
        check_is_fitted(self)
        return self._model.predict(X, self._backend())

    def sequence_scores(self, X: Sequence[str]) -> list[float]:
        """The score of the best structure of each sequence."""
        check_is_fitted(self)
        return [one.score for one in self._model.fold(X, self._backend())]

    def pair_score(
        self, X: Sequence[str], y: Sequence[str], sample_weight: Any = None
    ) -> PairScore:
        """How well the pairs of ``y`` are found: means of sensitivity, PPV and F over sequences."""
        check_is_fitted(self)
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} sequences but y has {len(y)} structures")
        truth = [
            folding.partners_of(brackets, len(sequence), folding.name_of(i))
            for i, (sequence, brackets) in enumerate(zip(X, y))
        ]
        found = self._model.fold(X, self._backend())
        scores = [pair_score(told, one.partners) for told, one in zip(truth, found)]
        return mean_pair_score(scores, sample_weight)

    def score(self, X: Sequence[str], y: Sequence[str], sample_weight: Any = None) -> float:
        """The mean F of the pairs."""
        return self.pair_score(X, y, sample_weight).f

    def strongest_weights(self, count: int = 20) -> list[tuple[float, str]]:
        """(weight, feature) of the largest weights by size."""
        check_is_fitted(self)
        return self._model.strongest(count)

    # -- files -------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write weights, names, certificate and parameters; no pickle."""
        check_is_fitted(self)
        described = {**self._described(), "dropped_pairs": self.n_dropped_pairs_}
        write_folding(path, replace(self._model, metadata={"estimator": described}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The estimator of a file that ``save`` or ``gapsvm fit --task fold`` wrote.

        Raises
        ------
        ModelFormatError
            A ValueError that names the file and what is wrong with it.
        """
        model = read_folding(path)
        told = model.metadata.get("estimator", {})
        estimator = cls._restored(told, path)
        estimator._model = model
        estimator._set_fitted()
        estimator.n_dropped_pairs_ = told.get("dropped_pairs", 0)
        return estimator
