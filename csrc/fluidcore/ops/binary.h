#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "fluidcore/kernels/cpu/broadcast.h"
#include "fluidcore/kernels/cuda/reduce.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"

namespace fluidcore {

// The shapes of X and Y with extents of 1 added, so that they have the rank of the output.
struct Aligned {
  Shape x;
  Shape y;
  Shape out;
};

// Of the operator's X and Y, with its attribute `axis`.
Aligned align_operands(const KernelContext& context, const Shape& x, const Shape& y);

// Which dimensions of `out` must be summed to give a tensor of the aligned shape `operand`.
std::vector<bool> repeated_axes(const Shape& out, const Shape& operand);

// Inference for Out = f(X, Y); the dtype of X unless another is given.
InferFn infer_binary(std::optional<DType> out_dtype = std::nullopt);

// Declarations without kernels: slots, attributes and documentation of Out = formula, and of its
// gradient operator `<type>_grad`.
OpDef binary_op(const std::string& type, const std::string& formula);
OpDef binary_grad_op(const std::string& type,
                     const std::string& formulas,
                     SlotTraits x = {},
                     SlotTraits y = {});

// `<type>_grad` with X, Y and Out@GRAD.
GradMaker operands_grad();

// Out = type(x, y), where y begins at the dimension of x that the attribute `axis` of the
// decomposed operator says.
Expr with_axis(const std::string& type, const Expr& x, const Expr& y);
// Of the decomposed `<type>_grad`: X@GRAD and Y@GRAD from what they are for each element of Out.
void set_operand_grads(Decomposition& d, const Expr& x_terms, const Expr& y_terms);

// X and Y or, if swapped, Y and X.
struct Operands {
  const Cell* first;
  const Cell* second;
  std::shared_ptr<const cpu::BroadcastNest> nest;
};
Operands operands_of(const KernelContext& context, const Cell* x, const Cell* y, bool swapped);

// Out = formula(X, Y) or, if swapped, formula(Y, X).
template <class Formula, class T, class Out, bool swapped = false>
Kernel binary(const KernelContext& context) {
  const Operands in =
      operands_of(context, context.input<T>("X").cell(), context.input<T>("Y").cell(), swapped);
  return broadcast_kernel(in.nest, Formula(), context.output<Out>("Out"), Arg<const T>(in.first),
                          Arg<const T>(in.second));
}

// grad = formula(in...), for each element of `out`, summed over the dimensions in which `operand`
// was repeated. `in` are the operands of `nest`; `formula` gives the type to calculate in.
Kernel sum_to_operand(const cpu::StreamFormula& formula,
                      const std::shared_ptr<const cpu::BroadcastNest>& nest,
                      const Shape& out,
                      const Shape& operand,
                      const Cell* grad,
                      const std::vector<const Cell*>& in);

// The gradient of one operand, on every device.
template <class Formula, class T, class... In>
Kernel operand_grad(const KernelContext& context,
                    const Formula& formula,
                    const std::shared_ptr<const cpu::BroadcastNest>& nest,
                    const Shape& out,
                    const Shape& operand,
                    Arg<T> grad,
                    Arg<In>... in) {
  using C = ComputeType<T>;
  if (operand == out) return broadcast_kernel(nest, formula, grad, in...);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const cuda::Reduction<SumOf, C, T> sum(context.device(), context.scratch(), out,
                                             repeated_axes(out, operand));
      return Kernel::enqueued([=, index = cuda::BroadcastIndex<sizeof...(In)>(*nest)] {
        sum.run(cuda::broadcast_elements(formula, index, in.data()...), grad.data());
      });
    }
  }
  return sum_to_operand(cpu::stream_formula<C, std::remove_const_t<In>...>(formula), nest, out,
                        operand, grad.cell(), {in.cell()...});
}

// The gradients of both: formula(X, Y, Out@GRAD), summed over the dimensions that the operand was
// repeated in.
template <class FormulaX, class FormulaY, class T>
Kernel binary_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto y = context.input<T>("Y");
  const auto dout = context.input<T>("Out@GRAD");
  const Aligned shapes = align_operands(context, x.shape(), y.shape());
  const auto nest = std::make_shared<const cpu::BroadcastNest>(
      shapes.out, std::vector{shapes.x, shapes.y, shapes.out});
  const auto grad = [&](const auto& formula, const char* slot, const Shape& operand) {
    const auto out = context.optional_output<T>(slot);
    if (!out) return nothing_to_do();
    return operand_grad(context, formula, nest, shapes.out, operand, out, x, y, dout);
  };
  return both(grad(FormulaX(), "X@GRAD", shapes.x), grad(FormulaY(), "Y@GRAD", shapes.y));
}

template <class Formula, class... T>
KernelTable binary_kernels() {
  return kernels_everywhere<T...>([](auto tag) -> KernelFactory {
    using Type = typename decltype(tag)::type;
    return binary<Formula, Type, Type>;
  });
}

template <class Formula>
KernelTable floating_binary_kernels() {
  return floating_kernels_everywhere([](auto tag) -> KernelFactory {
    using Type = typename decltype(tag)::type;
    return binary<Formula, Type, Type>;
  });
}

template <class Formula>
OpDef arithmetic(const std::string& type, const std::string& formula) {
  return binary_op(type, formula)
      .infer(infer_binary())
      .kernels(floating_binary_kernels<Formula>())
      .in_place("X", "Out")
      .in_place("Y", "Out")
      .grad(operands_grad());
}

// Narrow integers are converted: they share the loop.
template <class Formula>
OpDef wide_integer_arithmetic(const std::string& type, const std::string& formula) {
  return arithmetic<Formula>(type, formula).kernels(binary_kernels<Formula, std::int64_t>());
}

template <class Formula>
OpDef integer_arithmetic(const std::string& type, const std::string& formula) {
  return arithmetic<Formula>(type, formula)
      .kernels(binary_kernels<Formula, std::int32_t, std::int64_t>());
}

template <class FormulaX, class FormulaY>
OpDef arithmetic_grad(const std::string& type,
                      const std::string& formulas,
                      const SlotTraits& traits = {}) {
  return binary_grad_op(type, formulas, traits, traits)
      .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
        return binary_grad<FormulaX, FormulaY, typename decltype(tag)::type>;
      }));
}

}  // namespace fluidcore
