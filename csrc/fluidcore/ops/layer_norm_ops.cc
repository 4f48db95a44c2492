#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fluidcore/kernels/cpu/layer_norm.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/optional_output.h"
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
  require_not_negative(context, {"epsilon"});
  const Shape row{x.shape.product(first_axis(context), x.shape.rank())};
  for (const char* slot : {"Scale", "Bias"}) {
    if (context.has_input(slot)) require_spec(context, slot, {row, x.dtype});
  }
  return row;
}

cpu::LayerNorm rows_of(const KernelContext& context, const Shape& x) {
  const std::size_t first = first_axis(context);
  return {x.product(0, first), x.product(first, x.rank()), context.attr<double>("epsilon")};
}

template <class T>
Arg<const T> optional_input(const KernelContext& context, std::string_view slot) {
  return context.has_input(slot) ? context.input<T>(slot) : Arg<const T>();
}

// A missing one as the null pointer that kernels take.
template <class T>
T* data_or_null(const Arg<T>& arg) {
  return arg ? arg.data() : nullptr;
}

template <class T>
Kernel layer_norm(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto y = context.output<T>("Y");
  const auto norm = rows_of(context, x.shape());
  return [=, scale = optional_input<T>(context, "Scale"), bias = optional_input<T>(context, "Bias"),
          mean = OutputOrScratch<T>(context, "Mean", norm.rows),
          variance = OutputOrScratch<T>(context, "Variance", norm.rows)] {
    cpu::layer_norm(norm, x.data(), data_or_null(scale), data_or_null(bias), y.data(), mean.data(),
                    variance.data());
  };
}

template <class T>
Kernel layer_norm_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto dy = context.input<T>("Y@GRAD");
  const auto dx = context.optional_output<T>("X@GRAD");
  const auto dscale = context.optional_output<T>("Scale@GRAD");
  const auto dbias = context.optional_output<T>("Bias@GRAD");
  const auto norm = rows_of(context, x.shape());
  const Tensor statistics({Shape{2, norm.rows}, dtype_of<T>});
  return [=, scale = optional_input<T>(context, "Scale")] {
    auto* const mean = static_cast<T*>(statistics.raw());
    T* const inv_std = mean + norm.rows;
    // X@GRAD may overwrite what the others read, so it comes last.
    if (dscale || dbias) {
      cpu::layer_norm_x_grad<T>(norm, x.data(), nullptr, dy.data(), mean, inv_std, nullptr);
      cpu::layer_norm_factor_grads(norm, x.data(), mean, inv_std, dy.data(), data_or_null(dscale),
                                   data_or_null(dbias));
    }
    if (dx) {
      cpu::layer_norm_x_grad(norm, x.data(), data_or_null(scale), dy.data(), mean, inv_std,
                             dx.data());
    }
  };
}

Expr mean_of_row(const Expr& x) {
  return x.owner().op("reduce_mean", {{"X", x}}, {{"dim", std::int64_t{-1}}, {"keep_dim", true}});
}

Expr sum_of_column(const Expr& x) {
  return x.owner().op("reduce_sum", {{"X", x}}, {{"dim", std::int64_t{0}}});
}

void decompose_layer_norm_grad(Decomposition& d) {
  const AttributeMap axis{{"axis", d.attr<std::int64_t>("begin_norm_axis")}};
  const Expr x = d.op("flatten", {{"X", d.input("X")}}, axis);
  const Expr dy = d.op("flatten", {{"X", d.input("Y@GRAD")}}, axis);
  const Expr centered = x - mean_of_row(x);
  const Expr variance = mean_of_row(square(centered)) + d.attr<double>("epsilon");
  const Expr inv_std = 1.0 / d.op("sqrt", {{"X", variance}});
  const Expr normalized = centered * inv_std;
  const Expr passed = d.has_input("Scale") ? dy * d.input("Scale") : dy;
  // What would shift or stretch a whole row is undone by its statistics.
  const Expr stretch = normalized * mean_of_row(passed * normalized);
  const Expr dx = inv_std * (passed - mean_of_row(passed) - stretch);
  d.set("X@GRAD", d.op("flatten_grad", {{"X", d.input("X")}, {"Out@GRAD", dx}}, axis, "X@GRAD"));
  d.set("Scale@GRAD", sum_of_column(dy * normalized));
  d.set("Bias@GRAD", sum_of_column(dy));
}

OpDef with_attrs(OpDef def) {
  return std::move(def)
      .attr("epsilon", 1e-5, "is added to the variance")
      .attr("begin_norm_axis", std::int64_t{1},
            "the dimensions of X from here on make a row, which is normalized");
}

const SlotTraits kStatistic{.intermediate = true, .no_gradient = true};

}  // namespace

void register_layer_norm_ops(OpRegistry& registry) {
  registry.add(with_attrs(OpDef("layer_norm"))
                   .doc("Y = (X - Mean) / sqrt(Variance + epsilon) Scale + Bias, row by row, with "
                        "the mean and the (biased) variance of each row (Ba, Kiros, Hinton 2016). "
                        "Without Scale it is 1, without Bias 0.")
                   .input("X", "rank above begin_norm_axis, floating")
                   .input("Scale", "[elements of a row], dtype of X", {.optional = true})
                   .input("Bias", "[elements of a row], dtype of X", {.optional = true})
                   .output("Y", "shape and dtype of X")
                   .output("Mean", "[rows], dtype of X", kStatistic)
                   .output("Variance", "[rows], dtype of X", kStatistic)
                   .row_dims([](const InferContext& context, std::string_view slot) {
                     return slot == "X" ? first_axis(context) : std::size_t{0};
                   })
                   .infer([](InferContext& context) {
                     checked_row(context);
                     const TensorSpec& x = context.input("X");
                     const Shape rows{x.shape.product(0, first_axis(context))};
                     context.set_output("Y", x);
                     context.set_output("Mean", {rows, x.dtype});
                     context.set_output("Variance", {rows, x.dtype});
                   })
                   .in_place("X", "Y")
                   .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
                     return layer_norm<typename decltype(tag)::type>;
                   }))
                   .grad(standard_grad({.inputs = {"X", "Scale"},
                                        .differentiable = {"X", "Scale", "Bias"},
                                        .cotangents = {"Y"}})));
  registry.add(
      with_attrs(OpDef("layer_norm_grad"))
          .doc("With xhat, the normalized X, and g = Y@GRAD Scale: X@GRAD = (g - mean of g "
               "- xhat mean of (g xhat)) / sqrt(variance + epsilon), row by row; "
               "Scale@GRAD = the sum of Y@GRAD xhat over the rows, Bias@GRAD = that of "
               "Y@GRAD.")
          .input("X", "input of the forward operator")
          .input("Scale", "input of the forward operator", {.optional = true})
          .input("Y@GRAD", "gradient of Y, shape of Y")
          .output("X@GRAD", "gradient of X, shape of X")
          .output("Scale@GRAD", "gradient of Scale", {.optional = true})
          .output("Bias@GRAD", "gradient of Bias", {.optional = true})
          .infer([](InferContext& context) {
            const Shape row = checked_row(context);
            const TensorSpec& x = context.input("X");
            require_spec(context, "Y@GRAD", x);
            context.set_output("X@GRAD", x);
            context.set_output("Scale@GRAD", {row, x.dtype});
            context.set_output("Bias@GRAD", {row, x.dtype});
          })
          .in_place("Y@GRAD", "X@GRAD")
          .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
            return layer_norm_grad<typename decltype(tag)::type>;
          }))
          .decompose(decompose_layer_norm_grad));
}

}  // namespace fluidcore
