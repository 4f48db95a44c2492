#include "fluidcore/gradcheck/verdict/nearby.h"

#include <algorithm>
#include <cmath>

#include "fluidcore/gradcheck/verdict/near_point.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kFewPoints = 8;  // of the far ring, which only tells how f changes towards x
constexpr int kRingPoints = 32;
constexpr int kNearer = -3;  // log2 of the distance of a ring beside that of the one before

void take_in(const AtPoint& point, Surroundings& all) {
  const Derivatives& found = point.derivatives;
  const auto columns = static_cast<std::size_t>(found.elements);
  if (all.columns.empty()) {
    all.columns.assign(columns, std::vector<Nearby>(static_cast<std::size_t>(found.cotangents)));
    all.smooth.resize(columns);
  }
  for (std::size_t j = 0; j < columns; ++j) {
    if (!is_smooth(found, j)) continue;
    ++all.smooth[j];
    for (std::size_t row = 0; row < all.columns[j].size(); ++row) {
      const std::size_t i = row * columns + j;
      if (found.scale[i] == 0) continue;
      Nearby& nearby = all.columns[j][row];
      nearby.values.push_back(found.value[i]);
      if (!point.claimed.empty()) nearby.claimed.push_back(point.claimed[i]);
      nearby.error = std::max(nearby.error, found.error[i]);
    }
  }
}

}  // namespace

Hull Nearby::hull() const {
  Hull hull;
  for (const double value : values) hull.add(value);
  return hull;
}

Surroundings look_around(Function& function,
                         std::size_t input,
                         Ring ring,
                         std::uint64_t seed,
                         const std::function<AtPoint()>& measure) {
  const int number = static_cast<int>(ring);
  Surroundings all;
  all.points = ring == Ring::kFar ? kFewPoints : kRingPoints;
  for (int i = 0; i < all.points; ++i) {
    NearPoint point;
    point.number = number * kRingPoints + i;
    point.part = std::ldexp(nearness(function.inputs()[input].dtype()), (number - 1) * kNearer);
    point.up = (i + 0.5) / all.points;
    const MovedInputs moved(function, input, move_to(point, function, input, seed));
    ++all.runs;
    if (is_in_domain(function)) take_in(measure(), all);
  }
  return all;
}

}  // namespace fluidcore::gradcheck
