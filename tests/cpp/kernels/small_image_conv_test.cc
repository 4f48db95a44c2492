#include "fluidcore/kernels/cpu/small_image_conv.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"
#include "kernels/isas.h"
#include "kernels/numbers.h"

namespace fluidcore::cpu {
namespace {

struct Window {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t pad = 1;
  std::int64_t dilation = 1;
};

ConvProblem of_window(std::int64_t batch,
                      std::int64_t channels,
                      std::int64_t filters,
                      std::int64_t height,
                      std::int64_t width,
                      const Window& w = {}) {
  const auto out = [&](std::int64_t in) {
    return (in + 2 * w.pad - w.dilation * (w.kernel - 1) - 1) / w.stride + 1;
  };
  return {.channels_last = true,
          .axes = 2,
          .batch = batch,
          .channels = channels,
          .filters = filters,
          .in = {1, height, width},
          .kernel = {1, w.kernel, w.kernel},
          .out = {1, out(height), out(width)},
          .stride = {1, w.stride, w.stride},
          .pad = {0, w.pad, w.pad},
          .dilation = {1, w.dilation, w.dilation}};
}

// An input, a filter, and the output by the definition.
struct Example {
  explicit Example(const ConvProblem& problem)
      : p(problem),
        input(numbers<float>(p.batch * p.channels * p.in_plane(), 1)),
        filter(numbers<float>(p.filters * p.taps(), 2)) {
    const std::int64_t side = p.kernel[kWidth];
    for (std::int64_t at = 0; at < p.batch * p.out_plane(); ++at) {
      const std::int64_t image = at / p.out_plane();
      const std::int64_t y = at % p.out_plane() / p.out[kWidth] * p.stride[kHeight];
      const std::int64_t x = at % p.out[kWidth] * p.stride[kWidth];
      for (std::int64_t f = 0; f < p.filters; ++f) {
        double sum = 0;
        for (std::int64_t tap = 0; tap < p.taps(); ++tap) {
          const std::int64_t place = tap % (side * side);
          const std::int64_t row = y + place / side * p.dilation[kHeight] - p.pad[kHeight];
          const std::int64_t column = x + place % side * p.dilation[kWidth] - p.pad[kWidth];
          if (row < 0 || row >= p.in[kHeight] || column < 0 || column >= p.in[kWidth]) continue;
          const std::int64_t in =
              ((image * p.in[kHeight] + row) * p.in[kWidth] + column) * p.channels +
              tap / (side * side);
          sum += static_cast<double>(input[static_cast<std::size_t>(in)]) *
                 static_cast<double>(filter[static_cast<std::size_t>(f * p.taps() + tap)]);
        }
        expected.push_back(sum);
      }
    }
  }

  std::vector<float> run(const FusedKernel& conv,
                         const Epilogue& epilogue = {},
                         std::uint64_t version = 0) const {
    std::vector<float> output(expected.size(), NAN);
    conv(input.data(), filter.data(), version, output.data(), epilogue);
    return output;
  }
  FusedKernel prepared(Isa isa = cpu_isa()) const {
    return prepare_small_image_conv(p, std::make_shared<Scratch>(), isa);
  }

