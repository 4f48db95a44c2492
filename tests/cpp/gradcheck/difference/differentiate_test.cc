#include "fluidcore/gradcheck/difference/differentiate.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "gradcheck/toy_function.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// Softmax of each of `rows` rows, and the rows' sums of squares as a second output.
ToyFunction row_function(int rows, int width, DType dtype = DType::kFloat64) {
  return ToyFunction({tensor_of(numbers(rows * width), dtype)}, [=](const std::vector<Tensor>& in) {
    std::vector<double> y = values_of(in[0]);
    std::vector<double> squares;
    for (int r = 0; r < rows; ++r) {
      double* const row = y.data() + r * width;
      double sum = 0;
      double square = 0;
      for (int i = 0; i < width; ++i) {
        square += row[i] * row[i];
        sum += row[i] = std::exp(row[i]);
      }
      for (int i = 0; i < width; ++i) row[i] /= sum;
      squares.push_back(square);
    }
    return std::vector<Tensor>{tensor_of(y, dtype), tensor_of(squares, dtype)};
  });
}

void expect_same(const Derivatives& a, const Derivatives& b) {
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.error, b.error);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.scale, b.scale);
  EXPECT_EQ(a.flags, b.flags);
}

TEST(Differentiate, GivesTheSameBitsForRowsAsForOneElementAfterTheOther) {
  for (const int width : {1, 5}) {
    ToyFunction function = row_function(12, width);
    const Question question{{numbers(12 * width + 12, 1), numbers(12 * width + 12, 2)}, {}};
    DifferentiateOptions options;
    const Derivatives one_by_one = differentiate(function, 0, question, options);
    options.rows = 12;
    const Derivatives together = differentiate(function, 0, question, options);
    expect_same(one_by_one, together);
    EXPECT_LT(together.evaluations, one_by_one.evaluations / 4);
  }
}

TEST(Differentiate, TakesStepsThatSuitAnElementMuchSmallerThanTheOthers) {
  for (const double x : {1e-3, 1e-6, 1e-9, 1e-12, 1e-20}) {
    ToyFunction f({tensor_of({1, x})}, [&](const std::vector<Tensor>& in) {
      return std::vector{tensor_of({values_of(in[0])[0] / values_of(in[0])[1]})};
    });
    const Derivatives found = differentiate(f, 0, {{{1}}, {}});
    EXPECT_EQ(found.flags[1], 0) << x;
    EXPECT_NEAR(found.value[1] * x * x, -1, 1e-9) << x;
  }
}

TEST(Differentiate, TellsTheSlopeAtAMuchSmallerElementFromThatFarAway) {
  for (const double x : {1e-3, 1e-6, 1e-9, 1e-12, 1e-20}) {
    ToyFunction f({tensor_of({1, x})}, [&](const std::vector<Tensor>& in) {
      const double u = values_of(in[0])[1] / x;
      return std::vector{tensor_of({3 * u + std::sin(u)})};
    });
    const Derivatives found = differentiate(f, 0, {{{1}}, {}});
    EXPECT_EQ(found.flags[1], 0) << x;
    EXPECT_NEAR(found.value[1] * x, 3 + std::cos(1), 1e-9) << x;
  }
}

TEST(Differentiate, OneStepKnowsNothingOfAnElementThatIsSmaller) {
  ToyFunction f({tensor_of({1, 1e-4, 1e-6})}, [](const std::vector<Tensor>& in) { return in; });
  DifferentiateOptions how;
  how.approach.once = true;
  const Derivatives found = differentiate(f, 0, {{{1, 1, 1}}, {}}, how);
  EXPECT_EQ(found.flags, (std::vector<std::uint8_t>{0, 0, kDomain}));
}

TEST(Differentiate, OfAnElementThatIsAsGoodAsZeroBelievesNoTread) {
  ToyFunction f({tensor_of({1, 1e-9})}, [&](const std::vector<Tensor>& in) {
    return std::vector{tensor_of({std::floor(1e6 * values_of(in[0])[1]) / 1e6})};
  });
  const Derivatives found = differentiate(f, 0, {{{1}}, {}});
  EXPECT_LE(std::abs(found.value[1] - 1), 3 * found.error[1]);
}

