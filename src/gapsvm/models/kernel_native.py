"""Kernel machines as safetensors with JSON metadata, read as strictly as linear models.

Support vectors lie there as they were: a dense array, or the three arrays of a CSR matrix.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from gapsvm.backends.structure import check_structure
from gapsvm.kernels.registry import described_kernel, kernel_from
from gapsvm.models.base import ModelFormatError
from gapsvm.models.stored import (
    CLASSES,
    Described,
    check_arrays,
    read_described,
    store_labels,
    stored_labels,
    stored_lam,
    stored_names,
    write_described,
)
from gapsvm.models.support_vectors import SupportVectorModel
from gapsvm.system.lazy import sparse as sp

FORMAT = "gapsvm kernel model"
VERSION = 1

_ARRAYS = {"coef", "intercept", "primal", "dual"}
_DENSE, _SPARSE = "vectors", ("vectors.data", "vectors.indices", "vectors.indptr")
_NUMBERS = ("counts", "support")
_FEATURES = "n_features"
"""Of a CSR matrix, whose arrays do not tell."""


def write_kernel_native(path: str | os.PathLike[str], model: SupportVectorModel) -> None:
    """Write a kernel machine; the file appears complete or not at all."""
    tensors = {name: getattr(model, name) for name in sorted(_ARRAYS)}
    described: dict[str, Any] = {
        "kernel": described_kernel(model.kernel),
        "loss": model.loss,
        "lam": model.lam,
        "bias": model.bias,
        "method": model.method,
        "passes": float(model.passes),
        "status": model.status,
        "feature_names": model.feature_names,
        "label": model.label,
        "metadata": model.metadata,
    }
    if sp.issparse(model.vectors):
        vectors = model.vectors.tocsr()
        parts = vectors.data, vectors.indices, vectors.indptr
        tensors.update(zip(_SPARSE, map(np.ascontiguousarray, parts)))
        described[_FEATURES] = model.n_features
    else:
        tensors[_DENSE] = np.ascontiguousarray(model.vectors)
    for name in _NUMBERS:
        if getattr(model, name) is not None:
            tensors[name] = np.asarray(getattr(model, name), dtype=np.int64)
    if model.classes is not None:
        store_labels(model.classes, tensors, described)
    write_described(path, (FORMAT, VERSION), tensors, described)


def read_kernel_native(path: str | os.PathLike[str]) -> SupportVectorModel:
    """Read what ``write_kernel_native`` wrote.

    Raises
    ------
    ModelFormatError
        A ValueError that names the file and what is wrong with it.
    """
    tensors, described = read_described(path, (FORMAT, VERSION))
    try:
        return _assembled(tensors, described)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not a sound model: {error}") from error


def _assembled(tensors: dict[str, np.ndarray], described: Described) -> SupportVectorModel:
    of_vectors = set(_SPARSE) if described.has(_FEATURES) else {_DENSE}
    check_arrays(tensors, _ARRAYS | of_vectors, {CLASSES, *_NUMBERS}, _ARRAYS)
    if tensors["coef"].ndim != 2 or tensors["intercept"].ndim != 1:
        raise ValueError("coef must have two dimensions, and intercept one")
    for name in _NUMBERS:
        if name in tensors and tensors[name].dtype != np.int64:
            raise ValueError(f"{name} must be int64, got {tensors[name].dtype}")
    model = SupportVectorModel(
        kernel=kernel_from(described.take("kernel", dict)),
        vectors=_vectors(tensors, described),
        coef=tensors["coef"],
        intercept=tensors["intercept"],
        classes=stored_labels(tensors, described),
        counts=tensors.get("counts"),
        support=tensors.get("support"),
        loss=described.take("loss", str),
        lam=stored_lam(described),
        bias=described.take("bias", str),
        primal=tensors["primal"],
        dual=tensors["dual"],
        method=described.take("method", str),
        passes=float(described.take("passes", float, int)),
        status=described.take("status", str),
        feature_names=stored_names(described),
        label=described.take("label", str, int, type(None)),
        metadata=described.take("metadata", dict),
    )
    described.end()
    return model


def _vectors(tensors: dict[str, np.ndarray], described: Described) -> Any:
    """An array or a CSR matrix of sound structure, all values finite."""
    if not described.has(_FEATURES):
        vectors = tensors[_DENSE]
        _check_values(vectors)
        if vectors.ndim != 2:
            raise ValueError("vectors must have two dimensions")
        return vectors
    data, indices, indptr = (tensors[name] for name in _SPARSE)
    _check_values(data)
    if indices.dtype not in (np.int32, np.int64) or indptr.dtype not in (np.int32, np.int64):
        raise ValueError("the indices of its vectors must be int32 or int64")
    if any(part.ndim != 1 for part in (data, indices, indptr)) or not indptr.size:
        raise ValueError("the parts of its vectors must have one dimension")
    width = described.take(_FEATURES, int)
    if indptr[0] != 0 or indptr[-1] != data.size or width < 0:
        raise ValueError("the parts of its vectors do not fit each other")
    found = sp.csr_matrix((data, indices, indptr), (indptr.size - 1, width))
    check_structure(found)
    return found


def _check_values(values: np.ndarray) -> None:
    if values.dtype not in (np.float32, np.float64):
        raise ValueError(f"vectors must be float32 or float64, got {values.dtype}")
    if not np.isfinite(values).all():
        raise ValueError("vectors contains NaN or infinity")
