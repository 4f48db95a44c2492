#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "fluidcore/kernels/cpu/layer_norm.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/op/op_def.h"
#include "fluidcore/ops/elementwise.h"

namespace fluidcore {

// What normalizations of rows have in common: X, Scale, Bias and Y, their gradients, epsilon.

// The rows of an operator's X.
using NormRows = cpu::LayerNorm (*)(const KernelContext&, const Shape& x);

template <class T>
Kernel norm_kernel(const KernelContext& context, NormRows rows);
template <class T>
Kernel norm_grad_kernel(const KernelContext& context, NormRows rows);

template <NormRows rows>
KernelTable norm_kernels() {
  return kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
    return [](const KernelContext& context) {
      return norm_kernel<typename decltype(tag)::type>(context, rows);
    };
  });
}
template <NormRows rows>
KernelTable norm_grad_kernels() {
  return kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
    return [](const KernelContext& context) {
      return norm_grad_kernel<typename decltype(tag)::type>(context, rows);
    };
  });
}

// The operator `type` and its gradient, but for attributes, documentation, inference of statistics
// and kernels. `factors` is the shape of Scale and Bias. `check` checks the operator's attributes
// and X, and gives that shape.
using NormCheck = Shape (*)(const InferContext&);
OpDef norm_op(const std::string& type, std::string_view factors, std::string_view x);
OpDef norm_grad_op(const std::string& type, NormCheck check);

// Throws InvalidArgument for an epsilon below 0, and for Scale and Bias of another shape.
void check_norm(const InferContext& context, const Shape& factors);

// The gradients of a normalization, as expressions. X and Y@GRAD in the form in which `mean` takes
// the mean of each row and `scale` multiplies with Scale; X@GRAD in that form.
struct NormGrads {
  Expr normalized;
  Expr x_grad;
};
template <class Mean, class Scale>
NormGrads norm_grads(
    const Expr& x, const Expr& dy, double epsilon, bool centered, const Mean& mean, Scale scale) {
  const Expr centered_x = centered ? x - mean(x) : x;
  const Expr variance = mean(square(centered_x)) + epsilon;
  const Expr inv_std = 1.0 / x.owner().op("sqrt", {{"X", variance}});
  const Expr normalized = centered_x * inv_std;
  const Expr passed = scale(dy);
  // What would shift or stretch a whole row is undone by its statistics.
  const Expr stretch = normalized * mean(passed * normalized);
  const Expr rest = centered ? passed - mean(passed) : passed;
  return {normalized, inv_std * (rest - stretch)};
}

}  // namespace fluidcore
