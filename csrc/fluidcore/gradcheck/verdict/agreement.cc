#include "fluidcore/gradcheck/verdict/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

std::vector<std::uint8_t> agreement(Derivatives& once, const std::vector<double>& claimed) {
  constexpr double kAgreement = 0x1p-29;
  constexpr double kRounding = 0x1p-25;  // what may be left to it
  constexpr double kBend = 0x1p-8;       // what one-sided differences may be apart
  const std::vector<double> size = padded_scale(once);
  const auto elements = static_cast<std::size_t>(once.elements);
  std::vector<std::uint8_t> agrees;
  for (const std::uint8_t flags : once.flags) agrees.push_back(flags == 0 ? 1 : 0);
  const auto apart = [&](std::size_t i) { return std::abs(claimed[i] - once.value[i]); };
  const auto stands_still = [&](std::size_t i) { return once.scale[i] == 0 && once.error[i] == 0; };
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    const double allowed = stands_still(i) ? 0 : once.error[i] + kAgreement * size[i];
    const bool is_sharp = once.error[i] <= kRounding * size[i];
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