  ConvProblem p;
  std::vector<float> input, filter;
  std::vector<double> expected;
};

void expect_right(const Example& example) {
  double largest = 0;
  for (const double value : example.expected) largest = std::max(largest, std::abs(value));
  for (const Isa isa : vector_isas()) {
    const std::vector<float> output = example.run(example.prepared(isa));
    for (std::size_t i = 0; i < output.size(); ++i) {
      ASSERT_NEAR(output[i], example.expected[i], 2e-6 * largest)
          << i << " of " << example.p.batch << " x " << example.p.channels << " -> "
          << example.p.filters << ", " << to_string(isa);
    }
  }
}

TEST(SmallImageConv, IsTheSumOverTheWindowForAnyNumbersOfImagesChannelsAndFilters) {
  for (const std::int64_t batch : {1, 3}) {
    for (const std::int64_t channels : {1, 16, 21}) {
      for (const std::int64_t filters : {1, 16, 35, 48}) {
        expect_right(Example(of_window(batch, channels, filters, 4, 5)));
      }
    }
  }
}

TEST(SmallImageConv, TakesAnyKernelStridePaddingAndDilation) {
  for (const Window& window : {Window{1, 1, 0, 1}, Window{1, 2, 0, 1}, Window{3, 2, 1, 1},
                               Window{2, 1, 0, 1}, Window{3, 1, 2, 2}, Window{5, 3, 4, 1}}) {
    expect_right(Example(of_window(2, 18, 20, 7, 6, window)));
  }
}

TEST(SmallImageConv, AddsUpDeepWindowsInPieces) {
  expect_right(Example(of_window(1, 120, 40, 3, 3)));
}

TEST(SmallImageConv, HasTheSameBitsOnAnyNumberOfThreads) {
  const Example example(of_window(1, 64, 200, 4, 4));
  const auto on = [&](int threads) {
    const ThreadCountScope scope(threads);
    return example.run(example.prepared());
  };
  const std::vector<float> expected = on(1);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(on(threads), expected) << threads;
}

TEST(SmallImageConv, TakesTheFilterAnewWhenItsVersionIsAnotherOneOrUnknown) {
  const Example example(of_window(1, 16, 20, 4, 4));
  Example other = example;
  for (float& weight : other.filter) weight = -weight;
  const FusedKernel conv = example.prepared();
  const std::vector<float> of_example = example.run(example.prepared());
  const std::vector<float> of_other = other.run(other.prepared());
  EXPECT_EQ(example.run(conv, {}, 7), of_example);
  EXPECT_EQ(other.run(conv, {}, 7), of_example) << "kept";
  EXPECT_EQ(other.run(conv, {}, 8), of_other);
  EXPECT_EQ(example.run(conv, {}, 0), of_example);
  EXPECT_EQ(other.run(conv, {}, 0), of_other);
  EXPECT_EQ(example.run(conv, {}, 8), of_example);
}

TEST(SmallImageConv, FinishesOutputsWithScaleBiasResidualAndRelu) {
  for (const std::int64_t filters : {32, 21}) {
    const Example example(of_window(2, 16, filters, 3, 4));
    const auto scale = numbers<float>(filters, 4);
    const auto bias = numbers<float>(filters, 5);
    auto residual = numbers<float>(std::ssize(example.expected), 6);
    residual[1] = NAN;
    for (const Isa isa : vector_isas()) {
      const FusedKernel conv = example.prepared(isa);
      const std::vector<float> plain = example.run(conv);
      const std::vector<float> result = example.run(
          conv,
          {.scale = scale.data(), .bias = bias.data(), .residual = residual.data(), .relu = true});
      for (std::size_t i = 0; i < result.size(); ++i) {
        const std::size_t f = i % static_cast<std::size_t>(filters);
        const float value = plain[i] * scale[f] + bias[f] + residual[i];
        if (std::isnan(value)) {
          EXPECT_TRUE(std::isnan(result[i])) << i;
        } else {
          ASSERT_NEAR(result[i], std::max(value, 0.0F), 1e-5) << i;
        }
      }
    }
  }
}

TEST(SmallImageConv, PaysForFewPixelsInShortRows) {
  if (vector_isas().empty()) GTEST_SKIP() << "no vectors";
  EXPECT_TRUE(small_image_conv_pays(of_window(1, 512, 512, 4, 4)));
  EXPECT_TRUE(small_image_conv_pays(of_window(4, 64, 64, 2, 2)));
  EXPECT_FALSE(small_image_conv_pays(of_window(1, 512, 512, 2, 8))) << "long rows";
  EXPECT_FALSE(small_image_conv_pays(of_window(2, 512, 512, 4, 4))) << "many pixels";
  EXPECT_FALSE(small_image_conv_pays(of_window(1, 3, 64, 4, 4))) << "few channels";
  EXPECT_FALSE(small_image_conv_pays(of_window(1, 64, 64, 1, 1))) << "one pixel of a tile of eight";
  ConvProblem first = of_window(1, 512, 512, 4, 4);
  first.channels_last = false;
  EXPECT_FALSE(small_image_conv_pays(first));
}

}  // namespace
}  // namespace fluidcore::cpu
