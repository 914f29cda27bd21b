"""The functions of the reference backend, the oracle of the compiled one, in one list."""

from gapsvm.backends.memory import empty, place, row_table, zeros
from gapsvm.backends.reference.batch_bias import balanced_pulls, batch_bias_steps
from gapsvm.backends.reference.chain_blocks import chain_block_steps, chain_pull, chain_push
from gapsvm.backends.reference.chains import (
    chain_best,
    chain_marginals,
    chain_max_marginals,
    chain_scores,
)
from gapsvm.backends.reference.evaluate import (
    column_order,
    combination,
    evaluate,
    margins,
    normal_product,
    sq_norms,
)
from gapsvm.backends.reference.exact import exact_interior, exact_room
from gapsvm.backends.reference.exact_newton import exact_newton
from gapsvm.backends.reference.folding import fold
from gapsvm.backends.reference.interior import (
    barrier_aims,
    barrier_direction,
    barrier_pull,
    barrier_terms,
)
from gapsvm.backends.reference.kernel_steps import add_kernel_rows, pair_steps, single_steps
from gapsvm.backends.reference.kernel_values import kernel_block
from gapsvm.backends.reference.lasvm import lasvm_finish, lasvm_steps
from gapsvm.backends.reference.minibatch import block_steps, minibatch_steps
from gapsvm.backends.reference.multiclass import (
    multiclass_combination,
    multiclass_scores,
    multiclass_steps,
)
from gapsvm.backends.reference.normal_matrix import normal_matrix
from gapsvm.backends.reference.progressive import progressive_steps
from gapsvm.backends.reference.ranking import pair_hinge
from gapsvm.backends.reference.sampling import draw_multisets, draw_subsets, interleave, shuffle
from gapsvm.backends.reference.sdca import screen, sdca_passes, sdca_steps
from gapsvm.backends.reference.smo import smo_first, smo_open, smo_pair, smo_second, smo_single
from gapsvm.backends.reference.structures import structure_counts
from gapsvm.backends.reference.subgradient import balance, subgradient_steps
from gapsvm.backends.reference.subspace import subspace_step

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
