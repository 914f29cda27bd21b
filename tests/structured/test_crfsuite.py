"""The objective of conditional random fields is python-crfsuite's, where that is installed."""

from __future__ import annotations

import numpy as np
import pytest

from gapsvm import ChainCRF


def test_the_same_minimum(tmp_path):
    """Σ log-loss + c2‖w‖² is n times ours at λ = 2·c2/n, with all states and transitions."""
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is not installed")
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 3, rng.integers(1, 6)) for _ in range(40)]
    X = [[[f"a{(t + rng.integers(2)) % 4}", f"b{rng.integers(3)}"] for t in tags] for tags in y]
    trainer = pycrfsuite.Trainer(verbose=False)
    for names, tags in zip(X, y):
        trainer.append(names, list(map(str, tags)))
    trainer.select("lbfgs")
    options = {"c1": 0.0, "c2": 0.5, "epsilon": 1e-9, "delta": 1e-12, "max_iterations": 1000}
    possible = {"feature.possible_states": True, "feature.possible_transitions": True}
    trainer.set_params({**options, **possible})
    trainer.train(str(tmp_path / "model"))
    theirs = trainer.logparser.last_iteration["loss"]
    ours = ChainCRF(lam=1.0 / 40, tol=1e-9).fit(X, y)
    assert 40 * ours.primal_objective_ == pytest.approx(theirs, rel=1e-6)
    assert 40 * ours.dual_objective_ <= theirs + 1e-6
