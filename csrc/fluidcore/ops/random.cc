#include <algorithm>
#include <cmath>
#include <utility>

#include "fluidcore/kernels/cpu/streams.h"
#include "fluidcore/kernels/cuda/copy.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/draw.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/shape_attr.h"

namespace fluidcore {

namespace {

template <class C>
struct DrawUniform {
  C min;
  C max;
  C below_max;
  FC_HOST_DEVICE C operator()(const RandomSequence& numbers, std::uint64_t i) const {
    const C value = min + (max - min) * numbers.uniform<C>(i);
    return value > below_max ? below_max : value;  // the sum may round up to max
  }
};

template <class C>
struct DrawNormal {
  C mean;
  C deviation;
  FC_HOST_DEVICE C operator()(const RandomSequence& numbers, std::uint64_t i) const {
    return mean + deviation * numbers.normal<C>(i);
  }
};

template <class C>
struct DrawTruncated {
  C mean;
  C deviation;
  FC_HOST_DEVICE C operator()(const RandomSequence& numbers, std::uint64_t i) const {
    // No tensor has 2^40 elements: the numbers from there on are for further attempts.
    constexpr std::uint64_t kNextAttempt = std::uint64_t{1} << 40;
    C value = numbers.normal<C>(i);
    while (std::abs(value) > C(2)) value = numbers.normal<C>(i += kNextAttempt);
    return mean + deviation * value;
  }
};

// 1 for what a dropout keeps, else 0.
template <class C>
struct DrawKept {
  C threshold;
  FC_HOST_DEVICE C operator()(const RandomSequence& numbers, std::uint64_t i) const {
    return numbers.uniform<C>(i) >= threshold ? C(1) : C(0);
  }
};

// X where it is kept, in the one place or the other.
template <class T>
struct DrawDropped {
  DrawKept<ComputeType<T>> keep;
  const T* from;
  FC_HOST_DEVICE auto operator()(const RandomSequence& numbers, std::uint64_t i) const {
    return static_cast<ComputeType<T>>(from[i]) * keep(numbers, i);
  }
};

template <class T>
Kernel uniform_random(const KernelContext& context) {
  using C = ComputeType<T>;
  const auto out = context.output<T>("Out");
  const C min = static_cast<C>(context.attr<double>("min"));
  const C max = static_cast<C>(context.attr<double>("max"));
  const C below_max = max > min ? std::nextafter(max, min) : min;
  const RandomStream stream = context.random(context.attr<std::int64_t>("seed"));
  return [=, size = out.size(), &device = context.device()] {
    draw_all(device, sequence(stream), size, out.data(), DrawUniform<C>{min, max, below_max});
  };
}

template <class T>
Kernel gaussian_random(const KernelContext& context) {
  using C = ComputeType<T>;
  const auto out = context.output<T>("Out");
  const C mean = static_cast<C>(context.attr<double>("mean"));
  const C deviation = static_cast<C>(context.attr<double>("std"));
  const RandomStream stream = context.random(context.attr<std::int64_t>("seed"));
  return [=, size = out.size(), &device = context.device()] {
    draw_all(device, sequence(stream), size, out.data(), DrawNormal<C>{mean, deviation});
  };
}

KernelTable uniform_kernels() {
  return kernels_everywhere<float, double, Float16, BFloat16>(
      [](auto tag) -> KernelFactory { return uniform_random<typename decltype(tag)::type>; });
}

KernelTable gaussian_kernels() {
  return kernels_everywhere<float, double, Float16, BFloat16>(
      [](auto tag) -> KernelFactory { return gaussian_random<typename decltype(tag)::type>; });
}

template <class T>
Kernel truncated_gaussian_random(const KernelContext& context) {
  using C = ComputeType<T>;
  const auto out = context.output<T>("Out");
  const C mean = static_cast<C>(context.attr<double>("mean"));
  const C deviation = static_cast<C>(context.attr<double>("std"));
  const RandomStream stream = context.random(context.attr<std::int64_t>("seed"));
  return [=, size = out.size(), &device = context.device()] {
    draw_all(device, sequence(stream), size, out.data(), DrawTruncated<C>{mean, deviation});
  };
}

TensorSpec floating_spec_from_attrs(const InferContext& context) {
  TensorSpec spec = spec_from_attrs(context);
  require(is_floating(spec.dtype), context.type(), ": dtype must be floating, got ", spec.dtype);
  return spec;
}

void infer_uniform(InferContext& context) {
  const double min = context.attr<double>("min");
  const double max = context.attr<double>("max");
  require(min <= max && std::isfinite(max - min), context.type(),
          ": min must be at most max, got min ", min, ", max ", max);
  context.set_output("Out", floating_spec_from_attrs(context));
}

void infer_gaussian(InferContext& context) {
  const double deviation = context.attr<double>("std");
  require(deviation >= 0, context.type(), ": std must be at least 0, got ", deviation);
  context.set_output("Out", floating_spec_from_attrs(context));
}

OpDef random_op(std::string type, std::string doc, const char* shape_doc = kShapeDoc) {
  return OpDef(std::move(type))
      .doc(std::move(doc))
      .output("Out", "the shape and dtype of the attributes")
      .required_attr("shape", std::vector<std::int64_t>{}, shape_doc)
      .attr("dtype", static_cast<std::int64_t>(DType::kFloat32), "number of Out's dtype, floating")
      .attr("seed", std::int64_t{0}, kSeedDoc)
      .not_differentiable()
      .random();
}

OpDef uniform_op(std::string type, const char* shape_doc) {
  return random_op(std::move(type), "Out = random numbers from [min, max), each equally likely.",
                   shape_doc)
      .attr("min", -1.0, "the least number")
      .attr("max", 1.0, "the limit of the numbers; 16-bit dtypes may round up to it")
      .infer(infer_uniform);
}

OpDef gaussian_op(std::string type, std::string doc, const char* shape_doc = kShapeDoc) {
  return random_op(std::move(type), std::move(doc), shape_doc)
      .attr("mean", 0.0, "mean of the normal distribution")
      .attr("std", 1.0, "its standard deviation, at least 0")
      .infer(infer_gaussian);
}

// The seed attribute of a dropout; a fixed seed of 0 must not mean "none".
std::int64_t dropout_seed(const KernelContext& context) {
  if (!context.attr<bool>("fix_seed")) return 0;
  constexpr std::int64_t kFixedZero = 0x5eed5eed5eed5eed;
  const std::int64_t seed = context.attr<std::int64_t>("seed");
  return seed == 0 ? kFixedZero : seed;
}

template <class T>
Kernel dropout(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const std::int64_t size = out.size();
  const double probability = context.attr<double>("dropout_prob");
  const auto mask = context.optional_output<T>("Mask");
  if (context.attr<bool>("is_test")) {
    const double kept = 1.0 - probability;
    if constexpr (kHasCuda) {
      if (context.is_on_cuda()) {
        return Kernel::enqueued([=, &device = context.device()] {
          if (mask) {
            cuda::for_each(device, size, cuda::SetAll<T>{static_cast<T>(kept)}, mask.data());
          }
          cuda::map(device, Scale{kept}, size, out.data(), x.data());
        });
      }
    }
    return [=] {
      if (mask) std::fill_n(mask.data(), size, static_cast<T>(kept));
      cpu::elementwise(Scale{kept}, size, out.data(), x.data());
    };
  }
  using C = ComputeType<T>;
  const RandomStream stream = context.random(dropout_seed(context));
  const DrawKept<C> keep{static_cast<C>(probability)};
  DeviceContext& device = context.device();
  if (!mask) {
    return [=, &device] {
      draw_all(device, sequence(stream), size, out.data(), DrawDropped<T>{keep, x.data()});
    };
  }
  return [=, &device] {
    draw_all(device, sequence(stream), size, mask.data(), keep);
    const T* const kept = mask.data();
    if constexpr (kHasCuda) {
      if (!device.device().is_cpu()) {
        return cuda::map(device, Mul(), size, out.data(), x.data(), kept);
      }
    }
    cpu::elementwise(Mul(), size, out.data(), x.data(), kept);
  };
}

template <class T>
Kernel dropout_grad(const KernelContext& context) {
  const auto mask = context.input<T>("Mask");
  const auto dout = context.input<T>("Out@GRAD");
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx) return nothing_to_do();
  return map_kernel(Mul(), dx, dout, mask);
}

void check_probability(const InferContext& context) {
  const double probability = context.attr<double>("dropout_prob");
  require(probability >= 0 && probability <= 1, context.type(),
          ": dropout_prob must be in [0, 1], got ", probability);
}

OpDef with_dropout_attrs(OpDef&& def) {
  return std::move(def)
      .attr("dropout_prob", 0.5, "probability of an element to become 0")
      .attr("is_test", false, "whether to scale by 1 - dropout_prob in place of dropping")
      .attr("fix_seed", false, "whether `seed` is used")
      .attr("seed", std::int64_t{0}, "of the mask, the same in every run, if fix_seed");
}

void add_dropout(OpRegistry& registry) {
  registry.add(
      with_dropout_attrs(OpDef("dropout"))
          .doc("Out = X * Mask. Training: Mask is 0 with probability dropout_prob, else 1; the "
               "kept elements are not scaled up. Test: Mask is 1 - dropout_prob.")
          .input("X", "any shape, floating")
          .output("Out", "shape and dtype of X")
          .output("Mask", "shape and dtype of X", {.intermediate = true, .needs_no_gradient = true})
          .elementwise()
          .infer([](InferContext& context) {
            check_probability(context);
            context.set_output("Out", context.input("X"));
            context.set_output("Mask", context.input("X"));
          })
          .in_place("X", "Out")
          .kernels(kernels_everywhere<float, double, BFloat16>(
              [](auto tag) -> KernelFactory { return dropout<typename decltype(tag)::type>; }))
          .grad([](GradContext& context) {
            require(!context.output("Mask").empty() && context.output("Mask")[0] != kEmptyName,
                    "dropout: Mask must be an output to be differentiated, got nothing");
            return standard_grad({.outputs = {"Mask"}, .differentiable = {"X"}})(context);
          })
          .random());
  registry.add(
      with_dropout_attrs(OpDef("dropout_grad"))
          .doc("X@GRAD = Out@GRAD * Mask.")
          .input("Mask", "output of the forward operator", {.needs_no_gradient = true})
          .input("Out@GRAD", "gradient of Out, shape of Mask")
          .output("X@GRAD", "gradient of X, shape of Mask")
          .elementwise()
          .infer([](InferContext& context) {
            require_spec(context, "Out@GRAD", context.input("Mask"));
            context.set_output("X@GRAD", context.input("Mask"));
          })
          .in_place("Out@GRAD", "X@GRAD")
          .kernels(kernels_everywhere<float, double, BFloat16>(
              [](auto tag) -> KernelFactory { return dropout_grad<typename decltype(tag)::type>; }))
          .grad(self_adjoint_grad("dropout_grad", "Mask")));
}

}  // namespace

void register_random_ops(OpRegistry& registry) {
  registry.add(uniform_op("uniform_random", kShapeDoc).kernels(uniform_kernels()));
  registry.add(with_batch_size_like(uniform_op("uniform_random_batch_size_like", kShapeLikeDoc))
                   .kernels(byte_kernels_everywhere(kernel_for_output<uniform_kernels>)));
  const char* gaussian_doc = "Out = random numbers with a normal distribution.";
  registry.add(gaussian_op("gaussian_random", gaussian_doc).kernels(gaussian_kernels()));
  registry.add(with_batch_size_like(
                   gaussian_op("gaussian_random_batch_size_like", gaussian_doc, kShapeLikeDoc))
                   .kernels(byte_kernels_everywhere(kernel_for_output<gaussian_kernels>)));
  registry.add(
      gaussian_op("truncated_gaussian_random",
                  "Out = random numbers with a normal distribution, drawn again where they "
                  "are more than two standard deviations from the mean.")
          .kernels(kernels_everywhere<float, double, BFloat16>([](auto tag) -> KernelFactory {
            return truncated_gaussian_random<typename decltype(tag)::type>;
          })));
  add_dropout(registry);
}

}  // namespace fluidcore
