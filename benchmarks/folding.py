"""RNA folding: F by family, the time to a certified gap, and the speed of a fold.

    python benchmarks/folding.py without     each family, by a model of the four others
    python benchmarks/folding.py within      each family, by a model of other sequences of its own
    python benchmarks/folding.py validate    F on held-out sequences by λ, on Figure 3's sequences
    python benchmarks/folding.py certify     300 sequences to a gap of 5 % of the objective
    python benchmarks/folding.py speed       a fold of 120 and of 360 bases

``GAPSVM_DATA`` names the folder of data.  The families are those of ArchiveII with more than a
hundred sequences of 400 bases at most.  No sequence is learnt from and tested on.  ViennaRNA, where
it is installed, folds the test sequences beside us; a Nussinov maximiser always does.  Rows are
printed as JSON, a line each.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

import numpy as np

from gapsvm import RNAFolder, datasets
from gapsvm.backends import get_backend
from gapsvm.losses.pairs import mean_pair_score, pair_score
from gapsvm.reproduce.do.figure3_tasks import FAMILIES, FOLDING_GRID, VALIDATED, drawn
from gapsvm.rows import folding

LAM, TOL = 1e-2, 1e-2
"""λ, and the gap as a share of P(0)."""
TESTED = 60
"""Sequences of a family to test on."""


def splits(data: Any, per_family: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """To learn from, and to test on: the last ones of each family."""
    order = drawn(data)
    test = {family: chosen[-TESTED:] for family, chosen in order.items()}
    return {family: chosen[:-TESTED][:per_family] for family, chosen in order.items()}, test


def texts(data: Any, chosen: Any) -> tuple[list[str], list[str]]:
    return [data.X[i] for i in chosen], [data.y[i] for i in chosen]


def nussinov(X: list[str], y: list[str]) -> float:
    """F of the structures with the most pairs."""
    w = np.array([float(name.startswith("pair ")) for name in folding.feature_names()])
    scores, found, cpu = folding.scores_of(w), [], get_backend()
    for sequence, brackets in zip(X, y):
        codes = folding.encoded(sequence, "sequence")
        truth = folding.partners_of(brackets, len(sequence), "sequence")
        found.append(pair_score(truth, folding.fold(codes, scores, cpu).partners))
    return mean_pair_score(found).f


def vienna(X: list[str], y: list[str]) -> float | None:
    """F of ViennaRNA's structures of least energy."""
    try:
        import RNA
    except ImportError:
        return None
    found = []
    for sequence, brackets in zip(X, y):
        said = RNA.fold(sequence)[0]
        one, other = (
            folding.partners_of(text, len(sequence), "sequence") for text in (brackets, said)
        )
        found.append(pair_score(one, other))
    return mean_pair_score(found).f


