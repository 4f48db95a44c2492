#include "fluidcore/kernels/cpu/batch_norm.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"

namespace fluidcore::cpu {
namespace {

std::vector<float> normal(std::int64_t size, float offset = 0) {
  std::mt19937 generator(7);
  std::normal_distribution<float> draw(offset);
  std::vector<float> values(static_cast<std::size_t>(size));
  for (float& value : values) value = draw(generator);
  return values;
}

std::size_t channel_of(const ChannelLayout& layout, std::int64_t i) {
  return static_cast<std::size_t>(i / layout.inner % layout.channels);
}

class BatchNorm : public testing::TestWithParam<ChannelLayout> {};

INSTANTIATE_TEST_SUITE_P(Layouts,
                         BatchNorm,
                         testing::Values(ChannelLayout{1, 1, 1},
                                         ChannelLayout{5, 3, 1},
                                         ChannelLayout{3000, 64, 1},
                                         ChannelLayout{70, 513, 1},
                                         ChannelLayout{40000, 1, 1},
                                         ChannelLayout{4, 3, 7},
                                         ChannelLayout{2, 70, 30},
                                         ChannelLayout{3, 2, 5000},
                                         ChannelLayout{64, 3, 900}));

TEST_P(BatchNorm, MomentsAreThoseOfAllElementsOfAChannel) {
  const ChannelLayout layout = GetParam();
  const std::vector<float> x = normal(layout.size(), 100);
  const auto channels = static_cast<std::size_t>(layout.channels);
  std::vector<double> sum(channels);
  std::vector<double> squares(channels);
  const auto count = static_cast<double>(layout.per_channel());
  for (std::int64_t i = 0; i < layout.size(); ++i) {
    sum[channel_of(layout, i)] += static_cast<double>(x[static_cast<std::size_t>(i)]);
  }
  for (std::int64_t i = 0; i < layout.size(); ++i) {
    const std::size_t c = channel_of(layout, i);
    squares[c] += std::pow(static_cast<double>(x[static_cast<std::size_t>(i)]) - sum[c] / count, 2);
  }
  std::vector<float> mean(channels);
  std::vector<float> variance(channels);
  ChannelSums<float>(layout).moments({x.data()}, mean.data(), variance.data());
  for (std::size_t c = 0; c < channels; ++c) {
    EXPECT_FLOAT_EQ(mean[c], static_cast<float>(sum[c] / count));
    EXPECT_FLOAT_EQ(variance[c], static_cast<float>(squares[c] / count));
  }
}

TEST_P(BatchNorm, GradientsAreSumsOverAllElementsOfAChannel) {
  const ChannelLayout layout = GetParam();
  const std::vector<float> x = normal(layout.size(), 3);
  const std::vector<float> grad = normal(layout.size());
  const auto channels = static_cast<std::size_t>(layout.channels);
  const std::vector<float> mean(channels, 3.0F);
  const std::vector<float> inv_std(channels, 0.5F);
  std::vector<double> plain(channels);
  std::vector<double> weighted(channels);
  for (std::int64_t i = 0; i < layout.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    plain[channel_of(layout, i)] += static_cast<double>(grad[at]);
    weighted[channel_of(layout, i)] +=
        static_cast<double>(grad[at]) * (static_cast<double>(x[at]) - 3.0) * 0.5;
  }
  std::vector<float> scale_grad(channels);
  std::vector<float> bias_grad(channels);
  ChannelSums<float>(layout).gradients({x.data()}, mean.data(), inv_std.data(), {grad.data()},
                                       scale_grad.data(), bias_grad.data());
  for (std::size_t c = 0; c < channels; ++c) {
    EXPECT_NEAR(bias_grad[c], plain[c], 1e-6 * std::abs(plain[c]) + 1e-6);
    EXPECT_NEAR(scale_grad[c], weighted[c], 1e-6 * std::abs(weighted[c]) + 1e-4);
  }
}

TEST_P(BatchNorm, ResultsAreTheSameOnAnyNumberOfThreads) {
  const ChannelLayout layout = GetParam();
  const std::vector<float> x = normal(layout.size());
  const auto channels = static_cast<std::size_t>(layout.channels);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    const ThreadCountScope scope(threads);
    std::vector<float>& found = results.emplace_back(4 * channels);
    ChannelSums<float> sums(layout);
    sums.moments({x.data()}, found.data(), found.data() + channels);
    sums.gradients({x.data()}, found.data(), found.data() + channels, {x.data()},
                   found.data() + 2 * channels, found.data() + 3 * channels);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST_P(BatchNorm, APartIsNormalizedAsTheWhole) {
  const ChannelLayout layout = GetParam();
  const std::vector<float> x = normal(layout.size());
  const std::vector<float> numbers = normal(3 * layout.channels);
  const float* const mean = numbers.data();
  const float* const factor = mean + layout.channels;
  const float* const bias = factor + layout.channels;
  std::vector<float> y(x.size());
  const std::int64_t cut = layout.size() / 3;
  normalize(layout, 0, cut, {x.data()}, mean, factor, bias, y.data());
  normalize(layout, cut, layout.size() - cut, {x.data() + cut}, mean, factor, bias, y.data() + cut);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = channel_of(layout, static_cast<std::int64_t>(i));
    EXPECT_NEAR(y[i], (x[i] - mean[c]) * factor[c] + bias[c], 1e-5);
  }
}

TEST_P(BatchNorm, SixteenBitsAreRoundedOnceAtTheEnd) {
  const ChannelLayout layout = GetParam();
  std::vector<float> x = normal(layout.size());
  std::vector<BFloat16> narrow(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    narrow[i] = static_cast<BFloat16>(x[i]);
    x[i] = static_cast<float>(narrow[i]);
  }
  const std::vector<float> numbers = normal(4 * layout.channels);
  const float* const mean = numbers.data();
  const std::int64_t channels = layout.channels;
  std::vector<float> wide(x.size());
  batch_norm_x_grad(layout, 0, layout.size(), {x.data()}, {x.data()}, mean, mean + channels,
                    mean + 2 * channels, mean + 3 * channels, wide.data());
  std::vector<BFloat16> result(x.size());
  const Elements elements{narrow.data(), DType::kBFloat16};
  batch_norm_x_grad(layout, 0, layout.size(), elements, elements, mean, mean + channels,
                    mean + 2 * channels, mean + 3 * channels, result.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(static_cast<float>(result[i]), static_cast<float>(static_cast<BFloat16>(wide[i])));
  }
}

}  // namespace
}  // namespace fluidcore::cpu
