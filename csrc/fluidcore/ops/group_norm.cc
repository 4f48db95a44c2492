#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/rows.h"
#include "fluidcore/kernels/cuda/row_loss.h"
#include "fluidcore/ops/norm_form.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

constexpr std::string_view kDims = "[N, C, ...], rank 2 or more";

// Every channel is a group of its own where the operator has no groups, or has 0.
constexpr std::int64_t kChannels = 0;

template <class Context>
std::int64_t groups_attr(const Context& context) {
  return context.type().starts_with("instance_norm")
             ? kChannels
             : context.template attr<std::int64_t>("groups");
}

std::int64_t groups_of(std::int64_t groups, const Shape& x) {
  return groups == kChannels ? x[1] : groups;
}

// Checks X and groups, of which there are at least `least`.
void check_groups(const InferContext& context, std::int64_t least) {
  const Shape& x = context.input("X").shape;
  require(x.rank() >= 2, context.type(), ": X must have rank 2 or more [N, C, ...], got ", x);
  const std::int64_t groups = groups_attr(context);
  if (groups == kChannels && least == kChannels) return;
  require(groups >= least, context.type(), ": groups must be at least ", least, ", got ", groups);
  // No channels are a multiple of any number, but one group of none is enough.
  const bool can_be_cut = x[1] == 0 ? groups == 1 : x[1] % groups == 0;
  require(x[1] == -1 || can_be_cut, context.type(),
          ": the channels of X must be a multiple of groups, got X ", x, ", groups ", groups);
}

Shape checked_channels(const InferContext& context) {
  check_groups(context, context.type().starts_with("group_norm") ? 1 : kChannels);
  const Shape channels{context.input("X").shape[1]};
  check_norm(context, channels);
  return channels;
}

cpu::LayerNorm rows_of(const KernelContext& context, const Shape& x) {
  const std::int64_t groups = groups_of(groups_attr(context), x);
  return {.rows = x[0] * groups,
          .factors = x[1] / std::max<std::int64_t>(groups, 1),
          .epsilon = context.attr<double>("epsilon"),
          .run = x.product(2, x.rank()),
          .factor_rows = std::max<std::int64_t>(groups, 1)};
}

Expr sum_of_channels(const Expr& x) {
  Decomposition& d = x.owner();
  const Expr sum = d.op("reduce_sum", {{"X", x}}, {{"dim", std::int64_t{0}}});
  return d.op("reduce_sum", {{"X", d.op("flatten", {{"X", sum}})}}, {{"dim", std::int64_t{1}}});
}

void decompose_grad(Decomposition& d, std::int64_t groups) {
  const Expr dy = d.input("Y@GRAD");
  const NormGrads grads = norm_grads(
      d.input("X"), dy, d.attr<double>("epsilon"), true,
      [&](const Expr& x) { return d.op("group_mean", {{"X", x}}, {{"groups", groups}}); },
      [&](const Expr& grad) {
        if (!d.has_input("Scale")) return grad;
        return d.op("elementwise_mul", {{"X", grad}, {"Y", d.input("Scale")}},
                    {{"axis", std::int64_t{1}}});
      });
  d.set("X@GRAD", grads.x_grad);
  d.set("Scale@GRAD", sum_of_channels(dy * grads.normalized));
  d.set("Bias@GRAD", sum_of_channels(dy));
}

std::size_t examples(const InferContext& /*context*/, std::string_view slot) {
  return slot == "X" ? 1 : 0;
}

OpDef with_statistics(OpDef def) {
  const SlotTraits statistic{.intermediate = true, .no_gradient = true};
  return std::move(def)
      .output("Mean", "[N, groups], dtype of X", statistic)
      .output("Variance", "[N, groups], dtype of X", statistic)
      .row_dims(examples)
      .infer([](InferContext& context) {
        checked_channels(context);
        const TensorSpec& x = context.input("X");
        const TensorSpec statistics{{x.shape[0], groups_of(groups_attr(context), x.shape)},
                                    x.dtype};
        context.set_output("Y", x);
        context.set_output("Mean", statistics);
        context.set_output("Variance", statistics);
      })
      .kernels(norm_kernels<rows_of>());
}

constexpr const char* kGradDoc =
    "As in layer_norm_grad, where a row is a group of channels of one example; Scale@GRAD and "
    "Bias@GRAD are summed over all elements of a channel.";

OpDef with_groups(OpDef def) {
  return std::move(def)
      .required_attr("groups", std::int64_t{1}, "how many groups of neighbouring channels")
      .attr("data_layout", std::string("NCHW"), "'NCHW' or 'AnyLayout', which are the same",
            {"NCHW", "AnyLayout"});
}

template <class T>
Kernel group_mean(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const std::int64_t groups = groups_of(groups_attr(context), x.shape());
  const std::int64_t rows = x.shape()[0] * groups;
  const std::int64_t columns = x.size() / std::max<std::int64_t>(rows, 1);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each_group(device, rows, columns, cuda::MeanOfRows{columns}, x.data(),
                             out.data());
      });
    }
  }
  return [=] {
    cpu::for_rows(rows, columns, [=](std::int64_t row) {
      const T* from = x.data() + row * columns;
      const double sum = cpu::sum_of_row(columns, [=](std::int64_t i) { return from[i]; });
      std::fill_n(out.data() + row * columns, columns,
                  static_cast<T>(sum / static_cast<double>(columns)));
    });
  };
}

// Every element counts alike in the means of its group.
std::vector<OpDesc> group_mean_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  return {OpDesc("group_mean", {{"X", context.output_grad("Out")}}, {{"Out", grads}},
                 context.forward().attrs())};
}

}  // namespace

void register_group_norm_ops(OpRegistry& registry) {
  registry.add(with_statistics(with_groups(norm_op("group_norm", "[C]", kDims)))
                   .doc("Y = (X - Mean) / sqrt(Variance + epsilon) Scale + Bias, with the mean and "
                        "the (biased) variance of each group of channels of each example, and "
                        "Scale and Bias channel by channel (Wu, He 2018)."));
  registry.add(
      with_groups(norm_grad_op("group_norm", checked_channels))
          .doc(kGradDoc)
          .kernels(norm_grad_kernels<rows_of>())
          .decompose([](Decomposition& d) { decompose_grad(d, d.attr<std::int64_t>("groups")); }));
  registry.add(with_statistics(norm_op("instance_norm", "[C]", kDims))
                   .doc("group_norm in which each channel is a group (Ulyanov, Vedaldi, Lempitsky "
                        "2016)."));
  registry.add(norm_grad_op("instance_norm", checked_channels)
                   .doc(kGradDoc)
                   .kernels(norm_grad_kernels<rows_of>())
                   .decompose([](Decomposition& d) { decompose_grad(d, kChannels); }));
  registry.add(OpDef("group_mean")
                   .doc("Out = for each element of X, the mean of its group of channels in its "
                        "example.")
                   .input("X", str_cat(kDims, ", floating"))
                   .output("Out", "shape and dtype of X")
                   .attr("groups", kChannels,
                         "how many groups of neighbouring channels; 0: each channel is one")
                   .infer([](InferContext& context) {
                     check_groups(context, kChannels);
                     context.set_output("Out", context.input("X"));
                   })
                   .row_dims(examples)
                   .in_place("X", "Out")
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return group_mean<typename decltype(tag)::type>;
                   }))
                   .grad(group_mean_grad));
}

}  // namespace fluidcore
