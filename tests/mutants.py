"""Twenty mistakes of one line each, and whether the tests notice them.

    python tests/mutants.py                     what the first tier notices, and how soon
    python tests/mutants.py --all               the same of both tiers
    python tests/mutants.py --affected          only the test files nearest to each mistake
    python tests/mutants.py "late rows" ...     these mistakes only

Each mistake is planted alone in a copy of the tree.  The test files nearest to it run first, then
the rest of the tier, until a test fails.  A mistake in a compiled loop has a folder of its own for
compiled code.  In the end all tests that failed run once more where there is no mistake: they must
pass there.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src", "gapsvm")
COMPILED = ("backends/numba/", "types/")
MOST_SURVIVORS = 2
"""Of the first tier; both together have none."""
TIME_LIMIT = 3600.0
"""Seconds for one mistake: a fit that never ends has been noticed."""


@dataclass(frozen=True)
class Mutant:
    """``old``, which occurs once in a file of the package, becomes ``new``."""

    name: str
    file: str
    old: str
    new: str

    @property
    def is_compiled(self) -> bool:
        return self.file.startswith(COMPILED)


LOSSES = [
    Mutant(
        "squared hinge",
        "losses/family.py",
        'margin_loss("squared_hinge", 0, 0.5, 0, inf)',
        'margin_loss("squared_hinge", 0, 1.0, 0, inf)',
    ),
    Mutant(
        "kink of the dual step",
        "backends/numba/five_numbers.py",
        "right = slope - curve.eps if a >= 0 else slope + curve.eps",
        "right = slope - curve.eps if a > 0 else slope + curve.eps",
    ),
]
STEPS = [
    Mutant(
        "every chunk starts anew",
        "solvers/subgradient/rules.py",
        "return np.arange(first + 1, first + steps + 1, dtype=np.float64)",
        "return np.arange(1, steps + 1, dtype=np.float64)",
    ),
    Mutant(
        "half of the tail",
        "solvers/tail.py",
        "return 0 if steps < (self.fixed or 0) else steps - self.first",
        "return 0 if steps < (self.fixed or 0) else steps - self.latest",
    ),
    Mutant(
        "late rows",
        "solvers/minibatch/solver.py",
        "together = min(n, size * (self.staleness + 1))",
        "together = min(n, size)",
    ),
    Mutant(
        "sigma2 without the bias",
        "solvers/minibatch/solver.py",
        "found = min(top, found + float(np.mean(shares)))",
        "found = min(top, found)",
    ),
]
CERTIFICATES = [
    Mutant(
        "norm without the bias",
        "problems/linear.py",
        "square = float(combination @ combination + self.bias_ratio * mass * mass)",
        "square = float(combination @ combination)",
    ),
    Mutant(
        "rows for weights",
        "problems/multiclass.py",
        "coef *= (self.weight / (self.lam * self.total_weight))[:, None]",
        "coef *= (self.weight / (self.lam * self.n_rows))[:, None]",
    ),
]
BIAS = [
    Mutant(
        "end of the interval",
        "losses/best_bias.py",
        "return float(0.5 * (points[first] + points[last]))",
        "return float(points[last])",
    ),
    Mutant(
        "lighter side scaled",
        "problems/row_losses.py",
        "heavier = mass > 0 if up > down else mass < 0",
        "heavier = mass > 0 if up < down else mass < 0",
    ),
]
SCREENING = [
    Mutant(
        "free rows left out",
        "backends/numba/sdca.py",
        "if c != 0.0 and (gap > floor or is_free(curve, a)):",
        "if c != 0.0 and gap > floor:",
    ),
    Mutant(
        "never screened again",
        "solvers/sdca/serial.py",
        "state.screening = state.kept == 0 or estimate <= self.recheck * state.screened",
        "state.screening = state.kept == 0",
    ),
]
READERS = [
    Mutant(
        "one column too many",
        "io/svmlight.py",
        "limit = _LAST_INT64 if n_features is None else n_features + offset",
        "limit = _LAST_INT64 if n_features is None else n_features + 1",
    ),
    Mutant(
        "halfway up",
        "backends/numba/text.py",
        "bits -= np.uint64(1)",
        "bits -= np.uint64(0)",
    ),
]
CHECKPOINTS = [
    Mutant(
        "new names overlooked",
        "training/checkpoint.py",
        "for name in {**stored, **given}:",
        "for name in stored:",
    ),
    Mutant(
        "slices from the break",
        "solvers/loop.py",
        "grain = slice_rows - visited % slice_rows",
        "grain = slice_rows",
    ),
    Mutant(
        "shapes unchecked",
        "io/tensors.py",
        "digest.update(json.dumps([name, _NAMES[array.dtype], array.shape]).encode())",
        "digest.update(json.dumps([name, _NAMES[array.dtype]]).encode())",
    ),
]
KERNELS = [
    Mutant(
        "errors of one side",
        "problems/kernel.py",
        "low, high = margins - errors + bias, margins + errors + bias",
        "low, high = margins + bias, margins + errors + bias",
    ),
]
STRUCTURED = [
    Mutant(
        "cost of another scale",
        "problems/structured/chain.py",
        "return self.scores(v, backend).best(examples, self.y, 1.0 / scale)",
        "return self.scores(v, backend).best(examples, self.y, 1.0)",
    ),
    Mutant(
        "beyond the best step",
        "backends/numba/chain_blocks.py",
        "if pull < most * unit * square:",
        "if pull < 0.5 * most * unit * square:",
    ),
]
SUBJECTS = {
    "losses": LOSSES,
    "steps": STEPS,
    "certificates": CERTIFICATES,
    "bias": BIAS,
    "screening": SCREENING,
    "readers": READERS,
    "checkpoints": CHECKPOINTS,
    "kernels": KERNELS,
    "structured": STRUCTURED,
}
MUTANTS = [mutant for mutants in SUBJECTS.values() for mutant in mutants]

NEAREST: dict[str, tuple[str, ...]] = {
    "backends/numba/chain_blocks.py": ("backends/test_chain_blocks.py",),
    "backends/numba/five_numbers.py": ("test_losses.py", "backends/test_equal.py"),
    "backends/numba/sdca.py": ("backends/test_equal.py", "solvers/test_dual.py"),
    "backends/numba/text.py": ("data/test_svmlight.py",),
    "io/svmlight.py": ("data/test_svmlight.py",),
    "io/tensors.py": ("test_modelfile.py", "test_checkpoint.py"),
    "losses/best_bias.py": ("test_bias.py",),
    "losses/family.py": ("test_losses.py",),
    "problems/kernel.py": ("kernels/test_kernel_rows.py", "estimators/test_kernel.py"),
    "problems/linear.py": ("test_problem.py",),
    "problems/multiclass.py": ("test_multiclass.py",),
    "problems/row_losses.py": ("test_bias.py", "test_problem.py", "solvers/test_dual.py"),
    "problems/structured/chain.py": (
        "structured/test_chain_problem.py",
        "estimators/test_chain.py",
    ),
    "solvers/loop.py": ("solvers/test_loop.py", "test_checkpoint.py"),
    "solvers/minibatch/solver.py": ("solvers/test_minibatch.py",),
    "solvers/sdca/serial.py": ("solvers/test_dual.py",),
    "solvers/subgradient/rules.py": ("solvers/test_table.py",),
    "solvers/tail.py": ("solvers/test_minibatch.py", "solvers/test_table.py"),
    "training/checkpoint.py": ("test_checkpoint.py",),
}
"""The test files that run first, by the file with the mistake."""


@dataclass(frozen=True)
class Outcome:
    mutant: Mutant
    killer: str
    """The test that failed; empty: there was none."""
    seconds: float


def main() -> int:
    options = _options()
    chosen = [mutant for mutant in MUTANTS if not options.names or mutant.name in options.names]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = copied(Path(folder, "tree"))
        outcomes = [tried(mutant, tree, options) for mutant in chosen]
        killers = sorted({one.killer for one in outcomes if one.killer.startswith("tests/")})
        sound = not killers or run(tree, [*killers, "-p", "no:xdist"])[0] == 0
    survivors = [outcome for outcome in outcomes if not outcome.killer]
    print(f"{len(outcomes) - len(survivors)} of {len(outcomes)} killed")
    if not sound:
        print("but some of these tests fail without a mistake as well, and say nothing")
    most = 0 if options.all or options.names else MOST_SURVIVORS
    return 0 if sound and len(survivors) <= most else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="these mistakes only")
    parser.add_argument("--all", action="store_true", help="both tiers")
    parser.add_argument("--affected", action="store_true", help="the nearest test files only")
    parser.add_argument("--workers", default="0", help="processes, as for pytest -n")
    options = parser.parse_args()
    unknown = set(options.names) - {mutant.name for mutant in MUTANTS}
    if unknown:
        parser.error(f"no such mistake: {', '.join(sorted(unknown))}")
    return options


def copied(tree: Path) -> Path:
    """The files of this tree, without what tools leave in it."""
    left = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", ".venv", "build", "dist")
    shutil.copytree(ROOT, tree, ignore=left)
    return tree


def planted(mutant: Mutant, tree: Path) -> str:
    """Write the mistake into a tree; returns the text of the file as it was."""
    path = tree / PACKAGE / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.file} does not have once: {mutant.old}")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    return text


def tried(mutant: Mutant, tree: Path, options: argparse.Namespace) -> Outcome:
    """Plant a mistake, run the tests until one fails, take the mistake out again."""
    start = time.monotonic()
    text = planted(mutant, tree)
    try:
        with tempfile.TemporaryDirectory(prefix="kernels-") as kernels:
            killer = killed_by(mutant, tree, kernels if mutant.is_compiled else None, options)
    finally:
        (tree / PACKAGE / mutant.file).write_text(text, encoding="utf-8")
    outcome = Outcome(mutant, killer, time.monotonic() - start)
    said = f"killed    {outcome.killer}" if outcome.killer else "SURVIVED"
    print(f"{mutant.name:26} {outcome.seconds:6.0f} s  {said}", flush=True)
    return outcome


def killed_by(mutant: Mutant, tree: Path, kernels: str | None, options: argparse.Namespace) -> str:
    """The test that fails, of the nearest files or, after them, of all others."""
    common = ["-x", "-n", options.workers, *["--all"] * options.all]
    nearest = [f"tests/{name}" for name in NEAREST[mutant.file]]
    rounds = [nearest] if options.affected else [nearest, [f"--ignore={name}" for name in nearest]]
    for files in rounds:
        code, said = run(tree, [*common, *files], kernels)
        if code == pytest.ExitCode.USAGE_ERROR:
            raise SystemExit(said)
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return failing(said) or f"pytest ends with {code}"
    return ""


def run(tree: Path, arguments: Iterable[str], kernels: str | None = None) -> tuple[int, str]:
    """pytest in a tree; its exit code and what it says."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    if kernels is not None:
        environment["NUMBA_CACHE_DIR"] = kernels
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT
        )
    except subprocess.TimeoutExpired:
        return 1, f"FAILED within {TIME_LIMIT:.0f} s to end"
    return done.returncode, done.stdout + done.stderr


def failing(said: str) -> str:
    """The first test in pytest's summary."""
    found: Sequence[str] = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", said, flags=re.M)
    return found[0] if found else ""


if __name__ == "__main__":
    sys.exit(main())
