// Kernels that read values whose digits are lost, and kernels that are wrong beside them.

#include "fluidcore/gradcheck/verdict/lost_digits.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/operator_gradient.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/gradcheck_gtest.h"
#include "fluidcore/gradcheck/verdict/neighbours.h"
#include "fluidcore/ops/register_ops.h"
#include "gradcheck/toy_function.h"
#include "gradcheck/toy_gradient.h"
#include "gradcheck/toy_operators.h"
#include "ops/op_runner.h"

namespace fluidcore::gradcheck {
namespace {

constexpr std::uint64_t kSeeds = 50;

// Numbers in +-(low, high); only positive ones with `positive`.
Tensor saturating(Shape shape, double low, double high, std::uint64_t seed, bool positive = false) {
  Tensor x({std::move(shape), DType::kFloat32});
  const RandomSequence sizes = random_sequence(seed, "x", "sizes");
  const RandomSequence signs = random_sequence(seed, "x", "signs");
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    const double size = low + (high - low) * sizes.uniform<double>(index);
    x.set_float_element(i, positive || signs.uniform<double>(index) < 0.5 ? size : -size);
  }
  return x;
}

// Each row is a series, h = tanh(3 x + h): most of its units are saturated, some are not.
struct Recurrent {
  template <class T>
  void operator()(const T* x, T* out, Extents extents) const {
    for (std::int64_t i = 0; i < extents.size(); ++i) {
      out[i] = std::tanh(3 * x[i] + (i % extents.columns == 0 ? T(0) : out[i - 1]));
    }
  }
};
struct RecurrentGrad {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    std::vector<T> h(static_cast<std::size_t>(extents.size()));
    Recurrent()(x, h.data(), extents);
    T passed = 0;
    for (std::int64_t i = extents.size() - 1; i >= 0; --i) {
      const T y = h[static_cast<std::size_t>(i)];
      passed = (1 - y * y) * (dout[i] + passed);
      dx[i] = 3 * passed;
      if (i % extents.columns == 0) passed = 0;
    }
  }
};

struct Tanh {
  template <class T>
  void operator()(const T* x, T* out, Extents extents) const {
    for (std::int64_t i = 0; i < extents.size(); ++i) out[i] = std::tanh(x[i]);
  }
};
template <int kPercent>
struct TanhGrad {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    for (std::int64_t i = 0; i < extents.size(); ++i) {
      const T y = std::tanh(x[i]);
      dx[i] = dout[i] * (1 - y * y) * (i == 3 ? T(kPercent) / 100 : T(1));
    }
  }
};

struct Outcome {
  int warned = 0;
  int failed = 0;
};
Outcome outcome(const OpRegistry& ops,
                const std::string& type,
                double low,
                double high,
                bool positive = false) {
  Outcome total;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Tensor x = saturating({3, 4}, low, high, seed, positive);
    const GradCheck found = check_gradients(ops, type, {{"X", {x}}}, {}, {.seed = seed});
    total.warned += found.inputs[0].reason == "precision-loss" ? 1 : 0;
    total.failed += found.verdict == Verdict::kFail ? 1 : 0;
    EXPECT_TRUE(found.passed) << "seed " << seed << ", " << found.message;
  }
  return total;
}

TEST(LostDigitsTest, RightSaturatedKernelsPassWithAWarning) {
  const Outcome tanh = outcome(builtin_ops(), "tanh", 7, 10);
  const Outcome sigmoid = outcome(builtin_ops(), "sigmoid", 14, 20, true);
  const Outcome recurrent = outcome(toy_registry<Recurrent, RecurrentGrad>(), "toy", 0, 5);
  for (const Outcome& found : {tanh, sigmoid, recurrent}) {
    EXPECT_EQ(found.failed, 0);
    EXPECT_GE(found.warned, 40);
  }
}

TEST(LostDigitsTest, RightKernelsThatAreNotSaturatedPassWithoutWarning) {
  const Outcome found = outcome(builtin_ops(), "tanh", 0.1, 2);
  EXPECT_EQ(found.failed + found.warned, 0);
}

template <int kPercent>
void expect_found() {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Tensor x = saturating({3, 4}, 7, 20, seed);
    x.set_float_element(3, 0.5);
    const OpRegistry ops = toy_registry<Tanh, TanhGrad<kPercent>, TanhGrad<100>>();
    const GradCheck found = check_gradients(ops, "toy", {{"X", {x}}}, {}, {.seed = seed});
    EXPECT_EQ(found.inputs[0].reason, "kernel-mismatch") << found.message;
  }
}

TEST(LostDigitsTest, AWrongKernelBesideLostDigitsIsFound) {
  expect_found<-100>();
  expect_found<50>();
  expect_found<101>();
  expect_found<200>();
}

OperatorCase tanh_case(DType dtype) {
  return {"tanh", {{"X", {tensor_of({2}, {8, 0.5}, dtype)}}}};
}

TEST(LostDigitsTest, ANeighbourHasTheSameOutputsButForOneToThreeUnits) {
  const auto f = OperatorGradient(builtin_ops(), tanh_case(DType::kFloat64)).forward();
  Neighbourhood near(*f, DType::kFloat32, 0);
  EXPECT_NEAR(near.unit(), 0x1p-24, 1e-12);
  const auto found = near.beside(0, 0, -1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->element, 0);
  const double change = std::abs(std::tanh(found->value) - std::tanh(8.0)) / near.unit();
  EXPECT_GE(change, 1);
  EXPECT_LE(change, 3);
  EXPECT_GE(near.between(*found).size(), 6u);
  EXPECT_FALSE(near.beside(0, 1, 1)) << "a dither moves f";
}

