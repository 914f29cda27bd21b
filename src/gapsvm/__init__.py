"""gapsvm: support vector machines of any size, each with a certificate.

Public names are imported on first use, so that ``import gapsvm`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "LinearSVC": "gapsvm.estimators.linear",
    "LinearSVR": "gapsvm.estimators.linear",
    "OnlineSVC": "gapsvm.estimators.online",
    "OnlineSVR": "gapsvm.estimators.online",
    "svm_path": "gapsvm.path",
    "save_model": "gapsvm.estimators.files",
    "load_model": "gapsvm.estimators.files",
    "read_svmlight": "gapsvm.data.svmlight",
    "write_svmlight": "gapsvm.data.svmlight",
    "LinearProblem": "gapsvm.problem",
    "MulticlassProblem": "gapsvm.multiclass",
    "solve": "gapsvm.solvers.base",
    "get_loss": "gapsvm.losses",
    "LOSSES": "gapsvm.losses",
    "Status": "gapsvm.trace",
    "Record": "gapsvm.trace",
    "SDCA": "gapsvm.solvers.dual",
    "AcceleratedSDCA": "gapsvm.solvers.accelerated",
    "MiniBatchSDCA": "gapsvm.solvers.minibatch",
    "InteriorPoint": "gapsvm.solvers.interior",
    "Newton": "gapsvm.solvers.newton",
    "Pegasos": "gapsvm.solvers.subgradient",
    "Subgradient": "gapsvm.solvers.subgradient",
    "OuterBias": "gapsvm.solvers.outer_bias",
    "MulticlassSubgradient": "gapsvm.solvers.multiclass",
}

__all__ = [*_HOME, "__version__", "datasets"]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return importlib.import_module("gapsvm.datasets")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'gapsvm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
