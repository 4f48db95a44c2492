#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/max_grad.h"
#include "fluidcore/kernels/cpu/reduce.h"
#include "fluidcore/kernels/cpu/streams.h"
#include "fluidcore/kernels/cuda/reduce.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

// X as [outer, groups, inner]: the maximum is over the middle.
struct Groups {
  std::int64_t outer;
  std::int64_t count;
  std::int64_t inner;
};

Groups groups_of(const KernelContext& context, const Shape& x) {
  const std::int64_t count = context.attr<std::int64_t>("groups");
  return {x[0] * (x[1] / count), count, x.product(2, x.rank())};
}

// The same for what takes dimensions.
[[maybe_unused]] cuda::ReducedElements elements_of(const Groups& groups) {
  return {{groups.outer, groups.count, groups.inner}, {false, true, false}};
}

// Where elements to choose from are side by side.
template <class T>
Kernel maxout_of_rows(const Groups& groups, Arg<const T> x, Arg<T> out) {
  const auto maximum = std::make_shared<cpu::Reduction<MaxOf, T>>(Shape{groups.outer, groups.count},
                                                                  std::vector<bool>{false, true});
  return [=] { maximum->run(x.data(), out.data()); };
}

template <class T>
Kernel maxout(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  if (out.size() == 0) return nothing_to_do();
  const Groups groups = groups_of(context, x.shape());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const cuda::Reduction<MaxOf, T> maximum(context.device(), context.scratch(),
                                              elements_of(groups));
      return Kernel::enqueued([=] { maximum.run(cuda::Elements<T>{x.data()}, out.data()); });
    }
  }
  if (groups.inner == 1) return maxout_of_rows(groups, x, out);
  return [=] {
    const std::int64_t inner = groups.inner;
    const cpu::Isa isa = cpu::cpu_isa();
    const auto greater = cpu::stream_formula<T, T, T>(Max());
    const std::int64_t grain = cpu::kGrain / (groups.count * inner) + 1;
    parallel_for(groups.outer, grain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t group = begin; group < end; ++group) {
        const T* const first = x.data() + group * groups.count * inner;
        T* const best = out.data() + group * inner;
        if (groups.count == 1) std::copy_n(first, inner, best);
        for (std::int64_t at = 1; at < groups.count; ++at) {
          const std::array<cpu::Stream, 2> both{{{at == 1 ? first : best}, {first + at * inner}}};
          cpu::calculate_row(isa, greater, inner, best, both.data());
        }
      }
    });
  };
}

template <class T>
Kernel maxout_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.input<T>("Out");
  const auto dout = context.input<T>("Out@GRAD");
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx || dx.size() == 0) return nothing_to_do();
  const Groups groups = groups_of(context, x.shape());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const cuda::ReducedElements elements = elements_of(groups);
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each(device, elements.results, cuda::ExtremeGrad<false>{elements}, x.data(),
                       out.data(), dout.data(), dx.data());
      });
    }
  }
  return [=] {
    cpu::max_grad(groups.outer, groups.count, groups.inner, x.data(), out.data(), dout.data(),
                  dx.data());
  };
}

template <class T>
Kernel maxout_grad_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.input<T>("Out");
  const auto ddx = context.input<T>("X@GRAD@GRAD");
  const auto ddout = context.output<T>("Out@GRAD@GRAD");
  const Groups groups = groups_of(context, x.shape());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const cuda::ReducedElements elements = elements_of(groups);
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each(device, ddout.size(), cuda::PickMaximum{elements}, x.data(), out.data(),
                       ddx.data(), ddout.data());
      });
    }
  }
  return [=] {
    for (std::int64_t place = 0; place < ddout.size(); ++place) {
      const std::int64_t begin =
          place / groups.inner * groups.count * groups.inner + place % groups.inner;
      const std::int64_t last = begin + (groups.count - 1) * groups.inner;
      const auto greatest = static_cast<ComputeType<T>>(out.data()[place]);
      std::int64_t at = begin;
      while (at < last && static_cast<ComputeType<T>>(x.data()[at]) < greatest) at += groups.inner;
      ddout.data()[place] = ddx.data()[at];
    }
  };
}

