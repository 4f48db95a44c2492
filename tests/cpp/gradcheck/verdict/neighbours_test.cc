// Points beside x whose outputs are those of x but for one to three rounding units.

#include "fluidcore/gradcheck/verdict/neighbours.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradcheck/toy_function.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

using ::testing::ElementsAre;

constexpr double kRoot = 0x1p-12;  // of a unit: the first step, times the size of x

// A function of one input with all elements of it as its outputs.
ToyFunction function_of(const std::vector<double>& x, std::function<double(double)> f) {
  return ToyFunction::elementwise(tensor_of(x), std::move(f));
}

// 1 at the first of x, and by `units` more after the first step of an element of size 1.
std::function<double(double)> sloped(double units, double from = 1) {
  return [=](double x) { return 1 + units * kFloat32Unit / kRoot * (x - from); };
}

// How far the first element is moved to either side; 0 where there is no neighbour.
std::vector<double> steps(Function& f) {
  Neighbourhood near(f, DType::kFloat32, 0);
  std::vector<double> found;
  for (const double sign : {1.0, -1.0}) {
    const auto at = near.beside(0, 0, sign);
    found.push_back(at ? at->value - f.inputs()[0].get_float_element(0) : 0);
  }
  return found;
}

TEST(NeighboursTest, TheFirstStepIsTheRootOfAUnitOfTheSizeOfX) {
  ToyFunction one = function_of({1, 1}, sloped(1.5));
  EXPECT_THAT(steps(one), ElementsAre(kRoot, -kRoot));
  ToyFunction zero = function_of({0, 0}, sloped(1.5, 0));
  EXPECT_THAT(steps(zero), ElementsAre(kRoot, -kRoot));
  const double size = std::sqrt((9.0 + 25.0) / 2);
  ToyFunction small = function_of({3, 5}, sloped(1.5 / size, 5));
  EXPECT_NEAR(steps(small)[0], kRoot * size, 1e-6);
  ToyFunction large = function_of({5, 3}, sloped(1.5 / 5, 5));
  EXPECT_NEAR(steps(large)[0], kRoot * 5, 1e-6);
}

TEST(NeighboursTest, LargerStepsAndThenHalvesLeadToOneToThreeUnits) {
  const std::vector<std::pair<double, double>> cases = {
      {1.01, 1}, {2.9, 1}, {0.99, 2.5}, {0.26, 4}, {0.7, 4}, {0.07, 16}, {0.24, 10}};
  for (const auto& [units, step] : cases) {
    ToyFunction f = function_of({1, 1}, sloped(units));
    EXPECT_THAT(steps(f), ElementsAre(step * kRoot, -step * kRoot)) << units;
  }
}

TEST(NeighboursTest, ThereIsNoneWhereTheFirstStepIsEnoughOrFNeverMoves) {
  for (const double units : {3.1, 0.0}) {
    ToyFunction f = function_of({1, 1}, sloped(units));
    EXPECT_THAT(steps(f), ElementsAre(0, 0));
  }
  ToyFunction none = function_of({1, 1}, [](double /*x*/) { return 0; });
  EXPECT_THAT(steps(none), ElementsAre(0, 0));
}

TEST(NeighboursTest, AnElementMovesAtMost4096TimesItself) {
  const auto beyond = [](double edge) {
    return function_of({1, 1}, [edge](double x) {
      return 1 + kFloat32Unit / 400 * std::max(std::abs(x - 1) - edge, 0.0);
    });
  };
  ToyFunction near = beyond(3500);
  EXPECT_THAT(steps(near), ElementsAre(4096, -4096));
  ToyFunction far = beyond(4100);
  EXPECT_THAT(steps(far), ElementsAre(0, 0));
}

TEST(NeighboursTest, EverySideOfEveryElementIsLookedAtAlone) {
  ToyFunction f = function_of({1, 1, 1}, [](double x) { return sloped(1.5)(std::max(x, 1.0)); });
  Neighbourhood near(f, DType::kFloat32, 0);
  const auto found = near.beside(0, 2, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->k, 0u);
  EXPECT_EQ(found->element, 2);
  EXPECT_EQ(found->value, 1 + kRoot);
  EXPECT_FALSE(near.beside(0, 2, -1));
}

TEST(NeighboursTest, AnEdgeOfTheDomainIsTooFar) {
  ToyFunction f = function_of({1}, [](double x) {
    if (x > 1 + 3 * kRoot) throw std::runtime_error("outside");
    return x < 1 - 3 * kRoot && x > 0 ? kNaN : sloped(0.7)(x);
  });
  EXPECT_THAT(steps(f), ElementsAre(2.5 * kRoot, -2.5 * kRoot));
}

