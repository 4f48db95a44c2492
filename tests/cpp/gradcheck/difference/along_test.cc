#include "fluidcore/gradcheck/difference/along.h"

#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/difference/direction.h"
#include "gradcheck/toy_function.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

// sum(sin(a) * b) as one number.
ToyFunction sine_product(DType dtype = DType::kFloat64, int size = 20) {
  return ToyFunction({tensor_of(numbers(size, 0), dtype), tensor_of(numbers(size, 1), dtype)},
                     [](const std::vector<Tensor>& inputs) {
                       double sum = 0;
                       for (std::int64_t i = 0; i < inputs[0].size(); ++i) {
                         sum += std::sin(inputs[0].get_float_element(i)) *
                                inputs[1].get_float_element(i);
                       }
                       return std::vector{tensor_of({sum}, inputs[0].dtype())};
                     });
}

double exact_slope(const Function& f,
                   const std::vector<double>& da,
                   const std::vector<double>& db) {
  const std::vector<double> a = values_of(f.inputs()[0]);
  const std::vector<double> b = values_of(f.inputs()[1]);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += std::cos(a[i]) * b[i] * da[i] + std::sin(a[i]) * db[i];
  }
  return sum;
}

TEST(Along, MovesAllInputsTogether) {
  ToyFunction f = sine_product();
  for (int phase = 2; phase < 12; ++phase) {
    const std::vector<double> da = round_direction(numbers(20, phase));
    const std::vector<double> db = round_direction(numbers(20, phase + 100));
    const Derivatives found = differentiate_along(f, {da, db}, {{{1}, {-2}}, {}});
    EXPECT_THAT(found.value, SizeIs(2));
    EXPECT_NEAR(found.value[0], exact_slope(f, da, db), 1e-10);
    EXPECT_LE(std::abs(found.value[0] - exact_slope(f, da, db)), found.error[0]);
    EXPECT_NEAR(found.value[1], -2 * found.value[0], 1e-14);
    EXPECT_LE(found.error[0], 1e-9);
    EXPECT_LE(found.evaluations, 15);
    EXPECT_EQ(values_of(f.inputs()[0]), numbers(20, 0));
  }
}

TEST(Along, KeepsAnInputWithoutDirectionWhereItIs) {
  ToyFunction f = sine_product();
  const std::vector<double> d = numbers(20, 4);
  const std::vector<double> zero(20, 0.0);
  EXPECT_NEAR(differentiate_along(f, {std::nullopt, d}, {{{1}}, {}}).value[0],
              exact_slope(f, zero, d), 1e-10);
  EXPECT_NEAR(differentiate_along(f, {d, zero}, {{{1}}, {}}).value[0], exact_slope(f, d, zero),
              1e-10);
  const Derivatives still = differentiate_along(f, {std::nullopt, zero}, {{{1}}, {}});
  EXPECT_THAT(still.value, ElementsAre(0));
  EXPECT_THAT(still.error, ElementsAre(0));
}

TEST(Along, ScalesItsStepsToTheInputsAndTheDirection) {
  for (const double scale : {1e-6, 1.0, 1e6}) {
    ToyFunction f = ToyFunction::elementwise(tensor_of({scale, -2 * scale}),
                                             [=](double x) { return std::exp(x / scale); });
    const Derivatives found =
        differentiate_along(f, {std::vector{1e3 * scale, 1e3 * scale}}, {{{1, 1}}, {}});
    const double truth = 1e3 * (std::exp(1) + std::exp(-2));
    EXPECT_NEAR(found.value[0], truth, 1e-8);
    EXPECT_LE(std::abs(found.value[0] - truth), found.error[0]);
  }
}

TEST(Along, UsesTheStepsThatADtypeWithFewDigitsReallyTakes) {
  for (const auto& [dtype, accuracy] :
       {std::pair(DType::kFloat32, 1e-4), std::pair(DType::kFloat16, 0.5)}) {
    ToyFunction f = sine_product(dtype);
    for (int phase = 2; phase < 12; ++phase) {
      const std::vector<double> da = numbers(20, phase);
      const std::vector<double> db = numbers(20, phase + 100);
      const Derivatives found = differentiate_along(f, {da, db}, {{{1}}, {}});
      EXPECT_NEAR(found.value[0], exact_slope(f, da, db), accuracy * 10);
      EXPECT_LE(std::abs(found.value[0] - exact_slope(f, da, db)), 5 * found.error[0]);
    }
  }
}

