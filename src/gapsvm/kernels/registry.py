"""Every kernel by name, and its numbers for given data.

A kernel of a user's own is a callable: K(A, B) gives the values of all pairs of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from gapsvm.registry import Registry
from gapsvm.rows.matrix import Rows
from gapsvm.types.mercer import ChiSquared, Gaussian, Laplacian, Linear, Polynomial, Sigmoid

Gamma = float | Literal["scale", "auto"]
KERNELS: Registry[Any] = Registry("kernel")
PRECOMPUTED = "precomputed"
"""K itself stands where the rows would."""


def _rbf(gamma: Gamma = "scale") -> Gaussian:
    return Gaussian(gamma)


def _poly(gamma: Gamma = "scale", degree: int = 3, coef0: float = 0.0) -> Polynomial:
    return Polynomial(gamma, degree, coef0)


def _sigmoid(gamma: Gamma = "scale", coef0: float = 0.0) -> Sigmoid:
    return Sigmoid(gamma, coef0)


def _laplacian(gamma: Gamma = "scale") -> Laplacian:
    return Laplacian(gamma)


def _chi2(gamma: Gamma = "scale") -> ChiSquared:
    return ChiSquared(gamma)


KERNELS.add("rbf", _rbf, "exp(−γ‖x − x'‖²)")
KERNELS.add("poly", _poly, "(γ⟨x, x'⟩ + coef0)^degree")
KERNELS.add("sigmoid", _sigmoid, "tanh(γ⟨x, x'⟩ + coef0), not positive definite in general")
KERNELS.add("linear", Linear, "⟨x, x'⟩")
KERNELS.add("laplacian", _laplacian, "exp(−γ Σ|x − x'|)")
KERNELS.add("chi2", _chi2, "exp(−γ Σ (x − x')²/(x + x')), for values that are not negative")


def get_kernel(spec: str | tuple[Any, ...], **parameters: Any) -> Any:
    """The kernel of a name or a spec; a kernel is itself.

    Parameters
    ----------
    spec : str, or a kernel
        A name of ``KERNELS``, or a spec such as ``rbf(gamma=0.05)``.
    **parameters
        Used where the spec says nothing; those that the kernel does not have are left out.
    """
    if not isinstance(spec, str):
        return spec
    name = spec.partition("(")[0].strip()
    known = KERNELS[name].parameters
    return KERNELS.make(spec, **{k: v for k, v in parameters.items() if k in known})


_KINDS: dict[str, type] = {
    "rbf": Gaussian,
    "poly": Polynomial,
    "sigmoid": Sigmoid,
    "linear": Linear,
    "laplacian": Laplacian,
    "chi2": ChiSquared,
}


def described_kernel(kernel: Any) -> dict[str, Any]:
    """The name and the numbers of a kernel, as JSON can hold them."""
    name = next(name for name, kind in _KINDS.items() if type(kernel) is kind)
    numbers = {key: np.asarray(value).item() for key, value in kernel._asdict().items()}
    return {"name": name, **numbers}


def kernel_from(described: dict[str, Any]) -> Any:
    """What ``described_kernel`` described; anything else is a ValueError."""
    numbers = dict(described)
    kind = _KINDS.get(numbers.pop("name", None))
    wrong = ValueError(f"{described!r} describes no kernel")
    if kind is None or set(numbers) != set(getattr(kind, "_fields", ())):
        raise wrong
    for name, value in numbers.items():
        sound = type(value) is int if name == "degree" else type(value) in (int, float)
        if not sound or not np.isfinite(value) or (name != "coef0" and value < 0):
            raise wrong
    return kind(**numbers)


def spelled_kernel(kernel: Any) -> str:
    """As a spec: ``rbf(gamma=0.05)``."""
    described = described_kernel(kernel)
    name = described.pop("name")
    inside = ", ".join(f"{key}={value!r}" for key, value in described.items())
    return f"{name}({inside})" if inside else str(name)


def on_data(kernel: Any, rows: Rows, weight: Any = None) -> Any:
    """The kernel with a γ that is a number; an error says what a number may not be."""
    if isinstance(kernel, Polynomial) and not kernel.degree >= 0:
        raise ValueError(f"degree must be a whole number >= 0, got {kernel.degree!r}")
    if not hasattr(kernel, "gamma"):
        return kernel
    rule = gamma = kernel.gamma
    if isinstance(rule, str):
        gamma = _gamma_of(rule, rows, weight)
    kernel = kernel._replace(gamma=float(gamma))
    if not 0 <= kernel.gamma < np.inf:
        if isinstance(rule, str):
            raise ValueError(
                f"gamma={rule!r} is 1/(columns · variance of X), which overflows; rescale X"
            )
        raise ValueError(f"gamma must be finite and >= 0, got {gamma!r}")
    return kernel


def _gamma_of(rule: str, rows: Rows, weight: Any) -> float:
    """1/(d·variance of all values), or 1/d; 1 where the variance is 0, as scikit-learn has it."""
    n, d = rows.shape
    rules: dict[str, Callable[[], float]] = {
        "scale": lambda: d * variance(rows, weight),
        "auto": lambda: float(d),
    }
    if rule not in rules:
        raise ValueError(f"gamma must be a number, 'scale' or 'auto', got {rule!r}")
    width = rules[rule]() if n and d else 0.0
    return 1.0 / width if width > 0 else 1.0


def variance(rows: Rows, weight: Any = None) -> float:
    """Of all values of the matrix, zeros that are not stored among them, by the rows' weights."""
    matrix = rows.to_scipy()
    if weight is None and not rows.is_sparse:
        return float(matrix.var(dtype=np.float64)) if matrix.size else 0.0
    n, d = rows.shape
    weight = np.ones(n) if weight is None else weight
    count = float(weight.sum()) * d
    mean = float((matrix.T @ weight).sum()) / count
    return max(0.0, float(weight @ rows.sq_norms) / count - mean * mean)
