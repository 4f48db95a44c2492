#include "fluidcore/gradcheck/verdict/evidence.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fluidcore/gradcheck/function/infinity.h"

namespace fluidcore::gradcheck {

Evidence::Evidence(const Claim& claim, const Rules& rules, Derivatives& reference)
    : claim_(claim),
      rules_(rules),
      reference_(reference),
      rows_(static_cast<std::size_t>(reference.cotangents)),
      columns_(static_cast<std::size_t>(reference.elements)) {
  Judgement first = judge(reference_, claim_.value, claim_.tolerance, rules_);
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t column = 0; column < columns_; ++column) {
    double excess = -1;
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t i = at(row, column);
      if (!std::isfinite(claim_.value[i])) continue;
      // What the point absorbs, it absorbs at other steps, too.
      const bool is_absorbed = (reference_.flags[column] & kAbsorbed) != 0;
      if (first.unsure[i] && !is_absorbed) excess = std::max(excess, 0.0);
      if (!first.wrong[i]) continue;
      const double off = std::abs(first.analytical[i] - first.nearest[i]);
      excess = std::max(excess, off / (first.limit[i] + 1e-300));
    }
    if (excess >= 0) ranked.emplace_back(-excess, column);
  }
  std::sort(ranked.begin(), ranked.end());
  in_doubt_.reserve(ranked.size());
  for (const auto& [rank, column] : ranked) in_doubt_.push_back(column);
  allowed_ = first.measure;
  for (double& value : allowed_) value *= rules_.tolerance;
  visible_ = std::move(first.measure);
  for (double& value : visible_) value *= rules_.resolution;
  first_limit_ = std::move(first.limit);
  bend_.resize(ranked.empty() ? 0 : visible_.size());
}

bool Evidence::is_only_vaguer(std::size_t column) const {
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::size_t i = at(row, column);
    const double distance =
        std::max(reference_.low[i] - claim_.value[i], claim_.value[i] - reference_.high[i]);
    if (distance > first_limit_[i] && holds(i, interval(i))) return true;
  }
  return false;
}

bool Evidence::holds(std::size_t i, const Interval& found) const {
  const double distance =
      std::max({found.low - claim_.value[i], claim_.value[i] - found.high, 0.0});
  return distance <= limit(i, found.error);
}

bool Evidence::is_sharp(const Derivatives& found, std::size_t j, std::size_t column) const {
  if (!is_smooth(found, j)) return false;
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::size_t k = row * static_cast<std::size_t>(found.elements) + j;
    if (!is_sharp(at(row, column), found.error[k])) return false;
  }
  return true;
}

bool Evidence::is_refuted(std::size_t column) const {
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::size_t i = at(row, column);
    if (!std::isfinite(reference_.error[i])) return false;
    if (!holds(i, interval(i))) return true;
  }
  return false;
}

void Evidence::leave_open(std::size_t column, std::uint8_t flag) {
  for (std::size_t row = 0; row < rows_; ++row) reference_.error[at(row, column)] = kInfinity;
  reference_.flags[column] |= flag;
}

}  // namespace fluidcore::gradcheck
