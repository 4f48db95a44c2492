#include "fluidcore/kernels/cpu/transpose.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace fluidcore::cpu {
namespace {

template <class Word>
void expect_permuted(const Shape& in, const std::vector<std::size_t>& axes) {
  std::vector<Word> from(static_cast<std::size_t>(in.num_elements()));
  std::iota(from.begin(), from.end(), Word{1});
  std::vector<Word> to(from.size());
  Transpose(in, axes, sizeof(Word)).run(to.data(), from.data());
  std::vector<std::int64_t> strides(in.rank(), 1);
  for (std::size_t i = in.rank(); i-- > 1;) strides[i - 1] = strides[i] * in[i];
  for (std::size_t i = 0; i < to.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t source = 0;
    for (std::size_t d = axes.size(); d-- > 0;) {
      source += rest % in[axes[d]] * strides[axes[d]];
      rest /= in[axes[d]];
    }
    ASSERT_EQ(to[i], from[source]) << to_string(in) << " at " << i;
  }
}

TEST(Transpose, PermutesInEveryOrder) {
  std::vector<std::size_t> axes = {0, 1, 2, 3};
  do {
    expect_permuted<std::uint32_t>({3, 1, 35, 37}, axes);
    expect_permuted<std::uint8_t>({2, 3, 4, 5}, axes);
  } while (std::next_permutation(axes.begin(), axes.end()));
}

TEST(Transpose, TakesElementsOfEverySize) {
  expect_permuted<std::uint8_t>({70, 40}, {1, 0});
  expect_permuted<std::uint16_t>({70, 40}, {1, 0});
  expect_permuted<std::uint32_t>({70, 40}, {1, 0});
  expect_permuted<std::uint64_t>({70, 40}, {1, 0});
}

TEST(Transpose, InterleavesShortLines) {
  for (std::int64_t lines = 2; lines < 6; ++lines) {
    expect_permuted<std::uint16_t>({2, lines, 70}, {0, 2, 1});
    expect_permuted<std::uint32_t>({2, lines, 3, 40}, {0, 2, 3, 1});
    expect_permuted<std::uint64_t>({lines, 33, 2}, {1, 0, 2});
    expect_permuted<std::uint32_t>({2, 2, lines, 2, 5, 7}, {0, 1, 4, 2, 5, 3});
  }
}

TEST(Transpose, TakesScalarsAndEmptyTensors) {
  expect_permuted<std::uint32_t>({}, {});
  expect_permuted<std::uint32_t>({3, 0, 2}, {2, 1, 0});
}

}  // namespace
}  // namespace fluidcore::cpu
