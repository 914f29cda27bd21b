"""Any model file, by what it holds."""

from __future__ import annotations

import os

from gapsvm.io.tensors import TensorFileError, looks_like_tensors, read_metadata
from gapsvm.models import kernel_native
from gapsvm.models.base import ModelFormatError
from gapsvm.models.liblinear import read_liblinear
from gapsvm.models.libsvm import read_libsvm
from gapsvm.models.linear import LinearModel
from gapsvm.models.native import read_native
from gapsvm.models.support_vectors import SupportVectorModel
from gapsvm.system.regular import open_regular


def read_any_model(path: str | os.PathLike[str]) -> LinearModel | SupportVectorModel:
    """Read a model, ours, LIBLINEAR's or LIBSVM's; the content says which it is.

    Raises
    ------
    ModelFormatError
        A ValueError that names the file and what is wrong with it.
    """
    with open_regular(path) as file:
        start = file.read(64)
    if start.startswith(b"svm_type"):
        return read_libsvm(path)
    if start.startswith(b"solver_type"):
        return read_liblinear(path)
    if not looks_like_tensors(start):
        raise ModelFormatError(
            f"{path} is no model file, neither gapsvm's nor LIBLINEAR's nor LIBSVM's"
        )
    if _format(path) == kernel_native.FORMAT:
        return kernel_native.read_kernel_native(path)
    return read_native(path)


def read_model(path: str | os.PathLike[str]) -> LinearModel:
    """Read a linear model, ours or LIBLINEAR's; a kernel machine is a ``ModelFormatError``."""
    model = read_any_model(path)
    if not isinstance(model, LinearModel):
        raise ModelFormatError(
            f"{path} is a kernel machine, not a linear model; gapsvm.load_model reads it"
        )
    return model


def _format(path: str | os.PathLike[str]) -> str:
    """What a file says that it holds; nothing if it is damaged."""
    try:
        return read_metadata(path).get("format", "")
    except TensorFileError:
        return ""
