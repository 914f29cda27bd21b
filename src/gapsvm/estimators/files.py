"""Estimators as files: ``save_model(estimator, path)`` and ``load_model(path)``."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from gapsvm.estimators.kernel_files import KERNEL_MACHINES, facts_of, fill, parameters_from
from gapsvm.estimators.linear import LinearSVC, LinearSVR
from gapsvm.estimators.ranking import RankSVC
from gapsvm.losses.ranking import RANKING_LOSSES
from gapsvm.models.base import ModelFormatError
from gapsvm.models.files import read_any_model
from gapsvm.models.kernel_native import write_kernel_native
from gapsvm.models.linear import LinearModel
from gapsvm.models.native import write_native
from gapsvm.models.support_vectors import SupportVectorModel
from gapsvm.solvers.trace import Status

_LINEAR: dict[str, Any] = {"LinearSVC": LinearSVC, "LinearSVR": LinearSVR, "RankSVC": RankSVC}
_ESTIMATORS = {**_LINEAR, **KERNEL_MACHINES}


def save_model(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator as a model file: weights, certificate and parameters, no pickle.

    What is as long as the training data stays out: ``history_``, and of linear models
    ``dual_coef_``.  Parameters that are objects (``callbacks``, a generator as ``random_state``, a
    solver as ``method``) get their defaults when the model is loaded.

    Parameters
    ----------
    estimator : LinearSVC, LinearSVR, RankSVC, SVC or SVR
        Fitted; a callable or precomputed kernel cannot be saved.
    path
        The file to write or replace; it appears complete or not at all.
    """
    name = type(estimator).__name__
    if _ESTIMATORS.get(name) is not type(estimator):
        raise TypeError(f"{', '.join(_ESTIMATORS)} can be saved, {name} cannot")
    check_is_fitted(estimator)
    if name in KERNEL_MACHINES:
        described = {"class": name, "parameters": _storable_parameters(estimator)}
        metadata = {"estimator": {**described, "facts": facts_of(estimator)}}
        write_kernel_native(path, replace(estimator.as_model(), metadata=metadata))
        return
    coef = estimator.coef_.toarray() if sp.issparse(estimator.coef_) else estimator.coef_
    names = getattr(estimator, "feature_names_in_", None)
    methods = [estimator.method_] if isinstance(estimator.method_, str) else estimator.method_
    described = {
        "class": name,
        "parameters": _storable_parameters(estimator),
        "methods": methods,
        "copy_note": estimator.copy_note_,
        "method_note": estimator.method_note_,
    }
    model = LinearModel(
        coef=np.atleast_2d(coef),
        intercept=estimator.intercept_,
        classes=getattr(estimator, "classes_", None),
        loss=estimator.loss,
        lam=estimator.lam,
        bias=estimator._bias(),
        primal=estimator.primal_objective_,
        dual=estimator.dual_objective_,
        method=", ".join(dict.fromkeys(methods)),
        passes=estimator.n_iter_,
        status=estimator.status_,
        feature_names=None if names is None else list(names),
        metadata={"estimator": described},
    )
    write_native(path, model)


def load_model(path: str | os.PathLike[str]) -> Any:
    """The estimator of a model file, fitted as it was.

    Any model file will do: one of `save_model`, of the command line, of LIBLINEAR or of LIBSVM.
    The last three know less of the parameters, and LIBLINEAR and LIBSVM nothing of the gap, which
    is NaN then.

    Parameters
    ----------
    path
        The file to read.

    Returns
    -------
    LinearSVC, LinearSVR, RankSVC, SVC or SVR

    Raises
    ------
    ModelFormatError
        A ValueError that names the file and what is wrong with it.
    """
    model = read_any_model(path)
    try:
        return _machine(model) if isinstance(model, SupportVectorModel) else _fitted(model)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ModelFormatError(f"{path} does not describe an estimator: {error}") from error


