"""The functions of the compiled backend, in one list."""

from gapsvm.backends.memory import empty, place, row_table, zeros
from gapsvm.backends.numba.batch_bias import balanced_pulls, batch_bias_steps
from gapsvm.backends.numba.chain_blocks import chain_block_steps, chain_pull, chain_push
from gapsvm.backends.numba.chains import (
    chain_best,
    chain_marginals,
    chain_max_marginals,
    chain_scores,
)
from gapsvm.backends.numba.evaluate import (
    column_order,
    combination,
    evaluate,
    margins,
    normal_product,
    sq_norms,
)
from gapsvm.backends.numba.exact import exact_interior, exact_room
from gapsvm.backends.numba.exact_newton import exact_newton
from gapsvm.backends.numba.folding import fold
from gapsvm.backends.numba.interior import (
    barrier_aims,
    barrier_direction,
    barrier_pull,
    barrier_terms,
)
from gapsvm.backends.numba.kernel_steps import add_kernel_rows, pair_steps, single_steps
from gapsvm.backends.numba.kernel_values import kernel_block
from gapsvm.backends.numba.lasvm import lasvm_finish, lasvm_steps
from gapsvm.backends.numba.minibatch import block_steps, minibatch_steps
from gapsvm.backends.numba.multiclass import (
    multiclass_combination,
    multiclass_scores,
    multiclass_steps,
)
from gapsvm.backends.numba.normal_matrix import normal_matrix
from gapsvm.backends.numba.progressive import progressive_steps
from gapsvm.backends.numba.ranking import pair_hinge
from gapsvm.backends.numba.sampling import draw_multisets, draw_subsets, interleave, shuffle
from gapsvm.backends.numba.sdca import screen, sdca_passes, sdca_steps
from gapsvm.backends.numba.smo import smo_first, smo_open, smo_pair, smo_second, smo_single
from gapsvm.backends.numba.structures import structure_counts
from gapsvm.backends.numba.subgradient import balance, subgradient_steps
from gapsvm.backends.numba.subspace import subspace_step

__all__ = [
    "add_kernel_rows",
    "balance",
    "balanced_pulls",
    "barrier_aims",
    "barrier_direction",
    "barrier_pull",
    "barrier_terms",
    "batch_bias_steps",
    "block_steps",
    "chain_best",
    "chain_block_steps",
    "chain_marginals",
    "chain_max_marginals",
    "chain_pull",
    "chain_push",
    "chain_scores",
    "column_order",
    "combination",
    "draw_multisets",
    "draw_subsets",
    "empty",
    "evaluate",
    "exact_interior",
    "exact_newton",
    "exact_room",
    "fold",
    "interleave",
    "kernel_block",
    "lasvm_finish",
    "lasvm_steps",
    "margins",
    "minibatch_steps",
    "multiclass_combination",
    "multiclass_scores",
    "multiclass_steps",
    "normal_matrix",
    "normal_product",
    "pair_hinge",
    "pair_steps",
    "place",
    "progressive_steps",
    "row_table",
    "screen",
    "sdca_passes",
    "sdca_steps",
    "shuffle",
    "single_steps",
    "smo_first",
    "smo_open",
    "smo_pair",
    "smo_second",
    "smo_single",
    "sq_norms",
    "structure_counts",
    "subgradient_steps",
    "subspace_step",
    "zeros",
]
