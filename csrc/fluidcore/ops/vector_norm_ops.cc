#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "fluidcore/base/division.h"
#include "fluidcore/kernels/cpu/total.h"
#include "fluidcore/kernels/cuda/reduce.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/tensor/scratch.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

// The sum of f(X), calculated while the kernel runs.
template <class F, class T>
class Total {
 public:
  explicit Total(Arg<const T> x)
      : x_(x), partial_({Shape{cpu::total_blocks(x.size())}, DType::kFloat64}) {}
  double value() const {
    return cpu::total(F(), x_.size(), x_.data(), static_cast<double*>(partial_.raw()));
  }

 private:
  Arg<const T> x_;
  Tensor partial_;
};

// Element i of what a device adds up.
template <class F, class T>
struct TotalTerms {
  const T* x;
  FC_HOST_DEVICE auto operator()(std::int64_t i) const {
    return F()(static_cast<ComputeType<T>>(x[i]));
  }
};

struct ClipByNorm {
  double limit;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* x, const double* squares, T* out) const {
    const double norm = std::sqrt(*squares);
    const Scale scale{norm > limit ? limit / norm : 1.0};
    out[i] = static_cast<T>(scale(static_cast<ComputeType<T>>(x[i])));
  }
};

// norm of the pixel `i`, whose channels are `inner` apart.
struct NormOfPixel {
  std::int64_t channels;
  std::int64_t inner;
  double epsilon;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* x, const T* scale, T* out) const {
    const std::int64_t first = i / inner * channels * inner + i % inner;
    double sum = epsilon;
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto value = static_cast<double>(x[first + c * inner]);
      sum += value * value;
    }
    const auto factor = static_cast<T>(1.0 / std::sqrt(sum));
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t at = first + c * inner;
      out[at] = x[at] * factor * scale[c];
    }
  }
};

template <class F, class T>
Kernel total(const KernelContext& context) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const auto x = context.input<T>("X");
      const cuda::Reduction<SumOf, T> sum(context.device(), context.scratch(), {x.size()}, {true});
      return Kernel::enqueued(
          [=, out = context.output<T>("Out")] { sum.run(TotalTerms<F, T>{x.data()}, out.data()); });
    }
  }
  return [sum = Total<F, T>(context.input<T>("X")), out = context.output<T>("Out")] {
    *out.data() = static_cast<T>(sum.value());
  };
}

Expr total_of(const Expr& x) {
  return x.owner().op("reduce_sum", {{"X", x}}, {{"reduce_all", true}});
}

// Adds an operator that sums the function `term` of all elements.
template <class F>
void add_total(OpRegistry& registry, const char* type, const char* doc, const char* term) {
  registry.add(OpDef(type)
                   .doc(doc)
                   .input("X", "any shape, floating")
                   .output("Out", "[1], dtype of X")
                   .infer([](InferContext& context) {
                     context.set_output("Out", {Shape{1}, context.input("X").dtype});
                   })
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return total<F, typename decltype(tag)::type>;
                   }))
                   .decompose([term = std::string(term)](Decomposition& d) {
                     d.set("Out", total_of(d.op(term, {{"X", d.input("X")}})));
                   }));
}

template <class T>
Kernel clip_by_norm(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      ScratchParts memory(context.scratch());
      const std::size_t squares_at = memory.add(1, sizeof(double));
      const cuda::Reduction<SumOf, double> sum(context.device(), memory.rest(), {x.size()}, {true});
      return Kernel::enqueued(
          [=, &device = context.device(), limit = context.attr<double>("max_norm")] {
            auto* const squares = memory.at<double>(squares_at);
            sum.run(TotalTerms<Square, T>{x.data()}, squares);
            cuda::for_each(device, x.size(), ClipByNorm{limit}, x.data(),
                           static_cast<const double*>(squares), out.data());
          });
    }
  }
  return [x, out, sum = Total<Square, T>(x), limit = context.attr<double>("max_norm")] {
    const double norm = std::sqrt(sum.value());
    cpu::elementwise(Scale{norm > limit ? limit / norm : 1.0}, x.size(), out.data(), x.data());
  };
}

// Out = X / sqrt(max(sum of (X / max_norm)^2, 1)): the root is never one of 0, and no square of
// max_norm has to be a number of the dtype.
void decompose_clip_by_norm(Decomposition& d) {
  const Expr x = d.input("X");
  const Expr sum = total_of(square((1.0 / d.attr<double>("max_norm")) * x));
  const Expr bounded = d.op("elementwise_max", {{"X", d.filled_like(sum, 1.0)}, {"Y", sum}});
  const Expr root = d.op("sqrt", {{"X", bounded}});
  // With an axis, a divisor [1] leaves X its shape, also where that is [].
  d.set("Out", d.op("elementwise_div", {{"X", x}, {"Y", root}}, {{"axis", std::int64_t{0}}}));
}

