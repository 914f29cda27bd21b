"""SVC and SVR from kernel models and back: what ``save_model`` and ``load_model`` do with them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from gapsvm.estimators.kernel import SVC, SVR
from gapsvm.kernels.registry import described_kernel
from gapsvm.losses.registry import LOSSES
from gapsvm.models.support_vectors import SupportVectorModel
from gapsvm.solvers.trace import Status

KERNEL_MACHINES: dict[str, Any] = {"SVC": SVC, "SVR": SVR}


def facts_of(machine: Any) -> dict[str, Any]:
    """What a model has no field for, as JSON can hold it."""
    weights = getattr(machine, "class_weight_", None)
    return {
        "rows": int(machine.shape_fit_[0]),
        "gap_is_bound": machine.gap_is_bound_,
        "kernel_values": int(machine.n_kernel_evals_),
        "steps": np.atleast_1d(machine.n_iter_).tolist(),
        "n_support": machine.n_support_.tolist(),
        "class_weight": None if weights is None else weights.tolist(),
        "copy_note": machine.copy_note_,
        "sparse_array": isinstance(machine.support_vectors_, sp.sparray),
    }


def parameters_from(model: SupportVectorModel) -> tuple[str, dict[str, Any]]:
    """The estimator and its parameters, of a model that none was saved with."""
    numbers = described_kernel(model.kernel)
    parameters: dict[str, Any] = {"kernel": numbers.pop("name"), **numbers}
    parameters["fit_intercept"] = model.bias != "none"
    parameters["lam"] = model.lam
    if model.loss in LOSSES:
        parameters["loss"] = model.loss
    if model.classes is None:
        return "SVR", parameters
    if len(model.classes) > 2 and model.counts is None:
        parameters["multi_class"] = "ovr"
    return "SVC", parameters


def fill(machine: Any, model: SupportVectorModel, facts: dict[str, Any]) -> None:
    """Give an estimator the attributes of a fitted one."""
    if isinstance(machine, SVC) != (model.classes is not None):
        raise ValueError(f"{type(machine).__name__} does not go with its labels")
    model = model.in_order()
    vectors = model.vectors
    if sp.issparse(vectors) and facts.get("sparse_array"):
        vectors = sp.csr_array(vectors)
    machine.support_vectors_ = vectors
    if model.support is not None:
        machine.support_ = model.support.astype(np.int32)
    counts = model.counts
    if model.classes is not None:
        machine.classes_ = model.classes
        if counts is None:
            counts = facts.get("n_support")
        if (model.counts is not None) != machine._against_one:
            raise ValueError("multi_class does not go with its coefficients")
        machine.class_weight_ = np.array(facts.get("class_weight") or np.ones(len(model.classes)))
    else:
        counts = [vectors.shape[0]]
    if counts is not None:
        machine.n_support_ = np.array(counts, dtype=np.int32)
    machine._set_functions(model.kernel, model.coef, model.intercept, vectors)
    machine.shape_fit_ = (facts.get("rows", vectors.shape[0]), model.n_features)
    machine.n_features_in_ = model.n_features
    if model.feature_names is not None:
        machine.feature_names_in_ = np.array(model.feature_names, dtype=object)
    _fill_certificate(machine, model, facts)


def _fill_certificate(machine: Any, model: SupportVectorModel, facts: dict[str, Any]) -> None:
    primal, dual = np.atleast_1d(model.primal), np.atleast_1d(model.dual)
    several = len(primal) > 1
    machine.primal_objective_ = primal if several else float(primal[0])
    machine.dual_objective_ = dual if several else float(dual[0])
    machine.dual_gaps_ = primal - dual
    machine.dual_gap_ = float(machine.dual_gaps_.max())
    steps = np.array(facts.get("steps", [max(1, math.ceil(model.passes))]), dtype=np.int32)
    machine.n_iter_ = steps if model.classes is not None else int(steps[0])
    machine.status_ = model.status
    machine.converged_ = model.status == Status.CONVERGED.name
    machine.fit_status_ = 0 if machine.converged_ else 1
    machine.method_ = model.method
    machine.gap_is_bound_ = facts.get("gap_is_bound", model.kernel.is_definite)
    machine.n_kernel_evals_ = facts.get("kernel_values", 0)
    machine.copy_note_ = facts.get("copy_note")