TEST(Along, GivesTheSameBitsForAnyNumberOfWorkersAndForFewElements) {
  constexpr int kSize = 40'000;
  for (const DType dtype : {DType::kFloat64, DType::kFloat32}) {
    ToyFunction f = ToyFunction::elementwise(tensor_of(numbers(kSize, 0), dtype),
                                             [](double x) { return std::sin(x) + 1; });
    std::vector<double> one_element(kSize);
    one_element[777] = 0.625;
    for (const std::vector<double>& d : {round_direction(numbers(kSize, 2)), one_element}) {
      const Question question{{numbers(kSize, 1)}, {}};
      const Derivatives alone = differentiate_along(f, {d}, question, true);
      for (const std::int64_t workers : {2, 3}) {
        const Derivatives together = differentiate_along(f, {d}, question, true, workers);
        EXPECT_EQ(together.value, alone.value);
        EXPECT_EQ(together.error, alone.error);
        EXPECT_EQ(together.evaluations, alone.evaluations);
        ASSERT_EQ(together.levels.size(), alone.levels.size());
        for (std::size_t k = 0; k < alone.levels.size(); ++k) {
          EXPECT_EQ(together.levels[k].phi_plus, alone.levels[k].phi_plus);
        }
      }
      EXPECT_EQ(values_of(f.inputs()[0]), values_of(tensor_of(numbers(kSize, 0), dtype)));
    }
  }
}

TEST(Along, TracesTwelveLevelsAndChangesNoResult) {
  ToyFunction f = sine_product();
  const Directions directions = {numbers(20, 2), std::nullopt};
  const Derivatives plain = differentiate_along(f, directions, {{{3}}, {}});
  const Derivatives traced = differentiate_along(f, directions, {{{3}}, {}}, true);
  EXPECT_THAT(plain.levels, SizeIs(0));
  ASSERT_THAT(traced.levels, SizeIs(12));
  EXPECT_EQ(traced.value, plain.value);
  EXPECT_EQ(traced.error, plain.error);
  const double phi_0 = 3 * f.run()[0].get_float_element(0);
  for (std::size_t k = 0; k < 12; ++k) {
    const TracedLevel& level = traced.levels[k];
    EXPECT_NEAR(level.phi_0, phi_0, 1e-12);
    EXPECT_NEAR((level.phi_plus - level.phi_minus) / (2 * level.step), level.difference,
                level.noise + 1e-12);
    EXPECT_NEAR(level.step * std::pow(2, k) / traced.levels[0].step, 1.045, 0.046);
  }
  EXPECT_NEAR(traced.levels[11].difference, plain.value[0], 1e-5);
}

TEST(Along, NamesAKink) {
  ToyFunction relu =
      ToyFunction::elementwise(tensor_of({0, 1}), [](double x) { return std::max(x, 0.0); });
  const Derivatives found = differentiate_along(relu, {std::vector{2.0, 1.0}}, {{{1, 1}}, {}});
  EXPECT_EQ(found.flags[0], kKink);
  EXPECT_NEAR(found.low[0], 1, 1e-6);
  EXPECT_NEAR(found.high[0], 3, 1e-6);
}

TEST(Along, PutsTheInputsBackWhenTheFunctionThrows) {
  int runs = 0;
  const Tensor x = tensor_of({0.1, -0.0});
  ToyFunction f({x}, [&](const std::vector<Tensor>& inputs) {
    if (++runs > 3) throw std::domain_error("no more");
    return std::vector{inputs[0].clone()};
  });
  const Derivatives found = differentiate_along(f, {std::vector{1.0, 1.0}}, {{{1, 1}}, {}});
  EXPECT_EQ(found.failure, "no more");
  EXPECT_EQ(values_of(x), (std::vector{0.1, 0.0}));
  EXPECT_TRUE(std::signbit(x.get_float_element(1)));
}

TEST(Along, RefusesWhatDoesNotFit) {
  ToyFunction f = sine_product();
  const auto along = [&](const Directions& directions) {
    return [&f, directions] { differentiate_along(f, directions, {{{1}}, {}}); };
  };
  EXPECT_THAT(along({std::nullopt}), ThrowsMessage<InvalidArgument>(
                                         "gradcheck: there must be a direction for each of the 2 "
                                         "inputs, got 1; None for an input that stays"));
  EXPECT_THAT(along({std::vector{1.0}, std::nullopt}),
              ThrowsMessage<InvalidArgument>(
                  "gradcheck: direction 0 must have the 20 elements of its input, got 1"));
  EXPECT_THAT(along({std::vector<double>(20, NAN), std::nullopt}),
              ThrowsMessage<InvalidArgument>(HasSubstr("direction 0 must be finite, got nan")));
  EXPECT_THAT([&] { differentiate_along(f, {numbers(20, 1), {}}, {{}, {}}, true); },
              ThrowsMessage<InvalidArgument>(HasSubstr("a trace must have a cotangent")));
}

TEST(RoundDirection, KeepsTenSignificantBits) {
  EXPECT_THAT(round_direction({0, 1, -3.0, 1 + 0x1p-9, 1 + 0x1p-11, 1e-300}),
              ElementsAre(0, 1, -3, 1 + 0x1p-9, 1, testing::DoubleNear(1e-300, 1e-303)));
}

}  // namespace
}  // namespace fluidcore::gradcheck
