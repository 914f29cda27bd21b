"""What the papers promise: how small an error after T iterations, how many iterations for ε.

Plain functions on numbers.  ``*_error`` and ``*_gap`` are the bound after T iterations;
``*_iterations`` is its inverse, the least T whose bound is at most ε, exactly: the bound of T − 1
is larger, unless T is the first the theorem speaks about.  What a theorem asks for and numbers
can show is checked (ValueError); the rest is in its docstring.

Everywhere P(w) = (1/n) Σ φ(z_i) + (λ/2)‖w‖².  Takáč's results take rows of norm at most 1; for
longer ones divide X by r = max‖x_i‖ and λ by r², which leaves P as it is.
"""

from gapsvm.theory.do import (
    OptimisticCounts,
    Proximal,
    balanced_tau,
    bartlett_regret,
    bartlett_tau,
    do_corollary1_regret,
    do_lemma1_regret,
    do_phase_error,
    do_phase_iterations,
    do_proposition1_tau,
    do_proposition2_error,
    do_proposition3_error,
    do_theorem1_regret,
    do_theorem2_bound,
    do_theorem2_error,
    do_theorem2_iterations,
    do_theorem2_tau,
    do_theorem4_counts,
    do_theorem5_error,
    do_theorem5_iterations,
)
from gapsvm.theory.pegasos import (
    pegasos_constant,
    pegasos_corollary2_error,
    pegasos_corollary2_iterations,
    pegasos_footnote1_rows,
    pegasos_lemma3_error,
    pegasos_lemma3_iterations,
    pegasos_theorem1_error,
    pegasos_theorem1_iterations,
)
from gapsvm.theory.takac import (
    DualCounts,
    takac_constant,
    takac_dual_error,
    takac_dual_iterations,
    takac_lemma1,
    takac_lemma1_bound,
    takac_order,
    takac_poster_gap,
    takac_poster_iterations,
    takac_theorem1_error,
    takac_theorem1_iterations,
    takac_theorem2_counts,
    takac_theorem2_gap,
    takac_theorem2_iterations,
)

__all__ = [
    "DualCounts",
    "OptimisticCounts",
    "Proximal",
    "balanced_tau",
    "bartlett_regret",
    "bartlett_tau",
    "do_corollary1_regret",
    "do_lemma1_regret",
    "do_phase_error",
    "do_phase_iterations",
    "do_proposition1_tau",
    "do_proposition2_error",
    "do_proposition3_error",
    "do_theorem1_regret",
    "do_theorem2_bound",
    "do_theorem2_error",
    "do_theorem2_iterations",
    "do_theorem2_tau",
    "do_theorem4_counts",
    "do_theorem5_error",
    "do_theorem5_iterations",
    "pegasos_constant",
    "pegasos_corollary2_error",
    "pegasos_corollary2_iterations",
    "pegasos_footnote1_rows",
    "pegasos_lemma3_error",
    "pegasos_lemma3_iterations",
    "pegasos_theorem1_error",
    "pegasos_theorem1_iterations",
    "takac_constant",
    "takac_dual_error",
    "takac_dual_iterations",
    "takac_lemma1",
    "takac_lemma1_bound",
    "takac_order",
    "takac_poster_gap",
    "takac_poster_iterations",
    "takac_theorem1_error",
    "takac_theorem1_iterations",
    "takac_theorem2_counts",
    "takac_theorem2_gap",
    "takac_theorem2_iterations",
]
