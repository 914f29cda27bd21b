"""Max-margin folding: objective, subgradient, certificate, solvers, against all structures."""

from __future__ import annotations

import bz2

import numpy as np
import pytest
import scipy.sparse as sp
from folding import codes_of, random_sequence, random_structure, structures
from hypothesis import given, settings
from hypothesis import strategies as st

from gapsvm import Bundle, FoldingProblem, FrankWolfe, ProximalBundle, Subgradient, read_rna, solve
from gapsvm.backends import get_backend
from gapsvm.io.rna import written_rna
from gapsvm.losses.pairs import mean_pair_score, pair_score
from gapsvm.problems.oracles import check_oracle
from gapsvm.rows import folding

CPU = get_backend("cpu")
SIZE = len(folding.feature_names())


def examples(n=8, shortest=12, longest=16, seed=0):
    rng = np.random.default_rng(seed)
    X, y = [], []
    while len(X) < n:
        sequence = random_sequence(rng, int(rng.integers(shortest, longest + 1)))
        told = random_structure(rng, codes_of(sequence))
        if told.any():
            X.append(sequence)
            y.append(folding.brackets_of(told))
    return X, y


def problem(lam=0.05, n=8, **options):
    return FoldingProblem(*examples(n), lam, prices=(0.5, 1.0), lonely_pairs="keep", **options)


def listed(p, w):
    """P(w) with all structures listed."""
    total, oracle = 0.0, p.oracle
    for weight, x, truth in zip(p.mean_weight, p.examples.X, p.examples.y):
        right = oracle.features(x, truth)
        ways = (oracle.loss(truth, y) + w @ (oracle.features(x, y) - right) for y in structures(x))
        total += weight * max(ways)
    return total + 0.5 * p.lam * w @ w


def test_objective_value_of_the_oracle_and_subgradient():
    p = problem(sample_weight=np.arange(8.0))
    for seed in range(3):
        w = np.random.default_rng(seed).normal(size=p.shape)
        expected = listed(p, w)
        assert p.objective(w, CPU) == pytest.approx(expected, rel=1e-12)
        assert p.subgradient(w, CPU)[0] == pytest.approx(expected - 0.5 * p.lam * w @ w, rel=1e-12)
    assert p.primal_at_zero == pytest.approx(listed(p, p.zeros()))


def test_both_backends_solve_the_same_problem():
    one, other = (problem(n=4, backend=name) for name in ("cpu", "reference"))
    w = np.random.default_rng(1).normal(size=one.shape)
    assert one.subgradient(w, CPU)[0] == pytest.approx(other.subgradient(w, CPU)[0], rel=1e-12)
    np.testing.assert_allclose(one.subgradient(w, CPU)[1], other.subgradient(w, CPU)[1], atol=1e-12)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.01, 1.0, 30.0]))
def test_subgradient_inequality(seed, scale):
    p, rng = problem(), np.random.default_rng(seed)
    w, v = scale * rng.normal(size=(2, *p.shape))
    here, slope = p.subgradient(w, CPU)
    there, _ = p.subgradient(v, CPU)
    assert there >= here + slope @ (v - w) - 1e-9 * (1 + abs(here) + abs(there))


SOLVERS = {
    "frank-wolfe": (FrankWolfe(), 1e-3),
    "no cache": (FrankWolfe("gap", cached=0, batch=4), 1e-3),
    "bundle": (Bundle(), 1e-4),
    "proximal bundle": (ProximalBundle(), 1e-4),
    "pegasos": (Subgradient(average="tail"), 0.1),
    "proximal": (Subgradient(step_rule="proximal", average="tail", sampler="permutation"), 0.1),
}


@pytest.fixture(scope="module")
def optimum():
    return solve(problem(), Bundle(), gap=1e-7, max_passes=3000).certificate


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_has_the_same_optimum(name, optimum):
    p, (solver, tol) = problem(), SOLVERS[name]
    result = solve(p, solver, gap=tol * p.primal_at_zero, max_passes=1500, evaluate_every=5)
    assert result.converged
    assert optimum.dual - 1e-7 <= result.certificate.primal
    assert result.certificate.primal <= optimum.primal + tol * p.primal_at_zero
    for record in result.trace:
        assert record.dual <= optimum.primal + 1e-7


def test_threads_change_nothing():
    one, two = (
        solve(problem(), FrankWolfe(batch=4), gap=0, max_passes=5, backend=get_backend("cpu", t))
        for t in (1, 2)
    )
    np.testing.assert_array_equal(one.solution.w, two.solution.w)


def test_the_oracle_passes_its_own_check():
    p = problem()
    check_oracle(p, points=3, labellings=structures)


def test_a_truth_with_a_loop_too_long_for_the_programme_is_a_labelling_all_the_same():
    sequence = "GG" + "A" * 20 + "GGAAAACC" + "A" * 20 + "CC"
    truth = "((" + "." * 20 + "((....))" + "." * 20 + "))"
    p = FoldingProblem([sequence], [truth], 1e-3, prices=(1.0, 1.0))
    names = folding.feature_names()
    w = np.zeros(SIZE)
    w[names.index("stack CG CG")] = 5.0
    w[names.index("multiloop unpaired")] = w[names.index("external unpaired")] = -9.0
    w[
        [k for k, name in enumerate(names) if name.startswith(("bulge length", "hairpin length"))]
    ] = -9.0
    right = p.oracle.features(p.examples.X[0], p.examples.y[0])
    assert right @ w > folding.fold(p.examples.X[0], folding.scores_of(w), CPU).score
    assert p.subgradient(w, CPU)[0] == 0.0
    result = solve(p, FrankWolfe(), gap=1e-6, max_passes=500)
    assert result.converged


