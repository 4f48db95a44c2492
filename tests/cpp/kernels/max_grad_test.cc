#include "fluidcore/kernels/cpu/max_grad.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/float16.h"

namespace fluidcore::cpu {
namespace {

// Elements of few different values, so that there are many ties.
std::vector<float> tied(std::int64_t size) {
  std::vector<float> x(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 11 % 3);
  return x;
}

template <class T>
void expect_first_of_ties(std::int64_t outer, std::int64_t count, std::int64_t inner) {
  const std::vector<float> values = tied(outer * count * inner);
  std::vector<T> x;
  for (const float value : values) x.push_back(static_cast<T>(value));
  std::vector<T> out;
  std::vector<T> out_grad;
  std::vector<T> expected(x.size(), T(0.0F));
  for (std::int64_t i = 0; i < outer; ++i) {
    for (std::int64_t j = 0; j < inner; ++j) {
      std::int64_t first = i * count * inner + j;
      for (std::int64_t k = 1; k < count; ++k) {
        const std::int64_t at = (i * count + k) * inner + j;
        if (values[at] > values[first]) first = at;
      }
      out.push_back(x[first]);
      out_grad.push_back(static_cast<T>(static_cast<float>(1 + j % 5)));
      expected[first] = out_grad.back();
    }
  }
  std::vector<T> grad(x.size());
  max_grad(outer, count, inner, x.data(), out.data(), out_grad.data(), grad.data());
  // In place, as the memory plan may want it.
  max_grad(outer, count, inner, x.data(), out.data(), out_grad.data(), x.data());
  for (std::size_t i = 0; i < grad.size(); ++i) {
    ASSERT_EQ(static_cast<float>(grad[i]), static_cast<float>(expected[i])) << i;
    ASSERT_EQ(static_cast<float>(x[i]), static_cast<float>(expected[i])) << i;
  }
}

TEST(MaxGradTest, GivesAllToTheFirstOfTiesForEveryShape) {
  for (const std::int64_t outer : {1, 3}) {
    for (const std::int64_t count : {1, 2, 255, 257, 700}) {
      for (const std::int64_t inner : {1, 2, 33, 300}) {
        expect_first_of_ties<float>(outer, count, inner);
        expect_first_of_ties<double>(outer, count, inner);
        expect_first_of_ties<BFloat16>(outer, count, inner);
      }
    }
  }
}

TEST(MaxGradTest, ManyColumnsAreSharedByThreadsAtAnyPlace) {
  expect_first_of_ties<float>(2, 3, 40'007);
  expect_first_of_ties<float>(40'007, 3, 1);
}

TEST(MaxGradTest, OfAMinimumIsThatOfTheMaximumOfTheNegatives) {
  for (const std::int64_t inner : {1, 33}) {
    std::vector<float> x = tied(2 * 300 * inner);
    std::vector<float> negative;
    for (const float value : x) negative.push_back(-value);
    std::vector<float> out(static_cast<std::size_t>(2 * inner), 0.0F);
    const std::vector<float> out_grad(out.size(), 2.0F);
    std::vector<float> grad(x.size());
    std::vector<float> expected(x.size());
    max_grad<true>(2, 300, inner, x.data(), out.data(), out_grad.data(), grad.data());
    max_grad(2, 300, inner, negative.data(), out.data(), out_grad.data(), expected.data());
    EXPECT_EQ(grad, expected);
  }
}

TEST(MaxGradTest, GivesNothingWhereNoElementIsTheMaximum) {
  const std::vector<double> x{1, 2, 3, 4};
  const std::vector<double> out{9, 9};
  const std::vector<double> out_grad{5, 5};
  std::vector<double> grad(4, -1.0);
  max_grad(2, 2, 1, x.data(), out.data(), out_grad.data(), grad.data());
  EXPECT_EQ(grad, (std::vector<double>{0, 0, 0, 0}));
  max_grad(1, 2, 2, x.data(), out.data(), out_grad.data(), grad.data());
  EXPECT_EQ(grad, (std::vector<double>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace fluidcore::cpu
