#include "fluidcore/gradcheck/difference/noise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "gradcheck/toy_function.h"

namespace fluidcore::gradcheck {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(MeasureNoise, SeesWhatCancelsInsideOfAFunction) {
  // The roundings of 1e3 + sin(x) are 1e3 times those of sin(x), and remain.
  ToyFunction f =
      ToyFunction::elementwise(tensor_of({0.3, -1.1, 2.0}, DType::kFloat32), [](double x) {
        const float large = 1e3f + static_cast<float>(std::sin(x));
        return static_cast<double>(large - 1e3f);
      });
  for (const double noise : measure_noise(f).near) {
    EXPECT_GT(noise, 5e-6);
    EXPECT_LT(noise, 1e-4);
  }
}

TEST(MeasureNoise, SeesAGridThatEvenStepsAreInStepWith) {
  // For so small an x the sine is x, and a step of 2^-k is a multiple of the grid of 1e3.
  const Tensor x = tensor_of({0.04, -0.06, 0.5, 1}, DType::kFloat32);
  ToyFunction f = ToyFunction::elementwise(x, [](double element) {
    const float large = 1e3f + static_cast<float>(std::sin(element));
    return static_cast<double>(large - 1e3f);
  });
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const double noise : measure_noise(f, seed).near) EXPECT_GT(noise, 1.5e-6) << seed;
  }
}

TEST(MeasureNoise, FindsOnlyTheLastDigitOfAPlainFunction) {
  ToyFunction f = ToyFunction::elementwise(tensor_of({0.3, -1.1, 2.0}, DType::kFloat32),
                                           [](double x) { return std::exp(x); });
  for (const double noise : measure_noise(f, 3).near) {
    EXPECT_GT(noise, 0);
    EXPECT_LT(noise, 1e-6);
  }
}

TEST(MeasureNoise, FindsNoneInExactArithmetic) {
  ToyFunction f = ToyFunction::elementwise(tensor_of({0.5, -1, 2}, DType::kFloat32),
                                           [](double x) { return 2 * x; });
  EXPECT_THAT(measure_noise(f).near, Each(0));
}

TEST(MeasureNoise, DependsOnItsSeedOnly) {
  ToyFunction f = ToyFunction::elementwise(tensor_of({0.3, -1.1, 2.0}, DType::kFloat32),
                                           [](double x) { return std::exp(x); });
  EXPECT_EQ(measure_noise(f, 5).near, measure_noise(f, 5).near);
  EXPECT_NE(measure_noise(f, 5).near, measure_noise(f, 6).near);
}

TEST(MeasureNoise, StaysInsideOfTheDomain) {
  const Tensor x = tensor_of({1e-6, 1}, DType::kFloat32);
  ToyFunction roots = ToyFunction::elementwise(x, [](double x) { return std::sqrt(x); });
  const std::vector<double> noise = measure_noise(roots).near;
  EXPECT_GT(noise[0], 1e-12);
  EXPECT_LT(noise[0], 1e-9);
  EXPECT_GT(noise[1], 1e-9);
}

TEST(MeasureNoise, StaysOnOneSideOfAPole) {
  // A line as wide as the largest element would lead across 0.
  const Tensor small = tensor_of({0.0136, -0.02, 20, 37}, DType::kFloat32);
  ToyFunction inverses = ToyFunction::elementwise(small, [](double x) { return 1 / x; });
  const std::vector<double> noise = measure_noise(inverses).near;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    EXPECT_LT(noise[i], 1e-6 / std::abs(small.get_float_element(static_cast<std::int64_t>(i))));
  }
  const Tensor near = tensor_of({1.5606, 51.8365}, DType::kFloat32);
  ToyFunction tangents = ToyFunction::elementwise(near, [](double x) { return std::tan(x); });
  EXPECT_LT(measure_noise(tangents).near[0], 1e-3 * std::tan(1.5606));
  EXPECT_LT(measure_noise(tangents).near[1], 1e-3 * std::abs(std::tan(51.8365)));
}

TEST(MeasureNoise, IsZeroWhereTheFunctionIsFiniteAtThePointOnly) {
  const Tensor x = tensor_of({0.5, 1}, DType::kFloat32);
  ToyFunction f = ToyFunction::elementwise(x, [](double x) {
    return x == 0.5 ? 0 : x < 0.75 ? std::log(-1.0) : std::exp(x);
  });
  const std::vector<double> noise = measure_noise(f).near;
  EXPECT_EQ(noise[0], 0);
  EXPECT_GT(noise[1], 0);
}