TEST(LostDigitsTest, AGradientIsUncertainByWhatOneUnitOfFMakes) {
  OperatorGradient kernel(builtin_ops(), tanh_case(DType::kFloat32));
  OperatorGradient formula(builtin_ops(), tanh_case(DType::kFloat64));
  const auto f = formula.forward();
  const GradientPair pair{kernel, formula, *f, {{tensor_of({2}, {1, 1}, DType::kFloat32)}}};
  const LostDigits lost(pair, 0, {0});
  const std::vector<double> uncertain = lost.uncertain();
  EXPECT_GT(uncertain[0], 2 * 0x1p-24);
  EXPECT_LT(uncertain[0], 12 * 0x1p-24);
  EXPECT_EQ(uncertain[1], 0);
}

double tanh_slope(double x) {
  return 1 - std::tanh(x) * std::tanh(x);
}

// tanh, with a kernel that adds something to the gradient: off(x, right gradient).
class OffBy {
 public:
  using Off = std::function<double(double, double)>;

  explicit OffBy(Off off, std::vector<double> x = {8, 0.5})
      : f_(ToyFunction::elementwise(tensor_of(x), [](double at) { return std::tanh(at); })),
        kernel_(ToyGradient::elementwise(tensor_of(x, DType::kFloat32),
                                         [off = std::move(off)](double at) {
                                           return tanh_slope(at) + off(at, tanh_slope(at));
                                         })),
        formula_(ToyGradient::elementwise(tensor_of(x), tanh_slope)),
        pair_{kernel_,
              formula_,
              f_,
              {{tensor_of(std::vector<double>(x.size(), 1.0), DType::kFloat32)}},
              0} {}

  LostDigits lost(std::vector<std::int64_t> doubt) const { return {pair_, 0, std::move(doubt)}; }
  // Whether the first element may be off by so much.
  bool is_excused(double size) const {
    std::int64_t evaluations = 0;
    return are_rounding(pair_, 0, {0}, {size}, evaluations);
  }

 private:
  ToyFunction f_;
  ToyGradient kernel_;
  ToyGradient formula_;
  GradientPair pair_;
};

TEST(LostDigitsTest, AFaultStaysTheSameOrTheSamePartOnTheWayToANeighbour) {
  const auto at_8 = [](double x, double a) { return a * tanh_slope(8) / tanh_slope(x); };
  const auto waves = [](double x) { return std::sin(1e7 * x); };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<OffBy::Off> steady = {
      [](double /*x*/, double /*a*/) { return 1e-3; },
      [](double /*x*/, double a) { return a; },
      [](double /*x*/, double a) { return -2 * a; },
      [](double /*x*/, double a) { return -a; },
      [&](double x, double a) { return (2 + 0.6 * waves(x)) * at_8(x, a); },  // within 70 %
      [](double x, double /*a*/) { return x == 8 ? 1.0 : 0.0; },
      [&](double x, double /*a*/) { return x == 8 ? 1e-3 : nan; }};
  for (const OffBy::Off& off : steady) {
    const OffBy kernel(off);
    EXPECT_TRUE(kernel.lost({0}).is_steady(0));
  }
  const std::vector<OffBy::Off> rounding = {
      [&](double x, double /*a*/) { return waves(x); },
      [&](double x, double a) { return a * waves(x); },
      [&](double x, double a) { return (2 + 1.7 * waves(x)) * at_8(x, a); },
      [](double x, double /*a*/) { return x - 7.9; }};
  for (const OffBy::Off& off : rounding) {
    const OffBy kernel(off);
    EXPECT_FALSE(kernel.lost({0}).is_steady(0));
  }
}

TEST(LostDigitsTest, WhatIsLargerThanAUnitOfFMakesIsNoLostDigitHoweverItVaries) {
  for (const auto& [size, is_excused] : {std::pair(1e-8, true), std::pair(1e-3, false)}) {
    const double most = size;
    const OffBy kernel([most](double x, double /*a*/) { return most * std::sin(1e7 * x); }, {8});
    EXPECT_FALSE(kernel.lost({0}).is_steady(0));
    EXPECT_EQ(kernel.is_excused(size), is_excused) << size;
  }
}

TEST(LostDigitsTest, WithoutAWayToGoEverythingIsSteady) {
  const OffBy kernel([](double x, double /*a*/) { return std::sin(1e7 * x); }, {0.5});
  EXPECT_TRUE(kernel.lost({0}).is_steady(0));
}

TEST(LostDigitsTest, OfManyElementsThoseInDoubtAndSomeOthersAreMoved) {
  for (const std::size_t size : {std::size_t{128}, std::size_t{129}, std::size_t{300}}) {
    std::vector<double> x(size);
    for (std::size_t i = 0; i < size; ++i) {
      x[i] = 8 + static_cast<double>(i) / static_cast<double>(size);
    }
    const OffBy kernel([](double /*x*/, double /*a*/) { return 0; }, x);
    const std::vector<double> uncertain = kernel.lost({7, 120}).uncertain();
    const auto moved = std::ssize(uncertain) - std::count(uncertain.begin(), uncertain.end(), 0);
    EXPECT_GE(moved, size == 128 ? 128 : 60);
    EXPECT_LE(moved, 128);
    EXPECT_GT(uncertain[7], 0);
    EXPECT_GT(uncertain[120], 0);
  }
}

TEST(LostDigitsTest, WhereAGradientThrowsItSaysNothing) {
  const OffBy::Off only_at_8 = [](double x, double /*a*/) {
    if (x != 8) throw std::runtime_error("outside");
    return 1e-3;
  };
  const OffBy kernel(only_at_8, {8});
  LostDigits lost = kernel.lost({0});
  EXPECT_THAT(lost.uncertain(), ::testing::ElementsAre(0));
  EXPECT_TRUE(lost.is_steady(0));
}

}  // namespace
}  // namespace fluidcore::gradcheck
