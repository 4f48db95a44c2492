#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/kernels/functors.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

constexpr GradFrom kInput = GradFrom::kInput;
constexpr GradFrom kOutput = GradFrom::kOutput;
const SlotTraits kJumps{.needs_no_gradient = true};

// Adds the operator, and gives its gradient operator.
template <class Formula, class GradFormula, GradFrom from>
OpDef add_activation(OpRegistry& registry,
                     const std::string& type,
                     const std::string& formula,
                     const std::string& grad_formula,
                     SlotTraits traits = {}) {
  registry.add(unary_op(type, "Out = " + formula + ", element by element.")
                   .kernels(unary_kernels<Formula>())
                   .grad(unary_grad(from)));
  return unary_grad_op(type + "_grad", "X@GRAD = " + grad_formula + ".", from, std::move(traits))
      .kernels(unary_grad_kernels<GradFormula, from>());
}

// X@GRAD = formula(value, Out@GRAD), where value is X or Out as the gradient operator has it.
template <GradFrom from>
Decompose smooth_grad(Expr (*formula)(const Expr& value, const Expr& dout)) {
  return [formula](Decomposition& d) {
    d.set("X@GRAD", formula(d.input(from == kInput ? "X" : "Out"), d.input("Out@GRAD")));
  };
}

// The gradient 0, which a Fluid program has as an operator too.
std::vector<OpDesc> zero_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  return {OpDesc("scale", {{"X", context.output_grad("Out")}}, {{"Out", grads}}, {{"scale", 0.0}})};
}

template <class T>
Kernel gelu(const KernelContext& context) {
  return context.attr<bool>("approximate")
             ? cpu_unary<GeluTanh, T, without_attributes<GeluTanh>>(context)
             : cpu_unary<GeluErf, T, without_attributes<GeluErf>>(context);
}

template <class T>
Kernel gelu_grad(const KernelContext& context) {
  constexpr GradFrom kFrom = GradFrom::kInput;
  return context.attr<bool>("approximate")
             ? cpu_unary_grad<GeluTanhGrad, kFrom, T, without_attributes<GeluTanhGrad>>(context)
             : cpu_unary_grad<GeluErfGrad, kFrom, T, without_attributes<GeluErfGrad>>(context);
}

// P(N(0, 1) <= x) + x times the density there.
Expr gelu_erf_slope(const Expr& x) {
  const Expr erf = x.owner().op("erf", {{"X", std::sqrt(0.5) * x}});
  const Expr density = x.owner().op("exp", {{"X", -0.5 * square(x)}});
  return 0.5 * (1.0 + erf) + (GeluErfGrad::kDensity * x) * density;
}

// The derivative of x (1 + tanh(u)) / 2, where u = scale (x + cubic x^3).
Expr gelu_tanh_slope(const Expr& x) {
  const Expr scaled = GeluTanh::kScale * x;
  const Expr bent = (GeluTanh::kScale * GeluTanh::kCubic) * (square(x) * x);
  const Expr t = x.owner().op("tanh", {{"X", scaled + bent}});
  return 0.5 * (1.0 + t + (1.0 - square(t)) * (scaled + 3.0 * bent));
}

void add_gelu(OpRegistry& registry) {
  const char* doc = "whether P is approximated: (1 + tanh(sqrt(2 / pi) (X + 0.044715 X^3))) / 2";
  registry.add(unary_op("gelu", "Out = X P(N(0, 1) <= X), element by element.")
                   .attr("approximate", false, doc)
                   .kernels(floating_cpu_kernels([](auto tag) -> KernelFactory {
                     return gelu<typename decltype(tag)::type>;
                   }))
                   .grad(unary_grad(GradFrom::kInput)));
  registry.add(unary_grad_op("gelu_grad", "X@GRAD = Out@GRAD times the derivative of gelu at X.",
                             GradFrom::kInput)
                   .attr("approximate", false, doc)
                   .kernels(floating_cpu_kernels([](auto tag) -> KernelFactory {
                     return gelu_grad<typename decltype(tag)::type>;
                   }))
                   .decompose([](Decomposition& d) {
                     const Expr x = d.input("X");
                     const Expr slope =
                         d.attr<bool>("approximate") ? gelu_tanh_slope(x) : gelu_erf_slope(x);
                     d.set("X@GRAD", d.input("Out@GRAD") * slope);
                   }));
}

}  // namespace