TEST(MeasureNoise, IsZeroWhenTheFunctionThrowsNearby) {
  int runs = 0;
  const Tensor x = tensor_of({1, 2}, DType::kFloat32);
  ToyFunction f({x}, [&](const std::vector<Tensor>& inputs) {
    if (++runs == 5) throw std::domain_error("no");
    return std::vector{inputs[0].clone()};
  });
  EXPECT_THAT(measure_noise(f).near, ElementsAre(0, 0));
  EXPECT_THAT(values_of(x), ElementsAre(1, 2));
  runs = 4;
  EXPECT_THROW(measure_noise(f), std::domain_error);
}

TEST(MeasureNoise, OnAWideLineAFunctionIsRoughThatStandsStillNearby) {
  ToyFunction f({tensor_of({0.7, 1.1})}, [](const std::vector<Tensor>& in) {
    const std::vector<double> x = values_of(in[0]);
    return std::vector{tensor_of({std::nearbyint(1e6 * std::sin(x[0])) / 1e6 + x[1]})};
  });
  const NoiseLevel noise = measure_noise(f);
  EXPECT_LT(noise.near[0], 1e-14);
  EXPECT_GT(noise.far[0], 1e-7);
  EXPECT_LT(noise.far[0], 1e-5);
}

TEST(MeasureNoise, TheLineGetsLongerUntilTheFunctionMoves) {
  ToyFunction f = ToyFunction::elementwise(
      tensor_of({0.05}), [](double x) { return std::nearbyint(1e6 * std::sin(x)) / 1e6; });
  const NoiseLevel noise = measure_noise(f);
  EXPECT_EQ(noise.near[0], 0);
  EXPECT_GT(noise.far[0], 1e-7);
  EXPECT_LT(noise.far[0], 1e-5);
}

TEST(NoiseOfTreads, IsThatOfTheElementsThatMove) {
  const auto f = [](double x) { return std::nearbyint(1e6 * std::sin(x)) / 1e6; };
  ToyFunction function = ToyFunction::elementwise(tensor_of({0.05, 0.07}), f);
  std::int64_t evaluations = 0;
  const std::vector<double> noise = noise_of_treads(function, 0, {0}, 0, evaluations);
  EXPECT_GT(noise[0], 1e-7);
  EXPECT_LT(noise[0], 1e-5);
  EXPECT_EQ(noise.size(), 2);
  EXPECT_EQ(evaluations, 1 + 5 * 14);
}

TEST(NoiseOfTreads, IsSeenThoughOtherElementsMoveTheOutput) {
  ToyFunction f({tensor_of({0.7, 1.1})}, [](const std::vector<Tensor>& in) {
    const std::vector<double> x = values_of(in[0]);
    return std::vector{tensor_of({std::nearbyint(256 * x[0]) / 256 + std::sin(x[1])})};
  });
  std::int64_t evaluations = 0;
  EXPECT_GT(noise_of_treads(f, 0, {0}, 0, evaluations)[0], 1e-3);
  EXPECT_TRUE(noise_of_treads(f, 0, {1}, 0, evaluations).empty());
}

TEST(NoiseOfTreads, IsNotWhatAFunctionDoesItself) {
  for (const double kink : {1.2, 1.4, 1.49, 1.499, 1.5, 1.51, 1.6}) {
    ToyFunction f = ToyFunction::elementwise(
        tensor_of({1.5}), [&](double x) { return std::sin(3 * x) + std::abs(x - kink); });
    std::int64_t evaluations = 0;
    EXPECT_TRUE(noise_of_treads(f, 0, {0}, 0, evaluations).empty()) << kink;
  }
  ToyFunction fast = ToyFunction::elementwise(tensor_of({0.7, 0.3, 1.1}),
                                              [](double x) { return std::sin(1000 * x); });
  std::int64_t evaluations = 0;
  EXPECT_TRUE(noise_of_treads(fast, 0, {0}, 0, evaluations).empty());
}

TEST(NoiseFloor, IsEmptyWhereRoundingExplainsAll) {
  ToyFunction f =
      ToyFunction::elementwise(tensor_of({0.3, -1.1, 2.0}), [](double x) { return std::exp(x); });
  EXPECT_THAT(noise_floor(f).near, IsEmpty());
  EXPECT_THAT(noise_floor(f).far, IsEmpty());
  ToyFunction half =
      ToyFunction::elementwise(tensor_of({0.3}, DType::kFloat16), [](double x) { return x; });
  std::int64_t evaluations = 0;
  EXPECT_THAT(noise_floor(half, 0, &evaluations).near, IsEmpty());
  EXPECT_EQ(evaluations, 0);
}

