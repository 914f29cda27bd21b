"""Dual coordinate ascent."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.rows import Matrix, add, dot, margins_of
from gapsvm.backends.reference.sampling import shuffle
from gapsvm.types.steps import Until
from gapsvm.types.tables import ALPHA

Curve = Any


def sdca_steps(
    X: Matrix,
    curve: Curve,
    table: Any,
    order: Any,
    start: int,
    stop: int,
    kept: int,
    w: Any,
    bias: float,
    ratio: float,
    threshold: float,
    sigma: float,
) -> tuple[int, float, float, float]:
    worst = gap = 0.0
    for k in range(start, stop):
        i = int(order[k])
        a, q, c, t = table[i]
        z = np.sign(c) * (dot(X, i, w) + bias)
        v = float(curve.violation(a, z, t))
        if v < -threshold:
            continue
        order[kept] = i
        kept += 1
        if v <= 0:
            continue
        worst = max(worst, v)
        gap += abs(c) * float(curve.value(z, t) + curve.conjugate(a, t) + a * z)
        new = float(curve.dual_step(a, z, t, sigma * q))
        table[i, ALPHA] = new
        add(X, i, sigma * c * (new - a), w)
        bias += sigma * ratio * c * (new - a)
    return kept, bias, worst, gap


def sdca_passes(
    X: Matrix,
    curve: Curve,
    table: Any,
    order: Any,
    active: int,
    seed: Any,
    w: Any,
    bias: float,
    centre: float,
    ratio: float,
    threshold: float,
    until: Until,
) -> tuple[int, float, float, float, float, float, int]:
    visited, gap, before = 0, np.inf, np.inf
    while gap > until.gap and active > 0 and (visited == 0 or visited + active <= until.rows):
        before = gap
        visited += active
        shuffle(order, active, seed)
        rest = (w, bias, ratio, threshold, 1.0)
        active, bias, threshold, gap = sdca_steps(X, curve, table, order, 0, active, 0, *rest)
        if not np.isnan(centre):
            bias, centre = 2.0 * bias - centre, bias
    return active, bias, centre, threshold, gap, before, visited


def screen(
    X: Matrix,
    curve: Curve,
    table: Any,
    start: int,
    stop: int,
    w: Any,
    bias: float,
    floor: float,
    found: Any,
) -> tuple[int, float]:
    a, _, c, t = table[start:stop].T
    z = np.sign(c) * (margins_of(X, range(start, stop), w) + bias)
    gaps = curve.value(z, t) + curve.conjugate(a, t) + a * z
    rows = start + np.flatnonzero((c != 0) & ((gaps > floor) | curve.is_free(a)))
    found[: rows.size] = rows
    return rows.size, float(np.abs(c) @ gaps)
