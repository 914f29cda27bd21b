"""Folding: all structures listed, and ``cpu`` against ``reference``."""

from __future__ import annotations

import numpy as np
import pytest
from folding import codes_of, random_sequence, random_structure, structures

from gapsvm.backends import get_backend
from gapsvm.rows import folding
from gapsvm.types import folding as f

CPU, REFERENCE = get_backend("cpu"), get_backend("reference")
EVERYTHING = len(folding.feature_names())
PRICES = np.array([0.7, 1.3])


def test_the_best_of_all_structures_and_every_feature_is_hit():
    """Random sequences to 16 bases with random weights, with and without a loss; the features that
    no structure has are those of loops that do not fit."""
    rng, hit = np.random.default_rng(0), np.zeros(EVERYTHING, dtype=bool)
    for trial in range(120):
        length = trial % 17 if trial < 34 else 16
        codes = codes_of(
            random_sequence(rng, max(length, 1), "ACGUGCN" if trial % 9 == 0 else "ACGU")
        )
        w = rng.normal(size=EVERYTHING)
        w[-1] += rng.choice([0.0, -2.0])  # external bases: more pairs
        listed = list(structures(codes))
        truth = listed[rng.integers(len(listed))]
        phi = np.array([folding.structure_features(codes, y, CPU) for y in listed])
        hit |= phi.any(axis=0)
        scores = folding.scores_of(w)
        losses = np.array([folding.pair_loss(truth, y, PRICES) for y in listed])
        losses -= PRICES[1] * np.count_nonzero(truth) / 2
        for backend in (CPU, REFERENCE) if trial % 5 == 0 else (CPU,):
            best = folding.fold(codes, scores, backend)
            assert best.score == pytest.approx((phi @ w).max(), abs=1e-9)
            reached = folding.structure_features(codes, best.partners, CPU) @ w
            assert reached == pytest.approx(best.score, abs=1e-9)
            worst = folding.fold(codes, scores, backend, truth, PRICES)
            assert worst.score == pytest.approx((phi @ w + losses).max(), abs=1e-9)
    missing = {name for name, found in zip(folding.feature_names(), hit) if not found}
    assert all("≥" in name or "×" in name for name in missing), missing
    lengths = [int(name.split("≥")[1]) for name in missing if "≥" in name]
    assert min(lengths) > 7  # a hairpin of 16 bases has a loop of 14, two pairs leave 9 between


def test_every_feature_is_hit_and_both_backends_count_the_same():
    rng, hit = np.random.default_rng(1), np.zeros(EVERYTHING, dtype=bool)
    for _ in range(1200):
        codes = codes_of(random_sequence(rng, int(rng.integers(20, 110))))
        partners = random_structure(rng, codes)
        found = [folding.structure_features(codes, partners, b) for b in (CPU, REFERENCE)]
        np.testing.assert_array_equal(*found)
        hit |= found[0] != 0
    assert hit.all(), [n for n, found in zip(folding.feature_names(), hit) if not found]


@pytest.mark.parametrize("length", [0, 1, 4, 5, 6, 33, 48, 70])
def test_both_backends_fold_alike(length):
    """Long loops too: with weights that like them, and a base that pairs with nothing."""
    rng = np.random.default_rng(length)
    for trial in range(4):
        codes = codes_of(random_sequence(rng, max(length, 1), "ACGUN" if trial == 1 else "ACGU"))
        w = rng.normal(size=EVERYTHING)
        long = np.array(["≥" in name for name in folding.feature_names()])
        w[long] += 0.3 * (trial == 2)
        scores = folding.scores_of(w)
        truth = random_structure(rng, codes)
        for given in ((), (truth, PRICES)):
            one, other = (folding.fold(codes, scores, b, *given) for b in (CPU, REFERENCE))
            assert one.score == pytest.approx(other.score, rel=1e-12)
            np.testing.assert_array_equal(one.partners, other.partners)


def test_pieces_by_name():
    codes = codes_of("GGCGAAAGCC")
    phi = folding.structure_features(codes, folding.partners_of("(((....)))", 10, "x"), CPU)
    counted = {n: int(v) for n, v in zip(folding.feature_names(), phi) if v}
    assert counted == {
        "pair CG": 3,
        "stack CG CG": 1,
        "stack GC CG": 1,
        "hairpin length ≥ 3": 1,
        "hairpin length ≥ 4": 1,
        "hairpin GNRA": 1,
        "mismatch CG G A": 1,
        "end CG": 2,
        "external branch": 1,
    }


def test_the_model_has_about_350_features():
    assert 340 <= EVERYTHING <= 360
    assert len(set(folding.feature_names())) == EVERYTHING


def test_a_stack_reads_the_same_from_both_strands():
    """GA on UC is UC on GA turned round."""
    names = np.array(folding.feature_names())
    found = []
    for sequence in ("GAAAAAUC", "UCAAAAGA"):
        partners = folding.partners_of("((....))", 8, "x")
        phi = folding.structure_features(codes_of(sequence), partners, CPU)
        found.append([name for name in names[phi > 0] if name.startswith("stack")])
    assert found == [["stack GC AU"], ["stack GC AU"]]
    assert sum(name.startswith("stack ") and "bulge" not in name for name in names) == 21


def test_the_memory_of_a_fold_is_what_is_said():
    room = folding._room(400)
    assert sum(table.nbytes for table in room) <= folding.bytes_of_fold(400) <= 2.3e6
    assert f.N_ENTRIES < 2500
