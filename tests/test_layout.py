"""Pictures of structures: where bases lie, and that a file is written."""

from __future__ import annotations

import numpy as np
import pytest
from folding import codes_of, random_sequence, random_structure

from gapsvm import draw_structure
from gapsvm.rows.folding import partners_of
from gapsvm.rows.layout import RUNG, coordinates

CLOVERLEAF = "(((((((..((((........)))).(((((.......))))).....(((((.......))))))))))))...."


@pytest.mark.parametrize("text", [".", "..", "(....)", "((....))..((...))", CLOVERLEAF])
def test_neighbours_and_pairs_lie_as_far_apart_as_they_should(text):
    partners = partners_of(text, len(text), "x")
    places = coordinates(partners)
    assert np.isfinite(places).all()
    for i in range(1, len(text)):
        if partners[i] != i + 1:
            assert np.hypot(*(places[i] - places[i - 1])) == pytest.approx(1.0, abs=1e-6)
        if partners[i] > i:
            apart = places[int(partners[i]) - 1] - places[i - 1]
            assert np.hypot(*apart) == pytest.approx(RUNG, abs=1e-6)


def test_a_cloverleaf_does_not_lie_on_itself():
    places = coordinates(partners_of(CLOVERLEAF, len(CLOVERLEAF), "x"))
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    assert apart[~np.eye(len(places), dtype=bool)].min() > 0.9


def test_any_structure_has_a_place():
    rng = np.random.default_rng(0)
    for _ in range(30):
        partners = random_structure(rng, codes_of(random_sequence(rng, 80)))
        assert np.isfinite(coordinates(partners)).all()


@pytest.mark.parametrize("name", ["a.png", "a.svg"])
def test_a_file_is_written(name, tmp_path):
    sequence = "ACGU" * 19 + "N"
    truth = "." * len(CLOVERLEAF)
    draw_structure(tmp_path / name, sequence[: len(CLOVERLEAF)], CLOVERLEAF, truth, title="leaf")
    assert (tmp_path / name).stat().st_size > 5000
    with pytest.raises(ValueError, match="the sequence has 4 bases"):
        draw_structure(tmp_path / name, "ACGU", "...")
