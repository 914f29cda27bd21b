"""The numbers of a row that a step needs, side by side: columns of a table, rows × 4 in C order.

Half a cache line a row, so that a step waits for memory once (``gapsvm.backends.memory``).
"""

from __future__ import annotations

ALPHA, CURVATURE = 0, 1
"""Of dual steps: α_i, and q_i = |c_i|·v_i, v_i = ‖x_i‖² + ρ where steps are exact."""
VISITS, PULLS = 0, 1
"""Of subgradient steps: how often the row was visited, and Σ a* of the visits."""
SIGNED_WEIGHT = 2
"""Dual: c_i = σ_i s_i/(λS); subgradient: σ_i s_i, s_i of mean 1."""
TARGET = 3
"""t_i."""
COLUMNS = 4
