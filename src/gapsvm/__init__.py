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
    "RankSVC": "gapsvm.estimators.ranking",
    "SVC": "gapsvm.estimators.kernel",
    "SVR": "gapsvm.estimators.kernel",
    "OnlineSVC": "gapsvm.estimators.online",
    "OnlineSVR": "gapsvm.estimators.online",
    "ChainSVC": "gapsvm.estimators.chain",
    "ChainCRF": "gapsvm.estimators.chain",
    "RNAFolder": "gapsvm.estimators.folding",
    "draw_structure": "gapsvm.estimators.drawing",
    "Sequences": "gapsvm.rows.tokens",
    "svm_path": "gapsvm.training.path",
    "kernel_path": "gapsvm.training.kernel_path",
    "save_model": "gapsvm.estimators.files",
    "load_model": "gapsvm.estimators.files",
    "read_svmlight": "gapsvm.io.svmlight",
    "write_svmlight": "gapsvm.io.svmlight_writer",
    "LinearProblem": "gapsvm.problems.linear",
    "MulticlassProblem": "gapsvm.problems.multiclass",
    "KernelProblem": "gapsvm.problems.kernel",
    "KernelMulticlassProblem": "gapsvm.problems.kernel_multiclass",
    "KernelRows": "gapsvm.kernels.rows",
    "FeatureRows": "gapsvm.kernels.rows",
    "KERNELS": "gapsvm.kernels.registry",
    "get_kernel": "gapsvm.kernels.registry",
    "RiskProblem": "gapsvm.problems.risk",
    "OracleError": "gapsvm.problems.risk",
    "MeanOracle": "gapsvm.problems.oracles",
    "check_oracle": "gapsvm.problems.oracles",
    "solve": "gapsvm.training.solve",
    "get_loss": "gapsvm.losses.registry",
    "LOSSES": "gapsvm.losses.registry",
    "Loss": "gapsvm.losses.base",
    "Status": "gapsvm.solvers.trace",
    "Record": "gapsvm.solvers.trace",
    "SDCA": "gapsvm.solvers.sdca.serial",
    "LASVM": "gapsvm.solvers.working_set.lasvm",
    "SMO": "gapsvm.solvers.working_set.smo",
    "CoefficientSubgradient": "gapsvm.solvers.subgradient.coefficients",
    "KernelSDCA": "gapsvm.solvers.sdca.kernel",
    "PairSDCA": "gapsvm.solvers.sdca.pairs",
    "AcceleratedSDCA": "gapsvm.solvers.sdca.accelerated",
    "MiniBatchSDCA": "gapsvm.solvers.minibatch.solver",
    "WorkingSet": "gapsvm.solvers.working_set.solver",
    "KernelNewton": "gapsvm.solvers.working_set.newton",
    "read_libsvm": "gapsvm.models.libsvm",
    "warm_up": "gapsvm.estimators.warm_up",
    "write_libsvm": "gapsvm.models.libsvm",
    "Exact": "gapsvm.solvers.newton.exact",
    "InteriorPoint": "gapsvm.solvers.newton.interior",
    "Newton": "gapsvm.solvers.newton.newton",
    "Pegasos": "gapsvm.solvers.subgradient.solver",
    "Subgradient": "gapsvm.solvers.subgradient.solver",
    "Bundle": "gapsvm.solvers.bundle.bundle",
    "METHODS": "gapsvm.training.methods",
    "STEP_RULES": "gapsvm.solvers.subgradient.rules",
    "LevelBundle": "gapsvm.solvers.bundle.level",
    "ProximalBundle": "gapsvm.solvers.bundle.proximal",
    "OuterBias": "gapsvm.solvers.outer_bias",
    "StructuredSVC": "gapsvm.estimators.structured",
    "OracleProblem": "gapsvm.problems.structured.own",
    "StructuredOracle": "gapsvm.problems.structured.oracle",
    "ChainProblem": "gapsvm.problems.structured.chain",
    "RankingProblem": "gapsvm.problems.structured.ranking",
    "FoldingProblem": "gapsvm.problems.structured.folding",
    "read_conll": "gapsvm.io.conll",
    "Template": "gapsvm.io.conll",
    "chunk_f1": "gapsvm.losses.chunks",
    "read_rna": "gapsvm.io.rna",
    "mean_ndcg": "gapsvm.losses.ranking",
    "mean_average_precision": "gapsvm.losses.ranking",
    "ChainLikelihood": "gapsvm.problems.structured.likelihood",
    "LBFGS": "gapsvm.solvers.quasi_newton.lbfgs",
    "FrankWolfe": "gapsvm.solvers.frank_wolfe.solver",
}

_MODULES = {
    "backends": "gapsvm.backends",
    "datasets": "gapsvm.datasets",
    "estimators": "gapsvm.estimators",
    "games": "gapsvm.games",
    "io": "gapsvm.io",
    "kernels": "gapsvm.kernels",
    "losses": "gapsvm.losses",
    "models": "gapsvm.models",
    "problems": "gapsvm.problems",
    "registry": "gapsvm.registry",
    "rows": "gapsvm.rows",
    "solvers": "gapsvm.solvers",
    "spectral": "gapsvm.rows.spectral",
    "theory": "gapsvm.theory",
    "training": "gapsvm.training",
}

__all__ = [*_HOME, "__version__", *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'gapsvm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
