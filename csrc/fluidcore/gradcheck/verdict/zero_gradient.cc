#include "fluidcore/gradcheck/verdict/zero_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

#include "fluidcore/gradcheck/difference/rule.h"
#include "fluidcore/gradcheck/function/infinity.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/verdict/far_away.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kVisible = 0.01;  // a slope that must be seen where f seems to have none
constexpr double kRoundings = 16;
constexpr double kOwnRoundings = 1024;  // of a gradient, whose terms may be larger than f over x
constexpr double kNegligible = 1e-3;    // of f / x times the resolution: a gradient below it is 0

class ZeroGradient {
 public:
  ZeroGradient(Formula& formula, const Look& look, Derivatives& reference, Judgement& found)
      : formula_(formula),
        look_(look),
        reference_(reference),
        found_(found),
        elements_(look.elements.size()),
        unit_(unit_roundoff(formula.dtype())),
        heights_(formula.heights(look.input)) {}

  // What the gradient is judged by then.
  std::optional<std::vector<double>> settle() {
    const bool holds = bars_hold_0();
    const bool is_level = is_flat();
    if (!holds && !is_level) return std::nullopt;
    const FarAway far = far_away(formula_, look_.input);
    raise_heights(far);
    std::vector<double> limit =
        is_level ? limits_of_slopes(far) : std::vector(found_.limit.size(), kInfinity);
    std::vector<double> hiding = found_.limit;  // error bars that hold 0 hide no more than that
    for (std::size_t i = 0; i < limit.size(); ++i) {
      if (!holds) hiding[i] = std::max(hiding[i], limit[i]);
      if (holds) limit[i] = std::min(limit[i], found_.limit[i]);
    }
    if (far.is_hidden_by(hiding, look_.elements)) {
      leave_open();
      return std::nullopt;
    }
    for (std::size_t i = 0; i < limit.size() && far.still > 0; ++i) {
      const double height = heights_[i / elements_];
      limit[i] = std::min(limit[i], 2 * formula_.rules.bars * unit_ * height / far.still);
    }
    bool is_seen = false;
    for (std::size_t i = 0; i < limit.size(); ++i) {
      const double height = heights_[i / elements_];
      const bool is_negligible = limit[i] <= formula_.rules.resolution * kNegligible * height;
      if (!(height > 0) || !is_negligible) return std::nullopt;
      is_seen |= std::abs(found_.analytical[i]) > limit[i] + kOwnRoundings * unit_ * height;
    }
    if (is_seen) {  // more than rounding, and f is too flat to tell
      leave_open();
      return std::nullopt;
    }
    std::fill(found_.wrong.begin(), found_.wrong.end(), 0);
    std::fill(found_.unsure.begin(), found_.unsure.end(), 0);
    found_.limit = std::move(limit);
    return heights_;
  }

 private:
  // Where f itself is 0, as a square at its minimum, its steepness farther away counts.
  void raise_heights(const FarAway& far) {
    for (std::size_t row = 0; row < heights_.size(); ++row) {
      const double steepness = far.steepness[row];
      if (std::isfinite(steepness) && heights_[row] <= kRoundings * unit_ * steepness)
        heights_[row] = steepness;
    }
  }

  // [cotangents, elements]: how steep f can be, as steps of all elements show.
  std::vector<double> limits_of_slopes(const FarAway& far) {
    const std::vector<double> slopes = largest_slopes(formula_, look_.input, look_.direction());
    std::vector<double> limit(found_.limit.size());
    for (std::size_t i = 0; i < limit.size(); ++i) {
      const std::size_t row = i / elements_;
      limit[i] = formula_.rules.bars * std::min(slopes[row], far.steepness[row]) +
                 kRoundings * unit_ * heights_[row];
    }
    return limit;
  }

