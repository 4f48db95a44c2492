#include "fluidcore/kernels/cpu/winograd.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"
#include "kernels/isas.h"
#include "kernels/numbers.h"

namespace fluidcore::cpu {
namespace {

// Images of height x width, with their channels last.
ConvProblem winograd_problem(std::int64_t batch,
                             std::int64_t channels,
                             std::int64_t filters,
                             std::int64_t height,
                             std::int64_t width,
                             std::int64_t pad_height,
                             std::int64_t pad_width) {
  return {.channels_last = true,
          .axes = 2,
          .batch = batch,
          .channels = channels,
          .filters = filters,
          .in = {1, height, width},
          .kernel = {1, 3, 3},
          .out = {1, height + 2 * pad_height - 2, width + 2 * pad_width - 2},
          .pad = {0, pad_height, pad_width}};
}
ConvProblem square(std::int64_t batch, std::int64_t channels, std::int64_t side) {
  return winograd_problem(batch, channels, channels, side, side, 1, 1);
}

template <class T>
struct Tensors {
  explicit Tensors(const ConvProblem& p)
      : input(numbers<T>(p.batch * p.channels * p.in_plane(), 1)),
        filter(numbers<T>(p.filters * p.taps(), 2)),
        cotangent(numbers<T>(p.batch * p.filters * p.out_plane(), 3)),
        output(cotangent.size()),
        input_grad(input.size()),
        filter_grad(filter.size()) {}

  std::vector<T> input, filter, cotangent;
  std::vector<T> output, input_grad, filter_grad;
};

// By the definition: the sum over all pairs of an output and an input that a tap connects.
Tensors<double> expected_of(const ConvProblem& p) {
  Tensors<double> t(p);
  std::size_t out = 0;
  for (std::int64_t at = 0; at < p.batch * p.out_plane(); ++at) {
    const std::int64_t image = at / p.out_plane();
    const std::int64_t y = at % p.out_plane() / p.out[kWidth];
    const std::int64_t x = at % p.out[kWidth];
    for (std::int64_t f = 0; f < p.filters; ++f, ++out) {
      for (std::int64_t tap = 0; tap < p.taps(); ++tap) {
        const std::int64_t channel = tap / 9;
        const std::int64_t row = y + tap % 9 / 3 - p.pad[kHeight];
        const std::int64_t column = x + tap % 3 - p.pad[kWidth];
        if (row < 0 || row >= p.in[kHeight] || column < 0 || column >= p.in[kWidth]) continue;
        const auto in = static_cast<std::size_t>(
            ((image * p.in[kHeight] + row) * p.in[kWidth] + column) * p.channels + channel);
        const auto weight = static_cast<std::size_t>(f * p.taps() + tap);
        t.output[out] += t.input[in] * t.filter[weight];
        t.input_grad[in] += t.cotangent[out] * t.filter[weight];
        t.filter_grad[weight] += t.cotangent[out] * t.input[in];
      }
    }
  }
  return t;
}

Tensors<float> calculated(const ConvProblem& p, Isa isa = cpu_isa()) {
  Tensors<float> t(p);
  for (std::vector<float>* result : {&t.output, &t.input_grad, &t.filter_grad}) {
    std::ranges::fill(*result, NAN);
  }
  const auto scratch = std::make_shared<Scratch>();
  prepare_winograd(p, scratch, isa)(t.input.data(), t.filter.data(), 0, t.output.data(), {});
  prepare_winograd_input_grad(p, scratch, isa)(t.cotangent.data(), t.filter.data(),
                                               t.input_grad.data());
  prepare_winograd_filter_grad(p, scratch, isa)(t.input.data(), t.cotangent.data(),
                                                t.filter_grad.data());
  return t;
}

// Relative to the largest element.
double error_of(const std::vector<float>& values, const std::vector<double>& expected) {
  double error = 0;
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(values[i] - expected[i]);
    error = std::isnan(difference) ? INFINITY : std::max(error, difference);
    largest = std::max(largest, std::abs(expected[i]));
  }
  return error == 0 ? 0 : error / largest;
}

void expect_right(const ConvProblem& p) {
  SCOPED_TRACE(testing::Message() << p.batch << " images of " << p.in[kHeight] << " x "
                                  << p.in[kWidth] << ", padding " << p.pad[kHeight] << ", "
                                  << p.pad[kWidth] << ", " << p.channels << " channels, "
                                  << p.filters << " filters");
  constexpr double kTolerance = 2e-6;
  const Tensors<double> expected = expected_of(p);
  for (const Isa isa : vector_isas()) {
    SCOPED_TRACE(to_string(isa));
    const Tensors<float> result = calculated(p, isa);
    EXPECT_LT(error_of(result.output, expected.output), kTolerance);
    EXPECT_LT(error_of(result.input_grad, expected.input_grad), kTolerance);
    EXPECT_LT(error_of(result.filter_grad, expected.filter_grad), kTolerance);
  }
}

TEST(Winograd, IsTheConvolutionAndItsGradientsForAnySizes) {
  expect_right(winograd_problem(1, 16, 16, 4, 4, 1, 1));
  expect_right(winograd_problem(2, 20, 33, 5, 7, 1, 1));  // odd; channels that do not fill a vector
  expect_right(winograd_problem(3, 3, 70, 6, 3, 1, 1));
  expect_right(winograd_problem(2, 70, 1, 9, 8, 1, 1));  // a second block of channels
  expect_right(winograd_problem(5, 17, 48, 2, 11, 1, 1));
}

TEST(Winograd, TakesImagesThatAreSmallerThanATile) {
  expect_right(winograd_problem(1, 16, 16, 1, 1, 1, 1));
  expect_right(winograd_problem(2, 5, 18, 1, 2, 1, 1));
  expect_right(winograd_problem(2, 16, 16, 3, 3, 0, 0));
}

TEST(Winograd, TakesAnyPadding) {
  expect_right(winograd_problem(2, 16, 20, 6, 5, 0, 0));
  expect_right(winograd_problem(2, 16, 20, 6, 5, 2, 2));
  expect_right(winograd_problem(2, 16, 20, 6, 5, 0, 2));
  expect_right(winograd_problem(1, 16, 16, 2, 1, 3, 4));
}

TEST(Winograd, AddsUpTheTilesOfManyBlocks) {
  expect_right(winograd_problem(2, 16, 16, 41, 40, 1, 1));
}

TEST(Winograd, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const ConvProblem& p : {winograd_problem(2, 70, 48, 41, 40, 1, 1), square(3, 144, 6)}) {
    std::vector<Tensors<float>> results;
    for (const int threads : {1, 2, 3}) {
      const ThreadCountScope scope(threads);
      results.push_back(calculated(p));
    }
    for (const Tensors<float>& result : results) {
      EXPECT_EQ(result.output, results[0].output);
      EXPECT_EQ(result.input_grad, results[0].input_grad);
      EXPECT_EQ(result.filter_grad, results[0].filter_grad);
    }
  }
}