TEST(Differentiate, CountsNoAbsorptionByOutputsOfOtherRows) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    ToyFunction function = row_function(12, 5, dtype);
    const Question question{{numbers(72, 1)}, {}};
    DifferentiateOptions options;
    const Derivatives one_by_one = differentiate(function, 0, question, options);
    options.rows = 12;
    const Derivatives together = differentiate(function, 0, question, options);
    EXPECT_EQ(together.value, one_by_one.value);
    EXPECT_EQ(together.low, one_by_one.low);
    EXPECT_EQ(together.scale, one_by_one.scale);
    for (std::size_t i = 0; i < together.error.size(); ++i) {
      EXPECT_LE(together.error[i], one_by_one.error[i]);
    }
  }
}

TEST(Differentiate, TreatsEveryRowByItselfAtKinksAndEdges) {
  const auto f = [](double x) { return x < -1 ? std::sqrt(x + 2) : std::max(x, 0.0) * x + x; };
  const Tensor x = tensor_of({-2, 0, 1e-5, -1.99999, 0.7, -1, 3});
  ToyFunction function = ToyFunction::elementwise(x, f);
  const Question question{{std::vector<double>(7, 1)}, {}};
  DifferentiateOptions options;
  const Derivatives one_by_one = differentiate(function, 0, question, options);
  options.rows = 7;
  const Derivatives together = differentiate(function, 0, question, options);
  EXPECT_EQ(together.flags, one_by_one.flags);
  EXPECT_EQ(together.error, one_by_one.error);
  EXPECT_EQ(together.high, one_by_one.high);
  EXPECT_EQ(together.flags[0], kDomain);
}

TEST(Differentiate, GivesTheSameBitsForAnyNumberOfWorkers) {
  ToyFunction function = row_function(6, 20);
  const Question question{{numbers(126, 1), numbers(126, 2)}, {}};
  DifferentiateOptions options;
  const Derivatives alone = differentiate(function, 0, question, options);
  for (const int workers : {2, 4, 7}) {
    options.workers = workers;
    const Derivatives together = differentiate(function, 0, question, options);
    expect_same(alone, together);
    EXPECT_EQ(together.evaluations, alone.evaluations);
  }
}

TEST(Differentiate, GivesTheSameBitsForManyRowsAndAnyNumberOfWorkers) {
  constexpr int kRows = 30'000;
  for (const DType dtype : {DType::kFloat64, DType::kFloat32}) {
    ToyFunction function = ToyFunction::elementwise(
        tensor_of(numbers(kRows), dtype), [](double x) { return x < 1 ? x * x : 2 * x - 1; });
    const Question question{{numbers(kRows, 1), numbers(kRows, 2)}, {}};
    DifferentiateOptions options;
    options.rows = kRows;
    const Derivatives alone = differentiate(function, 0, question, options);
    for (const int workers : {2, 3}) {
      options.workers = workers;
      const Derivatives together = differentiate(function, 0, question, options);
      expect_same(alone, together);
      EXPECT_EQ(together.evaluations, alone.evaluations);
    }
    options = {};
    options.elements = {0, 1, 12'345, 29'999};
    const Derivatives some = differentiate(function, 0, question, options);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto element = static_cast<std::size_t>((*options.elements)[i]);
      EXPECT_EQ(some.value[i], alone.value[element]);
      if (dtype == DType::kFloat64) {
        EXPECT_EQ(some.error[i], alone.error[element]);
      }
    }
  }
}

TEST(Differentiate, ReportsTheFirstFailureForAnyNumberOfWorkers) {
  std::vector<double> x(100, 1);
  x[40] = x[90] = 1e-9;
  ToyFunction function({tensor_of(x)}, [](const std::vector<Tensor>& inputs) {
    for (std::int64_t i = 0; i < 100; ++i) {
      if (inputs[0].get_float_element(i) < 0) throw Error("element ", i);
    }
    return std::vector<Tensor>{inputs[0].clone()};
  });
  DifferentiateOptions options;
  for (const int workers : {1, 4}) {
    options.workers = workers;
    EXPECT_EQ(differentiate(function, 0, {{x}, {}}, options).failure, "element 40");
  }
}

TEST(Differentiate, TakesTheElementsThatAreAskedFor) {
  ToyFunction function = row_function(4, 5);
  const Question question{{numbers(24, 1)}, {}};
  const Derivatives all = differentiate(function, 0, question);
  DifferentiateOptions options;
  options.elements = {7, 0, 7, 19};
  const Derivatives some = differentiate(function, 0, question, options);
  EXPECT_THAT(some.value, ElementsAre(all.value[7], all.value[0], all.value[7], all.value[19]));
  options.elements = std::vector<std::int64_t>();
  EXPECT_THAT(differentiate(function, 0, question, options).value, IsEmpty());
}