void add_clip_by_norm(OpRegistry& registry) {
  registry.add(
      OpDef("clip_by_norm")
          .doc("Out = X where the root of the sum of X^2 is at most max_norm, else X max_norm / "
               "root.")
          .input("X", "any shape, floating")
          .output("Out", "shape and dtype of X")
          .in_place("X", "Out")
          .required_attr("max_norm", 1.0, "the greatest norm of Out, above 0")
          .infer([](InferContext& context) {
            const double limit = context.attr<double>("max_norm");
            require(limit > 0.0, context.type(), ": max_norm must be above 0, got ", limit);
            context.set_output("Out", context.input("X"));
          })
          .kernels(floating_kernels_everywhere(
              [](auto tag) -> KernelFactory { return clip_by_norm<typename decltype(tag)::type>; }))
          .decompose(decompose_clip_by_norm));
}

// Of one pixel, whose channels are side by side.
template <class T>
void norm_of_pixel(std::int64_t channels, double epsilon, const T* x, const T* scale, T* out) {
  const double sum = cpu::sum_of_row(channels, [=](std::int64_t c) {
    return static_cast<double>(x[c]) * static_cast<double>(x[c]);
  });
  const auto factor = static_cast<T>(1.0 / std::sqrt(sum + epsilon));
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) out[c] = x[c] * factor * scale[c];
}

constexpr std::int64_t kPixels = 256;  // that are worked on together

// Of `count` <= kPixels pixels side by side; their next channel is `stride` elements on.
template <class T>
void norm_of_pixels(std::int64_t channels,
                    std::int64_t stride,
                    std::int64_t count,
                    double epsilon,
                    const T* x,
                    const T* scale,
                    T* out) {
  std::array<double, kPixels> sums;
  std::array<T, kPixels> factors;
  for (std::int64_t i = 0; i < count; ++i) sums[i] = epsilon;
  for (std::int64_t c = 0; c < channels; ++c) {
    const T* from = x + c * stride;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      sums[i] += static_cast<double>(from[i]) * static_cast<double>(from[i]);
    }
  }
  for (std::int64_t i = 0; i < count; ++i) factors[i] = static_cast<T>(1.0 / std::sqrt(sums[i]));
  for (std::int64_t c = 0; c < channels; ++c) {
    const T* from = x + c * stride;
    T* to = out + c * stride;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * factors[i] * scale[c];
  }
}

template <class T>
Kernel norm(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto scale = context.input<T>("Scale");
  const auto out = context.output<T>("Out");
  const Shape& shape = x.shape();
  const double epsilon = context.attr<double>("epsilon");
  const std::int64_t channels = shape[1];
  const std::int64_t inner = shape.product(2, shape.rank());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device(), images = shape[0]] {
        cuda::for_each(device, images * inner, NormOfPixel{channels, inner, epsilon}, x.data(),
                       scale.data(), out.data());
      });
    }
  }
  if (inner == 1) {
    return [=, images = shape[0]] {
      cpu::for_rows(images, channels, [=](std::int64_t row) {
        const std::int64_t start = row * channels;
        norm_of_pixel(channels, epsilon, x.data() + start, scale.data(), out.data() + start);
      });
    };
  }
  const std::int64_t strips = divide_up(inner, kPixels);
  return [=, images = shape[0]] {
    cpu::for_rows(images * strips, channels * std::min(inner, kPixels), [=](std::int64_t strip) {
      const std::int64_t pixel = strip % strips * kPixels;
      const std::int64_t start = strip / strips * channels * inner + pixel;
      norm_of_pixels(channels, inner, std::min(kPixels, inner - pixel), epsilon, x.data() + start,
                     scale.data(), out.data() + start);
    });
  };
}

void decompose_norm(Decomposition& d) {
  const Expr x = d.input("X");
  const Expr sum = d.op("reduce_sum", {{"X", square(x)}},
                        {{"dim", std::vector<std::int64_t>{1}}, {"keep_dim", true}});
  const Expr unit = x / d.op("sqrt", {{"X", sum + d.attr<double>("epsilon")}});
  d.set("Out", d.op("elementwise_mul", {{"X", unit}, {"Y", d.input("Scale")}},
                    {{"axis", std::int64_t{1}}}));
}

void add_norm(OpRegistry& registry) {
  registry.add(OpDef("norm")
                   .doc("Out = X / sqrt(sum of X^2 over the channels + epsilon) Scale: the vector "
                        "of channels at each pixel gets the length 1.")
                   .input("X", "[N, C, ...], rank 2 or more, floating")
                   .input("Scale", "[C], dtype of X")
                   .output("Out", "shape and dtype of X")
                   .attr("epsilon", 1.0e-10, "keeps the divisor above 0")
                   .infer([](InferContext& context) {
                     const TensorSpec& x = context.input("X");
                     require(x.shape.rank() >= 2, context.type(),
                             ": X must have rank 2 or more, got ", x.shape);
                     require_not_negative(context, {"epsilon"});
                     require_spec(context, "Scale", {Shape{x.shape[1]}, x.dtype});
                     context.set_output("Out", x);
                   })
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return norm<typename decltype(tag)::type>;
                   }))
                   .decompose(decompose_norm));
}

}  // namespace

void register_vector_norm_ops(OpRegistry& registry) {
  add_total<Abs>(registry, "l1_norm", "Out = the sum of |X| over all elements.", "abs");
  add_total<Square>(registry, "squared_l2_norm", "Out = the sum of X^2 over all elements.",
                    "square");
  add_clip_by_norm(registry);
  add_norm(registry);
}

}  // namespace fluidcore
