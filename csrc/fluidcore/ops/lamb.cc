#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/total.h"
#include "fluidcore/kernels/cuda/reduce.h"
#include "fluidcore/kernels/cuda/update.h"
#include "fluidcore/kernels/update_rules.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/update.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

constexpr std::array kMoments{StateSlot{"Moment1", "Moment1Out"},
                              StateSlot{"Moment2", "Moment2Out"}};

// The length of a parameter divided by that of its direction; 1 where either is 0.
FC_HOST_DEVICE double trust_ratio(double param_squares, double direction_squares) {
  if (param_squares == 0.0 || direction_squares == 0.0) return 1.0;
  return std::sqrt(param_squares / direction_squares);
}

// What a device needs for the same passes.
struct LambMaker {
  double beta1;
  double beta2;
  double epsilon;
  double decay;
  FC_HOST_DEVICE LambRule operator()(double power1, double power2) const {
    return {beta1, beta2, 1.0 - power1, 1.0 - power2, epsilon, decay};
  }
};

template <class T>
struct LambDirection {
  LambMaker maker;
  const T* power1;
  const T* power2;
  const T* param;
  const T* moment1;
  const T* moment2;
  FC_HOST_DEVICE T operator()(std::int64_t i) const {
    const LambRule rule = maker(static_cast<double>(*power1), static_cast<double>(*power2));
    return rule.direction(param[i], moment1[i], moment2[i]);
  }
};

template <class T>
struct ParamSquares {
  const T* param;
  FC_HOST_DEVICE double operator()(std::int64_t i) const {
    return static_cast<double>(param[i]) * static_cast<double>(param[i]);
  }
};

template <class T>
struct DirectionSquares {
  LambDirection<T> direction;
  FC_HOST_DEVICE double operator()(std::int64_t i) const {
    const double value = direction(i);
    return value * value;
  }
};

// `squares` are those of the parameter and of the direction.
template <class T>
struct LambStep {
  LambDirection<T> direction;

  template <class Index>
  FC_HOST_DEVICE void operator()(Index i, const T* rate, const double* squares, T* to) const {
    const T step = static_cast<T>(static_cast<double>(*rate) * trust_ratio(squares[0], squares[1]));
    to[i] = direction.param[i] - step * direction(i);
  }
};

// In three passes: the moments; both norms; the step. The direction is calculated twice, so that no
// memory of its size is needed.
template <class T>
Kernel lamb(const KernelContext& context) {
  const auto param = context.input<T>("Param");
  const auto grad = context.input<T>("Grad");
  const auto moment1 = context.input<T>("Moment1");
  const auto moment2 = context.input<T>("Moment2");
  const auto param_out = context.output<T>("ParamOut");
  const auto moment1_out = context.output<T>("Moment1Out");
  const auto moment2_out = context.output<T>("Moment2Out");
  const auto rate = context.input<T>("LearningRate");
  const auto power1 = context.input<T>("Beta1Pow");
  const auto power2 = context.input<T>("Beta2Pow");
  const std::int64_t size = param.size();
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const LambMaker maker{context.attr<double>("beta1"), context.attr<double>("beta2"),
                            context.attr<double>("epsilon"), context.attr<double>("coeff")};
      ScratchParts memory(context.scratch());
      const std::size_t squares_at = memory.add(2, sizeof(double));
      const cuda::Reduction<SumOf, double> sum(context.device(), memory.rest(), {size}, {true});
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::update(device, maker, std::make_tuple(power1.data(), power2.data()), size,
                     grad.data(), cpu::Updated<T>{moment1.data(), moment1_out.data()},
                     cpu::Updated<T>{moment2.data(), moment2_out.data()});
        const LambDirection<T> direction{maker,        power1.data(),      power2.data(),
                                         param.data(), moment1_out.data(), moment2_out.data()};
        auto* const squares = memory.at<double>(squares_at);
        sum.run(ParamSquares<T>{param.data()}, squares);
        sum.run(DirectionSquares<T>{direction}, squares + 1);
        cuda::for_each(device, size, LambStep<T>{direction}, rate.data(),
                       static_cast<const double*>(squares), param_out.data());
      });
    }
  }
  const Tensor partial({Shape{cpu::total_blocks(size)}, DType::kFloat64});
  return [=, beta1 = context.attr<double>("beta1"), beta2 = context.attr<double>("beta2"),
          epsilon = context.attr<double>("epsilon"), decay = context.attr<double>("coeff"),
          isa = cpu::cpu_isa()] {
    const LambRule rule{beta1,
                        beta2,
                        1.0 - static_cast<double>(*power1.data()),
                        1.0 - static_cast<double>(*power2.data()),
                        epsilon,
                        decay};
    cpu::update(rule, size, grad.data(), cpu::Updated<T>{moment1.data(), moment1_out.data()},
                cpu::Updated<T>{moment2.data(), moment2_out.data()});
    const T* from = param.data();
    const T* first = moment1_out.data();
    const T* second = moment2_out.data();
    const auto direction = [=](std::int64_t i) {
      return rule.direction(from[i], first[i], second[i]);
    };
    auto* const sums = static_cast<double*>(partial.raw());
    const double param_squares = cpu::total_of(
        [=](std::int64_t i) { return static_cast<double>(from[i]) * from[i]; }, size, sums);
    const double direction_squares = cpu::total_of(
        [=](std::int64_t i) {
          const double value = direction(i);
          return value * value;
        },
        size, sums);
    const T step = static_cast<T>(static_cast<double>(*rate.data()) *
                                  trust_ratio(param_squares, direction_squares));
    T* to = param_out.data();
    parallel_for(size, cpu::kGrain, [&](std::int64_t begin, std::int64_t end) {
      cpu::run_on(isa, [=] {
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) to[i] = from[i] - step * direction(i);
      });
    });
  };
}

}  // namespace

void register_lamb_ops(OpRegistry& registry) {
  registry.add(
      declare_update(
          "lamb",
          "Layerwise adaptation for large batches (You et al., Large Batch Optimization for Deep "
          "Learning: Training BERT in 76 Minutes, 2020). Moment1Out = beta1 Moment1 + (1 - beta1) "
          "Grad; Moment2Out = beta2 Moment2 + (1 - beta2) Grad^2; direction = Moment1Out / (1 - "
          "Beta1Pow) / (sqrt(Moment2Out / (1 - Beta2Pow)) + epsilon) + coeff Param; ParamOut = "
          "Param - LearningRate ratio direction, where ratio is the norm of Param divided by that "
          "of direction, 1 where either is 0.",
          {kMoments.begin(), kMoments.end()}, {kLearningRate, kBeta1Pow, kBeta2Pow},
          [](const InferContext& context) {
            require_share(context, {"beta1", "beta2"});
            require_not_negative(context, {"epsilon", "coeff"});
          })
          .attr("beta1", 0.9, "how much of the mean of the gradients is kept")
          .attr("beta2", 0.999, "how much of the mean of their squares is kept")
          .attr("epsilon", 1.0e-6, "keeps the divisor above 0")
          .attr("coeff", 0.01, "the decay of weights, in the direction")
          .kernels(kernels_everywhere<float, double>(
              [](auto tag) -> KernelFactory { return lamb<typename decltype(tag)::type>; })));
}

}  // namespace fluidcore
