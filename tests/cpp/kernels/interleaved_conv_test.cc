#include "fluidcore/kernels/cpu/interleaved_conv.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/conv.h"
#include "kernels/flat_conv_problem.h"
#include "kernels/isas.h"
#include "kernels/numbers.h"

namespace fluidcore::cpu {
namespace {

// As many images as lanes, fewer, and some more; more filters than fit in registers; fewer taps
// than are worked on together; lines in several tasks; strides, padding wider than the filter,
// dilation.
const std::vector<ConvProblem> kProblems{
    conv_problem(16, 1, 6, {1, 28, 28}, {1, 5, 5}, 1, 2, 1),
    conv_problem(19, 6, 16, {1, 14, 14}, {1, 5, 5}, 1, 0, 1),
    conv_problem(5, 3, 13, {1, 65, 64}, {1, 7, 7}, 2, 3, 1),
    conv_problem(33, 2, 5, {1, 9, 10}, {1, 3, 2}, 1, 0, 2),
    conv_problem(16, 4, 1, {1, 20, 18}, {1, 3, 3}, 3, 5, 2),
    conv_problem(17, 3, 9, {1, 70, 60}, {1, 3, 3}, 1, 1, 1),
    conv_problem(8, 2, 7, {1, 10, 11}, {1, 1, 1}, 1, 0, 1),
    conv_problem(16, 1, 2, {1, 6, 5}, {1, 2, 2}, 1, 1, 1),
};

// Compares with the definition in float64. Rounding errors of a sum of `terms` numbers in [-1, 1)
// grow about with the root of that; a term too few is an error of 0.3.
void expect_equal(const Prepared2<float>& prepared,
                  const Prepared2<double>& definition,
                  std::int64_t first_size,
                  std::int64_t second_size,
                  std::int64_t result_size,
                  std::int64_t terms) {
  const auto first = numbers<float>(first_size, 1);
  const auto second = numbers<float>(second_size, 2);
  std::vector<float> result(static_cast<std::size_t>(result_size), 7);
  prepared(first.data(), second.data(), result.data());
  const auto precise_first = numbers<double>(first_size, 1);
  const auto precise_second = numbers<double>(second_size, 2);
  std::vector<double> expected(result.size());
  definition(precise_first.data(), precise_second.data(), expected.data());
  const double tolerance = 1e-6 * std::sqrt(static_cast<double>(terms));
  for (std::size_t i = 0; i < result.size(); ++i) {
    ASSERT_NEAR(result[i], expected[i], tolerance) << i;
  }
}

std::int64_t input_size(const ConvProblem& p) {
  return p.batch * p.channels * p.in_plane();
}
std::int64_t output_size(const ConvProblem& p) {
  return p.batch * p.filters * p.out_plane();
}

TEST(InterleavedConv, IsTheConvolutionOfTheDefinition) {
  for (const ConvProblem& p : kProblems) {
    ASSERT_TRUE(has_interleaved_conv(p));
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(to_string(isa));
      expect_equal(prepare_interleaved_conv(p, std::make_shared<Scratch>(), isa),
                   prepare_conv<double>(p), input_size(p), p.filters * p.taps(), output_size(p),
                   p.taps());
    }
  }
}

TEST(InterleavedConv, TheGradientOfTheInputIsThatOfTheDefinition) {
  int count = 0;
  for (const ConvProblem& p : kProblems) {
    if (!has_interleaved_input_grad(p)) continue;
    ++count;
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(to_string(isa));
      expect_equal(prepare_interleaved_input_grad(p, std::make_shared<Scratch>(), isa),
                   prepare_conv_input_grad<double>(p), output_size(p), p.filters * p.taps(),
                   input_size(p), p.filters * product(p.kernel));
    }
  }
  EXPECT_EQ(count, 6);
}

TEST(InterleavedConv, TheGradientOfTheFilterIsThatOfTheDefinition) {
  for (const ConvProblem& p : kProblems) {
    ASSERT_TRUE(has_interleaved_filter_grad(p));
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(to_string(isa));
      expect_equal(prepare_interleaved_filter_grad(p, std::make_shared<Scratch>(), isa),
                   prepare_conv_filter_grad<double>(p), input_size(p), output_size(p),
                   p.filters * p.taps(), p.batch * p.out_plane());
    }
  }
}

TEST(InterleavedConv, TheNumberOfThreadsChangesNoBit) {
  const ConvProblem& p = kProblems[1];
  const auto input = numbers<float>(input_size(p), 1);
  const auto grad = numbers<float>(output_size(p), 2);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 5}) {
    const ThreadCountScope scope(threads);
    std::vector<float> result(static_cast<std::size_t>(p.filters * p.taps()));
    prepare_interleaved_filter_grad(p, std::make_shared<Scratch>())(input.data(), grad.data(),
                                                                    result.data());
    results.push_back(result);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(InterleavedConv, PaysWhereBlocksOfChannelsAreEmptierThanThoseOfImages) {
  const auto pays = [](std::int64_t batch, std::int64_t channels, std::int64_t filters) {
    return interleaved_conv_pays(
        conv_problem(batch, channels, filters, {1, 14, 14}, {1, 5, 5}, 1, 0, 1), Isa::kAvx512);
  };
  EXPECT_TRUE(pays(64, 6, 16));
  EXPECT_TRUE(pays(32, 15, 15));
  EXPECT_TRUE(pays(8, 3, 6));
  EXPECT_FALSE(pays(64, 16, 32));
  EXPECT_FALSE(pays(4, 6, 16));
  EXPECT_FALSE(pays(8, 12, 12));
}

TEST(InterleavedConv, HasNoVolumesGroupsOrChannelsLast) {
  ConvProblem p = kProblems[0];
  p.channels_last = true;
  EXPECT_FALSE(has_interleaved_filter_grad(p));
  EXPECT_FALSE(interleaved_conv_pays(p));
  p = kProblems[0];
  p.groups = 2;
  EXPECT_FALSE(has_interleaved_conv(p));
  p = kProblems[0];
  p.in[kDepth] = p.out[kDepth] = 2;
  EXPECT_FALSE(has_interleaved_input_grad(p));
  p = kProblems[0];
  p.batch = 0;
  EXPECT_FALSE(interleaved_conv_pays(p));
}

TEST(InterleavedConv, LeavesLinesThatAreTooLongToOthers) {
  EXPECT_TRUE(interleaved_conv_pays(conv_problem(16, 3, 8, {1, 224, 224}, {1, 3, 3}, 1, 1, 1)));
  EXPECT_FALSE(interleaved_conv_pays(conv_problem(16, 3, 8, {1, 8, 9000}, {1, 3, 3}, 1, 1, 1)));
  EXPECT_FALSE(interleaved_conv_pays(conv_problem(16, 3, 8, {1, 8, 8}, {1, 3, 3}, 1, 100'000, 1)));
}

}  // namespace
}  // namespace fluidcore::cpu
