#include <cmath>

#include "fluidcore/kernels/functors.h"
#include "fluidcore/kernels/smooth_functors.h"
#include "fluidcore/ops/activation.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/whole_numbers.h"

namespace fluidcore {

namespace {

// `op` with the attributes of the activation, which are checked before `infer` is called.
OpDef with_attrs(OpDef op, const Activation& activation, InferFn infer) {
  OpDef made = std::move(op).infer(
      [check = activation.check, infer = std::move(infer)](InferContext& context) {
        if (check != nullptr) check(context);
        infer(context);
      });
  for (const OpDef::Attr& attr : activation.attrs) {
    made = attr.required
               ? OpDef(std::move(made)).required_attr(attr.name, attr.default_value, attr.doc)
               : OpDef(std::move(made)).attr(attr.name, attr.default_value, attr.doc);
  }
  return made;
}

}  // namespace

OpDef add_activation(OpRegistry& registry,
                     const Activation& activation,
                     GradFrom from,
                     KernelTable kernels,
                     KernelTable grad_kernels) {
  const std::string& type = activation.type;
  registry.add(with_attrs(unary_op(type, "Out = " + activation.formula + ", element by element."),
                          activation, same_as("X"))
                   .kernels(std::move(kernels))
                   .kernels(activation.whole)
                   .grad(unary_grad(from)));
  return with_attrs(unary_grad_op(type + "_grad", "X@GRAD = " + activation.grad_formula + ".", from,
                                  activation.grad_traits),
                    activation, infer_unary_grad(from))
      .kernels(std::move(grad_kernels));
}

void add_self_adjoint(OpRegistry& registry, OpDef grad, const char* kept) {
  GradMaker maker = self_adjoint_grad(grad.type(), kept);
  registry.add(std::move(grad).grad(std::move(maker)));
}

Expr apply(const std::string& f, const Expr& x) {
  return x.owner().op(f, {{"X", x}});
}

// The gradient 0, which a Fluid program has as an operator too.
std::vector<OpDesc> zero_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  return {OpDesc("scale", {{"X", context.output_grad("Out")}}, {{"Out", grads}}, {{"scale", 0.0}})};
}

namespace {

template <class T>
Kernel power(const KernelContext& context) {
  using Factor = FromAttrs<"factor">;
  return math::is_small_power(context.attr<double>("factor"))
             ? cpu_unary<SmallPower, T, &Factor::make<SmallPower>>(context)
             : cpu_unary<Power, T, &Factor::make<Power>>(context);
}

// The exponent of the derivative, whose factor may be 0.
double lowered(double factor) {
  return factor == 0.0 ? 0.0 : factor - 1.0;
}

template <class T>
Kernel power_grad(const KernelContext& context) {
  using Factor = FromAttrs<"factor">;
  return math::is_small_power(lowered(context.attr<double>("factor")))
             ? cpu_unary_grad<SmallPowerGrad, kInput, T, &Factor::make<SmallPowerGrad>>(context)
             : cpu_unary_grad<PowerGrad, kInput, T, &Factor::make<PowerGrad>>(context);
}

void add_power(OpRegistry& registry) {
  const Activation activation{.type = "pow",
                              .formula = "X^factor",
                              .grad_formula = "Out@GRAD factor X^(factor - 1), 0 where factor is 0",
                              .attrs = {{"factor", 1.0, "the exponent"}}};
  registry.add(add_activation(registry, activation, kInput,
                              floating_kernels_everywhere([](auto tag) -> KernelFactory {
                                return power<ComputeType<typename decltype(tag)::type>>;
                              }),
                              floating_kernels_everywhere([](auto tag) -> KernelFactory {
                                return power_grad<ComputeType<typename decltype(tag)::type>>;
                              }))
                   .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
                     const auto factor = x.owner().attr<double>("factor");
                     return factor * dout *
                            x.owner().op("pow", {{"X", x}}, {{"factor", lowered(factor)}});
                   })));
}

}  // namespace

void register_activation_ops(OpRegistry& registry) {
  registry.add(add_activation<Sigmoid, SigmoidGrad, kOutput>(
                   registry, {"sigmoid", "1 / (1 + exp(-X))", "Out@GRAD Out (1 - Out)"})
                   .decompose(smooth_grad<kOutput>([](const Expr& out, const Expr& dout) {
                     return dout * (out * (1.0 - out));
                   })));
  registry.add(
      add_activation<Tanh, TanhGrad, kOutput>(registry, {"tanh", "tanh(X)", "Out@GRAD (1 - Out^2)"})
          .decompose(smooth_grad<kOutput>(
              [](const Expr& out, const Expr& dout) { return dout * (1.0 - square(out)); })));
  registry.add(add_activation<Exp, ExpGrad, kOutput>(registry, {"exp", "e^X", "Out@GRAD Out"})
                   .decompose(smooth_grad<kOutput>(
                       [](const Expr& out, const Expr& dout) { return dout * out; })));
  registry.add(add_activation<Log, LogGrad, kInput>(
                   registry, {"log", "the natural logarithm of X", "Out@GRAD / X"})
                   .decompose(smooth_grad<kInput>(
                       [](const Expr& x, const Expr& dout) { return dout / x; })));
  registry.add(
      add_activation<Sin, SinGrad, kInput>(registry, {"sin", "the sine of X", "Out@GRAD cos(X)"})
          .decompose(smooth_grad<kInput>(
              [](const Expr& x, const Expr& dout) { return dout * apply("cos", x); })));
  registry.add(
      add_activation<Cos, CosGrad, kInput>(registry, {"cos", "the cosine of X", "-Out@GRAD sin(X)"})
          .decompose(smooth_grad<kInput>(
              [](const Expr& x, const Expr& dout) { return -dout * apply("sin", x); })));
  registry.add(add_activation<Sqrt, SqrtGrad, kOutput>(
                   registry, {"sqrt", "the square root of X", "Out@GRAD / (2 Out)"})
                   .decompose(smooth_grad<kOutput>(
                       [](const Expr& out, const Expr& dout) { return 0.5 * dout / out; })));
  registry.add(add_activation<Square, SquareGrad, kInput>(
                   registry, {.type = "square",
                              .formula = "X^2",
                              .grad_formula = "2 X Out@GRAD",
                              .whole = whole_kernels<without_attributes<Square>>()})
                   .decompose(smooth_grad<kInput>(
                       [](const Expr& x, const Expr& dout) { return 2.0 * x * dout; })));
  registry.add(add_activation<Erf, ErfGrad, kInput>(
                   registry, {"erf", "2 / sqrt(pi) times the integral of exp(-t^2) from 0 to X",
                              "2 / sqrt(pi) exp(-X^2) Out@GRAD"})
                   .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
                     return ErfGrad::kScale * dout * apply("exp", -square(x));
                   })));
  registry.add(add_activation<Reciprocal, ReciprocalGrad, kOutput>(
                   registry, {"reciprocal", "1 / X", "-Out@GRAD Out^2"})
                   .decompose(smooth_grad<kOutput>(
                       [](const Expr& out, const Expr& dout) { return -dout * square(out); })));
  add_power(registry);
}

}  // namespace fluidcore