def test_pairs_that_no_fold_has_are_left_out_and_counted():
    p = FoldingProblem(["GAAAAACGGAAAACC"], ["(.....)((....))"], 0.1)
    assert p.n_dropped == 1  # G–C, alone
    kept = FoldingProblem(["GAAAAACGGAAAACC"], ["(.....)((....))"], 0.1, lonely_pairs="keep")
    assert kept.n_dropped == 0
    odd = FoldingProblem(["AAAAAAAGGAAAACCGC"], ["(.....)((....))()"], 0.1)
    assert odd.n_dropped == 2  # A–A, and neighbours


BAD = {
    "empty": ((["ACGU", ""], ["....", ""]), "sequence 1 is empty"),
    "letter": ((["ACXGU"], ["....."]), "sequence 0 has 'X' at position 3"),
    "unbalanced": ((["ACGU"], ["((.)"]), r"sequence 0: '\(' at position 1 is never closed"),
    "closed": ((["ACGU"], ["(.))"]), r"sequence 0: '\)' at position 4 closes no bracket"),
    "crossing": ((["ACGUACGU"], ["(.[..).]"]), r"sequence 0: '\)' at position 6 crosses '\['"),
    "length": ((["ACGU"], ["..."]), "sequence 0 has 4 bases, but its structure has 3"),
    "sign": ((["ACGU"], ["..x."]), "'x' at position 3 of the structure"),
    "count": ((["ACGU"], []), "1 sequences but 0 structures"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    given, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        FoldingProblem(*given, 0.1)
    if name == "letter":
        with pytest.raises(ValueError, match=r"sequence 0 \(tRNA_1\) has 'X'"):
            FoldingProblem(*given, 0.1, names=["tRNA_1"])


def test_too_long_for_memory(monkeypatch):
    monkeypatch.setattr(folding, "physical_memory", lambda: 10**6)
    with pytest.raises(MemoryError, match=r"sequence 1 has 400 bases; to fold it takes 2\.17 MB"):
        FoldingProblem(["ACGU", "A" * 400], ["....", "." * 400], 0.1)


@pytest.mark.parametrize("change", [{"prices": (0.0, 0.0)}, {"prices": (1.0,)}, {"lam": -1.0}])
def test_bad_parameters(change):
    with pytest.raises(ValueError, match=r"prices|lam"):
        FoldingProblem(*examples(2), **{"lam": 0.1, **change})


def test_scores_of_pairs():
    def partners(text):
        return folding.partners_of(text, len(text), "x")

    score = pair_score(partners("((...)).(...)"), partners("((...))......"))
    assert score[:3] == pytest.approx((2 / 3, 1.0, 0.8))
    assert score[3:] == (3, 2, 2)
    none = pair_score(partners("....."), partners("....."))
    assert none[:3] == (1.0, 1.0, 1.0)
    both = mean_pair_score([score, none], [1.0, 3.0])
    assert both.f == pytest.approx(0.95)
    assert both.n_true == 3


# -- files -----------------------------------------------------------------------------------------


def test_fasta_and_csv_say_the_same(tmp_path):
    X, y = examples(3)
    names = ["a", "b", "c"]
    fasta, table = tmp_path / "x.fa", tmp_path / "x.csv.bz2"
    fasta.write_text(written_rna(names, X, y).replace("\n>b", " (-1.20)\n\n>b rest of the line"))
    rows = "".join(f"{a},{b},{c}\n" for a, b, c in zip(names, X, y))
    table.write_bytes(bz2.compress(f"sequence_id,sequence,dot_bracket\n{rows}".encode()))
    for path in (fasta, table):
        found = read_rna(path)
        assert (found.names, found.sequences, found.structures) == (names, X, y)


def test_fasta_in_lines_and_without_structures(tmp_path):
    path = tmp_path / "x.fa"
    path.write_text(">one\nACG\nUAC\n>\nGGG\n")
    found = read_rna(path)
    assert found.sequences == ["ACGUAC", "GGG"]
    assert (found.names, found.structures) == (["one", "sequence_2"], None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no sequences"),
        ("a,b\n1,2\n", "neither FASTA"),
        (">a\nACG\n...\n>b\nACG\n", "sequence b has no structure, but a has one"),
        (">a\nACG\n...\nACG\n", "line 4: bases of a after its structure"),
        ("sequence,id\nACG\n", "line 2: 1 fields"),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_rna(path)


def test_tables_are_linear_in_the_weights():
    rng = np.random.default_rng(0)
    w, counts = rng.normal(size=SIZE), rng.normal(size=folding.scores_of(np.zeros(SIZE)).size)
    assert folding.scores_of(w) @ counts == pytest.approx(w @ folding.features_of(counts))
    assert not sp.issparse(folding.features_of(counts))