TEST(NeighboursTest, TheLargestChangeOfAnOutputCounts) {
  ToyFunction f({tensor_of({1})}, [](const std::vector<Tensor>& x) {
    const double at = x[0].get_float_element(0);
    return std::vector<Tensor>{tensor_of({sloped(0.1)(at), sloped(1.5)(at)}), tensor_of({0})};
  });
  EXPECT_THAT(steps(f), ElementsAre(kRoot, -kRoot));
}

TEST(NeighboursTest, TheWayToANeighbourIsSplitWhereFChangesMost) {
  ToyFunction f = function_of({1, 1}, sloped(0.1));
  Neighbourhood near(f, DType::kFloat32, 0);
  for (const double sign : {1.0, -1.0}) {
    const auto end = near.beside(0, 1, sign);
    ASSERT_TRUE(end);
    const std::vector<Neighbour> way = near.between(*end);
    EXPECT_GE(way.size(), 15u);
    EXPECT_LE(way.size(), 21u);
    EXPECT_EQ(way.back().value, end->value);
    double before = 0;
    for (const Neighbour& at : way) {
      EXPECT_EQ(at.element, 1);
      EXPECT_EQ(at.value, static_cast<double>(static_cast<float>(at.value)));
      const double change = 0.1 * std::abs(at.value - 1) / kRoot;
      EXPECT_GE(change, 0.1);
      EXPECT_GT(change, before);
      EXPECT_LE(change, before + (before == 0 ? 0.3 : 0.25));
      before = change;
    }
  }
}

TEST(NeighboursTest, PointsOfAWayThatAreXItselfOrTheSameAreLeftOut) {
  const Neighbour end{0, 0, 1 + kRoot};
  ToyFunction jump =
      function_of({1}, [](double x) { return x > 1 + kRoot / 2 ? 1 + 2 * kFloat32Unit : 1; });
  Neighbourhood near(jump, DType::kFloat32, 0);
  std::set<double> values;
  const std::vector<Neighbour> way = near.between(end);
  for (const Neighbour& at : way) {
    EXPECT_GT(at.value, 1 + kRoot / 2);
    values.insert(at.value);
  }
  EXPECT_EQ(values.size(), way.size());
  ToyFunction wide = function_of({1}, [](double x) { return x > 1 ? 1 + 4 * kFloat32Unit : 1; });
  Neighbourhood far(wide, DType::kFloat32, 0);
  EXPECT_TRUE(far.between(end).empty());
}

TEST(NeighboursTest, AUnitIsThatOfTheLargestOutput) {
  ToyFunction f = function_of({1, 2}, [](double x) { return -3 * std::abs(x); });
  EXPECT_EQ(Neighbourhood(f, DType::kFloat32, 0).unit(), 6 * kFloat32Unit);
  EXPECT_EQ(Neighbourhood(f, DType::kBFloat16, 0).unit(), 6 * 0x1p-8);
}

ToyFunction summed(const std::vector<double>& x, std::function<double(double)> f) {
  return ToyFunction({tensor_of(x)}, [f = std::move(f)](const std::vector<Tensor>& inputs) {
    double sum = 0;
    for (const double value : values_of(inputs[0])) sum += f(value);
    return std::vector<Tensor>{tensor_of({sum})};
  });
}

TEST(NeighboursTest, OtherSignsShowTermsThatCancel) {
  ToyFunction cancels = summed({5, -5}, [](double x) { return x; });
  EXPECT_EQ(Neighbourhood(cancels, DType::kFloat32, 0).unit(), 10 * kFloat32Unit);
  ToyFunction edges = summed({5, -5, 0}, [](double x) { return std::sqrt(x + 5); });
  EXPECT_NEAR(Neighbourhood(edges, DType::kFloat32, 0).unit() / kFloat32Unit,
              2 * std::sqrt(10.0) + std::sqrt(5.0), 1e-12);
  ToyFunction partial = summed({2, -2}, [](double x) { return x > 0 ? 7 / (x - 2) : 1; });
  EXPECT_EQ(Neighbourhood(partial, DType::kFloat32, 0).unit(), 2 * kFloat32Unit)
      << "of finite sums";
}

TEST(NeighboursTest, ThePointStaysWhereItIs) {
  const std::vector<double> x = {4, 5, -6, 7, 8, 9};
  ToyFunction f = function_of(x, [](double value) {
    if (value < -5.5) return std::tanh(value);
    if (value < 0) throw std::runtime_error("outside");
    return std::tanh(value);
  });
  Neighbourhood near(f, DType::kFloat32, 0);
  for (std::int64_t i = 0; i < std::ssize(x); ++i) {
    const auto found = near.beside(0, i, 1);
    if (found) near.between(*found);
  }
  EXPECT_EQ(values_of(f.inputs()[0]), x);
  EXPECT_GT(near.evaluations(), 9);
}

}  // namespace
}  // namespace fluidcore::gradcheck
