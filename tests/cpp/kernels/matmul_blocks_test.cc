#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/kernels/cpu/matmul.h"
#include "fluidcore/kernels/matmul_problem.h"
#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore {
namespace {

constexpr std::int64_t kRows = 20;
constexpr std::int64_t kInner = 24;
constexpr std::int64_t kColumns = 40;

std::vector<float> numbers(std::int64_t count, unsigned state) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 16U) / 32768 - 1;
  }
  return values;
}

MatmulProblem of_rows(std::int64_t rows, bool y_is_transposed) {
  return {.m = rows,
          .n = kColumns,
          .k = kInner,
          .a = {kInner, 1, {}},
          .b = y_is_transposed ? MatmulOperand{1, kInner, {}} : MatmulOperand{kColumns, 1, {}},
          .c = {kColumns, 1, {}}};
}

class MatmulBlocks : public testing::TestWithParam<bool> {
 protected:
  std::vector<float> whole(const std::vector<float>& y) const {
    std::vector<float> out(kRows * kColumns);
    cpu::prepare_matmul<float>(of_rows(kRows, GetParam()), std::make_shared<Scratch>())(
        x_.data(), y.data(), out.data());
    return out;
  }
  static void expect_near(const std::vector<float>& got, const std::vector<float>& expected) {
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-5) << i;
  }

  std::vector<float> x_ = numbers(kRows * kInner, 1);
  std::vector<float> y_ = numbers(kInner * kColumns, 2);
};

TEST_P(MatmulBlocks, AreTheRowsOfTheProductWhoeverMakesThem) {
  if constexpr (onednn::kEnabled) {
    constexpr std::int64_t kBlock = 5;
    const onednn::MatmulBlocks blocks = onednn::prepare_matmul_blocks(of_rows(kBlock, GetParam()));
    ASSERT_TRUE(blocks);
    blocks.begin(y_.data(), 0);
    for (const auto& worker : blocks.workers) {
      std::vector<float> out(kRows * kColumns);
      for (std::int64_t row = 0; row < kRows; row += kBlock) {
        worker(x_.data() + row * kInner, out.data() + row * kColumns);
      }
      expect_near(out, whole(y_));
    }
  }
}

TEST_P(MatmulBlocks, FollowTheVersionOfTheSecondOperand) {
  if constexpr (onednn::kEnabled) {
    const std::vector<float> other = numbers(kInner * kColumns, 3);
    const onednn::MatmulBlocks blocks = onednn::prepare_matmul_blocks(of_rows(kRows, GetParam()));
    const auto run = [&](const std::vector<float>& y, std::uint64_t version) {
      std::vector<float> out(kRows * kColumns);
      blocks.begin(y.data(), version);
      blocks.workers[0](x_.data(), out.data());
      return out;
    };
    expect_near(run(y_, 7), whole(y_));
    expect_near(run(other, 8), whole(other));
    expect_near(run(y_, 0), whole(y_));
    expect_near(run(other, 0), whole(other));
    expect_near(run(y_, 8), whole(y_));
  }
}

TEST(NoMatmulBlocks, OfABatchOrOfColumns) {
  if constexpr (onednn::kEnabled) {
    MatmulProblem batch = of_rows(kRows, false);
    batch.batch = {2};
    batch.a.batch = {kRows * kInner};
    batch.b.batch = {kInner * kColumns};
    batch.c.batch = {kRows * kColumns};
    EXPECT_FALSE(onednn::prepare_matmul_blocks(batch));
    EXPECT_FALSE(onednn::prepare_matmul_blocks(transposed(of_rows(kRows, false))));
  }
}

INSTANTIATE_TEST_SUITE_P(TransposedOrNot, MatmulBlocks, testing::Bool());

}  // namespace
}  // namespace fluidcore
