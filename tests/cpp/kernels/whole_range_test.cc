// What vectorized formulas give for every magnitude of float, on every instruction set.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/functors.h"
#include "kernels/isas.h"
#include "kernels/numbers.h"

namespace fluidcore {
namespace {

// How far `value` is from `exact`, in units in the last place of float; infinity where one is NaN
// or has the sign of zero that the other has not.
double ulps(float value, double exact) {
  if (std::isnan(exact) || std::isnan(value)) {
    return std::isnan(exact) && std::isnan(value) ? 0.0 : kInfinity;
  }
  if (exact == 0.0) {
    return value == 0.0F && std::signbit(value) == std::signbit(exact) ? 0.0 : kInfinity;
  }
  const float nearest = std::abs(static_cast<float>(exact));
  if (std::isinf(nearest)) return value == static_cast<float>(exact) ? 0.0 : kInfinity;
  // Beyond the largest number, infinity is where the next one would be.
  const float largest = std::numeric_limits<float>::max();
  const double reached = std::isinf(value) ? std::copysign(0x1p128, value) : value;
  const float unit = nearest < largest ? std::nextafter(nearest, kInfinity) - nearest
                                       : largest - std::nextafter(largest, 0.0F);
  return std::abs(reached - exact) / unit;
}

// Every 1021st of all floats, of both signs, so 8000 of each exponent: subnormal numbers and NaN
// too; and the numbers at which something ends.
std::vector<float> floats() {
  std::vector<float> values{0.0F, -0.0F, kInfinity, -kInfinity, 1.0F, -1.0F};
  for (const float edge : {88.72284F, 87.33655F, 103.27893F, 103.97208F, 104.0F, 0.625F, 9.0F}) {
    float above = edge;
    float below = edge;
    for (int i = 0; i < 64; ++i) {
      values.insert(values.end(), {above, -above, below, -below});
      above = std::nextafter(above, kInfinity);
      below = std::nextafter(below, 0.0F);
    }
  }
  for (std::uint64_t bits = 1; bits < 0x1p32; bits += 1021) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return values;
}

template <class Formula>
void expect_within_two_ulps(double (*exact)(double)) {
  static const std::vector<float> kFloats = floats();
  std::vector<float> out(kFloats.size());
  std::vector<double> expected(kFloats.size());
  for (std::size_t i = 0; i < kFloats.size(); ++i) expected[i] = exact(kFloats[i]);
  for (const cpu::Isa isa : cpu::available_isas()) {
    cpu::calculate(isa, Formula(), static_cast<std::int64_t>(out.size()), out.data(),
                   kFloats.data());
    std::pair<double, float> worst{0.0, 0.0F};
    for (std::size_t i = 0; i < out.size(); ++i) {
      worst = std::max(worst, {ulps(out[i], expected[i]), kFloats[i]});
    }
    EXPECT_LE(worst.first, 2.0) << cpu::to_string(isa) << " at " << worst.second;
    ::testing::Test::RecordProperty(std::string(cpu::to_string(isa)), std::to_string(worst.first));
  }
}

TEST(WholeRange, ExpIsWithinTwoUnitsInTheLastPlace) {
  expect_within_two_ulps<Exp>([](double x) { return std::exp(x); });
}

TEST(WholeRange, LogIsWithinTwoUnitsInTheLastPlace) {
  expect_within_two_ulps<Log>([](double x) { return std::log(x); });
}

TEST(WholeRange, TanhIsWithinTwoUnitsInTheLastPlace) {
  expect_within_two_ulps<Tanh>([](double x) { return std::tanh(x); });
}

TEST(WholeRange, ErfIsWithinTwoUnitsInTheLastPlace) {
  expect_within_two_ulps<Erf>([](double x) { return std::erf(x); });
}

TEST(WholeRange, SigmoidIsWithinTwoUnitsInTheLastPlace) {
  expect_within_two_ulps<Sigmoid>([](double x) { return 1.0 / (1.0 + std::exp(-x)); });
}

TEST(WholeRange, SinIsWithinTwoUnitsInTheLastPlace) {
  expect_within_two_ulps<Sin>([](double x) { return std::sin(x); });
}

TEST(WholeRange, CosIsWithinTwoUnitsInTheLastPlace) {
  expect_within_two_ulps<Cos>([](double x) { return std::cos(x); });
}

}  // namespace
}  // namespace fluidcore
