#include "fluidcore/gradcheck/nearby.h"

#include <algorithm>
#include <cmath>

#include "fluidcore/gradcheck/moved_point.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kFar = 8;
constexpr int kNear = 32;
constexpr double kNearer = 0x1p-3;

Hull hull_of(const std::vector<double>& values) {
  Hull hull;
  for (const double value : values) hull.add(value);
  return hull;
}

void take_in(const Derivatives& found, bool is_far, Surroundings& all) {
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
      (is_far ? nearby.far : nearby.near).push_back(found.value[i]);
      nearby.error = std::max(nearby.error, found.error[i]);
    }
  }
}

}  // namespace

void Hull::add(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

Hull Nearby::far_hull() const {
  return hull_of(far);
}

Hull Nearby::near_hull() const {
  return hull_of(near);
}

Hull Nearby::repeated(double same) const {
  std::vector<double> sorted = near;
  std::sort(sorted.begin(), sorted.end());
  Hull hull;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] > same) continue;
    hull.add(sorted[i - 1]);
    hull.add(sorted[i]);
  }
  return hull;
}

Surroundings look_around(Function& function,
                         std::size_t input,
                         const std::vector<std::int64_t>& held,
                         std::uint64_t seed,
                         const std::function<Derivatives()>& measure) {
  Surroundings all;
  all.points = kFar + kNear;
  const double far = MovedPoint::nearness(function.inputs()[input].dtype());
  for (int number = 0; number < all.points; ++number) {
    const bool is_far = number < kFar;
    NearPoint point;
    point.number = number;
    point.part = is_far ? far : far * kNearer;
    point.up = is_far ? (number + 0.5) / kFar : (number - kFar + 0.5) / kNear;
    for (const bool wide : {true, false}) {
      point.wide = wide;
      const MovedPoint moved(function, input, point, held, seed);
      ++all.runs;
      if (!moved.is_in_domain()) continue;
      take_in(measure(), is_far, all);
      break;
    }
  }
  return all;
}

}  // namespace fluidcore::gradcheck
