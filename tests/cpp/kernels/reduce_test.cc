#include "fluidcore/kernels/cpu/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"
#include "kernels/isas.h"

namespace fluidcore::cpu {
namespace {

struct ReductionCase {
  Shape in;
  std::vector<bool> reduced;
};

const std::vector<ReductionCase>& reduction_cases() {
  static const std::vector<ReductionCase> kCases = {
      {{}, {}},
      {{5}, {true}},
      {{5}, {false}},
      {{4, 37}, {true, false}},
      {{4, 37}, {false, true}},
      {{300, 70}, {true, false}},
      {{2, 3, 4, 5}, {true, false, true, false}},
      {{2, 3, 4, 5}, {false, true, false, true}},
      {{2, 3, 4, 5}, {true, false, true, true}},
      {{3, 1, 700}, {false, true, false}},
      {{50000}, {true}},
      {{0, 3}, {true, false}},
  };
  return kCases;
}

template <class T>
std::vector<T> small_numbers(std::int64_t size) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < size; ++i) values.push_back(T(static_cast<float>((i * 7) % 13 - 6)));
  return values;
}

// Where element `index` of the input goes in the output.
std::int64_t result_of(std::int64_t index, const ReductionCase& shapes) {
  std::int64_t result = 0;
  std::int64_t stride = 1;
  for (std::size_t axis = shapes.in.rank(); axis-- > 0;) {
    const std::int64_t extent = shapes.in[axis];
    if (!shapes.reduced[axis]) {
      result += index % extent * stride;
      stride *= extent;
    }
    index /= extent;
  }
  return result;
}

std::int64_t result_count(const ReductionCase& shapes) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < shapes.in.rank(); ++i) {
    if (!shapes.reduced[i]) count *= shapes.in[i];
  }
  return count;
}

template <class Operation, class T>
void expect_like_one_by_one(const ReductionCase& shapes, Isa isa) {
  const auto in = small_numbers<T>(shapes.in.num_elements());
  constexpr bool is_sum = std::is_same_v<Operation, SumOf>;
  constexpr bool is_product = std::is_same_v<Operation, ProductOf>;
  constexpr bool is_maximum = std::is_same_v<Operation, MaxOf>;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double start = is_sum ? 0 : is_product ? 1 : is_maximum ? -kInfinity : kInfinity;
  std::vector<double> expected(static_cast<std::size_t>(result_count(shapes)), start);
  for (std::size_t i = 0; i < in.size(); ++i) {
    double& result = expected[result_of(static_cast<std::int64_t>(i), shapes)];
    const auto x = static_cast<double>(in[i]);
    result = is_sum       ? result + x
             : is_product ? result * x
             : is_maximum ? std::max(result, x)
                          : std::min(result, x);
  }
  std::vector<T> out(expected.size());
  Reduction<Operation, T>(shapes.in, shapes.reduced, isa).run(in.data(), out.data());
  for (std::size_t i = 0; i < out.size(); ++i) {
    // Sums of small whole numbers are exact.
    ASSERT_EQ(static_cast<double>(out[i]), expected[i])
        << to_string(shapes.in) << " at " << i << " on " << to_string(isa);
  }
}

TEST(Reduction, IsLikeOneElementAfterTheOtherOnEveryInstructionSet) {
  for (const Isa isa : available_isas()) {
    for (const ReductionCase& shapes : reduction_cases()) {
      expect_like_one_by_one<SumOf, float>(shapes, isa);
      expect_like_one_by_one<SumOf, double>(shapes, isa);
      expect_like_one_by_one<SumOf, BFloat16>(shapes, isa);
      expect_like_one_by_one<SumOf, std::int32_t>(shapes, isa);
      if (shapes.in.num_elements() == 0) continue;  // the maximum of nothing
      expect_like_one_by_one<MaxOf, float>(shapes, isa);
      expect_like_one_by_one<MaxOf, double>(shapes, isa);
      expect_like_one_by_one<MaxOf, BFloat16>(shapes, isa);
      expect_like_one_by_one<MaxOf, std::int64_t>(shapes, isa);
      expect_like_one_by_one<MinOf, float>(shapes, isa);
      expect_like_one_by_one<MinOf, std::int64_t>(shapes, isa);
    }
  }
}

