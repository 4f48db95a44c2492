#include <memory>
#include <optional>

#include "fluidcore/kernels/cpu/broadcast.h"
#include "fluidcore/kernels/cpu/copy.h"
#include "fluidcore/kernels/cpu/reduce.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

constexpr const char* kAxisDoc =
    "the dimension of X where Y's dimensions begin; -1: the last dimensions of the two meet, and "
    "either may be broadcast";

// The shapes of X and Y with extents of 1 added, so that they have the rank of the output.
struct Aligned {
  Shape x;
  Shape y;
  Shape out;
};

Aligned align_operands(const KernelContext& context, const Shape& x, const Shape& y) {
  const std::int64_t axis = context.attr<std::int64_t>("axis");
  Aligned aligned;
  aligned.out = broadcast(x, y, axis, context.type());
  const std::size_t rank = aligned.out.rank();
  aligned.x = align(x, -1, rank, rank);
  // A Y of shape [1] fits anywhere, so its place does not matter.
  aligned.y = axis >= 0 && y == Shape{1} ? Shape(std::vector<std::int64_t>(rank, 1))
                                         : align(y, axis, x.rank(), rank);
  return aligned;
}

template <class Formula, class T, class Out>
Kernel binary(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto y = context.input<T>("Y");
  const auto out = context.output<Out>("Out");
  if (x.shape() == y.shape()) {
    return [size = out.size(), x, y, out] {
      cpu::elementwise(Formula(), size, out.data(), x.data(), y.data());
    };
  }
  const Aligned shapes = align_operands(context, x.shape(), y.shape());
  const auto nest =
      std::make_shared<const cpu::BroadcastNest>(shapes.out, std::vector{shapes.x, shapes.y});
  return [nest, x, y, out] {
    cpu::broadcast_elementwise(*nest, Formula(), out.data(), x.data(), y.data());
  };
}

// Which dimensions of `out` must be summed to give a tensor of the aligned shape `operand`.
std::vector<bool> repeated_axes(const Shape& out, const Shape& operand) {
  std::vector<bool> repeated(out.rank());
  for (std::size_t i = 0; i < out.rank(); ++i) repeated[i] = operand[i] == 1 && out[i] != 1;
  return repeated;
}

// The gradient of an operand of X + Y or X - Y: factor * Out@GRAD, summed over the dimensions that
// the operand was repeated in. `factor` is 1 or -1.
template <class T>
Kernel sum_of_cotangent(Arg<const T> dout, Arg<T> grad, const Shape& out, const Shape& operand, double factor) {
  if (!grad) return nothing_to_do();
  if (operand == out) {
    if (factor == 1.0) {
      const std::int64_t bytes = grad.size() * static_cast<std::int64_t>(sizeof(T));
      return [=] { cpu::copy_bytes(grad.data(), dout.data(), bytes); };
    }
    return [=, size = grad.size()] {
      cpu::elementwise(Negate(), size, grad.data(), dout.data());
    };
  }
  const auto sum =
      std::make_shared<cpu::Reduction<cpu::SumOf, T>>(out, repeated_axes(out, operand));
  return [=] { sum->run(dout.data(), grad.data(), factor); };
}

Kernel both(Kernel first, Kernel second) {
  return [first = std::move(first), second = std::move(second)] {
    first();
    second();
  };
}

// Of X + Y (sign 1) and X - Y (sign -1).
template <class T, int sign>
Kernel additive_grad(const KernelContext& context) {
  const auto dout = context.input<T>("Out@GRAD");
  const Aligned shapes =
      align_operands(context, context.input<T>("X").shape(), context.input<T>("Y").shape());
  return both(sum_of_cotangent<T>(dout, context.optional_output<T>("X@GRAD"), shapes.out, shapes.x, 1.0),
              sum_of_cotangent<T>(dout, context.optional_output<T>("Y@GRAD"), shapes.out, shapes.y, sign));
}

// The gradient of one operand: formula(X, Y, Out@GRAD), summed over the dimensions that the operand
// was repeated in.
template <class Formula, class T>
Kernel operand_grad(const KernelContext& context, Arg<T> grad, const Shape& operand, const Aligned& shapes) {
  if (!grad) return nothing_to_do();
  const auto x = context.input<T>("X");
  const auto y = context.input<T>("Y");
  const auto dout = context.input<T>("Out@GRAD");
  const auto nest =
      std::make_shared<const cpu::BroadcastNest>(shapes.out, std::vector{shapes.x, shapes.y});
  if (operand == shapes.out) {
    return [=] {
      cpu::broadcast_elementwise(*nest, Formula(), grad.data(), x.data(), y.data(), dout.data());
    };
  }
  using C = ComputeType<T>;
  const Tensor terms({shapes.out, dtype_of<C>});
  const auto sum = std::make_shared<cpu::Reduction<cpu::SumOf, C, T>>(
      shapes.out, repeated_axes(shapes.out, operand));
  return [=] {
    auto* const all = static_cast<C*>(terms.raw());
    cpu::broadcast_elementwise(*nest, Formula(), all, x.data(), y.data(), dout.data());
    sum->run(all, grad.data());
  };
}

template <class FormulaX, class FormulaY, class T>
Kernel binary_grad(const KernelContext& context) {
  const Aligned shapes =
      align_operands(context, context.input<T>("X").shape(), context.input<T>("Y").shape());
  return both(
      operand_grad<FormulaX, T>(context, context.optional_output<T>("X@GRAD"), shapes.x, shapes),
      operand_grad<FormulaY, T>(context, context.optional_output<T>("Y@GRAD"), shapes.y, shapes));
}

