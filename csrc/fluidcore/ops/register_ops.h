#pragma once

#include "fluidcore/op/op_registry.h"

namespace fluidcore {

// One function for each .cc file of this folder; builtin_ops() calls them all, once: they are cold,
// compiled for size.
[[gnu::cold]] void register_activation_ops(OpRegistry& registry);
[[gnu::cold]] void register_adaptive_optimizer_ops(OpRegistry& registry);
[[gnu::cold]] void register_arithmetic_ops(OpRegistry& registry);
[[gnu::cold]] void register_array_ops(OpRegistry& registry);
[[gnu::cold]] void register_cholesky_ops(OpRegistry& registry);
[[gnu::cold]] void register_choice_ops(OpRegistry& registry);
[[gnu::cold]] void register_attention_ops(OpRegistry& registry);
[[gnu::cold]] void register_collective_copies(OpRegistry& registry);
[[gnu::cold]] void register_collective_sums(OpRegistry& registry);
[[gnu::cold]] void register_comparison_ops(OpRegistry& registry);
[[gnu::cold]] void register_concat_ops(OpRegistry& registry);
[[gnu::cold]] void register_control_flow_ops(OpRegistry& registry);
[[gnu::cold]] void register_conv_ops(OpRegistry& registry);
[[gnu::cold]] void register_conv_transpose_ops(OpRegistry& registry);
[[gnu::cold]] void register_ctc_loss_ops(OpRegistry& registry);
[[gnu::cold]] void register_cumprod_ops(OpRegistry& registry);
[[gnu::cold]] void register_cumsum_ops(OpRegistry& registry);
[[gnu::cold]] void register_element_loss_ops(OpRegistry& registry);
[[gnu::cold]] void register_elementwise_ops(OpRegistry& registry);
[[gnu::cold]] void register_feed_ops(OpRegistry& registry);
[[gnu::cold]] void register_fill_ops(OpRegistry& registry);
[[gnu::cold]] void register_gated_unit_ops(OpRegistry& registry);
[[gnu::cold]] void register_gather_ops(OpRegistry& registry);
[[gnu::cold]] void register_gather_nd_ops(OpRegistry& registry);
[[gnu::cold]] void register_inverse_ops(OpRegistry& registry);
[[gnu::cold]] void register_lamb_ops(OpRegistry& registry);
[[gnu::cold]] void register_grid_sample_ops(OpRegistry& registry);
[[gnu::cold]] void register_group_norm_ops(OpRegistry& registry);
[[gnu::cold]] void register_interpolate_ops(OpRegistry& registry);
[[gnu::cold]] void register_layer_norm_ops(OpRegistry& registry);
[[gnu::cold]] void register_linear_recurrence_ops(OpRegistry& registry);
[[gnu::cold]] void register_logsumexp_ops(OpRegistry& registry);
[[gnu::cold]] void register_logic_ops(OpRegistry& registry);
[[gnu::cold]] void register_lookup_ops(OpRegistry& registry);
[[gnu::cold]] void register_lrn_ops(OpRegistry& registry);
[[gnu::cold]] void register_loss_ops(OpRegistry& registry);
[[gnu::cold]] void register_matmul_ops(OpRegistry& registry);
[[gnu::cold]] void register_max_pool_with_index_ops(OpRegistry& registry);
[[gnu::cold]] void register_maxout_ops(OpRegistry& registry);
[[gnu::cold]] void register_metrics_ops(OpRegistry& registry);
[[gnu::cold]] void register_nll_loss_ops(OpRegistry& registry);
[[gnu::cold]] void register_norm_ops(OpRegistry& registry);
[[gnu::cold]] void register_one_hot_ops(OpRegistry& registry);
[[gnu::cold]] void register_optimizer_ops(OpRegistry& registry);
[[gnu::cold]] void register_pad_ops(OpRegistry& registry);
[[gnu::cold]] void register_order_ops(OpRegistry& registry);
[[gnu::cold]] void register_piecewise_activation_ops(OpRegistry& registry);
[[gnu::cold]] void register_pixel_shuffle_ops(OpRegistry& registry);
[[gnu::cold]] void register_pool_ops(OpRegistry& registry);
[[gnu::cold]] void register_prelu_ops(OpRegistry& registry);
[[gnu::cold]] void register_random_ops(OpRegistry& registry);
[[gnu::cold]] void register_recurrent_ops(OpRegistry& registry);
[[gnu::cold]] void register_ranges_ops(OpRegistry& registry);
[[gnu::cold]] void register_reduction_ops(OpRegistry& registry);
[[gnu::cold]] void register_repeat_ops(OpRegistry& registry);
[[gnu::cold]] void register_roll_ops(OpRegistry& registry);
[[gnu::cold]] void register_row_loss_ops(OpRegistry& registry);
[[gnu::cold]] void register_rounding_ops(OpRegistry& registry);
[[gnu::cold]] void register_row_ops(OpRegistry& registry);
[[gnu::cold]] void register_scatter_ops(OpRegistry& registry);
[[gnu::cold]] void register_select_ops(OpRegistry& registry);
[[gnu::cold]] void register_selected_rows_ops(OpRegistry& registry);
[[gnu::cold]] void register_shape_ops(OpRegistry& registry);
[[gnu::cold]] void register_slice_ops(OpRegistry& registry);
[[gnu::cold]] void register_smooth_activation_ops(OpRegistry& registry);
[[gnu::cold]] void register_softmax_ops(OpRegistry& registry);
[[gnu::cold]] void register_split_ops(OpRegistry& registry);
[[gnu::cold]] void register_squeeze_ops(OpRegistry& registry);
[[gnu::cold]] void register_take_along_axis_ops(OpRegistry& registry);
[[gnu::cold]] void register_triangle_ops(OpRegistry& registry);
[[gnu::cold]] void register_triangular_solve_ops(OpRegistry& registry);
[[gnu::cold]] void register_vector_norm_ops(OpRegistry& registry);
[[gnu::cold]] void register_where_ops(OpRegistry& registry);

// Kernels for dtypes that operators have none for, through those for wider ones.
void add_narrow_kernels(OpRegistry& registry);

// Every operator that comes with fluidcore. Built on first use, then never changed.
const OpRegistry& builtin_ops();

}  // namespace fluidcore
