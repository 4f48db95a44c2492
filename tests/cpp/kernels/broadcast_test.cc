#include "fluidcore/kernels/cpu/broadcast.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/functors.h"
#include "kernels/isas.h"

namespace fluidcore::cpu {
namespace {

template <class T>
std::vector<T> counted(std::int64_t size, float step) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < size; ++i) values.push_back(T(static_cast<float>(i % 61) * step));
  return values;
}

// The element of an operand of shape `operand` behind element `index` of `out`, one by one.
std::int64_t element_behind(std::int64_t index, const Shape& out, const Shape& operand) {
  std::int64_t element = 0;
  std::int64_t stride = 1;
  for (std::size_t axis = out.rank(); axis-- > 0;) {
    const std::int64_t place = index % out[axis];
    index /= out[axis];
    if (operand[axis] != 1) element += place * stride;
    stride *= operand[axis];
  }
  return element;
}

struct BroadcastCase {
  Shape out;
  Shape x;
  Shape y;
};

const std::vector<BroadcastCase>& broadcast_cases() {
  static const std::vector<BroadcastCase> kCases = {
      {{}, {}, {}},
      {{5}, {5}, {5}},
      {{7, 1030}, {7, 1030}, {1, 1030}},
      {{7, 1030}, {7, 1030}, {7, 1}},
      {{7, 1030}, {1, 1}, {7, 1030}},
      {{3, 4, 5}, {3, 4, 5}, {1, 4, 1}},
      {{3, 4, 5}, {3, 1, 5}, {1, 4, 1}},
      {{2, 3, 1, 4}, {2, 1, 1, 4}, {1, 3, 1, 1}},
      {{0, 4}, {0, 4}, {1, 4}},
  };
  return kCases;
}

template <class T>
void expect_like_one_by_one(const BroadcastCase& shapes) {
  const auto x = counted<T>(shapes.x.num_elements(), 0.5F);
  const auto y = counted<T>(shapes.y.num_elements(), 3.0F);
  const std::int64_t size = shapes.out.num_elements();
  std::vector<T> out(static_cast<std::size_t>(size));
  const BroadcastNest nest(shapes.out, {shapes.x, shapes.y});
  broadcast_elementwise(nest, Sub(), out.data(), x.data(), y.data());
  for (std::int64_t i = 0; i < size; ++i) {
    const auto a = static_cast<ComputeType<T>>(x[element_behind(i, shapes.out, shapes.x)]);
    const auto b = static_cast<ComputeType<T>>(y[element_behind(i, shapes.out, shapes.y)]);
    ASSERT_EQ(static_cast<double>(out[i]), static_cast<double>(static_cast<T>(a - b)))
        << to_string(shapes.out) << " at " << i;
  }
}

TEST(BroadcastElementwise, IsLikeOneElementAfterTheOther) {
  for (const BroadcastCase& shapes : broadcast_cases()) {
    expect_like_one_by_one<float>(shapes);
    expect_like_one_by_one<double>(shapes);
    expect_like_one_by_one<std::int64_t>(shapes);
    expect_like_one_by_one<Float16>(shapes);
    expect_like_one_by_one<BFloat16>(shapes);
  }
}

TEST(BroadcastElementwise, DoesNotDependOnTheNumberOfThreads) {
  const BroadcastCase shapes{{64, 1500}, {64, 1500}, {64, 1}};
  ThreadCountScope threads(3);
  expect_like_one_by_one<float>(shapes);
}

TEST(BroadcastNest, MergesDimensionsThatNoOperandTellsApart) {
  EXPECT_EQ(BroadcastNest({3, 4, 5}, {{3, 4, 5}, {3, 4, 5}}).row(), 60);
  EXPECT_EQ(BroadcastNest({3, 4, 5}, {{3, 4, 5}, {1, 4, 5}}).row(), 20);
  EXPECT_EQ(BroadcastNest({3, 4, 5}, {{3, 4, 5}, {3, 1, 1}}).row(), 20);
  EXPECT_EQ(BroadcastNest({3, 1, 5}, {{3, 1, 5}, {3, 1, 5}}).row(), 15);
}

TEST(CalculateRow, GivesTheSameOnEveryInstructionSet) {
  constexpr std::int64_t kSize = 1100;  // more than two tiles
  const auto x = counted<Float16>(kSize, 0.25F);
  const float y = 1.5F;
  for (const Isa isa : available_isas()) {
    std::vector<float> out(kSize);
    const std::array<Stream, 2> in{{{x.data()}, {&y, true}}};
    calculate_row(isa, stream_formula<float, Float16, float>(Mul()), kSize, out.data(), in.data());
    for (std::int64_t i = 0; i < kSize; ++i) {
      ASSERT_EQ(out[i], static_cast<float>(x[i]) * y) << to_string(isa) << " at " << i;
    }
  }
}

TEST(Elementwise, WritesOverItsInput) {
  auto x = counted<BFloat16>(1300, 1.0F);
  elementwise(Add(), 1300, x.data(), x.data(), x.data());
  EXPECT_EQ(static_cast<float>(x[60]), 120.0F);
  EXPECT_EQ(static_cast<float>(x[1299]), 2.0F * (1299 % 61));
}

}  // namespace
}  // namespace fluidcore::cpu