InferFn infer_binary(std::optional<DType> out_dtype) {
  return [out_dtype](InferContext& context) {
    const TensorSpec& x = context.input("X");
    const TensorSpec& y = context.input("Y");
    require(x.dtype == y.dtype, context.type(), ": X and Y must have the same dtype, got ", x.dtype,
            " and ", y.dtype, "; write cast(y, '", x.dtype, "')");
    context.set_output("Out", {broadcast(x.shape, y.shape, context.attr<std::int64_t>("axis"),
                                         context.type()),
                               out_dtype.value_or(x.dtype)});
  };
}

GradMaker operands_grad() {
  return standard_grad({.inputs = {"X", "Y"}, .differentiable = {"X", "Y"}});
}

OpDef binary_op(const std::string& type, const std::string& formula) {
  return OpDef(type)
      .doc("Out = " + formula + ", element by element, Y broadcast to X.")
      .input("X", "any shape")
      .input("Y", "a shape that broadcasts with X: equal to X, [1], a run of X's dimensions, or as NumPy")
      .output("Out", "the broadcast shape")
      .attr("axis", std::int64_t{-1}, kAxisDoc);
}

OpDef binary_grad_op(const std::string& type, const std::string& formulas, bool reads_operands) {
  const SlotTraits traits{.shape_only = !reads_operands};
  return OpDef(type + "_grad")
      .doc(formulas + ", each summed over the dimensions that were broadcast.")
      .input("X", "input of the forward operator", traits)
      .input("Y", "input of the forward operator", traits)
      .input("Out@GRAD", "gradient of Out, the broadcast shape")
      .output("X@GRAD", "gradient of X, shape of X")
      .output("Y@GRAD", "gradient of Y, shape of Y")
      .attr("axis", std::int64_t{-1}, kAxisDoc)
      .infer(infer_grads_like_inputs);
}

template <class Formula, class... T>
KernelTable binary_kernels() {
  return cpu_kernels<T...>([](auto tag) -> KernelFactory {
    using Type = typename decltype(tag)::type;
    return binary<Formula, Type, Type>;
  });
}

template <class Formula>
OpDef arithmetic(const std::string& type, const std::string& formula) {
  return binary_op(type, formula)
      .infer(infer_binary(std::nullopt))
      .kernels(binary_kernels<Formula, float, double, Float16, BFloat16>())
      .in_place("X", "Out")
      .in_place("Y", "Out")
      .grad(operands_grad());
}

template <class Formula>
OpDef integer_arithmetic(const std::string& type, const std::string& formula) {
  return arithmetic<Formula>(type, formula)
      .kernels(binary_kernels<Formula, std::int32_t, std::int64_t>());
}

template <int sign>
OpDef additive_grad_op(const std::string& type, const std::string& formulas) {
  return binary_grad_op(type, formulas, false)
      .kernels(floating_cpu_kernels([](auto tag) -> KernelFactory {
        return additive_grad<typename decltype(tag)::type, sign>;
      }));
}

template <class FormulaX, class FormulaY>
OpDef arithmetic_grad(const std::string& type, const std::string& formulas) {
  return binary_grad_op(type, formulas, true)
      .kernels(floating_cpu_kernels([](auto tag) -> KernelFactory {
        return binary_grad<FormulaX, FormulaY, typename decltype(tag)::type>;
      }));
}

}  // namespace

void register_elementwise_ops(OpRegistry& registry) {
  registry.add(integer_arithmetic<Add>("elementwise_add", "X + Y"));
  registry.add(additive_grad_op<1>("elementwise_add", "X@GRAD = Out@GRAD, Y@GRAD = Out@GRAD"));

  registry.add(integer_arithmetic<Sub>("elementwise_sub", "X - Y"));
  registry.add(additive_grad_op<-1>("elementwise_sub", "X@GRAD = Out@GRAD, Y@GRAD = -Out@GRAD"));

  registry.add(integer_arithmetic<Mul>("elementwise_mul", "X * Y"));
  registry.add(arithmetic_grad<MulGradX, MulGradY>(
      "elementwise_mul", "X@GRAD = Out@GRAD * Y, Y@GRAD = Out@GRAD * X"));

  registry.add(integer_arithmetic<Div>(
      "elementwise_div", "X / Y (integers: toward zero, and 0 where Y is 0)"));
  registry.add(arithmetic_grad<DivGradX, DivGradY>(
      "elementwise_div", "X@GRAD = Out@GRAD / Y, Y@GRAD = -Out@GRAD * X / Y^2"));

  registry.add(integer_arithmetic<Max>("elementwise_max", "max(X, Y), NaN where one of them is"));
  registry.add(arithmetic_grad<MaxGradX, MaxGradY>(
      "elementwise_max", "X@GRAD = Out@GRAD where X > Y, Y@GRAD = Out@GRAD where X <= Y"));

  registry.add(integer_arithmetic<Min>("elementwise_min", "min(X, Y), NaN where one of them is"));
  registry.add(arithmetic_grad<MinGradX, MinGradY>(
      "elementwise_min", "X@GRAD = Out@GRAD where X < Y, Y@GRAD = Out@GRAD where X >= Y"));

  registry.add(arithmetic<Pow>("elementwise_pow", "X^Y"));
  registry.add(arithmetic_grad<PowGradX, PowGradY>(
      "elementwise_pow", "X@GRAD = Out@GRAD * Y * X^(Y-1), Y@GRAD = Out@GRAD * X^Y * log(X)"));

  registry.add(binary_op("less_than", "X < Y")
                   .infer(infer_binary(DType::kBool))
                   .kernels(cpu_kernels<std::int32_t, std::int64_t, float, double, Float16,
                                        BFloat16>([](auto tag) -> KernelFactory {
                     return binary<Less, typename decltype(tag)::type, bool>;
                   }))
                   .not_differentiable());
}

}  // namespace fluidcore
