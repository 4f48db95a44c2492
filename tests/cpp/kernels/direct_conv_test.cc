#include "fluidcore/kernels/cpu/direct_conv.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/kernels/cpu/conv.h"
#include "kernels/flat_conv_problem.h"
#include "kernels/isas.h"
#include "kernels/numbers.h"

namespace fluidcore::cpu {
namespace {

// Lines longer, shorter and as long as a vector; more filters than fit in registers; an image that
// is copied in parts; strides, padding wider than the filter, dilation.
const std::vector<ConvProblem> kConvProblems{
    conv_problem(2, 1, 6, {1, 28, 28}, {1, 5, 5}, 1, 2, 1),
    conv_problem(1, 3, 13, {1, 65, 64}, {1, 7, 7}, 2, 3, 1),
    conv_problem(3, 2, 5, {1, 9, 10}, {1, 3, 2}, 1, 0, 2),
    conv_problem(2, 4, 1, {1, 20, 18}, {1, 3, 3}, 3, 5, 2),
    conv_problem(1, 3, 9, {1, 150, 130}, {1, 3, 3}, 1, 1, 1),
    conv_problem(2, 2, 7, {1, 40, 40}, {1, 1, 1}, 2, 0, 1),
};

std::vector<float> calculate(const ConvProblem& p, Isa isa, std::int64_t planes_together) {
  const DirectConv conv = prepare_direct_conv(p, isa);
  const auto input = numbers<float>(p.batch * p.channels * p.in_plane(), 1);
  const auto filter = numbers<float>(p.filters * p.taps(), 2);
  const std::int64_t planes = p.batch * p.filters;
  std::vector<float> output(static_cast<std::size_t>(planes * p.out_plane()));
  for (std::int64_t first = 0; first < planes; first += planes_together) {
    const std::int64_t image = first / p.filters * p.channels * p.in_plane();
    conv(first, std::min(planes_together, planes - first), input.data() + image, filter.data(),
         output.data() + first * p.out_plane());
  }
  return output;
}

TEST(DirectConv, IsTheConvolutionOfTheDefinition) {
  for (const ConvProblem& p : kConvProblems) {
    const auto input = numbers<double>(p.batch * p.channels * p.in_plane(), 1);
    const auto filter = numbers<double>(p.filters * p.taps(), 2);
    std::vector<double> expected(static_cast<std::size_t>(p.batch * p.filters * p.out_plane()));
    prepare_conv<double>(p)(input.data(), filter.data(), expected.data());
    for (const Isa isa : available_isas()) {
      ASSERT_TRUE(has_direct_conv(p));
      const std::vector<float> output = calculate(p, isa, p.batch * p.filters);
      for (std::size_t i = 0; i < output.size(); ++i) {
        ASSERT_NEAR(output[i], expected[i], 1e-5) << to_string(isa) << " " << i;
      }
    }
  }
}

TEST(DirectConv, GivesTheSameBitsHoweverItsPlanesAreCut) {
  for (const ConvProblem& p : kConvProblems) {
    for (const Isa isa : available_isas()) {
      const std::vector<float> whole = calculate(p, isa, p.batch * p.filters);
      for (const std::int64_t planes : {1, 2, 5}) EXPECT_EQ(calculate(p, isa, planes), whole);
    }
  }
}

TEST(DirectConv, PaysWhereLinesFillVectorsBetterThanFilters) {
  const auto pays = [](std::int64_t filters, std::int64_t width) {
    return direct_conv_pays(conv_problem(1, 1, filters, {1, 32, width}, {1, 1, 1}, 1, 0, 1),
                            Isa::kAvx512);
  };
  EXPECT_TRUE(pays(6, 28));
  EXPECT_TRUE(pays(6, 10));
  EXPECT_FALSE(pays(16, 28));
  EXPECT_FALSE(pays(12, 17));
  EXPECT_TRUE(pays(17, 32));
}

TEST(DirectConv, IsForFlatImagesWithChannelsFirstOfOneGroup) {
  ConvProblem last = kConvProblems[0];
  last.channels_last = true;
  ConvProblem grouped = kConvProblems[2];
  grouped.groups = 1;
  grouped.channels = 4;
  grouped.filters = 6;
  EXPECT_TRUE(has_direct_conv(grouped));
  grouped.groups = 2;
  ConvProblem deep = kConvProblems[0];
  deep.in[kDepth] = 2;
  // Not one line of outputs finds what it needs in the memory that is copied to.
  const ConvProblem wide = conv_problem(1, 64, 6, {1, 4, 512}, {1, 1, 1}, 1, 0, 1);
  for (const ConvProblem& p : {last, grouped, deep, wide}) EXPECT_FALSE(has_direct_conv(p));
}

}  // namespace
}  // namespace fluidcore::cpu
