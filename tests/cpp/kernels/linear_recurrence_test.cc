#include "fluidcore/kernels/cpu/linear_recurrence.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace fluidcore::cpu {
namespace {

TEST(LinearRecurrence, GoesThroughEverySequence) {
  const std::vector<double> x = {9, 8, 2, 3, 4, 5};
  const std::vector<double> y = {1, 2, 3, 4, 5, 6};
  std::vector<double> out(6);
  linear_recurrence({1, 3, 2, false}, x.data(), y.data(), out.data());
  EXPECT_EQ(out, (std::vector<double>{1, 2, 5, 10, 25, 56}));
  linear_recurrence({2, 3, 1, true}, x.data(), y.data(), out.data());
  EXPECT_EQ(out, (std::vector<double>{1 + 9 * 26, 26, 3, 4 + 3 * 29, 29, 6}));
}

TEST(LinearRecurrence, TakesAnInputInPlace) {
  const std::vector<float> x = {7, 2, 3};
  std::vector<float> y = {1, 1, 1};
  linear_recurrence({1, 3, 1, false}, x.data(), y.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{1, 3, 10}));
}

TEST(LinearRecurrence, CarriesOnWhatFloatsWouldLose) {
  const std::vector<float> x(6, 1.0F);
  const std::vector<float> y = {0x1p24F, 1, 1, 1, 1, 1};
  std::vector<float> out(6);
  linear_recurrence({1, 6, 1, false}, x.data(), y.data(), out.data());
  EXPECT_EQ(out.back(), 16777220.0F);  // in float32 2^24 + 1 is 2^24
}

// Columns that several threads share, and more of them than are walked together.
TEST(LinearRecurrence, HasTheGradientThatEveryElementHasByItself) {
  for (const bool reverse : {false, true}) {
    const Sequences all{2, 5, 700, reverse};
    const std::int64_t size = all.outer * all.count * all.inner;
    std::vector<double> x;
    std::vector<double> dout;
    for (std::int64_t i = 0; i < size; ++i) {
      x.push_back(static_cast<double>(i % 5 - 2));
      dout.push_back(static_cast<double>(i % 7 - 3));
    }
    const std::vector<double> y(x.rbegin(), x.rend());
    std::vector<double> out(x.size());
    linear_recurrence(all, x.data(), y.data(), out.data());
    std::vector<double> dx(x.size());
    std::vector<double> dy(x.size());
    linear_recurrence_grad(all, x.data(), out.data(), dout.data(), dx.data(), dy.data());
    const std::int64_t on = reverse ? -all.inner : all.inner;
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t row = i / all.inner % all.count;
      const bool is_first = row == (reverse ? all.count - 1 : 0);
      const bool is_last = row == (reverse ? 0 : all.count - 1);
      ASSERT_EQ(dy[i], dout[i] + (is_last ? 0 : x[i + on] * dy[i + on])) << i;
      ASSERT_EQ(dx[i], is_first ? 0 : dy[i] * out[i - on]) << i;
    }
    std::vector<double> alone(x.size());
    linear_recurrence_grad<double>(all, x.data(), out.data(), dout.data(), nullptr, alone.data());
    EXPECT_EQ(alone, dy);
  }
}

// Elements that are 0, alone and several, in sequences side by side and alone.
TEST(ProductGrad, IsTheProductOfAllOtherElements) {
  for (const Sequences all : {Sequences{3, 5, 1, false}, Sequences{2, 5, 150, false}}) {
    std::vector<double> x;
    for (std::int64_t i = 0; i < all.outer * all.count * all.inner; ++i) {
      x.push_back(static_cast<double>(i * i % 7 - 2));
    }
    std::vector<double> dout;
    for (std::int64_t i = 0; i < all.outer * all.inner; ++i) dout.push_back(i % 3 - 1.0);
    std::vector<double> expected;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
      const std::int64_t row = i / all.inner % all.count;
      const std::int64_t outer = i / (all.inner * all.count);
      double product = dout[outer * all.inner + i % all.inner];
      for (std::int64_t other = 0; other < all.count; ++other) {
        if (other != row) product *= x[i + (other - row) * all.inner];
      }
      expected.push_back(product);
    }
    std::vector<double> memory(x.size());
    product_grad(all, x.data(), dout.data(), memory.data(), x.data());
    EXPECT_EQ(x, expected);
  }
}

TEST(ProductGrad, IsNoLessInRangeThanTheProduct) {
  const std::vector<float> x = {1e30F, 1e30F, 1e-30F, 1e-30F};
  const float one = 1;
  std::vector<double> memory(4);
  std::vector<float> dx(4);
  product_grad({1, 4, 1, false}, x.data(), &one, memory.data(), dx.data());
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(dx[i], 1.0F / x[i]);
}

}  // namespace
}  // namespace fluidcore::cpu
