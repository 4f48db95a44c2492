#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/binary.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

template <class Formula, class... T>
OpDef comparison(const std::string& type, const std::string& formula) {
  return binary_op(type, formula)
      .infer(infer_binary(DType::kBool))
      .kernels(cpu_kernels<std::int32_t, std::int64_t, float, double, Float16, BFloat16, T...>(
          [](auto tag) -> KernelFactory {
            return binary<Formula, typename decltype(tag)::type, bool>;
          }))
      .not_differentiable();
}

// Y is the result where `difference` is positive, else X.
void decompose_choice_grad(Decomposition& d, const Expr& difference) {
  const Expr dout = d.input("Out@GRAD");
  const Expr is_y = d.op("relu", {{"X", d.constant("sign", {{"X", difference}})}});
  set_operand_grads(d, dout * (1.0 - is_y), dout * is_y);
}

}  // namespace

void register_comparison_ops(OpRegistry& registry) {
  registry.add(integer_arithmetic<Max>("elementwise_max", "max(X, Y), NaN where one of them is"));
  registry.add(
      arithmetic_grad<MaxGradX, MaxGradY>(
          "elementwise_max", "X@GRAD = Out@GRAD where X >= Y, Y@GRAD = Out@GRAD where X < Y")
          .decompose([](Decomposition& d) {
            decompose_choice_grad(d, -with_axis("elementwise_sub", d.input("X"), d.input("Y")));
          }));

  registry.add(integer_arithmetic<Min>("elementwise_min", "min(X, Y), NaN where one of them is"));
  registry.add(
      arithmetic_grad<MinGradX, MinGradY>(
          "elementwise_min", "X@GRAD = Out@GRAD where X <= Y, Y@GRAD = Out@GRAD where X > Y")
          .decompose([](Decomposition& d) {
            decompose_choice_grad(d, with_axis("elementwise_sub", d.input("X"), d.input("Y")));
          }));

  registry.add(comparison<Less>("less_than", "X < Y"));
  registry.add(comparison<LessEqual>("less_equal", "X <= Y"));
  registry.add(comparison<Greater>("greater_than", "X > Y"));
  registry.add(comparison<GreaterEqual>("greater_equal", "X >= Y"));
  registry.add(comparison<Equal, bool>("equal", "X == Y"));
  registry.add(comparison<NotEqual, bool>("not_equal", "X != Y"));
}

}  // namespace fluidcore
