"""The mistakes of ``mutants.py`` can be planted: what they replace is still there, once."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import MUTANTS, NEAREST, PACKAGE, ROOT, SUBJECTS

TESTS = Path(__file__).parent
every_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)


@every_mutant
def test_a_mistake_replaces_what_occurs_once(mutant):
    text = (ROOT / PACKAGE / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1
    wrong = text.replace(mutant.old, mutant.new)
    assert wrong != text
    ast.parse(wrong)


@every_mutant
def test_the_nearest_tests_exist(mutant):
    assert all((TESTS / name).is_file() for name in NEAREST[mutant.file])


def test_there_are_twenty_in_all_subjects():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) == 20
    assert all(SUBJECTS.values())
    assert set(NEAREST) == {mutant.file for mutant in MUTANTS}


@pytest.mark.slow
def test_a_planted_mistake_is_noticed_and_taken_out_again():
    command = [sys.executable, str(TESTS / "mutants.py"), "--affected", "squared hinge"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "killed    tests/test_losses.py::" in done.stdout
    assert done.stdout.endswith("1 of 1 killed\n")
