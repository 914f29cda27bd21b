"""Chunking and handwritten words: certified, and as right as they should be."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapsvm import ChainCRF, ChainSVC, Template, chunk_f1, datasets

TEMPLATE = """
U0:%x[-1,0]
U1:%x[0,0]
U2:%x[1,0]
U3:%x[-1,1]
U4:%x[0,1]
U5:%x[1,1]
U6:%x[-1,1]/%x[0,1]
"""


@pytest.mark.slow
@pytest.mark.parametrize("Estimator", [ChainSVC, ChainCRF])
def test_chunks(Estimator: Any, data_folder: Path) -> None:
    train, test = (
        datasets.load("conll2000", split=part, folder=data_folder) for part in ("train", "test")
    )
    template = Template.parsed(TEMPLATE)
    model = Estimator(C=1.0, tol=1e-3).fit(template.features(train.X[:1500]), train.y[:1500])
    assert model.converged_
    told = model.predict(template.features(test.X))
    assert chunk_f1(test.y, told).f1 > 0.90


@pytest.mark.slow
@pytest.mark.parametrize(("Estimator", "C"), [(ChainSVC, 0.1), (ChainCRF, 0.3)])
def test_handwritten_words(Estimator: Any, C: float, data_folder: Path) -> None:
    """Trained on one fold of ten."""
    data = datasets.load("ocr-letters", folder=data_folder)
    starts = np.flatnonzero(np.r_[True, np.diff(data.groups) != 0, True])
    words = [data.X[a:b] for a, b in pairwise(starts)]
    letters = [data.y[a:b].astype(int) for a, b in pairwise(starts)]
    fold = data.folds[starts[:-1]]
    train, test = np.flatnonzero(fold == 0), np.flatnonzero(fold != 0)
    model = Estimator(C=C, tol=0.01).fit([words[i] for i in train], [letters[i] for i in train])
    assert model.converged_
    error = 1.0 - model.score([words[i] for i in test], [letters[i] for i in test])
    assert 0.19 < error < 0.24
