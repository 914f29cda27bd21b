"""``gapsvm fit --task rank`` and the scores of a model that ranks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import Command

from gapsvm import RankSVC, load_model, mean_average_precision, mean_ndcg, read_svmlight
from gapsvm.models.files import read_model


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty queries of ten documents, one of them with one grade, and rows in no order of qid."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(200, 4)), 3)
    y = np.digitize(X[:, 0] - X[:, 1] + 0.7 * rng.normal(size=200), [0.0, 1.5])
    qid = np.arange(200) % 20
    y[qid == 3] = 1
    path = tmp_path_factory.mktemp("rank") / "documents.txt"
    path.write_text(
        "".join(
            f"{grade} qid:{q} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) + "\n"
            for row, grade, q in zip(X, y, qid)
        )
    )
    return path


def test_it_is_rank_svc(documents: Path, tmp_path: Path, run: Command) -> None:
    """The same λ, the same model; predict says NDCG and MAP; the file loads as an estimator."""
    model = tmp_path / "model"
    options = ("--task", "rank", "--C", 0.5, "--dtype", "float64")
    fit = run("fit", documents, *options, "--model", model)
    assert fit.code == 0
    assert "20 queries" in fit.out
    assert "left out: 1" in fit.out
    data = read_svmlight(documents, query_id=True)
    own = RankSVC(C=0.5).fit(data.X, data.y, qid=data.qid)
    np.testing.assert_allclose(read_model(model).coef, [own.coef_], rtol=1e-9)
    scores = tmp_path / "scores"
    done = run("predict", model, documents, "--output", scores)
    assert done.code == 0
    written = np.loadtxt(scores)
    np.testing.assert_allclose(written, own.predict(data.X), rtol=1e-9)
    ndcg = mean_ndcg(data.y, written, data.qid)
    assert f"NDCG@10 {ndcg:.6g}" in done.err
    found = json.loads(run("predict", model, documents, "--at", 3, "--json").out)
    assert found["NDCG@3"] == pytest.approx(mean_ndcg(data.y, written, data.qid, 3))
    assert found["MAP"] == pytest.approx(mean_average_precision(data.y, written, data.qid))
    again = load_model(model)
    assert isinstance(again, RankSVC)
    np.testing.assert_array_equal(again.predict(data.X), data.X @ read_model(model).coef[0])


@pytest.mark.parametrize(
    ("method", "name"),
    [("proximal-bundle", None), ("pair-sdca", None), ("pegasos(average=tail)", "pegasos")],
)
def test_methods_by_name(
    method: str, name: str | None, documents: Path, tmp_path: Path, run: Command
) -> None:
    options = ("--task", "rank", "--lam", 0.05, "--json", "--gap", 0.03)
    trace = tmp_path / "trace.csv"
    done = run("fit", documents, *options, "--method", method, "--trace", trace)
    assert done.code == 0
    found = json.loads(done.out)
    assert found["method"] == (name or method)
    assert found["gap"] <= 0.03
    assert (found["queries"], found["skipped"]) == (20, 1)
    assert trace.read_text().startswith("problem,passes")


@pytest.mark.parametrize("method", ["auto", "proximal-bundle", "pair-sdca", "pegasos"])
def test_a_fit_goes_on_from_a_checkpoint(
    method: str, documents: Path, tmp_path: Path, run: Command
) -> None:
    """In two parts or in one: the same numbers."""
    fit = ("fit", documents, "--task", "rank", "--lam", 1e-3, "--gap", 0, "--json")
    options = ("--method", method, "--max-passes")
    whole = json.loads(run(*fit, *options, 12).out)
    saved = ("--checkpoint", tmp_path / "saved", "--resume", tmp_path / "saved")
    first = run(*fit, *options, 5, *saved)
    assert "not there yet" in first.err
    assert json.loads(first.out)["passes"] == 5
    told = json.loads(run(*fit, *options, 12, *saved).out)
    assert (told["primal"], told["dual"]) == (whole["primal"], whole["dual"])


def test_queries_may_count_the_same(documents: Path, run: Command) -> None:
    fit = ("fit", documents, "--lam", 0.1, "--gap", 1e-6, "--dtype", "float64", "--json", "--task")
    told = json.loads(run(*fit, "rank(average=queries)").out)
    data = read_svmlight(documents, query_id=True)
    own = RankSVC(lam=0.1, tol=1e-6, average="queries").fit(data.X, data.y, qid=data.qid)
    assert told["primal"] == pytest.approx(own.primal_objective_, rel=1e-9)


def test_the_ndcg_loss_and_weights(documents: Path, tmp_path: Path, run: Command) -> None:
    weights = tmp_path / "weights"
    weights.write_text("1\n" * 199 + "2\n")
    fit = ("fit", documents, "--task", "rank", "--lam", 0.1, "--json")
    plain, weighted = (json.loads(run(*fit, *more).out) for more in ((), ("--weights", weights)))
    assert plain["primal"] != weighted["primal"]
    model = tmp_path / "model"
    assert run(*fit, "--loss", "ndcg(truncation=5)", "--model", model, "--gap", 0.1).code == 0
    assert "NDCG@5" in json.loads(run("predict", model, documents, "--json").out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--bias", "none"), "--bias is not for --task rank"),
        (("--weights", "balanced"), "--weights balanced is not for --task rank"),
        (("--loss", "squared_hinge"), "has the losses pairs"),
        (("--loss", "pairs(truncation=3)"), "has the losses pairs"),
        (("--method", "sdca"), "Methods for this problem: auto"),
        (("--model", "m.liblinear"), "holds no rankings"),
        (("--lam", 1, "--C", 1), "give --lam or --C"),
    ],
)
def test_what_means_nothing_is_refused(
    options: tuple, message: str, documents: Path, tmp_path: Path, run: Command
) -> None:
    done = run("fit", documents, "--task", "rank", "--model", tmp_path / "m", *options)
    assert done.code == 1
    assert message in done.err


def test_files_without_queries(documents: Path, tmp_path: Path, run: Command) -> None:
    """A fit needs qid and says in which line it is missing; scores need none."""
    plain = tmp_path / "plain.txt"
    plain.write_text("1 qid:1 1:1 2:0 3:0 4:1\n0 1:0 2:1 3:1 4:0\n")
    done = run("fit", plain, "--task", "rank", "--model", tmp_path / "m")
    assert done.code == 1
    assert "plain.txt" in done.err
    assert "2" in done.err
    assert "qid" in done.err
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n")
    assert "reads svmlight text" in run("fit", table, "--task", "rank", "--json").err
    model = tmp_path / "model"
    assert run("fit", documents, "--task", "rank", "--model", model).code == 0
    scored = run("predict", model, plain)
    assert scored.code == 0
    assert len(scored.out.split()) == 2
    assert "nothing to compare with" in scored.err
    assert "leave out --scores" in run("predict", model, plain, "--scores").err
    equal = tmp_path / "equal.txt"
    equal.write_text("1 qid:7 1:1\n1 qid:7 1:2\n")
    done = run("fit", equal, "--task", "rank", "--json")
    assert "query 7 has grades [1.0]" in done.err