  // Whether neither the derivatives nor the gradient can be told from 0 by the error bars.
  bool bars_hold_0() const {
    if (found_.verdict() != Verdict::kInconclusive) return false;
    bool any = false;
    for (std::size_t i = 0; i < found_.limit.size(); ++i) {
      if (!found_.counted[i % elements_]) continue;
      any = true;
      const double limit = found_.limit[i];
      const bool is_zero =
          std::abs(reference_.value[i]) <= limit && std::abs(found_.analytical[i]) <= limit;
      const unsigned others = reference_.flags[i % elements_] & ~unsigned{kAbsorbed};
      if (!is_zero || others != 0) return false;
    }
    return any;
  }

  // Whether the gradient is nothing beside f / x, and the differences may be rounding.
  bool is_flat() const {
    for (std::size_t i = 0; i < found_.limit.size(); ++i) {
      const double height = heights_[i / elements_];
      const double rounding = kRoundings * unit_ * height;
      const std::uint8_t flags = reference_.flags[i % elements_];
      const bool is_small = height > 0 && std::abs(found_.analytical[i]) <=
                                              formula_.rules.resolution * kNegligible * height;
      const bool is_seen =
          std::abs(reference_.value[i]) > formula_.rules.bars * reference_.error[i] + rounding;
      const bool is_kink = (flags & (kKink | kJump)) != 0;
      const bool is_zero = is_small && rounding < kVisible && (is_kink || !is_seen);
      if (!is_zero || (flags & kDomain) != 0) return false;
    }
    return true;
  }

  void leave_open() {
    for (std::size_t i = 0; i < found_.wrong.size(); ++i) {
      if (!found_.wrong[i] && !found_.unsure[i]) continue;
      found_.wrong[i] = 0;
      found_.unsure[i] = 1;
      reference_.flags[i % elements_] |= kAbsorbed;
    }
  }

  Formula& formula_;
  const Look& look_;
  Derivatives& reference_;
  Judgement& found_;
  std::size_t elements_;
  double unit_;
  std::vector<double> heights_;
};

}  // namespace

void flag_absorbed(Formula& formula,
                   const Look& look,
                   const std::vector<double>& claimed,
                   Derivatives& reference) {
  if (formula.dtype() != DType::kFloat64) return;  // differentiate() has seen to it
  const std::size_t elements = look.elements.size();
  const std::vector<double> heights = formula.heights(look.input);
  const double unit = unit_roundoff(DType::kFloat64);
  const Tensor& x = formula.f.inputs()[look.input];
  const double rms = root_mean_square(x);
  const std::vector<double> measure = measures(reference);
  const auto is_lost = [&](std::size_t i) {
    const double rounding = unit * heights[i / elements];
    const double claim = std::abs(claimed[i]);
    if (claim == 0) return rounding > 1;
    const double size = std::abs(x.get_float_element(look.elements[i % elements]));
    const bool is_seen = claim * (size == 0 ? rms : size) > kHidden * rounding * rms;
    return !is_seen && claim > formula.rules.resolution * measure[i];
  };
  std::vector<std::uint8_t> still(claimed.size());
  bool any = false;
  bool is_claimed = false;
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    still[i] = reference.scale[i] == 0 && reference.error[i] == 0 && is_lost(i);
    any |= still[i] != 0;
    is_claimed |= still[i] && claimed[i] != 0;
  }
  if (!any) return;
  bool is_hidden = false;
  if (!is_claimed) {
    std::vector<double> limit;
    limit.reserve(claimed.size());
    for (std::size_t i = 0; i < claimed.size(); ++i) limit.push_back(unit * heights[i / elements]);
    is_hidden = far_away(formula, look.input).is_hidden_by(limit, look.elements);
  }
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    if (!still[i] || !(is_hidden || claimed[i] != 0)) continue;
    reference.flags[i % elements] |= kAbsorbed;
    reference.error[i] = std::numeric_limits<double>::infinity();
  }
}

std::optional<std::vector<double>> settle_zero(Formula& formula,
                                               const Look& look,
                                               Derivatives& reference,
                                               Judgement& found) {
  if (found.is_proven() || formula.is_late()) return std::nullopt;
  return ZeroGradient(formula, look, reference, found).settle();
}

}  // namespace fluidcore::gradcheck