TEST(Differentiate, DifferentiatesByOneOfSeveralInputs) {
  ToyFunction product({tensor_of({2, 3}), tensor_of({5, 7})}, [](const std::vector<Tensor>& in) {
    const std::vector<double> a = values_of(in[0]);
    const std::vector<double> b = values_of(in[1]);
    return std::vector<Tensor>{tensor_of({a[0] * b[0], a[1] * b[1]})};
  });
  EXPECT_NEAR(differentiate(product, 0, {{{1, 0}}, {}}).value[0], 5, 1e-12);
  EXPECT_NEAR(differentiate(product, 1, {{{0, 1}}, {}}).value[1], 3, 1e-12);
}

TEST(Differentiate, WidensErrorBarsByTheNoiseThatWasMeasured) {
  ToyFunction function =
      ToyFunction::elementwise(tensor_of({1, 2}), [](double x) { return x * x; });
  const double quiet = differentiate(function, 0, {{{1, 1}}, {}}).error[0];
  const Derivatives noisy = differentiate(function, 0, {{{1, 1}}, {1e-6, 0}});
  EXPECT_GT(noisy.error[0], 1e-6);
  EXPECT_LE(quiet, 1e-12);
}

TEST(Differentiate, CountsTheRoundingOfOutputsWithFewerDigits) {
  ToyFunction function({tensor_of({0.3, 1.1})}, [](const std::vector<Tensor>& inputs) {
    std::vector<double> y = values_of(inputs[0]);
    for (double& value : y) value = std::sin(value);
    return std::vector<Tensor>{tensor_of(y, DType::kFloat32)};
  });
  const Derivatives found = differentiate(function, 0, {{{1, 1}}, {}});
  for (std::size_t i = 0; i < 2; ++i) {
    const double exact = std::cos(i == 0 ? 0.3 : 1.1);
    EXPECT_NEAR(found.value[i], exact, 1e-4);
    EXPECT_LE(std::abs(found.value[i] - exact), 3 * found.error[i]);
  }
}

TEST(Differentiate, PutsTheInputsBackAfterEveryException) {
  const std::vector<double> x = {0.1, -0.0, 3};
  for (const int failing_run : {1, 2, 3, 8}) {
    int runs = 0;
    const Tensor input = tensor_of(x);
    ToyFunction function({input}, [&](const std::vector<Tensor>& inputs) {
      if (++runs == failing_run) throw Unrecoverable::because(std::runtime_error("stop"));
      return std::vector<Tensor>{inputs[0].clone()};
    });
    DifferentiateOptions options;
    EXPECT_THAT([&] { differentiate(function, 0, {{x}, {}}, options); },
                ThrowsMessage<std::runtime_error>("stop"));
    EXPECT_EQ(values_of(input), x);
    EXPECT_TRUE(std::signbit(input.get_float_element(1)));
  }
}

TEST(Differentiate, LetsAnExceptionAtThePointThrough) {
  ToyFunction function({tensor_of({1})}, [](const std::vector<Tensor>&) -> std::vector<Tensor> {
    throw std::domain_error("not here");
  });
  EXPECT_THAT([&] { differentiate(function, 0, {{{1}}, {}}); },
              ThrowsMessage<std::domain_error>("not here"));
}

TEST(Differentiate, EndsWhenItIsInterrupted) {
  for (const int workers : {1, 3}) {
    Interruption interruption;
    std::atomic<int> runs = 0;
    ToyFunction function = ToyFunction::elementwise(tensor_of(numbers(100)), [&](double x) {
      if (++runs == 500) interruption.request();
      return x * x;
    });
    DifferentiateOptions options;
    options.workers = workers;
    const std::vector<double> before = values_of(function.inputs()[0]);
    const InterruptedBy interrupted(function, interruption);
    EXPECT_THROW(differentiate(function, 0, {{numbers(100)}, {}}, options), Interrupted);
    EXPECT_EQ(values_of(function.inputs()[0]), before);
  }
}

