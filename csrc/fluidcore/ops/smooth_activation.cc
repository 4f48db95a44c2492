#include <cmath>

#include "fluidcore/kernels/functors.h"
#include "fluidcore/kernels/smooth_functors.h"
#include "fluidcore/ops/activation.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

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
  const Expr erf = apply("erf", std::sqrt(0.5) * x);
  const Expr density = apply("exp", -0.5 * square(x));
  return 0.5 * (1.0 + erf) + (GeluErfGrad::kDensity * x) * density;
}

// The derivative of x (1 + tanh(u)) / 2, where u = scale (x + cubic x^3).
Expr gelu_tanh_slope(const Expr& x) {
  const Expr scaled = GeluTanh::kScale * x;
  const Expr bent = (GeluTanh::kScale * GeluTanh::kCubic) * (square(x) * x);
  const Expr t = apply("tanh", scaled + bent);
  return 0.5 * (1.0 + t + (1.0 - square(t)) * (scaled + 3.0 * bent));
}

void add_gelu(OpRegistry& registry) {
  const char* doc = "whether P is approximated: (1 + tanh(sqrt(2 / pi) (X + 0.044715 X^3))) / 2";
  registry.add(unary_op("gelu", "Out = X P(N(0, 1) <= X), element by element.")
                   .attr("approximate", false, doc)
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return gelu<ComputeType<typename decltype(tag)::type>>;
                   }))
                   .grad(unary_grad(GradFrom::kInput)));
  registry.add(unary_grad_op("gelu_grad", "X@GRAD = Out@GRAD times the derivative of gelu at X.",
                             GradFrom::kInput)
                   .attr("approximate", false, doc)
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return gelu_grad<ComputeType<typename decltype(tag)::type>>;
                   }))
                   .decompose([](Decomposition& d) {
                     const Expr x = d.input("X");
                     const Expr slope =
                         d.attr<bool>("approximate") ? gelu_tanh_slope(x) : gelu_erf_slope(x);
                     d.set("X@GRAD", d.input("Out@GRAD") * slope);
                   }));
}

// The derivative of x sigmoid(beta x).
Expr swish_slope(const Expr& x, double beta) {
  const Expr scaled = beta * x;
  const Expr gate = apply("sigmoid", scaled);
  return gate * (1.0 + scaled * (1.0 - gate));
}

void add_swish(OpRegistry& registry) {
  registry.add(add_activation<Swish, SwishGrad, kInput, FromAttrs<"beta">>(
                   registry, {.type = "swish",
                              .formula = "X / (1 + exp(-beta X))",
                              .grad_formula = "Out@GRAD times the derivative of swish at X",
                              .attrs = {{"beta", 1.0, "how steep the gate is"}}})
                   .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
                     return dout * swish_slope(x, x.owner().attr<double>("beta"));
                   })));
  registry.add(add_activation<Swish, SwishGrad, kInput>(
                   registry, {"silu", "X / (1 + exp(-X))",
                              "Out@GRAD s (1 + X (1 - s)), where s = 1 / (1 + exp(-X))"})
                   .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
                     return dout * swish_slope(x, 1.0);
                   })));
}

void add_mish(OpRegistry& registry) {
  registry.add(add_activation<Mish, MishGrad, kInput>(
                   registry, {"mish", "X tanh(log(1 + e^X))",
                              "Out@GRAD (t + X (1 - t^2) / (1 + exp(-X))), where t = Out / X"})
                   .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
                     const Expr t = apply("tanh", apply("softplus", x));
                     return dout * (t + x * (1.0 - square(t)) * apply("sigmoid", x));
                   })));
}

void add_softplus(OpRegistry& registry) {
  registry.add(add_activation<Softplus, SoftplusGrad, kInput>(
                   registry, {"softplus", "log(1 + e^X)", "Out@GRAD / (1 + exp(-X))"})
                   .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
                     return dout * apply("sigmoid", x);
                   })));
  registry.add(add_activation<LogSigmoid, LogSigmoidGrad, kInput>(
                   registry, {"logsigmoid", "-log(1 + exp(-X))", "Out@GRAD / (1 + e^X)"})
                   .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
                     return dout * apply("sigmoid", -x);
                   })));
  registry.add(
      add_activation<SoftRelu, SoftReluGrad, kInput, FromAttrs<"threshold">>(
          registry,
          {.type = "soft_relu",
           .formula = "log(1 + exp(min(max(X, -threshold), threshold)))",
           .grad_formula = "Out@GRAD / (1 + exp(-X)) where -threshold < X < threshold, else 0",
           .attrs = {{"threshold", 40.0, "X counts no further from 0"}},
           .check = check_not_negative<"threshold">})
          .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
            Decomposition& d = x.owner();
            const auto threshold = d.attr<double>("threshold");
            const Expr inside =
                d.constant("clip_grad", {{"X", x}, {"Out@GRAD", d.filled_like(x, 1.0)}},
                           {{"min", -threshold}, {"max", threshold}}, "X@GRAD");
            return dout * inside * apply("sigmoid", x);
          })));
}

void add_elu(OpRegistry& registry) {
  registry.add(add_activation<Elu, EluGrad, kInput, FromAttrs<"alpha">>(
                   registry, {.type = "elu",
                              .formula = "X where X > 0, else alpha (e^X - 1)",
                              .grad_formula = "Out@GRAD where X > 0, else Out@GRAD alpha e^X",
                              .attrs = {{"alpha", 1.0, "Out is -alpha far below 0"}},
                              .check = check_not_negative<"alpha">})
                   .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
                     Decomposition& d = x.owner();
                     const auto alpha = d.attr<double>("alpha");
                     const Expr is_positive =
                         d.constant("relu_grad", {{"Out", x}, {"Out@GRAD", d.filled_like(x, 1.0)}},
                                    {}, "X@GRAD");
                     const Expr power = apply("exp", -apply("relu", -x));  // 1 for a positive x
                     return dout * (alpha * power + (1.0 - alpha) * is_positive);
                   })));
}

}  // namespace

void register_smooth_activation_ops(OpRegistry& registry) {
  add_gelu(registry);
  add_swish(registry);
  add_mish(registry);
  add_softplus(registry);
  add_elu(registry);
  registry.add(add_activation<Softsign, SoftsignGrad, kInput>(
                   registry, {"softsign", "X / (1 + |X|)", "Out@GRAD / (1 + |X|)^2"})
                   .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
                     return dout / square(1.0 + apply("abs", x));
                   })));
  registry.add(add_activation<ScaledTanh, ScaledTanhGrad, kInput, FromAttrs<"scale_a", "scale_b">>(
                   registry, {.type = "stanh",
                              .formula = "scale_b tanh(scale_a X)",
                              .grad_formula = "Out@GRAD scale_a scale_b (1 - tanh(scale_a X)^2)",
                              .attrs = {{"scale_a", 2.0 / 3.0, "the factor of X"},
                                        {"scale_b", 1.7159, "the limit of Out"}}})
                   .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
                     const auto a = x.owner().attr<double>("scale_a");
                     const auto b = x.owner().attr<double>("scale_b");
                     return a * b * dout * (1.0 - square(apply("tanh", a * x)));
                   })));
  registry.add(add_activation<TanhShrink, TanhShrinkGrad, kInput>(
                   registry, {"tanh_shrink", "X - tanh(X)", "Out@GRAD tanh(X)^2"})
                   .decompose(smooth_grad<kInput>([](const Expr& x, const Expr& dout) {
                     return dout * square(apply("tanh", x));
                   })));
}

}  // namespace fluidcore
