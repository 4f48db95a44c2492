#include "fluidcore/kernels/cpu/conv.h"

#include <cstddef>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/kernels/onednn/onednn.h"
#include "kernels/numbers.h"

namespace fluidcore {
namespace {

// Two groups, three axes, and another stride, padding and dilation along each.
ConvProblem volumes() {
  return {.axes = 3,
          .batch = 2,
          .channels = 4,
          .filters = 6,
          .groups = 2,
          .in = {4, 5, 6},
          .kernel = {2, 3, 2},
          .out = {3, 3, 3},
          .stride = {2, 1, 3},
          .pad = {1, 0, 2},
          .dilation = {1, 1, 2}};
}

std::int64_t input_size(const ConvProblem& p) {
  return p.batch * p.channels * p.in_plane();
}
std::int64_t filter_size(const ConvProblem& p) {
  return p.filters * p.taps();
}
std::int64_t output_size(const ConvProblem& p) {
  return p.batch * p.filters * p.out_plane();
}

// Adds up the products of the definition for one output.
double output_at(const ConvProblem& p,
                 const std::vector<double>& input,
                 const std::vector<double>& filter,
                 std::int64_t image,
                 std::int64_t f,
                 const Spatial& at) {
  const std::int64_t channels = p.channels / p.groups;
  const std::int64_t first = f / (p.filters / p.groups) * channels;
  double sum = 0;
  std::size_t tap = static_cast<std::size_t>(f * p.taps());
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < product(p.kernel); ++i, ++tap) {
      const Spatial of{i / (p.kernel[1] * p.kernel[2]), i / p.kernel[2] % p.kernel[1],
                       i % p.kernel[2]};
      std::int64_t place = image * p.channels + first + c;
      bool inside = true;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t x =
            at[axis] * p.stride[axis] + of[axis] * p.dilation[axis] - p.pad[axis];
        inside = inside && x >= 0 && x < p.in[axis];
        place = place * p.in[axis] + x;
      }
      if (inside) sum += input[static_cast<std::size_t>(place)] * filter[tap];
    }
  }
  return sum;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

TEST(Conv, SumsTheProductsOfTheFilterAndTheWindowsOfVolumes) {
  const ConvProblem p = volumes();
  const auto input = numbers<double>(input_size(p), 1);
  const auto filter = numbers<double>(filter_size(p), 2);
  std::vector<double> output(static_cast<std::size_t>(output_size(p)));
  cpu::prepare_conv<double>(p)(input.data(), filter.data(), output.data());
  std::size_t i = 0;
  for (std::int64_t image = 0; image < p.batch; ++image) {
    for (std::int64_t f = 0; f < p.filters; ++f) {
      for (std::int64_t z = 0; z < p.out[kDepth]; ++z) {
        for (std::int64_t y = 0; y < p.out[kHeight]; ++y) {
          for (std::int64_t x = 0; x < p.out[kWidth]; ++x, ++i) {
            ASSERT_NEAR(output[i], output_at(p, input, filter, image, f, {z, y, x}), 1e-13) << i;
          }
        }
      }
    }
  }
}

TEST(Conv, GradientsAreItsAdjoints) {
  const ConvProblem p = volumes();
  const auto input = numbers<double>(input_size(p), 1);
  const auto filter = numbers<double>(filter_size(p), 2);
  const auto cotangent = numbers<double>(output_size(p), 3);
  std::vector<double> output(cotangent.size());
  std::vector<double> input_grad(input.size());
  std::vector<double> filter_grad(filter.size());
  cpu::prepare_conv<double>(p)(input.data(), filter.data(), output.data());
  cpu::prepare_conv_input_grad<double>(p)(cotangent.data(), filter.data(), input_grad.data());
  cpu::prepare_conv_filter_grad<double>(p)(input.data(), cotangent.data(), filter_grad.data());
  EXPECT_NEAR(dot(output, cotangent), dot(input, input_grad), 1e-11);
  EXPECT_NEAR(dot(output, cotangent), dot(filter, filter_grad), 1e-11);
}

TEST(Conv, OfFewerAxesIsThatOfVolumesOneElementThick) {
  ConvProblem flat = volumes();
  flat.in[kDepth] = flat.kernel[kDepth] = flat.out[kDepth] = flat.stride[kDepth] = 1;
  flat.pad[kDepth] = 0;
  ConvProblem image = flat;
  image.axes = 2;
  const auto input = numbers<float>(input_size(flat), 1);
  const auto filter = numbers<float>(filter_size(flat), 2);
  const auto calculate = [&](const Prepared2<float>& prepared) {
    std::vector<float> output(static_cast<std::size_t>(output_size(flat)));
    prepared(input.data(), filter.data(), output.data());
    return output;
  };
  const std::vector<float> expected = calculate(cpu::prepare_conv<float>(flat));
  EXPECT_EQ(calculate(cpu::prepare_conv<float>(image)), expected);
  if constexpr (onednn::kEnabled) {
    for (const ConvProblem& problem : {flat, image}) {
      const PreparedWeights<float> fast = onednn::prepare_conv<float>(problem);
      ASSERT_TRUE(fast);
      const std::vector<float> output = calculate(
          [&](const float* in, const float* weights, float* out) { fast(in, weights, 0, out); });
      for (std::size_t i = 0; i < output.size(); ++i) {
        ASSERT_NEAR(output[i], expected[i], 1e-5F) << i;
      }
    }
  }
}

}  // namespace
}  // namespace fluidcore
