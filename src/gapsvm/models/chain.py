"""Models of sequences: what labels chains of tokens, whatever it was trained by."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.io.tensors import TensorFileError, read_tensors, write_tensors
from gapsvm.models.base import ModelFormatError, is_numeric, is_text
from gapsvm.rows.chains import Chains, ChainScores, ChainWeights
from gapsvm.rows.matrix import checked_rows
from gapsvm.rows.tokens import KINDS, TokenEncoder

FORMAT = "gapsvm chain model"
VERSION = 1


@dataclass(frozen=True, eq=False)
class ChainModel:
    """Weights of features and of steps between labels.

    Parameters
    ----------
    W : array
        As in ``gapsvm.rows.chains``.
    classes : array of labels
    encoder : TokenEncoder
        What makes sequences into rows.
    loss : "hinge" or "log"
    lam, primal, dual : float
        λ, and the certificate.
    allowed : array of booleans, optional
        Whether label b may follow label a.
    paired : bool
        Features rate steps as well.
    metadata : dict
        Anything else that JSON can hold.
    """

    W: Any
    classes: Any
    encoder: TokenEncoder
    loss: str
    lam: float
    primal: float = math.nan
    dual: float = math.nan
    allowed: Any = None
    paired: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        W = np.ascontiguousarray(self.W, dtype=np.float64)
        object.__setattr__(self, "W", W)
        if self.classes.ndim != 1 or len(np.unique(self.classes)) != len(self.classes):
            raise ValueError("classes must be a list of different labels")
        if W.shape != self.weights.shape:
            raise ValueError(f"W must have shape {self.weights.shape}, got {W.shape}")
        if not np.isfinite(W).all():
            raise ValueError("W contains NaN or infinity")

    @cached_property
    def weights(self) -> ChainWeights:
        bars, K = None, len(self.classes)
        if self.allowed is not None:
            if self.allowed.shape != (K, K):
                raise ValueError(f"allowed must be {K} by {K}, got shape {self.allowed.shape}")
            bars = np.where(self.allowed, 0.0, -np.inf)
        return ChainWeights(self.encoder.width, K, self.paired, bars)

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    def scores(self, X: Any, backend: Backend) -> ChainScores:
        """What the weights say of the labels of sequences."""
        matrix, starts = self.encoder.encode(X)
        rows = checked_rows(matrix, backend)
        chains = Chains(rows, np.asarray(starts).astype(np.uint64))
        return ChainScores(chains, self.weights, self.W, backend)

    def predict(self, X: Any, backend: Backend | None = None) -> list[Any]:
        """The best labelling of each sequence."""
        labels, _, starts = self.best(X, backend or get_backend())
        return [self.classes[labels[a:b]] for a, b in pairwise(starts)]

    def best(self, X: Any, backend: Backend) -> tuple[Any, Any, Any]:
        """Numbers of the best labels, the scores of these labellings, and the boundaries."""
        scores = self.scores(X, backend)
        labels, values = scores.best(scores.chains.everything)
        _refuse_impossible(values)
        return labels, values, scores.chains.starts.astype(np.int64)

    def marginals(self, X: Any, backend: Backend) -> list[Any]:
        """Of each sequence the probabilities of labels, tokens × labels."""
        scores = self.scores(X, backend)
        found = scores.marginals()
        _refuse_impossible(found.log_z)
        return [found.labels[a:b] for a, b in pairwise(scores.chains.starts.astype(np.int64))]

    def strongest(self, count: int) -> list[tuple[float, str, Any]]:
        """(weight, feature, label) of the largest weights of features by size."""
        emissions = self.W[: self.weights.n_features]
        top = _largest(emissions, count)
        return [(float(emissions[j, r]), self._name(j), self.classes[r]) for j, r in top]

    def strongest_transitions(self, count: int) -> list[tuple[float, Any, Any]]:
        """(weight, from, to) of the largest weights of steps by size."""
        steps = self.weights.transitions(self.W)
        top = _largest(steps, count)
        return [(float(steps[a, b]), self.classes[a], self.classes[b]) for a, b in top]

    def _name(self, j: int) -> str:
        return self.encoder.names[j] if self.encoder.names else f"x{j}"


def _refuse_impossible(values: Any) -> None:
    """For scores of sequences: −∞ where every way through the labels is barred."""
    impossible = np.flatnonzero(~np.isfinite(values))
    if len(impossible):
        raise ValueError(f"sequence {impossible[0]} has no labelling that transitions allow")


def _largest(table: Any, count: int) -> list[tuple[int, int]]:
    size = np.abs(table).ravel()
    count = min(count, size.size)
    if count < 1:
        return []
    top = np.argpartition(-size, count - 1)[:count]
    top = top[np.argsort(-size[top], kind="stable")]
    return [(int(k // table.shape[1]), int(k % table.shape[1])) for k in top]


def write_chain(path: str | os.PathLike[str], model: ChainModel) -> None:
    """Write a model as safetensors with JSON; the file appears complete or not at all."""
    tensors = {"W": model.W}
    described: dict[str, Any] = {
        "loss": model.loss,
        "lam": model.lam,
        "primal": _number(model.primal),
        "dual": _number(model.dual),
        "paired": model.paired,
        "kind": model.encoder.kind,
        "width": model.encoder.width,
        "metadata": model.metadata,
    }
    if model.encoder.names:
        text = "\n".join(map(json.dumps, model.encoder.names)).encode()
        tensors["names"] = np.frombuffer(text, dtype=np.uint8)
    if model.allowed is not None:
        tensors["allowed"] = model.allowed
    if is_text(model.classes):
        described["classes"] = model.classes.tolist()
    elif is_numeric(model.classes) and model.classes.dtype.itemsize >= 4:
        tensors["classes"] = model.classes
    else:
        raise ValueError("labels that are neither texts nor numbers cannot be written")
    try:
        text_of_all = json.dumps(described, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the model's metadata cannot be written as JSON: {error}") from error
    texts = {"format": FORMAT, "format_version": str(VERSION), "model": text_of_all}
    write_tensors(path, tensors, texts)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def read_chain(path: str | os.PathLike[str]) -> ChainModel:
    """Read what ``write_chain`` wrote.

    Raises
    ------
    ModelFormatError
        A ValueError that names the file and what is wrong with it.
    """
    try:
        tensors, texts = read_tensors(path)
    except TensorFileError as error:
        raise ModelFormatError(f"{path} is damaged or no model of gapsvm: {error}") from error
    if texts.get("format") != FORMAT:
        raise ModelFormatError(f"{path} holds {texts.get('format')!r}, not {FORMAT!r}")
    version = texts.get("format_version")
    if version != str(VERSION):
        raise ModelFormatError(
            f"{path} has format version {version!r}; this gapsvm reads version {VERSION}"
        )
    try:
        return _assembled(tensors, json.loads(texts["model"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not a sound model: {error}") from error


def _assembled(tensors: dict[str, Any], described: dict[str, Any]) -> ChainModel:
    names: list[str] = []
    if "names" in tensors:
        names = [json.loads(line) for line in tensors["names"].tobytes().decode().split("\n")]
    if not all(isinstance(name, str) for name in names):
        raise ValueError("its feature names are not all texts")
    kind, width = described["kind"], described["width"]
    if kind not in KINDS or type(width) is not int or (kind == "names" and len(names) != width):
        raise ValueError("its features make no sense")
    if tensors["W"].dtype != np.float64:
        raise ValueError(f"W must be float64, got {tensors['W'].dtype}")
    classes = tensors["classes"] if "classes" in tensors else np.array(described["classes"])
    if not (is_text(classes) or is_numeric(classes)):
        raise ValueError("its labels make no sense")
    allowed = tensors.get("allowed")
    if allowed is not None and allowed.dtype != np.bool_:
        raise ValueError("allowed must hold truth values")
    primal, dual = (
        math.nan if described[name] is None else float(described[name])
        for name in ("primal", "dual")
    )
    return ChainModel(
        W=tensors["W"],
        classes=classes,
        encoder=TokenEncoder(kind, width, names),
        loss=str(described["loss"]),
        lam=float(described["lam"]),
        primal=primal,
        dual=dual,
        allowed=allowed,
        paired=bool(described["paired"]),
        metadata=dict(described["metadata"]),
    )