TEST(NoiseFloor, IsThreeDeviations) {
  ToyFunction f =
      ToyFunction::elementwise(tensor_of({0.3}), [](double x) { return std::sin(x) + 1e6 - 1e6; });
  EXPECT_EQ(noise_floor(f, 3).near[0], 3 * measure_noise(f, 3).near[0]);
  EXPECT_THAT(noise_floor(f, 3).far, IsEmpty());  // no more than near by
}

TEST(NoiseFloor, IsNoLessThanTheUsualOneOfOutputsOfThatSize) {
  // A few differences of 64 outputs that round alike tell noises that are up to ten times apart.
  std::vector<double> x;
  for (int i = 0; i < 64; ++i) x.push_back(0.3 + 0.001 * i);
  ToyFunction f = ToyFunction::elementwise(tensor_of(std::move(x)),
                                           [](double y) { return std::sin(y) + 1e6 - 1e6; });
  const NoiseLevel noise = measure_noise(f);
  const auto [least, most] = std::minmax_element(noise.near.begin(), noise.near.end());
  EXPECT_GT(*most, 2.5 * *least);
  std::vector<double> floor = noise_floor(f).near;
  std::sort(floor.begin(), floor.end());
  EXPECT_GT(floor.front(), 0.6 * floor[floor.size() / 2]);
  EXPECT_EQ(floor.back(), 3 * *most);
}

TEST(NoiseFloor, OfOtherSizesIsLeftAlone) {
  for (const std::size_t half : {2u, 16u}) {
    std::vector<double> x(2 * half, 0.7e-9);
    for (std::size_t i = half; i < x.size(); ++i) x[i] *= 1e9;
    ToyFunction f = ToyFunction::elementwise(tensor_of(std::move(x)),
                                             [](double y) { return y * 1.1 + y * 1e6 - y * 1e6; });
    const std::vector<double> floor = noise_floor(f).near;
    for (std::size_t i = 0; i < half; ++i) EXPECT_LT(floor[i], 1e-4 * floor[half + i]);
  }
}

TEST(NoiseFloor, OutputsThatAreNoNumbersHaveNone) {
  std::vector<double> x(200, 0.3);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = -0.3;
  ToyFunction f = ToyFunction::elementwise(tensor_of(std::move(x)),
                                           [](double y) { return std::sqrt(y) + 1e6 - 1e6; });
  const std::vector<double> floor = noise_floor(f).near;
  for (std::size_t i = 0; i < floor.size(); ++i) EXPECT_EQ(floor[i] > 0, i % 3 != 0) << i;
}

TEST(MeasureNoise, WhatIsNotLevelIsTheFunctionItself) {
  // Beside the pole the wide line bends, by less than half of the digits.
  ToyFunction f = ToyFunction::elementwise(tensor_of({0.02, 1}, DType::kFloat32),
                                           [](double x) { return std::log(x); });
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_LT(measure_noise(f, seed).near[0], 1e-6) << seed;
}

TEST(MeasureNoise, LeavesIntegersAlone) {
  ToyFunction f({tensor_of({1}, DType::kInt64), tensor_of({0.5}, DType::kFloat32)},
                [](const std::vector<Tensor>& inputs) { return std::vector{inputs[1].clone()}; });
  EXPECT_THAT(measure_noise(f).near, ElementsAre(0));
}

TEST(NoiseLevel, IsAtLeastWhatElseIsKnown) {
  const NoiseLevel level{{1, 2, 3}, {4, 4, 4}};
  const NoiseLevel more = level.at_least({2, 2, 5});
  EXPECT_THAT(more.near, ElementsAre(2, 2, 5));
  EXPECT_THAT(more.far, ElementsAre(4, 4, 5));
  EXPECT_THAT(level.at_least({}).near, ElementsAre(1, 2, 3));
  EXPECT_THAT(NoiseLevel{}.at_least({1, 0}).near, ElementsAre(1, 0));
  EXPECT_THAT(NoiseLevel{}.at_least({1, 0}).far, IsEmpty());
  EXPECT_THROW(level.at_least({1}), InvalidArgument);
}

}  // namespace
}  // namespace fluidcore::gradcheck
