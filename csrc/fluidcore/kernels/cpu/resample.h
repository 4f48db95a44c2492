#pragma once

#include <cstdint>
#include <vector>

namespace fluidcore::cpu {

enum class Resampling { kNearest, kLinear, kCubic };

// The elements along an axis that count for a point: how many, and how many before the one below
// it.
struct Reach {
  std::int64_t taps;
  std::int64_t before;
};

Reach reach_of(Resampling resampling);

// The derivative of this order of an element's weight by its distance: linear, or a convolution
// with a = -0.75 (Keys 1981); of kNearest 1, whatever the distance is. NaN for NaN.
double tap_weight(Resampling resampling, double distance, std::int64_t order = 0);

// A sparse matrix that takes the elements along an axis to others: output i is the sum of
// weight[t] times input source[t] for t in [start[i], start[i + 1]).
struct AxisTable {
  std::int64_t inputs = 0;
  std::int64_t taps = 0;  // of each output; 0 where they differ
  std::vector<std::int64_t> start;
  std::vector<std::int64_t> source;
  std::vector<double> weight;

  std::int64_t outputs() const { return static_cast<std::int64_t>(start.size()) - 1; }
};

// Output i lies at i (in - 1) / (out - 1) of the input with align_corners, else at (i + 0.5) in /
// out - 0.5; the nearest is floor(i in / out) and knows no corners. Elements beyond the ends are
// those at the ends. `in` and `out` are above 0.
AxisTable axis_table(Resampling resampling, std::int64_t in, std::int64_t out, bool align_corners);

AxisTable transposed(const AxisTable& table);

// [outer, inputs, inner] -> [outer, outputs, inner], for T float or double.
template <class T>
void resample_axis(
    const AxisTable& table, std::int64_t outer, std::int64_t inner, const T* from, T* to);

}  // namespace fluidcore::cpu