def _machine(model: SupportVectorModel) -> Any:
    described = model.metadata.get("estimator")
    if described is None:
        name, parameters = parameters_from(model)
        machine, facts = KERNEL_MACHINES[name](**parameters), {}
    else:
        machine, facts = KERNEL_MACHINES[described["class"]](), described["facts"]
        machine.set_params(**_decoded_parameters(described["parameters"]))
    fill(machine, model, facts)
    return machine


def _decoded_parameters(stored: dict[str, Any]) -> dict[str, Any]:
    return {name: _decoded(value) for name, value in stored.items()}


def _fitted(model: LinearModel) -> Any:
    described = model.metadata.get("estimator")
    if described is None:
        described = _description_from(model)
    estimator = _LINEAR[described["class"]]()
    estimator.set_params(**_decoded_parameters(described["parameters"]))
    coef, intercept, primal, dual = model.coef, model.intercept, model.primal, model.dual
    if isinstance(estimator, LinearSVC) != (model.classes is not None):
        raise ValueError(f"{described['class']} does not go with its labels")
    if model.classes is not None:
        if len(model.classes) < 2:
            raise ValueError("it knows one class only")
        # scikit-learn wants the classes in order; LIBLINEAR keeps the order of the data.
        order = np.argsort(model.classes)
        estimator.classes_ = model.classes[order]
        if len(order) > 2:
            coef, intercept, primal, dual = (a[order] for a in (coef, intercept, primal, dual))
        elif order[0] == 1:
            coef, intercept = -coef, -intercept
    if getattr(estimator, "multi_class", "ovr") == "crammer_singer":
        primal, dual = primal[:1], dual[:1]  # one problem over all classes
    several = len(primal) > 1
    methods = described["methods"]
    if len(methods) != len(primal):
        raise ValueError(f"it names {len(methods)} methods for {len(primal)} problems")
    estimator.coef_ = estimator._shaped(coef)
    estimator.intercept_ = intercept
    estimator.n_features_in_ = model.n_features
    if model.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
    estimator.primal_objective_ = primal if several else float(primal[0])
    estimator.dual_objective_ = dual if several else float(dual[0])
    estimator.dual_gaps_ = primal - dual
    estimator.dual_gap_ = float(estimator.dual_gaps_.max())
    estimator.n_iter_ = max(1, math.ceil(model.passes))
    estimator.status_ = model.status
    estimator.converged_ = model.status == Status.CONVERGED.name
    estimator.method_ = list(methods) if several else methods[0]
    estimator.copy_note_ = described["copy_note"]
    estimator.method_note_ = described.get("method_note", "")
    return estimator


def _description_from(model: LinearModel) -> dict[str, Any]:
    """What can be told of an estimator from a model that none was saved with."""
    if model.loss in RANKING_LOSSES:
        given = {"lam": model.lam, "loss": model.loss, **model.metadata}
        return {
            "class": "RankSVC",
            "parameters": given,
            "methods": [model.method],
            "copy_note": None,
        }
    name = "LinearSVR" if model.classes is None else "LinearSVC"
    parameters: dict[str, Any] = {
        "lam": model.lam,
        "fit_intercept": model.bias != "none",
        "penalize_intercept": model.bias == "penalized",
    }
    if model.loss:
        parameters["loss"] = model.loss
    methods = [model.method] * len(model.coef)
    return {"class": name, "parameters": parameters, "methods": methods, "copy_note": None}


# -- parameters as JSON ----------------------------------------------------------------------------


def _storable_parameters(estimator: Any) -> dict[str, Any]:
    stored = {}
    for name, value in estimator.get_params(deep=False).items():
        try:
            stored[name] = _encoded(value)
        except TypeError:  # an object: the default will have to do
            continue
    return stored


def _encoded(value: Any) -> Any:
    """A parameter as JSON can hold it: a plain value, or a dict (``class_weight``) as pairs."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dict):
        return {"pairs": [[_encoded(key), _encoded(item)] for key, item in value.items()]}
    raise TypeError(f"{type(value).__name__} cannot be stored")


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        return {_decoded(key): _decoded(item) for key, item in value["pairs"]}
    return value
