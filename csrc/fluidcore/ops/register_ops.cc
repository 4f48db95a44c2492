#include "fluidcore/ops/register_ops.h"

#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/ops/through_float32.h"

namespace fluidcore {

void add_narrow_kernels(OpRegistry& registry) {
  registry.add_kernels_through(DType::kFloat32, {DType::kFloat16, DType::kBFloat16},
                               through_float32);
  registry.add_kernels_through(DType::kInt32, {DType::kInt16}, through_int32);
  registry.add_kernels_through(DType::kInt64, {DType::kInt16, DType::kInt32}, through_int64);
}

const OpRegistry& builtin_ops() {
  static const OpRegistry kOps = [] {
    cpu::cpu_isa();  // a processor without it is told so before anything runs
    OpRegistry registry;
    register_activation_ops(registry);
    register_adaptive_optimizer_ops(registry);
    register_arithmetic_ops(registry);
    register_array_ops(registry);
    register_cholesky_ops(registry);
    register_choice_ops(registry);
    register_attention_ops(registry);
    register_collective_copies(registry);
    register_collective_sums(registry);
    register_comparison_ops(registry);
    register_concat_ops(registry);
    register_control_flow_ops(registry);
    register_conv_ops(registry);
    register_conv_transpose_ops(registry);
    register_ctc_loss_ops(registry);
    register_cumprod_ops(registry);
    register_cumsum_ops(registry);
    register_element_loss_ops(registry);
    register_elementwise_ops(registry);
    register_feed_ops(registry);
    register_fill_ops(registry);
    register_gated_unit_ops(registry);
    register_gather_ops(registry);
    register_gather_nd_ops(registry);
    register_inverse_ops(registry);
    register_lamb_ops(registry);
    register_grid_sample_ops(registry);
    register_group_norm_ops(registry);
    register_interpolate_ops(registry);
    register_layer_norm_ops(registry);
    register_linear_recurrence_ops(registry);
    register_logic_ops(registry);
    register_logsumexp_ops(registry);
    register_lookup_ops(registry);
    register_lrn_ops(registry);
    register_loss_ops(registry);
    register_matmul_ops(registry);
    register_max_pool_with_index_ops(registry);
    register_maxout_ops(registry);
    register_metrics_ops(registry);
    register_nll_loss_ops(registry);
    register_norm_ops(registry);
    register_one_hot_ops(registry);
    register_optimizer_ops(registry);
    register_pad_ops(registry);
    register_order_ops(registry);
    register_piecewise_activation_ops(registry);
    register_pixel_shuffle_ops(registry);
    register_pool_ops(registry);
    register_prelu_ops(registry);
    register_random_ops(registry);
    register_recurrent_ops(registry);
    register_ranges_ops(registry);
    register_reduction_ops(registry);
    register_repeat_ops(registry);
    register_roll_ops(registry);
    register_row_loss_ops(registry);
    register_rounding_ops(registry);
    register_row_ops(registry);
    register_scatter_ops(registry);
    register_select_ops(registry);
    register_selected_rows_ops(registry);
    register_shape_ops(registry);
    register_slice_ops(registry);
    register_smooth_activation_ops(registry);
    register_softmax_ops(registry);
    register_split_ops(registry);
    register_squeeze_ops(registry);
    register_take_along_axis_ops(registry);
    register_triangle_ops(registry);
    register_triangular_solve_ops(registry);
    register_vector_norm_ops(registry);
    register_where_ops(registry);
    add_narrow_kernels(registry);
    return registry;
  }();
  return kOps;
}

}  // namespace fluidcore
