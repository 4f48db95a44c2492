#include "fluidcore/gradcheck/verdict/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

namespace {

// What errors of each element are compared with, and its terms.
struct Sizes {
  std::vector<double> measure;
  std::vector<double> scale;
};

// Differences across a jump are as large as the step is small: they say nothing of a size.
Sizes sizes_of(Derivatives& once) {
  constexpr double kBend = 0x1p-8;  // one-sided differences that are so far apart may be of a jump
  const std::vector<std::uint8_t> flags = once.flags;
  for (std::size_t i = 0; i < once.value.size(); ++i) {
    const bool bends = once.high[i] - once.low[i] > kBend * once.scale[i];
    if (bends) once.flags[i % static_cast<std::size_t>(once.elements)] |= kJump;
  }
  Sizes sizes{measures(once), padded_scale(once)};
  once.flags = flags;
  return sizes;
}

}  // namespace

std::vector<std::uint8_t> agreement(Derivatives& once, const std::vector<double>& claimed) {
  constexpr double kAgreement = 0x1p-29;
  constexpr double kRounding = 0x1p-23;  // what may be left to it
  constexpr double kBend = 0x1p-13;      // what one-sided differences may be apart
  const auto [measure, size] = sizes_of(once);
  const auto elements = static_cast<std::size_t>(once.elements);
  std::vector<std::uint8_t> agrees(elements, 1);
  const auto apart = [&](std::size_t i) { return std::abs(claimed[i] - once.value[i]); };
  const auto stands_still = [&](std::size_t i) { return once.scale[i] == 0 && once.error[i] == 0; };
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    const double allowed = stands_still(i) ? 0 : once.error[i] + kAgreement * size[i];
    const bool is_sharp = once.error[i] <= kRounding * measure[i];
    const bool is_smooth = once.high[i] - once.low[i] <= kBend * size[i];
    if (!(apart(i) <= allowed && is_sharp && is_smooth)) agrees[i % elements] = 0;
  }
  double most = 0;  // relative
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    if (agrees[i % elements] && size[i] > 0) most = std::max(most, apart(i) / size[i]);
  }
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    if (!stands_still(i)) once.error[i] += most * size[i];
    once.low[i] = once.high[i] = once.value[i];
  }
  return agrees;
}

}  // namespace fluidcore::gradcheck
