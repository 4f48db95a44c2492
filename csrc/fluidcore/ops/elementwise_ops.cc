#include <string>
#include <vector>

#include "fluidcore/base/strings.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/bilinear.h"
#include "fluidcore/ops/binary.h"
#include "fluidcore/ops/reduction_kernel.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/same_elements.h"

namespace fluidcore {

namespace {

// The gradient of an operand of X + Y or X - Y: factor * Out@GRAD, summed over the dimensions that
// the operand was repeated in. `factor` is 1 or -1.
template <class T>
Kernel sum_of_cotangent(const KernelContext& context,
                        Arg<const T> dout,
                        Arg<T> grad,
                        const Shape& out,
                        const Shape& operand,
                        double factor) {
  if (!grad) return nothing_to_do();
  if (operand == out) {
    if (factor != 1.0) return map_kernel(Negate(), grad, dout);
    return copy_elements(Arg<const void>(dout.cell()), Arg<void>(grad.cell()));
  }
  return reduction<SumOf, T>(context, out, repeated_axes(out, operand), dout, grad, factor);
}

// Of X + Y (sign 1) and X - Y (sign -1).
template <class T, int sign>
Kernel additive_grad(const KernelContext& context) {
  const auto dout = context.input<T>("Out@GRAD");
  const Aligned shapes =
      align_operands(context, context.input<T>("X").shape(), context.input<T>("Y").shape());
  return both(sum_of_cotangent<T>(context, dout, context.optional_output<T>("X@GRAD"), shapes.out,
                                  shapes.x, 1.0),
              sum_of_cotangent<T>(context, dout, context.optional_output<T>("Y@GRAD"), shapes.out,
                                  shapes.y, sign));
}

// The gradient of Out@GRAD: X@GRAD and Y@GRAD were its sums over what an operand was repeated in,
// so their gradients are repeated and go the way of X and Y. One that was not wanted counts as 0.
GradMaker additive_grad_grad(const std::string& type) {
  return [type](GradContext& context) -> std::vector<OpDesc> {
    const std::vector<std::string> wanted = context.input_grad("Out@GRAD");
    if (wanted.empty() || wanted[0] == kEmptyName) return {};
    if (context.forward().output_arg_names().empty()) return {};
    std::vector<OpDesc> ops;
    const auto operand = [&](const std::string& slot) {
      std::vector<std::string> names = context.output_grad(grad_name(slot));
      if (!names.empty() && names[0] != kEmptyName) return names;
      names = {str_cat(context.forward().output_arg_names()[0], "@ZEROS@", slot)};
      ops.emplace_back("fill_zeros_like", SlotMap{{"X", context.input(slot)}},
                       SlotMap{{"Out", names}});
      return names;
    };
    SlotMap operands{{"X", operand("X")}, {"Y", operand("Y")}};
    ops.emplace_back(type, std::move(operands), SlotMap{{"Out", wanted}},
                     context.forward().attrs());
    return ops;
  };
}

// The gradient 0, which a Fluid program has as operators too.
std::vector<OpDesc> zero_grads(GradContext& context) {
  const std::vector<std::string> incoming = context.output_grad("Out");
  const std::vector<std::string> zeros = {incoming[0] + "@ZEROS"};
  return {OpDesc("scale", {{"X", incoming}}, {{"Out", zeros}}, {{"scale", 0.0}}),
          OpDesc("elementwise_add_grad",
                 {{"X", context.input("X")}, {"Y", context.input("Y")}, {"Out@GRAD", zeros}},
                 {{"X@GRAD", context.input_grad("X")}, {"Y@GRAD", context.input_grad("Y")}},
                 context.forward().attrs())};
}

void decompose_mod_grad(Decomposition& d) {
  const Expr dout = d.input("Out@GRAD");
  const Expr quotient = with_axis("elementwise_floordiv", d.input("X"), d.input("Y"));
  set_operand_grads(d, dout, -(dout * quotient));
}

void decompose_div_grad(Decomposition& d) {
  const Expr x = d.input("X");
  const Expr y = d.input("Y");
  const Expr quotient = with_axis("elementwise_div", d.input("Out@GRAD"), y);
  set_operand_grads(d, quotient, -with_axis("elementwise_div", quotient * x, y));
}

void decompose_pow_grad(Decomposition& d) {
  const Expr x = d.input("X");
  const Expr y = d.input("Y");
  const Expr dout = d.input("Out@GRAD");
  // X^0 has the derivative 0 everywhere, also at 0, where X^(0 - 1) is infinite.
  const Expr base = with_axis("elementwise_mul", is_zero(x), is_zero(y)) + x;
  const Expr slope = with_axis("elementwise_mul", with_axis("elementwise_pow", base, y - 1.0), y);
  // Where X is 0, so is the power; the logarithm must not spoil that.
  const Expr log = d.op("log", {{"X", x + is_zero(x)}});
  set_operand_grads(d, dout * slope, dout * (with_axis("elementwise_pow", x, y) * log));
}

// The gradient of one factor: the other one times Out@GRAD, summed over the dimensions that the
// factor was repeated in.
template <class T>
Kernel factor_grad(const KernelContext& context,
                   Arg<T> grad,
                   const Shape& factor,
                   Arg<const T> other,
                   const Shape& other_shape,
                   const Shape& out) {
  if (!grad) return nothing_to_do();
  const auto dout = context.input<T>("Out@GRAD");
  const auto nest = std::make_shared<const cpu::BroadcastNest>(out, std::vector{other_shape, out});
  return operand_grad(context, Mul(), nest, out, factor, grad, other, dout);
}

template <class T>
Kernel elementwise_product_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto y = context.input<T>("Y");
  const Aligned shapes = align_operands(context, x.shape(), y.shape());
  return both(factor_grad<T>(context, context.optional_output<T>("X@GRAD"), shapes.x, y, shapes.y,
                             shapes.out),
              factor_grad<T>(context, context.optional_output<T>("Y@GRAD"), shapes.y, x, shapes.x,
                             shapes.out));
}

OpDef elementwise_product_grad_op() {
  return binary_grad_op("elementwise_mul", "X@GRAD = Out@GRAD * Y, Y@GRAD = Out@GRAD * X",
                        {.read_for = "Y@GRAD"}, {.read_for = "X@GRAD"})
      .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
        return elementwise_product_grad<typename decltype(tag)::type>;
      }));
}