TensorSpec maxout_spec(const InferContext& context) {
  TensorSpec spec = context.input("X");
  const Shape x = spec.shape;
  const auto groups = context.attr<std::int64_t>("groups");
  require(x.rank() >= 2, context.type(), ": X must have rank 2 or more [N, C, ...], got ", x);
  require(groups > 0, context.type(), ": groups must be at least 1, got ", groups);
  if (x[1] == -1) return spec;
  require(x[1] % groups == 0, context.type(), ": groups must divide the channels of X, got X ", x,
          ", groups ", groups);
  spec.shape[1] = x[1] / groups;
  return spec;
}

void infer_maxout_grad(InferContext& context) {
  const TensorSpec out = maxout_spec(context);
  require_spec(context, "Out", out);
  if (context.has_input("Out@GRAD")) {
    require_spec(context, "Out@GRAD", out);
    context.set_output("X@GRAD", context.input("X"));
  } else {
    require_spec(context, "X@GRAD@GRAD", context.input("X"));
    context.set_output("Out@GRAD@GRAD", out);
  }
}

OpDef with_maxout_groups(OpDef def) {
  return std::move(def).required_attr("groups", std::int64_t{1},
                                      "how many neighbouring channels give one");
}

// The gradient operators read where the maxima are.
OpDef with_maxima(OpDef def) {
  return with_maxout_groups(std::move(def))
      .input("X", "input of maxout", {.needs_no_gradient = true})
      .input("Out", "output of maxout", {.needs_no_gradient = true})
      .infer(infer_maxout_grad);
}

}  // namespace

void register_maxout_ops(OpRegistry& registry) {
  registry.add(
      with_maxout_groups(OpDef("maxout"))
          .doc("Out[n, c] = the maximum of X[n, c groups] to X[n, (c + 1) groups - 1], element by "
               "element; NaN if there is one.")
          .input("X", "[N, C, ...], floating")
          .output("Out", "[N, C / groups, ...], dtype of X")
          .infer([](InferContext& context) { context.set_output("Out", maxout_spec(context)); })
          .row_dims([](const InferContext&, std::string_view) { return std::size_t{1}; })
          .kernels(kernels_everywhere<float, double, BFloat16>(
              [](auto tag) -> KernelFactory { return maxout<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X"}, .outputs = {"Out"}, .differentiable = {"X"}})));
  registry.add(
      with_maxima(OpDef("maxout_grad"))
          .doc("X@GRAD = Out@GRAD for the first channel equal to its maximum, else 0.")
          .input("Out@GRAD", "gradient of Out, shape of Out")
          .output("X@GRAD", "gradient of X, shape of X")
          .kernels(kernels_everywhere<float, double, BFloat16>(
              [](auto tag) -> KernelFactory { return maxout_grad<typename decltype(tag)::type>; }))
          .grad(adjoint_grad({.type = "maxout_grad_grad",
                              .input = "X@GRAD@GRAD",
                              .output = "Out@GRAD@GRAD",
                              .kept = {"X", "Out"}})));
  registry.add(
      with_maxima(OpDef("maxout_grad_grad"))
          .doc("Out@GRAD@GRAD = X@GRAD@GRAD of the first channel equal to its maximum.")
          .input("X@GRAD@GRAD", "gradient of X@GRAD, shape of X")
          .output("Out@GRAD@GRAD", "gradient of Out@GRAD, shape of Out")
          .kernels(kernels_everywhere<float, double, BFloat16>([](auto tag) -> KernelFactory {
            return maxout_grad_grad<typename decltype(tag)::type>;
          }))
          .grad(adjoint_grad({.from = "X@GRAD@GRAD",
                              .to = "Out@GRAD@GRAD",
                              .type = "maxout_grad",
                              .input = "Out@GRAD",
                              .output = "X@GRAD",
                              .kept = {"X", "Out"}})));
}

}  // namespace fluidcore
