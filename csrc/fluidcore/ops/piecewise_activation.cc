#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "fluidcore/kernels/functors.h"
#include "fluidcore/kernels/piecewise_functors.h"
#include "fluidcore/ops/activation.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/whole_numbers.h"

namespace fluidcore {

namespace {

constexpr const char* kLeastDoc = "the least value of Out";
constexpr const char* kMostDoc = "the greatest value of Out";

// The limits of relu6: 0 and its threshold.
struct FromZero {
  template <class Formula>
  static Formula make(const KernelContext& context) {
    return {0.0, context.attr<double>("threshold")};
  }
};

// Above 1 the larger one of X and alpha X would be the other one.
void check_leaky_relu(const InferContext& context) {
  const auto alpha = context.attr<double>("alpha");
  require(alpha <= 1.0, context.type(), ": alpha must be at most 1, got ", alpha);
}

struct WholeClip {
  std::int64_t min;
  std::int64_t max;
  std::int64_t operator()(std::int64_t x) const { return std::clamp(x, min, max); }
};

// To the whole numbers of [min, max].
WholeClip whole_clip(const KernelContext& context) {
  constexpr double kAbove = 9223372036854775808.0;  // the greatest int64 and 1
  const double min = std::ceil(context.attr<double>("min"));
  const double max = std::floor(context.attr<double>("max"));
  require(min <= max && min < kAbove && max >= -kAbove, context.type(),
          ": there must be a whole number in [min, max], got min ", context.attr<double>("min"),
          ", max ", context.attr<double>("max"));
  using Limits = std::numeric_limits<std::int64_t>;
  return {min < -kAbove ? Limits::min() : static_cast<std::int64_t>(min),
          max >= kAbove ? Limits::max() : static_cast<std::int64_t>(max)};
}

void add_clips(OpRegistry& registry) {
  add_piecewise<Clip, ClipGrad, kInput, FromAttrs<"min", "max">>(
      registry, {.type = "clip",
                 .formula = "min(max(X, min), max)",
                 .grad_formula = "Out@GRAD where min < X < max, else 0",
                 .attrs = {{"min", -1.0, kLeastDoc, true}, {"max", 1.0, kMostDoc, true}},
                 .check = check_order<"min", "max">,
                 .whole = whole_kernels<whole_clip>()});
  add_piecewise<Clip, ClipGrad, kInput, FromAttrs<"t_min", "t_max">>(
      registry, {.type = "brelu",
                 .formula = "min(max(X, t_min), t_max)",
                 .grad_formula = "Out@GRAD where t_min < X < t_max, else 0",
                 .attrs = {{"t_min", 0.0, kLeastDoc}, {"t_max", 24.0, kMostDoc}},
                 .check = check_order<"t_min", "t_max">});
  add_piecewise<Clip, ClipGrad, kInput, FromZero>(
      registry, {.type = "relu6",
                 .formula = "min(max(X, 0), threshold)",
                 .grad_formula = "Out@GRAD where 0 < X < threshold, else 0",
                 .attrs = {{"threshold", 6.0, kMostDoc}},
                 .check = check_not_negative<"threshold">});
}

void add_shrinks(OpRegistry& registry) {
  const char* doc = "the largest |X| for which Out is 0";
  add_piecewise<HardShrink, ShrinkGrad, kInput, FromAttrs<"threshold">>(
      registry, {.type = "hard_shrink",
                 .formula = "X where |X| > threshold, else 0",
                 .grad_formula = "Out@GRAD where |X| > threshold, else 0",
                 .attrs = {{"threshold", 0.5, doc}},
                 .check = check_not_negative<"threshold">});
  add_piecewise<SoftShrink, ShrinkGrad, kInput, FromAttrs<"lambda">>(
      registry, {.type = "softshrink",
                 .formula = "X - lambda where X > lambda, X + lambda where X < -lambda, else 0",
                 .grad_formula = "Out@GRAD where |X| > lambda, else 0",
                 .attrs = {{"lambda", 0.5, doc}},
                 .check = check_not_negative<"lambda">});
}

}  // namespace

void register_piecewise_activation_ops(OpRegistry& registry) {
  add_piecewise<Relu, ReluGrad, kOutput>(registry,
                                         {"relu", "max(X, 0)", "Out@GRAD where Out > 0, else 0"});
  add_piecewise<Abs, AbsGrad, kInput>(registry,
                                      {.type = "abs",
                                       .formula = "|X|",
                                       .grad_formula = "Out@GRAD sign(X), 0 at 0",
                                       .whole = whole_kernels<without_attributes<Abs>>()});
  add_clips(registry);
  add_shrinks(registry);
  add_piecewise<LeakyRelu, LeakyReluGrad, kInput, FromAttrs<"alpha">>(
      registry, {.type = "leaky_relu",
                 .formula = "max(X, alpha X)",
                 .grad_formula = "Out@GRAD where X > 0, else alpha Out@GRAD",
                 .attrs = {{"alpha", 0.02, "the slope below 0"}},
                 .check = check_leaky_relu});
  add_piecewise<ThresholdedRelu, ThresholdedReluGrad, kInput, FromAttrs<"threshold">>(
      registry, {.type = "thresholded_relu",
                 .formula = "X where X > threshold, else 0",
                 .grad_formula = "Out@GRAD where X > threshold, else 0",
                 .attrs = {{"threshold", 1.0, "the largest X for which Out is 0"}}});
  add_piecewise<HardSigmoid, HardSigmoidGrad, kInput, FromAttrs<"slope", "offset">>(
      registry, {.type = "hard_sigmoid",
                 .formula = "min(max(slope X + offset, 0), 1)",
                 .grad_formula = "slope Out@GRAD where 0 < slope X + offset < 1, else 0",
                 .attrs = {{"slope", 0.2, "the slope between 0 and 1"},
                           {"offset", 0.5, "Out for an X of 0"}}});
}

}  // namespace fluidcore
