#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/lrn.h"
#include "fluidcore/kernels/cuda/lrn.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

cpu::ChannelWindows windows_of(const Shape& x, std::int64_t before, std::int64_t after) {
  return {x[0], x[1], x.product(2, x.rank()), before, after};
}

// Channels of a window of n before its own, and behind it.
std::int64_t before_of(std::int64_t n) {
  return (n - 1) / 2;
}
std::int64_t after_of(std::int64_t n) {
  return n / 2;
}

cpu::Lrn lrn_of(const KernelContext& context, const Shape& x) {
  const auto n = context.attr<std::int64_t>("n");
  return {windows_of(x, before_of(n), after_of(n)), context.attr<double>("k"),
          context.attr<double>("alpha"), context.attr<double>("beta")};
}

template <class T>
Kernel lrn(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const cpu::Lrn problem = lrn_of(context, x.shape());
  const OutputOrScratch<T> mid(context, "MidOut", x.size());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each(device, x.size(), cuda::LrnElements{problem}, x.data(), mid.data(),
                       out.data());
      });
    }
  }
  return [=] { cpu::lrn(problem, x.data(), mid.data(), out.data()); };
}

template <class T>
Kernel lrn_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto dout = context.input<T>("Out@GRAD");
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx) return nothing_to_do();
  const Tensor scratch({{x.size()}, dtype_of<T>}, context.device().device());
  const cpu::Lrn problem = lrn_of(context, x.shape());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        auto* const terms = static_cast<T*>(scratch.raw());
        cuda::for_each(device, x.size(), cuda::LrnTerms{problem}, x.data(), dout.data(), terms);
        cuda::for_each(device, x.size(), cuda::LrnGrad{problem}, x.data(), dout.data(),
                       static_cast<const T*>(terms), dx.data());
      });
    }
  }
  return [=] {
    cpu::lrn_grad(problem, x.data(), dout.data(), static_cast<T*>(scratch.raw()), dx.data());
  };
}

template <class T>
Kernel channel_window_sum(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const cpu::ChannelWindows windows = windows_of(x.shape(), context.attr<std::int64_t>("before"),
                                                 context.attr<std::int64_t>("after"));
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each(device, x.size(), cuda::WindowSums{windows}, x.data(), out.data());
      });
    }
  }
  return [=] { cpu::window_sums(windows, x.data(), out.data()); };
}

void check_lrn(const InferContext& context) {
  require_rank(context, "X", 4, "[N, C, H, W]");
  const auto n = context.attr<std::int64_t>("n");
  require(n >= 1, context.type(), ": n must be at least 1, got ", n);
  for (const char* name : {"k", "alpha", "beta"}) {
    const auto value = context.attr<double>(name);
    require(value > 0, context.type(), ": ", name, " must be above 0, got ", value);
  }
}

Expr window_sum(const Expr& x, std::int64_t before, std::int64_t after) {
  return x.owner().op("channel_window_sum", {{"X", x}}, {{"before", before}, {"after", after}});
}

Expr power(const Expr& x, double factor) {
  return x.owner().op("pow", {{"X", x}}, {{"factor", factor}});
}

void decompose_lrn_grad(Decomposition& d) {
  const auto n = d.attr<std::int64_t>("n");
  const auto alpha = d.attr<double>("alpha");
  const auto beta = d.attr<double>("beta");
  const Expr x = d.input("X");
  const Expr mid = alpha * window_sum(square(x), before_of(n), after_of(n)) + d.attr<double>("k");
  const Expr scaled = d.input("Out@GRAD") * power(mid, -beta);
  const Expr spread = window_sum(scaled * x / mid, after_of(n), before_of(n));
  d.set("X@GRAD", scaled - 2 * alpha * beta * (x * spread));
}

GradMaker window_sum_grad() {
  return [](GradContext& context) -> std::vector<OpDesc> {
    const auto wanted = context.input_grad("X");
    if (wanted.empty() || wanted[0] == kEmptyName) return {};
    const AttributeMap& attrs = context.forward().attrs();
    return {OpDesc("channel_window_sum", {{"X", context.output_grad("Out")}}, {{"Out", wanted}},
                   {{"before", attrs.at("after")}, {"after", attrs.at("before")}})};
  };
}

OpDef with_lrn_attrs(OpDef def) {
  return std::move(def)
      .attr("n", std::int64_t{5},
            "channels of a window: (n - 1) / 2 before the channel, the others from it on")
      .attr("k", 2.0, "is added to the sum of squares")
      .attr("alpha", 1e-4, "factor of the sum of squares")
      .attr("beta", 0.75, "the power that X is divided by");
}

}  // namespace

void register_lrn_ops(OpRegistry& registry) {
  registry.add(
      with_lrn_attrs(OpDef("lrn"))
          .doc("Out = X MidOut^-beta with MidOut = k + alpha times the sum of X^2 over the "
               "channels near its own (Krizhevsky, Sutskever, Hinton 2012).")
          .input("X", "[N, C, H, W], floating")
          .output("Out", "shape and dtype of X")
          .output("MidOut", "shape and dtype of X", {.intermediate = true, .no_gradient = true})
          .infer([](InferContext& context) {
            check_lrn(context);
            for (const char* slot : {"Out", "MidOut"}) context.set_output(slot, context.input("X"));
          })
          .row_dims([](const InferContext&, std::string_view) { return std::size_t{1}; })
          .kernels(kernels_everywhere<float, double>(
              [](auto tag) -> KernelFactory { return lrn<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(
      with_lrn_attrs(OpDef("lrn_grad"))
          .doc("X@GRAD = Out@GRAD MidOut^-beta - 2 alpha beta X times the sum of Out@GRAD Out / "
               "MidOut over the channels that X's is near to.")
          .input("X", "input of the forward operator")
          .input("Out@GRAD", "gradient of Out, shape of Out")
          .output("X@GRAD", "gradient of X, shape of X")
          .infer([](InferContext& context) {
            check_lrn(context);
            require_spec(context, "Out@GRAD", context.input("X"));
            infer_grads_like_inputs(context);
          })
          .row_dims([](const InferContext&, std::string_view) { return std::size_t{1}; })
          .kernels(kernels_everywhere<float, double>(
              [](auto tag) -> KernelFactory { return lrn_grad<typename decltype(tag)::type>; }))
          .decompose(decompose_lrn_grad));
  registry.add(OpDef("channel_window_sum")
                   .doc("Out[n, c] = the sum of X[n, c - before] to X[n, c + after], element by "
                        "element, of the channels that there are.")
                   .input("X", "[N, C, ...], floating")
                   .output("Out", "shape and dtype of X")
                   .attr("before", std::int64_t{0}, "channels before c, at least 0")
                   .attr("after", std::int64_t{0}, "channels behind c, at least 0")
                   .infer([](InferContext& context) {
                     const TensorSpec& x = context.input("X");
                     require(x.shape.rank() >= 2, context.type(),
                             ": X must have rank 2 or more [N, C, ...], got ", x.shape);
                     for (const char* name : {"before", "after"}) {
                       const auto value = context.attr<std::int64_t>(name);
                       require(value >= 0, context.type(), ": ", name, " must be at least 0, got ",
                               value);
                     }
                     context.set_output("Out", x);
                   })
                   .row_dims([](const InferContext&, std::string_view) { return std::size_t{1}; })
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return channel_window_sum<typename decltype(tag)::type>;
                   }))
                   .grad(window_sum_grad()));
}

}  // namespace fluidcore