template <int sign>
OpDef additive_grad_op(const std::string& type, const std::string& formulas) {
  return binary_grad_op(type, formulas, {.shape_only = true}, {.shape_only = true})
      .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
        return additive_grad<typename decltype(tag)::type, sign>;
      }))
      .view("Out@GRAD", "X@GRAD")
      .grad(additive_grad_grad(type));
}

}  // namespace

void register_elementwise_ops(OpRegistry& registry) {
  registry.add(integer_arithmetic<Add>("elementwise_add", "X + Y"));
  registry.add(additive_grad_op<1>("elementwise_add", "X@GRAD = Out@GRAD, Y@GRAD = Out@GRAD")
                   .view("Out@GRAD", "Y@GRAD"));

  registry.add(integer_arithmetic<Sub>("elementwise_sub", "X - Y"));
  registry.add(additive_grad_op<-1>("elementwise_sub", "X@GRAD = Out@GRAD, Y@GRAD = -Out@GRAD"));

  registry.add(integer_arithmetic<Mul>("elementwise_mul", "X * Y"));
  registry.add(
      elementwise_product_grad_op().grad(bilinear_grad_grad("elementwise_mul", "X", "Y", "Out")));

  registry.add(wide_integer_arithmetic<Div>("elementwise_div",
                                            "X / Y (integers: toward zero, and 0 where Y is 0)"));
  registry.add(arithmetic_grad<DivGradX, DivGradY>(
                   "elementwise_div", "X@GRAD = Out@GRAD / Y, Y@GRAD = -Out@GRAD * X / Y^2")
                   .decompose(decompose_div_grad));

  registry.add(wide_integer_arithmetic<FloorDiv>("elementwise_floordiv",
                                                 "X / Y rounded down (integers: 0 where Y is 0)")
                   .grad(zero_grads));

  registry.add(wide_integer_arithmetic<Mod>(
      "elementwise_mod", "X - Y floor(X / Y), of the sign of Y (integers: 0 where Y is 0)"));
  registry.add(arithmetic_grad<ModGradX, ModGradY>(
                   "elementwise_mod", "X@GRAD = Out@GRAD, Y@GRAD = -Out@GRAD floor(X / Y)")
                   .decompose(decompose_mod_grad));

  registry.add(wide_integer_arithmetic<Pow>(
      "elementwise_pow", "X^Y (integers: toward zero where Y is negative, and 0 where X is 0)"));
  registry.add(
      arithmetic_grad<PowGradX, PowGradY>(
          "elementwise_pow", "X@GRAD = Out@GRAD * Y * X^(Y-1), Y@GRAD = Out@GRAD * X^Y * log(X)")
          .decompose(decompose_pow_grad));
}

}  // namespace fluidcore
