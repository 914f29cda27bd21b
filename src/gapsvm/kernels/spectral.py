"""σ² of a kernel matrix: any upper bound of ‖K‖/n, which is ‖X‖²/n for rows φ(x_i)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gapsvm.kernels.rows import KernelRows
from gapsvm.rows.spectral import Sigma2, sigma2_by_products
from gapsvm.types.mercer import ChiSquared, Gaussian, Laplacian


def kernel_sigma2(
    rows: KernelRows,
    *,
    normalised: bool = False,
    sample: int | None = None,
    accuracy: float = 0.01,
    seed: int = 0,
) -> Sigma2:
    """σ² of K, from products with K: n² values each, unless they are kept.

    Parameters
    ----------
    rows : KernelRows
    normalised : bool
        Of D^(−½)KD^(−½), D the diagonal of K, which steps of length 1/K_ii need (Takáč eq. 24).
    sample : int, optional
        Look at so many rows only: an estimate, on average too large.
    accuracy : float
        Stop when value/lower ≤ 1 + accuracy.
    seed : int
        Of the sample and of Lanczos.
    """
    n = rows.n_rows
    if sample is not None and sample < n:
        if sample < 1:
            raise ValueError(f"sample must be a number of rows, at least 1, got {sample!r}")
        chosen = np.random.default_rng(seed).choice(n, sample, replace=False, shuffle=False)
        some = rows.subset(np.sort(chosen))
        found = kernel_sigma2(some, normalised=normalised, accuracy=accuracy, seed=seed)
        rows.evaluations += some.evaluations
        return replace(found, kind="estimate", lower=found.lower * (sample / n), failure=0.0)
    if n * n * 8 <= rows.cache_size * 2**20:
        _ = rows.gram
    diagonal = np.maximum(rows.diagonal, 0.0)
    weight = np.ones(n)
    if normalised:
        weight = np.divide(1.0, np.sqrt(diagonal), out=np.zeros(n), where=diagonal > 0)
    trace = float(np.sum(weight * weight * diagonal)) / n

    def product(v: Any) -> Any:
        return weight * rows.product(weight * v) / n

    positive = isinstance(getattr(rows, "kernel", None), Gaussian | Laplacian | ChiSquared)
    start = weight.copy() if positive else None
    return sigma2_by_products(product, n, trace, normalised, start, accuracy, seed)
