#include "fluidcore/kernels/cpu/copy.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/binary.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

// The gradient of an operand of X + Y or X - Y: factor * Out@GRAD, summed over the dimensions that
// the operand was repeated in. `factor` is 1 or -1.
template <class T>
Kernel sum_of_cotangent(
    Arg<const T> dout, Arg<T> grad, const Shape& out, const Shape& operand, double factor) {
  if (!grad) return nothing_to_do();
  if (operand == out) {
    if (factor == 1.0) {
      const std::int64_t bytes = grad.size() * static_cast<std::int64_t>(sizeof(T));
      return [=] { cpu::copy_bytes(grad.data(), dout.data(), bytes); };
    }
    return [=, size = grad.size()] { cpu::elementwise(Negate(), size, grad.data(), dout.data()); };
  }
  const auto sum =
      std::make_shared<cpu::Reduction<cpu::SumOf, T>>(out, repeated_axes(out, operand));
  return [=] { sum->run(dout.data(), grad.data(), factor); };
}

// Of X + Y (sign 1) and X - Y (sign -1).
template <class T, int sign>
Kernel additive_grad(const KernelContext& context) {
  const auto dout = context.input<T>("Out@GRAD");
  const Aligned shapes =
      align_operands(context, context.input<T>("X").shape(), context.input<T>("Y").shape());
  return both(
      sum_of_cotangent<T>(dout, context.optional_output<T>("X@GRAD"), shapes.out, shapes.x, 1.0),
      sum_of_cotangent<T>(dout, context.optional_output<T>("Y@GRAD"), shapes.out, shapes.y, sign));
}

template <int sign>
OpDef additive_grad_op(const std::string& type, const std::string& formulas) {
  return binary_grad_op(type, formulas, false)
      .kernels(floating_cpu_kernels([](auto tag) -> KernelFactory {
        return additive_grad<typename decltype(tag)::type, sign>;
      }));
}

}  // namespace

void register_elementwise_ops(OpRegistry& registry) {
  registry.add(integer_arithmetic<Add>("elementwise_add", "X + Y"));
  registry.add(additive_grad_op<1>("elementwise_add", "X@GRAD = Out@GRAD, Y@GRAD = Out@GRAD"));

  registry.add(integer_arithmetic<Sub>("elementwise_sub", "X - Y"));
  registry.add(additive_grad_op<-1>("elementwise_sub", "X@GRAD = Out@GRAD, Y@GRAD = -Out@GRAD"));

  registry.add(integer_arithmetic<Mul>("elementwise_mul", "X * Y"));
  registry.add(arithmetic_grad<MulGradX, MulGradY>("elementwise_mul",
                                                   "X@GRAD = Out@GRAD * Y, Y@GRAD = Out@GRAD * X"));

  registry.add(integer_arithmetic<Div>("elementwise_div",
                                       "X / Y (integers: toward zero, and 0 where Y is 0)"));
  registry.add(arithmetic_grad<DivGradX, DivGradY>(
      "elementwise_div", "X@GRAD = Out@GRAD / Y, Y@GRAD = -Out@GRAD * X / Y^2"));

  registry.add(arithmetic<Pow>("elementwise_pow", "X^Y"));
  registry.add(arithmetic_grad<PowGradX, PowGradY>(
      "elementwise_pow", "X@GRAD = Out@GRAD * Y * X^(Y-1), Y@GRAD = Out@GRAD * X^Y * log(X)"));
}

}  // namespace fluidcore
