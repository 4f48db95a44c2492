#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

// The operator and its gradient operator.
template <class Formula, class GradFormula, GradFrom from>
void add_activation(OpRegistry& registry,
                    const std::string& type,
                    const std::string& formula,
                    const std::string& grad_formula) {
  registry.add(unary_op(type, "Out = " + formula + ", element by element.")
                   .kernels(unary_kernels<Formula>())
                   .grad(unary_grad(from)));
  registry.add(unary_grad_op(type + "_grad", "X@GRAD = " + grad_formula + ".", from)
                   .kernels(unary_grad_kernels<GradFormula, from>()));
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
                   })));
}

}  // namespace

void register_activation_ops(OpRegistry& registry) {
  constexpr GradFrom kInput = GradFrom::kInput;
  constexpr GradFrom kOutput = GradFrom::kOutput;
  add_activation<Relu, ReluGrad, kOutput>(registry, "relu", "max(X, 0)",
                                          "Out@GRAD where Out > 0, else 0");
  add_activation<Sigmoid, SigmoidGrad, kOutput>(registry, "sigmoid", "1 / (1 + exp(-X))",
                                                "Out@GRAD Out (1 - Out)");
  add_activation<Tanh, TanhGrad, kOutput>(registry, "tanh", "tanh(X)", "Out@GRAD (1 - Out^2)");
  add_activation<Exp, ExpGrad, kOutput>(registry, "exp", "e^X", "Out@GRAD Out");
  add_activation<Log, LogGrad, kInput>(registry, "log", "the natural logarithm of X",
                                       "Out@GRAD / X");
  add_activation<Sqrt, SqrtGrad, kOutput>(registry, "sqrt", "the square root of X",
                                          "Out@GRAD / (2 Out)");
  add_activation<Square, SquareGrad, kInput>(registry, "square", "X^2", "2 X Out@GRAD");
  add_activation<Abs, AbsGrad, kInput>(registry, "abs", "|X|", "Out@GRAD sign(X), 0 at 0");
  add_gelu(registry);
}

}  // namespace fluidcore
