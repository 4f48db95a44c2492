#include "fluidcore/ops/norm_form.h"

#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/kernels/cuda/layer_norm.h"
#include "fluidcore/kernels/cuda/reduce.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

template <class T>
Arg<const T> optional_input(const KernelContext& context, std::string_view slot) {
  return context.has_input(slot) ? context.input<T>(slot) : Arg<const T>();
}

template <class T>
Arg<T> optional_statistic(const KernelContext& context, std::string_view slot) {
  return context.output_count(slot) > 0 ? context.optional_output<T>(slot) : Arg<T>();
}

// A missing one as the null pointer that kernels take.
OpDef with_epsilon(OpDef def) {
  return std::move(def).attr("epsilon", 1e-5, "is added to the variance");
}

}  // namespace

template <class T>
Kernel norm_kernel(const KernelContext& context, NormRows rows) {
  const auto x = context.input<T>("X");
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued(
          [=, &device = context.device(), norm = rows(context, x.shape()),
           y = context.output<T>("Y"), scale = optional_input<T>(context, "Scale"),
           bias = optional_input<T>(context, "Bias"), mean = optional_statistic<T>(context, "Mean"),
           variance = optional_statistic<T>(context, "Variance")] {
            cuda::for_each_group(device, norm.rows, norm.columns(), cuda::LayerNormRows{norm},
                                 x.data(), data_or_null(scale), data_or_null(bias), y.data(),
                                 data_or_null(mean), data_or_null(variance));
          });
    }
  }
  return [=, norm = rows(context, x.shape()), y = context.output<T>("Y"),
          scale = optional_input<T>(context, "Scale"), bias = optional_input<T>(context, "Bias"),
          mean = optional_statistic<T>(context, "Mean"),
          variance = optional_statistic<T>(context, "Variance")] {
    cpu::layer_norm(norm, x.data(), data_or_null(scale), data_or_null(bias), y.data(),
                    data_or_null(mean), data_or_null(variance));
  };
}

template <class T>
Kernel norm_grad_on_cuda(const KernelContext& context, const cpu::LayerNorm& norm) {
  DeviceContext& device = context.device();
  ScratchParts memory(context.scratch());
  const std::size_t moments_at = memory.add(2 * norm.rows, sizeof(T));
  // What a factor has a part in: the rows of its group, and its run in each.
  const Shape terms{norm.rows / norm.factor_rows, norm.factor_rows * norm.factors, norm.run};
  const cuda::Reduction<SumOf, T> sum(device, memory.rest(), terms, {true, false, true});
  return Kernel::enqueued([=, &device, x = context.input<T>("X"), dy = context.input<T>("Y@GRAD"),
                           scale = optional_input<T>(context, "Scale"),
                           dx = context.optional_output<T>("X@GRAD"),
                           dscale = context.optional_output<T>("Scale@GRAD"),
                           dbias = context.optional_output<T>("Bias@GRAD")] {
    auto* const moments = memory.at<T>(moments_at);
    const auto rows_to = [&](T* to) {
      cuda::for_each_group(device, norm.rows, norm.columns(), cuda::LayerNormGradRows{norm},
                           x.data(), data_or_null(scale), dy.data(), moments, to);
    };
    // X@GRAD last: it may be where Y@GRAD is.
    if (dscale) {
      rows_to(nullptr);
      sum.run(cuda::ScaleGradTerms<T>{norm.columns(), x.data(), dy.data(), moments}, dscale.data());
    }
    if (dbias) sum.run(cuda::Elements<T>{dy.data()}, dbias.data());
    if (dx) rows_to(dx.data());
  });
}

template <class T>
Kernel norm_grad_kernel(const KernelContext& context, NormRows rows) {
  const auto x = context.input<T>("X");
  const cpu::LayerNorm norm = rows(context, x.shape());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) return norm_grad_on_cuda<T>(context, norm);
  }
  const Tensor sums({Shape{cpu::layer_norm_scratch(norm)}, DType::kFloat64});
  return
      [=, dy = context.input<T>("Y@GRAD"), scale = optional_input<T>(context, "Scale"),
       dx = context.optional_output<T>("X@GRAD"), dscale = context.optional_output<T>("Scale@GRAD"),
       dbias = context.optional_output<T>("Bias@GRAD")] {
        cpu::layer_norm_grad(norm, x.data(), data_or_null(scale), dy.data(),
                             static_cast<double*>(sums.raw()), data_or_null(dx),
                             data_or_null(dscale), data_or_null(dbias));
      };
}

template Kernel norm_kernel<float>(const KernelContext&, NormRows);
template Kernel norm_kernel<double>(const KernelContext&, NormRows);
template Kernel norm_grad_kernel<float>(const KernelContext&, NormRows);
template Kernel norm_grad_kernel<double>(const KernelContext&, NormRows);

void check_norm(const InferContext& context, const Shape& factors) {
  require_not_negative(context, {"epsilon"});
  for (const char* slot : {"Scale", "Bias"}) {
    if (context.has_input(slot)) require_spec(context, slot, {factors, context.input("X").dtype});
  }
}

OpDef norm_op(const std::string& type, std::string_view factors, std::string_view x) {
  return with_epsilon(OpDef(type))
      .input("X", str_cat(x, ", floating"))
      .input("Scale", str_cat(factors, ", dtype of X"), {.optional = true})
      .input("Bias", str_cat(factors, ", dtype of X"), {.optional = true})
      .output("Y", "shape and dtype of X")
      .in_place("X", "Y")
      .grad(standard_grad({.inputs = {"X", "Scale"},
                           .differentiable = {"X", "Scale", "Bias"},
                           .cotangents = {"Y"}}));
}

OpDef norm_grad_op(const std::string& type, NormCheck check) {
  return with_epsilon(OpDef(type + "_grad"))
      .input("X", "input of the forward operator")
      .input("Scale", "input of the forward operator", {.optional = true})
      .input("Y@GRAD", "gradient of Y, shape of Y")
      .output("X@GRAD", "gradient of X, shape of X")
      .output("Scale@GRAD", "gradient of Scale", {.optional = true})
      .output("Bias@GRAD", "gradient of Bias", {.optional = true})
      .infer([check](InferContext& context) {
        const Shape factors = check(context);
        const TensorSpec& x = context.input("X");
        require_spec(context, "Y@GRAD", x);
        context.set_output("X@GRAD", x);
        context.set_output("Scale@GRAD", {factors, x.dtype});
        context.set_output("Bias@GRAD", {factors, x.dtype});
      })
      .in_place("Y@GRAD", "X@GRAD");
}

}  // namespace fluidcore
