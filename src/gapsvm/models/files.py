"""Any model file, by what it holds."""

from __future__ import annotations

import os

from gapsvm.io.tensors import looks_like_tensors
from gapsvm.models.base import ModelFormatError
from gapsvm.models.liblinear import read_liblinear
from gapsvm.models.linear import LinearModel
from gapsvm.models.native import read_native
from gapsvm.system.regular import open_regular


def read_model(path: str | os.PathLike[str]) -> LinearModel:
    """Read a model, ours or LIBLINEAR's; the content says which it is.

    Raises
    ------
    ModelFormatError
        A ValueError that names the file and what is wrong with it.
    """
    with open_regular(path) as file:
        start = file.read(64)
    if start.startswith(b"svm_type"):
        raise ModelFormatError(
            f"{path} is a LIBSVM model; only linear models are read here, and that one by "
            "gapsvm.read_libsvm"
        )
    if start.startswith(b"solver_type"):
        return read_liblinear(path)
    if not looks_like_tensors(start):
        raise ModelFormatError(f"{path} is no model file, neither gapsvm's nor LIBLINEAR's")
    return read_native(path)
