#include "fluidcore/gradcheck/difference/difference.h"

#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradcheck/toy_function.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

ToyFunction exponential(int size, DType dtype = DType::kFloat64) {
  return ToyFunction::elementwise(tensor_of(numbers(size), dtype),
                                  [](double x) { return std::exp(x); });
}

// The formula, written out.
std::vector<double> expected(Function& f,
                             double delta,
                             const std::vector<double>& weights,
                             bool forward) {
  const auto y = [&] {
    double sum = 0;
    const std::vector<double> values = values_of(f.run()[0]);
    for (std::size_t j = 0; j < values.size(); ++j) {
      volatile double term = weights.empty() ? values[j] : weights[j] * values[j];
      sum = sum + term;
    }
    return sum;
  };
  Tensor x = f.inputs()[0];
  std::vector<double> quotients;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double original = x.get_float_element(i);
    const double middle = y();
    x.set_float_element(i, original + delta);
    const double right = y();
    x.set_float_element(i, original - delta);
    const double left = y();
    x.set_float_element(i, original);
    quotients.push_back(forward ? (right - middle) / delta : (right - left) / delta / 2);
  }
  return quotients;
}

TEST(Difference, GivesTheBitsOfItsFormula) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat32}) {
    ToyFunction f = exponential(23, dtype);
    for (const bool forward : {false, true}) {
      DifferenceOptions options;
      options.forward = forward;
      EXPECT_EQ(difference(f, 0, 0.005, options), expected(f, 0.005, {}, forward));
      options.weights = numbers(23, 7);
      EXPECT_EQ(difference(f, 0, 0.005, options), expected(f, 0.005, numbers(23, 7), forward));
    }
  }
}

TEST(Difference, GivesTheSameBitsForAnyNumberOfWorkers) {
  ToyFunction f = exponential(100);
  DifferenceOptions options;
  const std::vector<double> alone = difference(f, 0, 0.005, options);
  options.workers = 4;
  EXPECT_EQ(difference(f, 0, 0.005, options), alone);
}

TEST(Difference, TakesTheElementsThatAreAskedFor) {
  ToyFunction f = exponential(10);
  DifferenceOptions options;
  const std::vector<double> all = difference(f, 0, 0.005, options);
  options.elements = {9, 2};
  EXPECT_THAT(difference(f, 0, 0.005, options), ElementsAre(all[9], all[2]));
  options.elements = std::vector<std::int64_t>();
  EXPECT_THAT(difference(f, 0, 0.005, options), IsEmpty());
}

TEST(Difference, GivesZerosWhereThereAreNoOutputs) {
  ToyFunction f({tensor_of({1, 2})},
                [](const std::vector<Tensor>&) { return std::vector{tensor_of({})}; });
  EXPECT_THAT(difference(f, 0, 0.005), ElementsAre(0, 0));
  ToyFunction empty = exponential(0);
  EXPECT_THAT(difference(empty, 0, 0.005), IsEmpty());
}

TEST(Difference, RefusesAStepThatRoundingUndoes) {
  ToyFunction f =
      ToyFunction::elementwise(tensor_of({1, 2}, DType::kFloat16), [](double x) { return x; });
  EXPECT_THAT([&] { difference(f, 0, 1e-4); },
              ThrowsMessage<InvalidArgument>(
                  "gradcheck: delta must change the elements of the input, got 1e-04 for 1.0 in "
                  "float16; take a larger delta"));
  EXPECT_THAT(values_of(f.inputs()[0]), ElementsAre(1, 2));
}

TEST(Difference, RefusesWhatDoesNotFit) {
  ToyFunction f = exponential(3);
  for (const double delta : {0.0, -1.0, HUGE_VAL, static_cast<double>(NAN)}) {
    EXPECT_THAT([&] { difference(f, 0, delta); },
                ThrowsMessage<InvalidArgument>(HasSubstr("delta must be positive")));
  }
  EXPECT_THAT([&] { difference(f, 1, 0.1); },
              ThrowsMessage<InvalidArgument>(HasSubstr("the input must be one of the 1")));
  DifferenceOptions options;
  options.weights = {1, 2};
  EXPECT_THAT(
      [&] { difference(f, 0, 0.1, options); },
      ThrowsMessage<InvalidArgument>(
          "gradcheck: weights must have a number for each of the 3 output elements, got 2"));
  options.weights = std::nullopt;
  options.elements = {3};
  EXPECT_THAT([&] { difference(f, 0, 0.1, options); },
              ThrowsMessage<InvalidArgument>("gradcheck: elements must be in [0, 3), got 3"));
}

TEST(Difference, LetsExceptionsThroughAndPutsTheInputsBack) {
  int runs = 0;
  const Tensor x = tensor_of({1, 2});
  ToyFunction f({x}, [&](const std::vector<Tensor>& inputs) {
    if (++runs == 3) throw std::domain_error("no");
    return std::vector{inputs[0].clone()};
  });
  EXPECT_THROW(difference(f, 0, 0.1), std::domain_error);
  EXPECT_THAT(values_of(x), ElementsAre(1, 2));
}

}  // namespace
}  // namespace fluidcore::gradcheck
