#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/binary.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

// Narrower numbers are converted: they share these loops.
template <class Formula, bool swapped, class... T>
OpDef comparison(const std::string& type, const std::string& formula) {
  return binary_op(type, formula)
      .infer(infer_binary(DType::kBool))
      .kernels(kernels_everywhere<std::int64_t, float, double, T...>([](auto tag) -> KernelFactory {
        return binary<Formula, typename decltype(tag)::type, bool, swapped>;
      }))
      .not_differentiable();
}

// Which operand is the result does not change with a small change of the two: the gradient operator
// itself says so, of operands repeated to the shape of Out.
Decompose choice_grad(const std::string& type) {
  return [type](Decomposition& d) {
    const Expr x = d.input("X");
    const Expr y = d.input("Y");
    const Expr dout = d.input("Out@GRAD");
    const Expr is_y = d.constant(type + "_grad",
                                 {{"X", with_axis("elementwise_add", x, d.filled_like(y, 0.0))},
                                  {"Y", with_axis("elementwise_add", d.filled_like(x, 0.0), y)},
                                  {"Out@GRAD", d.filled_like(dout, 1.0)}},
                                 {}, "Y@GRAD");
    set_operand_grads(d, dout * (1.0 - is_y), dout * is_y);
  };
}

}  // namespace

void register_comparison_ops(OpRegistry& registry) {
  registry.add(
      wide_integer_arithmetic<Max>("elementwise_max", "max(X, Y), NaN where one of them is"));
  registry.add(arithmetic_grad<MaxGradX, MaxGradY>(
                   "elementwise_max",
                   "X@GRAD = Out@GRAD where X >= Y, Y@GRAD = Out@GRAD where X < Y",
                   {.needs_no_gradient = true})
                   .decompose(choice_grad("elementwise_max")));

  registry.add(
      wide_integer_arithmetic<Min>("elementwise_min", "min(X, Y), NaN where one of them is"));
  registry.add(arithmetic_grad<MinGradX, MinGradY>(
                   "elementwise_min",
                   "X@GRAD = Out@GRAD where X <= Y, Y@GRAD = Out@GRAD where X > Y",
                   {.needs_no_gradient = true})
                   .decompose(choice_grad("elementwise_min")));

  registry.add(comparison<Less, false>("less_than", "X < Y"));
  registry.add(comparison<LessEqual, false>("less_equal", "X <= Y"));
  registry.add(comparison<Less, true>("greater_than", "X > Y"));
  registry.add(comparison<LessEqual, true>("greater_equal", "X >= Y"));
  registry.add(comparison<Equal, false, bool>("equal", "X == Y"));
  registry.add(comparison<NotEqual, false, bool>("not_equal", "X != Y"));
}

}  // namespace fluidcore