def one_family(job: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    """Train for one family, with or without it, and test."""
    kind, family, options = job
    data = datasets.load("rna")
    train, test = splits(data, options["per_family"])
    chosen = (
        train[family]
        if kind == "within"
        else np.concatenate([some for name, some in train.items() if name != family])
    )
    X, y = texts(data, chosen)
    began = time.perf_counter()
    model = RNAFolder(
        lam=options["lam"],
        tol=options["tol"],
        wrong_pair=options["wrong"],
        time_limit=options["limit"],
        n_jobs=options["threads"],
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = time.perf_counter() - began
    told = texts(data, test[family])
    score = model.pair_score(*told)
    return {
        "kind": kind,
        "family": family,
        "learnt from": len(X),
        "tested on": len(told[0]),
        "F": round(score.f, 3),
        "sensitivity": round(score.sensitivity, 3),
        "PPV": round(score.ppv, 3),
        "Nussinov": round(nussinov(*told), 3),
        "ViennaRNA": vienna(*told),
        "gap/P": round(model.dual_gap_ / model.primal_objective_, 4),
        "passes": model.n_iter_,
        "seconds": round(seconds, 1),
        **{name: options[name] for name in ("lam", "wrong", "per_family")},
    }


def families(kind: str, options: dict[str, Any]) -> None:
    jobs = [(kind, family, options) for family in options["families"]]
    with ProcessPoolExecutor(options["processes"]) as pool:
        for done in as_completed([pool.submit(one_family, job) for job in jobs]):
            print(json.dumps(done.result()), flush=True)


def validated(job: tuple[float, dict[str, Any]]) -> dict[str, Any]:
    """F on the held-out sequences of Figure 3's families."""
    lam, options = job
    data, (k, count) = datasets.load("rna"), VALIDATED
    order = drawn(data)
    X, y = texts(data, np.concatenate([chosen[:k] for chosen in order.values()]))
    model = RNAFolder(
        lam=lam, tol=3e-3, time_limit=options["limit"], n_jobs=options["threads"], random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    held = [texts(data, chosen[k : k + count]) for chosen in order.values()]
    found = [model.score(*one) for one in held]
    return {
        "lam": lam,
        "mean F": round(float(np.mean(found)), 4),
        "F": [round(one, 3) for one in found],
        "P": model.primal_objective_,
        "gap": model.dual_gap_,
        "passes": model.n_iter_,
    }


def validate(options: dict[str, Any]) -> None:
    with ProcessPoolExecutor(options["processes"]) as pool:
        for row in pool.map(validated, [(lam, options) for lam in FOLDING_GRID]):
            print(json.dumps(row), flush=True)


def certify(options: dict[str, Any]) -> None:
    """300 sequences of the five families to a gap of 5 % of the objective."""
    data = datasets.load("rna")
    X, y = texts(data, np.concatenate([chosen[:60] for chosen in drawn(data).values()]))
    began, met = time.perf_counter(), []

    def enough(record: Any) -> bool:
        share = (record.primal - record.dual) / record.primal
        row = {
            "seconds": round(time.perf_counter() - began, 1),
            "passes": round(record.passes, 1),
            "P": record.primal,
            "gap/P": round(share, 4),
        }
        print(json.dumps(row), flush=True)
        met.append(bool(share <= 0.05))
        return met[-1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        RNAFolder(
            lam=options["lam"],
            tol=0.0,
            callbacks=enough,
            time_limit=options["limit"],
            n_jobs=options["threads"],
            random_state=0,
        ).fit(X, y)
    print(json.dumps({"sequences": len(X), "threads": options["threads"], "met": met[-1]}))


def speed(options: dict[str, Any]) -> None:
    """The least time of a fold of random bases, one thread."""
    rng, cpu = np.random.default_rng(0), get_backend()
    scores = folding.scores_of(rng.normal(size=len(folding.feature_names())))
    for length in (77, 120, 360, 400, 1000, 3000):
        times = []
        for _ in range(9 if length <= 1000 else 2):
            codes = folding.encoded("".join(rng.choice(list("ACGU"), length)), "sequence")
            began = time.perf_counter()
            folding.fold(codes, scores, cpu)
            times.append(time.perf_counter() - began)
        row = {"bases": length, "ms": round(1e3 * min(times), 3)}
        print(json.dumps({**row, "bytes": folding.bytes_of_fold(length)}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("what", choices=("without", "within", "validate", "certify", "speed"))
    parser.add_argument("--lam", type=float, default=LAM)
    parser.add_argument("--tol", type=float, default=TOL)
    parser.add_argument("--wrong", type=float, default=0.1)
    parser.add_argument("--per-family", type=int, default=100)
    parser.add_argument("--limit", type=float, default=3000.0, help="seconds for each fit")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=FAMILIES)
    options = vars(parser.parse_args())
    what = options.pop("what")
    if what in ("without", "within"):
        families(what, options)
    else:
        {"validate": validate, "certify": certify, "speed": speed}[what](options)


if __name__ == "__main__":
    main()
