#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "fluidcore/ops/norm_form.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

template <class Context>
std::size_t first_axis(const Context& context) {
  return static_cast<std::size_t>(context.template attr<std::int64_t>("begin_norm_axis"));
}

// The elements of one row, in one dimension. Checks the attributes, and Scale and Bias.
Shape checked_row(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const std::int64_t axis = context.attr<std::int64_t>("begin_norm_axis");
  const auto rank = static_cast<std::int64_t>(x.shape.rank());
  require(axis >= 0 && axis < rank, context.type(), ": begin_norm_axis must be in [0, ", rank,
          ") for X ", x.shape, ", got ", axis);
  const Shape row{x.shape.product(first_axis(context), x.shape.rank())};
  check_norm(context, row);
  return row;
}

template <bool centered>
cpu::LayerNorm rows_of(const KernelContext& context, const Shape& x) {
  const std::size_t first = first_axis(context);
  return {.rows = x.product(0, first),
          .factors = x.product(first, x.rank()),
          .epsilon = context.attr<double>("epsilon"),
          .centered = centered};
}

Expr mean_of_row(const Expr& x) {
  return x.owner().op("reduce_mean", {{"X", x}}, {{"dim", std::int64_t{-1}}, {"keep_dim", true}});
}

Expr sum_of_column(const Expr& x) {
  return x.owner().op("reduce_sum", {{"X", x}}, {{"dim", std::int64_t{0}}});
}

template <bool centered>
void decompose_grad(Decomposition& d) {
  const AttributeMap axis{{"axis", d.attr<std::int64_t>("begin_norm_axis")}};
  const Expr dy = d.op("flatten", {{"X", d.input("Y@GRAD")}}, axis);
  const NormGrads grads = norm_grads(
      d.op("flatten", {{"X", d.input("X")}}, axis), dy, d.attr<double>("epsilon"), centered,
      mean_of_row,
      [&](const Expr& grad) { return d.has_input("Scale") ? grad * d.input("Scale") : grad; });
  d.set("X@GRAD",
        d.op("flatten_grad", {{"X", d.input("X")}, {"Out@GRAD", grads.x_grad}}, axis, "X@GRAD"));
  d.set("Scale@GRAD", sum_of_column(dy * grads.normalized));
  d.set("Bias@GRAD", sum_of_column(dy));
}

OpDef with_layer_norm_attrs(OpDef def) {
  return std::move(def).attr("begin_norm_axis", std::int64_t{1},
                             "the dimensions of X from here on make a row, which is normalized");
}

OpDef with_row_statistics(OpDef def) {
  const SlotTraits statistic{.intermediate = true, .no_gradient = true};
  return std::move(def)
      .output("Mean", "[rows], dtype of X", statistic)
      .output("Variance", "[rows], dtype of X", statistic);
}

// `centered`: the mean of a row is taken from it, and there are outputs for the statistics.
template <bool centered>
void add_norm(OpRegistry& registry, const char* type, const char* doc, const char* grad_doc) {
  OpDef op =
      with_layer_norm_attrs(norm_op(type, "[elements of a row]", "rank above begin_norm_axis"));
  registry.add((centered ? with_row_statistics(std::move(op)) : std::move(op))
                   .doc(doc)
                   .row_dims([](const InferContext& context, std::string_view slot) {
                     return slot == "X" ? first_axis(context) : std::size_t{0};
                   })
                   .infer([](InferContext& context) {
                     checked_row(context);
                     const TensorSpec& x = context.input("X");
                     context.set_output("Y", x);
                     if (!centered) return;
                     const Shape rows{x.shape.product(0, first_axis(context))};
                     context.set_output("Mean", {rows, x.dtype});
                     context.set_output("Variance", {rows, x.dtype});
                   })
                   .kernels(norm_kernels<rows_of<centered>>()));
  registry.add(with_layer_norm_attrs(norm_grad_op(type, checked_row))
                   .doc(grad_doc)
                   .kernels(norm_grad_kernels<rows_of<centered>>())
                   .decompose(decompose_grad<centered>));
}

}  // namespace

void register_layer_norm_ops(OpRegistry& registry) {
  add_norm<true>(
      registry, "layer_norm",
      "Y = (X - Mean) / sqrt(Variance + epsilon) Scale + Bias, row by row, with the mean and the "
      "(biased) variance of each row (Ba, Kiros, Hinton 2016). Without Scale it is 1, without Bias "
      "0.",
      "With xhat, the normalized X, and g = Y@GRAD Scale: X@GRAD = (g - mean of g - xhat mean of "
      "(g xhat)) / sqrt(variance + epsilon), row by row; Scale@GRAD = the sum of Y@GRAD xhat over "
      "the rows, Bias@GRAD = that of Y@GRAD.");
  add_norm<false>(
      registry, "rms_norm",
      "Y = X / sqrt(the mean of X^2 + epsilon) Scale + Bias, row by row (Zhang, Sennrich 2019). "
      "Without Scale it is 1, without Bias 0.",
      "With xhat = X / sqrt(the mean of X^2 + epsilon) and g = Y@GRAD Scale: X@GRAD = (g - xhat "
      "mean of (g xhat)) / sqrt(the mean of X^2 + epsilon), row by row; Scale@GRAD = the sum of "
      "Y@GRAD xhat over the rows, Bias@GRAD = that of Y@GRAD.");
}

}  // namespace fluidcore