TEST(Reduction, MultipliesPowersOfTwoOnEveryInstructionSet) {
  std::vector<float> in(3 * 700);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = i % 2 == 0 ? -0.5F : 2.0F;
  in[1000] = 8;
  for (const Isa isa : available_isas()) {
    std::vector<float> out(3);
    Reduction<ProductOf, float>(Shape{3, 700}, {false, true}, isa).run(in.data(), out.data());
    EXPECT_EQ(out, (std::vector<float>{1, -16, 1}));
    Reduction<ProductOf, float>(Shape{700, 3}, {true, false}, isa).run(in.data(), out.data());
    EXPECT_EQ(out, (std::vector<float>{1, -16, 1}));
  }
}

TEST(Reduction, OfAProductHasNoLesserRangeOnItsWay) {
  std::vector<float> in(64, 1e30F);
  std::fill(in.begin() + 32, in.end(), 1e-30F);
  float out = 0;
  Reduction<ProductOf, float>(Shape{8}, {true}).run(in.data() + 28, &out);
  EXPECT_NEAR(out, 1, 1e-5);
}

TEST(Reduction, OfAProductOfIntegersWrapsAround) {
  const std::vector<std::int64_t> in = {std::int64_t{1} << 62, 3, 5};
  std::int64_t out = 0;
  Reduction<ProductOf, std::int64_t>(Shape{3}, {true}).run(in.data(), &out);
  EXPECT_EQ(out, -(std::int64_t{1} << 62));
}

TEST(Reduction, SaysWhetherAnyAndWhetherAllAreTrue) {
  for (const Isa isa : available_isas()) {
    for (const std::int64_t count : {0, 1, 31, 700}) {
      for (const std::int64_t odd : {std::int64_t{-1}, std::int64_t{0}, count - 1}) {
        for (const bool most : {false, true}) {
          const auto in = std::make_unique<bool[]>(static_cast<std::size_t>(count + 1));
          std::fill_n(in.get(), count, most);
          if (odd >= 0 && count > 0) in[static_cast<std::size_t>(odd)] = !most;
          bool any = false;
          bool all = false;
          Reduction<AnyOf, bool>(Shape{count}, {true}, isa).run(in.get(), &any);
          Reduction<AllOf, bool>(Shape{count}, {true}, isa).run(in.get(), &all);
          EXPECT_EQ(any, std::any_of(in.get(), in.get() + count, [](bool x) { return x; }));
          EXPECT_EQ(all, std::all_of(in.get(), in.get() + count, [](bool x) { return x; }));
        }
      }
    }
  }
}

TEST(Reduction, DoesNotDependOnTheNumberOfThreads) {
  std::vector<float> in(200000);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::sin(static_cast<float>(i));
  for (const std::vector<bool>& reduced : {std::vector{true, true}, {true, false}, {false, true}}) {
    Reduction<SumOf, float> sum(Shape{200, 1000}, reduced);
    std::vector<float> one(1000);
    std::vector<float> three(1000);
    {
      ThreadCountScope threads(1);
      sum.run(in.data(), one.data());
    }
    {
      ThreadCountScope threads(3);
      sum.run(in.data(), three.data());
    }
    EXPECT_EQ(one, three);
  }
}

TEST(Reduction, OfManyFloatsIsAsGoodAsAFloatCanBe) {
  const std::vector<float> in(3'000'000, 0.1F);
  float out = 0;
  Reduction<SumOf, float>(Shape{3'000'000}, {true}).run(in.data(), &out);
  EXPECT_NEAR(out, 3e6 * static_cast<double>(0.1F), 0.1);
}

TEST(Reduction, DividesTheResult) {
  const std::vector<double> in = {1, 2, 3, 6};
  double mean = 0;
  Reduction<SumOf, double>(Shape{4}, {true}).run(in.data(), &mean, 4);
  EXPECT_EQ(mean, 3);
  const std::vector<std::int32_t> whole = {1, 2, 4};
  std::int32_t whole_mean = 0;
  Reduction<SumOf, std::int32_t>(Shape{3}, {true}).run(whole.data(), &whole_mean, 3);
  EXPECT_EQ(whole_mean, 2);
}

TEST(Reduction, TheMaximumIsNaNIfAnElementIs) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t place : {std::size_t{0}, std::size_t{40}, std::size_t{69}}) {
    std::vector<float> in(70, 1.0F);
    in[place] = nan;
    float out = 0;
    Reduction<MaxOf, float>(Shape{70}, {true}).run(in.data(), &out);
    EXPECT_TRUE(std::isnan(out)) << place;
  }
}

}  // namespace
}  // namespace fluidcore::cpu