TEST(Differentiate, GivesNothingForEmptyTensors) {
  ToyFunction no_inputs = ToyFunction::elementwise(tensor_of({}), [](double x) { return x; });
  EXPECT_THAT(differentiate(no_inputs, 0, {{{}}, {}}).value, IsEmpty());
  ToyFunction no_outputs({tensor_of({1, 2})}, [](const std::vector<Tensor>&) {
    return std::vector<Tensor>{tensor_of({})};
  });
  DifferentiateOptions options;
  for (const int rows : {0, 1, 2}) {
    options.rows = rows;
    const Derivatives found = differentiate(no_outputs, 0, {{{}, {}}, {}}, options);
    EXPECT_THAT(found.value, ElementsAre(0, 0, 0, 0));
    EXPECT_THAT(found.flags, Each(0));
  }
  EXPECT_THAT(differentiate(no_outputs, 0, {{}, {}}).value, IsEmpty());
}

TEST(Differentiate, SurvivesNumbersAtTheEndsOfTheirRange) {
  const double largest = std::numeric_limits<double>::max();
  const double least = std::numeric_limits<double>::denorm_min();
  for (const std::vector<double>& x :
       {std::vector{largest, 1.0}, {least, least}, {-largest, least}, {0.0, least}}) {
    ToyFunction function = ToyFunction::elementwise(tensor_of(x), [](double x) { return x; });
    const Derivatives found = differentiate(function, 0, {{{1, 1}}, {}});
    EXPECT_EQ(found.value.size(), 2u);
  }
}

TEST(Differentiate, ReplacesColumnsThatAreWantedAndLeavesTheOthers) {
  for (const std::int64_t rows : {0, 12}) {
    ToyFunction function = row_function(12, 5);
    const Question question{{numbers(72, 1), numbers(72, 2)}, {}};
    DifferentiateOptions options;
    options.rows = rows;
    const Derivatives all = differentiate(function, 0, question, options);
    Derivatives some(2, 60);
    std::vector<std::uint8_t> where(60);
    where[7] = where[12] = where[59] = 1;
    differentiate_again(function, 0, question, where, some, options);
    for (std::size_t i = 0; i < all.value.size(); ++i) {
      const bool is_wanted = where[i % 60] != 0;
      EXPECT_EQ(some.value[i], is_wanted ? all.value[i] : 0);
      EXPECT_EQ(some.error[i], is_wanted ? all.error[i] : 0);
    }
    EXPECT_LT(some.evaluations, all.evaluations);
    const std::int64_t before = some.evaluations;
    differentiate_again(function, 0, question, std::vector<std::uint8_t>(60), some, options);
    EXPECT_EQ(some.evaluations, before + 1);  // at the point
  }
}

TEST(Differentiate, RefusesToReplaceColumnsThatAreNotThere) {
  ToyFunction function = row_function(12, 5);
  const Question question{{numbers(72, 1)}, {}};
  Derivatives some(1, 60);
  EXPECT_THAT([&] { differentiate_again(function, 0, question, {1, 0}, some); },
              ThrowsMessage<InvalidArgument>("gradcheck: where must have 60 elements, got 2"));
  Derivatives few(2, 60);
  EXPECT_THAT(
      [&] { differentiate_again(function, 0, question, std::vector<std::uint8_t>(60), few); },
      ThrowsMessage<InvalidArgument>("gradcheck: derivatives must be [1, 60], got [2, 60]"));
}