TEST(Winograd, MakesTheFilterAnewWhenItsVersionIsAnotherOne) {
  const ConvProblem p = square(1, 16, 6);
  Tensors<float> t(p);
  std::vector<float> other = numbers<float>(p.filters * p.taps(), 4);
  const auto scratch = std::make_shared<Scratch>();
  const auto fresh = [&](const std::vector<float>& filter) {
    std::vector<float> output(t.output.size());
    prepare_winograd(p, scratch)(t.input.data(), filter.data(), 0, output.data(), {});
    return output;
  };
  const std::vector<float> of_filter = fresh(t.filter);
  const std::vector<float> of_other = fresh(other);
  const FusedKernel conv = prepare_winograd(p, scratch);
  const auto run = [&](const std::vector<float>& filter, std::uint64_t version) {
    conv(t.input.data(), filter.data(), version, t.output.data(), {});
    // Another kernel uses the scratch memory.
    std::fill_n(scratch->data(), scratch->bytes(), std::byte(0xff));
    return t.output;
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(t.filter, 7), of_filter) << i;
  EXPECT_EQ(run(other, 7), of_filter) << "kept";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(other, 8), of_other) << i;
  EXPECT_EQ(run(t.filter, 0), of_filter);
  EXPECT_EQ(run(other, 0), of_other);
  EXPECT_EQ(run(t.filter, 8), of_filter);
}