void register_activation_ops(OpRegistry& registry) {
  registry.add(add_activation<Relu, ReluGrad, kOutput>(registry, "relu", "max(X, 0)",
                                                       "Out@GRAD where Out > 0, else 0", kJumps)
                   .grad(self_adjoint_grad("relu_grad", "Out")));
  registry.add(add_activation<Sigmoid, SigmoidGrad, kOutput>(
                   registry, "sigmoid", "1 / (1 + exp(-X))", "Out@GRAD Out (1 - Out)")
                   .decompose(smooth_grad<kOutput>([](const Expr& out, const Expr& dout) {
                     return dout * (out * (1.0 - out));
                   })));
  registry.add(
      add_activation<Tanh, TanhGrad, kOutput>(registry, "tanh", "tanh(X)", "Out@GRAD (1 - Out^2)")
          .decompose(smooth_grad<kOutput>(
              [](const Expr& out, const Expr& dout) { return dout * (1.0 - square(out)); })));
  registry.add(add_activation<Exp, ExpGrad, kOutput>(registry, "exp", "e^X", "Out@GRAD Out")
                   .decompose(smooth_grad<kOutput>(
                       [](const Expr& out, const Expr& dout) { return dout * out; })));
  registry.add(add_activation<Log, LogGrad, kInput>(registry, "log", "the natural logarithm of X",
                                                    "Out@GRAD / X")
                   .decompose(smooth_grad<kInput>(
                       [](const Expr& x, const Expr& dout) { return dout / x; })));
  registry.add(
      add_activation<Sin, SinGrad, kInput>(registry, "sin", "the sine of X", "Out@GRAD cos(X)")
          .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
            return dout * x.owner().op("cos", {{"X", x}});
          })));
  registry.add(
      add_activation<Cos, CosGrad, kInput>(registry, "cos", "the cosine of X", "-Out@GRAD sin(X)")
          .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
            return -dout * x.owner().op("sin", {{"X", x}});
          })));
  registry.add(add_activation<Sqrt, SqrtGrad, kOutput>(registry, "sqrt", "the square root of X",
                                                       "Out@GRAD / (2 Out)")
                   .decompose(smooth_grad<kOutput>(
                       [](const Expr& out, const Expr& dout) { return 0.5 * dout / out; })));
  registry.add(add_activation<Square, SquareGrad, kInput>(registry, "square", "X^2", "2 X Out@GRAD")
                   .decompose(smooth_grad<kInput>(
                       [](const Expr& x, const Expr& dout) { return 2.0 * x * dout; })));
  registry.add(add_activation<Erf, ErfGrad, kInput>(
                   registry, "erf", "2 / sqrt(pi) times the integral of exp(-t^2) from 0 to X",
                   "2 / sqrt(pi) exp(-X^2) Out@GRAD")
                   .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
                     return ErfGrad::kScale * dout * x.owner().op("exp", {{"X", -square(x)}});
                   })));
  registry.add(add_activation<Abs, AbsGrad, kInput>(registry, "abs", "|X|",
                                                    "Out@GRAD sign(X), 0 at 0", kJumps)
                   .grad(self_adjoint_grad("abs_grad", "X")));
  registry.add(unary_op("sign", "Out = 1 where X > 0, -1 where X < 0, else X.")
                   .kernels(unary_kernels<Sign>())
                   .grad(zero_grad));
  add_gelu(registry);
}

}  // namespace fluidcore