TEST(Differentiate, RefusesWhatDoesNotFit) {
  ToyFunction function = row_function(4, 5);
  const Question question{{numbers(24)}, {}};
  const auto with = [&](auto change) {
    return [&function, &question, change] {
      DifferentiateOptions options;
      Question asked = question;
      std::size_t input = 0;
      change(options, asked, input);
      differentiate(function, input, asked, options);
    };
  };
  using Options = DifferentiateOptions;
  EXPECT_THAT(
      with([](Options&, Question&, std::size_t& input) { input = 1; }),
      ThrowsMessage<InvalidArgument>("gradcheck: the input must be one of the 1, got number 1"));
  EXPECT_THAT(
      with([](Options&, Question& ask, std::size_t&) { ask.cotangents[0].pop_back(); }),
      ThrowsMessage<InvalidArgument>("gradcheck: cotangent 0 must have a number for each of "
                                     "the 24 output elements, got 23"));
  EXPECT_THAT(with([](Options&, Question& ask, std::size_t&) { ask.cotangents[0][3] = NAN; }),
              ThrowsMessage<InvalidArgument>(HasSubstr("cotangent 0 must be finite, got nan")));
  EXPECT_THAT(with([](Options&, Question& ask, std::size_t&) { ask.noise = {1, 2}; }),
              ThrowsMessage<InvalidArgument>(HasSubstr("noise must have a number for each")));
  EXPECT_THAT(with([](Options&, Question& ask, std::size_t&) { ask.noise = numbers(24); }),
              ThrowsMessage<InvalidArgument>(HasSubstr("noise must be finite and at least 0")));
  EXPECT_THAT(with([](Options& o, Question&, std::size_t&) { o.elements = {0, 20}; }),
              ThrowsMessage<InvalidArgument>("gradcheck: elements must be in [0, 20), got 20"));
  EXPECT_THAT(with([](Options& o, Question&, std::size_t&) { o.rows = 3; }),
              ThrowsMessage<InvalidArgument>(HasSubstr("rows must divide the size of the input")));
  EXPECT_THAT(
      with([](Options& o, Question&, std::size_t&) { o.rows = 20; }),
      ThrowsMessage<InvalidArgument>(HasSubstr("rows must divide the size of every output")));
  EXPECT_THAT(with([](Options& o, Question&, std::size_t&) { o.rows = -1; }),
              ThrowsMessage<InvalidArgument>("gradcheck: rows must be at least 0, got -1"));
  EXPECT_THAT(with([](Options& o, Question&, std::size_t&) {
                o.rows = 4;
                o.elements = {1};
              }),
              ThrowsMessage<InvalidArgument>(HasSubstr("rows must be 0 when elements are given")));
  EXPECT_THAT(
      with([](Options& o, Question&, std::size_t&) { o.workers = 0; }),
      ThrowsMessage<InvalidArgument>("gradcheck: workers must be between 1 and 1024, got 0"));
}

TEST(Differentiate, RefusesIntegers) {
  ToyFunction by_integer({tensor_of({1, 2}, DType::kInt64)},
                         [](const std::vector<Tensor>&) { return std::vector{tensor_of({1})}; });
  EXPECT_THAT([&] { differentiate(by_integer, 0, {{{1}}, {}}); },
              ThrowsMessage<InvalidArgument>(
                  "gradcheck: input 0 must be floating to be differentiated by, got int64 [2]"));
  ToyFunction to_integer({tensor_of({1})}, [](const std::vector<Tensor>&) {
    return std::vector{tensor_of({1}, DType::kInt32)};
  });
  EXPECT_THAT(
      [&] { differentiate(to_integer, 0, {{{1}}, {}}); },
      ThrowsMessage<InvalidArgument>("gradcheck: output 0 must be floating, got int32 [1]"));
}

TEST(Differentiate, RefusesOutputsThatChangeTheirSize) {
  int runs = 0;
  ToyFunction function({tensor_of({1})}, [&](const std::vector<Tensor>&) {
    return std::vector{tensor_of(std::vector<double>(++runs < 3 ? 1 : 2, 1.0))};
  });
  EXPECT_THAT([&] { differentiate(function, 0, {{{1}}, {}}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("outputs of the same sizes and dtypes")));
}

TEST(Differentiate, FindsTheDerivativeFromEachSideWithAnHonestErrorBar) {
  const std::vector<double> x = {-2, -0.4777, 0, 0.3, 0.861521, 5};
  ToyFunction bent = ToyFunction::elementwise(
      tensor_of(x), [](double t) { return std::sin(t) + 3 * std::abs(t - 0.3); });
  const Question question{{std::vector<double>(x.size(), 1)}, {}};
  for (const double stretch : {1.0, 79.0 / 128, 165.0 / 128}) {
    for (const int side : {1, -1}) {
      const Derivatives found =
          differentiate(bent, 0, question, {.stretch = stretch, .approach = {side}});
      for (std::size_t i = 0; i < x.size(); ++i) {
        const bool is_right = x[i] > 0.3 || (x[i] == 0.3 && side > 0);
        const double exact = std::cos(x[i]) + (is_right ? 3 : -3);
        EXPECT_EQ(found.flags[i], 0) << x[i];
        EXPECT_LE(found.error[i], 1e-7) << x[i];
        EXPECT_LE(std::abs(found.value[i] - exact), found.error[i]) << x[i] << " from " << side;
      }
    }
  }
}

}  // namespace
}  // namespace fluidcore::gradcheck