TEST(Winograd, FinishesOutputsWithBiasResidualAndRelu) {
  for (const std::int64_t filters : {32, 21}) {
    const ConvProblem p = winograd_problem(2, 16, filters, 5, 6, 1, 1);
    Tensors<float> t(p);
    const auto bias = numbers<float>(filters, 4);
    auto residual = numbers<float>(p.batch * filters * p.out_plane(), 5);
    residual[1] = NAN;
    for (const Isa isa : vector_isas()) {
      const auto scratch = std::make_shared<Scratch>();
      const FusedKernel conv = prepare_winograd(p, scratch, isa);
      const auto run = [&](const Epilogue& epilogue) {
        conv(t.input.data(), t.filter.data(), 0, t.output.data(), epilogue);
        return t.output;
      };
      const std::vector<float> plain = run({});
      for (const bool relu : {false, true}) {
        const auto check = [&](const float* with_bias, const float* with_residual) {
          const std::vector<float> result =
              run({.bias = with_bias, .residual = with_residual, .relu = relu});
          for (std::size_t i = 0; i < result.size(); ++i) {
            float value = plain[i];
            if (with_bias) value += with_bias[i % static_cast<std::size_t>(filters)];
            if (with_residual) value += with_residual[i];
            if (relu && value < 0) value = 0;
            if (std::isnan(value)) {
              EXPECT_TRUE(std::isnan(result[i])) << i;
            } else {
              ASSERT_EQ(result[i], value) << i;
            }
          }
        };
        check(nullptr, nullptr);
        check(bias.data(), nullptr);
        check(nullptr, residual.data());
        check(bias.data(), residual.data());
      }
    }
  }
}

TEST(Winograd, ScalesOutputsBeforeTheBias) {
  for (const std::int64_t filters : {32, 21}) {
    const ConvProblem p = winograd_problem(2, 16, filters, 5, 6, 1, 1);
    Tensors<float> t(p);
    const auto scale = numbers<float>(filters, 4);
    const auto bias = numbers<float>(filters, 5);
    for (const Isa isa : vector_isas()) {
      const FusedKernel conv = prepare_winograd(p, std::make_shared<Scratch>(), isa);
      const auto run = [&](const Epilogue& epilogue) {
        conv(t.input.data(), t.filter.data(), 0, t.output.data(), epilogue);
        return t.output;
      };
      const std::vector<float> plain = run({});
      const std::vector<float> scaled = run({.scale = scale.data()});
      const std::vector<float> shifted = run({.scale = scale.data(), .bias = bias.data()});
      for (std::size_t i = 0; i < plain.size(); ++i) {
        const std::size_t f = i % static_cast<std::size_t>(filters);
        ASSERT_EQ(scaled[i], plain[i] * scale[f]) << i;
        ASSERT_NEAR(shifted[i], plain[i] * scale[f] + bias[f], 1e-5) << i;
      }
    }
  }
}

TEST(Winograd, NeedsNoMoreScratchMemoryForMoreImages) {
  const auto bytes = [](std::int64_t batch) {
    const ConvProblem p = square(batch, 64, 16);
    const auto scratch = std::make_shared<Scratch>();
    prepare_winograd(p, scratch);
    prepare_winograd_input_grad(p, scratch);
    prepare_winograd_filter_grad(p, scratch);
    return scratch->bytes();
  };
  EXPECT_EQ(bytes(32), bytes(256));
}

TEST(Winograd, PaysForManyChannelsAndTiles) {
  if (vector_isas().empty()) GTEST_SKIP() << "a processor without AVX2";
  EXPECT_TRUE(winograd_pays(square(32, 64, 32)));
  EXPECT_TRUE(winograd_pays(square(32, 512, 4)));
  EXPECT_TRUE(winograd_pays(square(1, 64, 32)));
  EXPECT_FALSE(winograd_pays(square(1, 512, 4))) << "filters larger than the images";
  EXPECT_FALSE(winograd_pays(square(32, 8, 32)));
  EXPECT_FALSE(winograd_pays(winograd_problem(32, 3, 64, 32, 32, 1, 1)));
  EXPECT_FALSE(winograd_pays(square(0, 64, 32)));
}

TEST(Winograd, IsForDenseFiltersOf3x3AndChannelsThatComeLast) {
  const auto changed = [](const auto& change) {
    ConvProblem p = square(32, 64, 32);
    change(p);
    return winograd_pays(p);
  };
  EXPECT_FALSE(changed([](ConvProblem& p) { p.channels_last = false; }));
  EXPECT_FALSE(changed([](ConvProblem& p) { p.groups = 2; }));
  EXPECT_FALSE(changed([](ConvProblem& p) { p.stride = {1, 2, 2}; }));
  EXPECT_FALSE(changed([](ConvProblem& p) { p.dilation = {1, 1, 2}; }));
  EXPECT_FALSE(changed([](ConvProblem& p) { p.kernel = {1, 3, 1}; }));
  EXPECT_FALSE(changed([](ConvProblem& p) { p.axes = 3; }));
}

}  // namespace
}  // namespace fluidcore::cpu
