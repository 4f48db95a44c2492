#include "fluidcore/kernels/cpu/resample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "fluidcore/kernels/cpu/rows.h"

namespace fluidcore::cpu {

namespace {

double position(std::int64_t i, std::int64_t in, std::int64_t out, bool align_corners) {
  const auto at = static_cast<double>(i);
  const auto extent = static_cast<double>(in);
  if (!align_corners) return (at + 0.5) * extent / static_cast<double>(out) - 0.5;
  return out == 1 ? 0.0 : at * (extent - 1.0) / static_cast<double>(out - 1);
}

// A cubic c[0] + c[1] d + ..., differentiated `order` times.
double cubic(std::array<double, 4> c, double d, std::int64_t order) {
  for (; order > 0; --order) c = {c[1], 2 * c[2], 3 * c[3], 0};
  return c[0] + d * (c[1] + d * (c[2] + d * c[3]));
}

// Of a distance that is not negative.
double keys(double d, std::int64_t order) {
  constexpr double kA = -0.75;
  if (d <= 1) return cubic({1, 0, -(kA + 3), kA + 2}, d, order);
  return d <= 2 ? cubic({-4 * kA, 8 * kA, -5 * kA, kA}, d, order) : 0.0 * d;
}

void add(AxisTable& table, std::int64_t source, double weight) {
  table.source.push_back(std::clamp<std::int64_t>(source, 0, table.inputs - 1));
  table.weight.push_back(weight);
}

// How many taps each output has; 0 where they differ.
std::int64_t taps_of_each(const std::vector<std::int64_t>& start) {
  const std::int64_t taps = start[1] - start[0];
  for (std::size_t i = 1; i < start.size(); ++i) {
    if (start[i] - start[i - 1] != taps) return 0;
  }
  return taps;
}

}  // namespace

Reach reach_of(Resampling resampling) {
  switch (resampling) {
    case Resampling::kNearest: return {1, 0};
    case Resampling::kLinear: return {2, 0};
    default: return {4, 1};
  }
}

double tap_weight(Resampling resampling, double distance, std::int64_t order) {
  const double d = std::abs(distance);
  const double none = 0.0 * d;  // NaN for NaN
  if (resampling == Resampling::kNearest) return order == 0 ? 1 + none : none;
  const double value =
      resampling == Resampling::kCubic ? keys(d, order) : cubic({1, -1, 0, 0}, d, order);
  return distance < 0 && order % 2 != 0 ? -value : value;
}

AxisTable axis_table(Resampling resampling, std::int64_t in, std::int64_t out, bool align_corners) {
  const Reach reach = reach_of(resampling);
  AxisTable table;
  table.inputs = in;
  table.taps = reach.taps;
  table.start.push_back(0);
  for (std::int64_t i = 0; i < out; ++i) {
    if (resampling == Resampling::kNearest) {
      add(table, i * in / out, 1.0);
    } else {
      const double at = position(i, in, out, align_corners);
      const double below = std::floor(at);
      for (std::int64_t tap = -reach.before; tap < reach.taps - reach.before; ++tap) {
        add(table, static_cast<std::int64_t>(below) + tap,
            tap_weight(resampling, at - below - static_cast<double>(tap)));
      }
    }
    table.start.push_back(static_cast<std::int64_t>(table.source.size()));
  }
  return table;
}

AxisTable transposed(const AxisTable& table) {
  AxisTable result{.inputs = table.outputs(),
                   .start = std::vector<std::int64_t>(static_cast<std::size_t>(table.inputs) + 1),
                   .source = table.source,
                   .weight = table.weight};
  for (const std::int64_t source : table.source)
    ++result.start[static_cast<std::size_t>(source) + 1];
  for (std::size_t i = 1; i < result.start.size(); ++i) result.start[i] += result.start[i - 1];
  result.taps = taps_of_each(result.start);
  std::vector<std::int64_t> next = result.start;
  for (std::int64_t i = 0; i < table.outputs(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (auto t = static_cast<std::size_t>(table.start[row]);
         t < static_cast<std::size_t>(table.start[row + 1]); ++t) {
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(table.source[t])]++);
      result.source[to] = i;
      result.weight[to] = table.weight[t];
    }
  }
  return result;
}

namespace {

// Of one line: output i has the taps [taps i, taps (i + 1)).
template <std::int64_t taps, class T>
void resample_line(const AxisTable& table, const T* from, T* to) {
  const std::int64_t outputs = table.outputs();
  const std::int64_t* const source = table.source.data();
  const double* const weight = table.weight.data();
#pragma omp simd
  for (std::int64_t i = 0; i < outputs; ++i) {
    T total = 0;
    for (std::int64_t t = taps * i; t < taps * (i + 1); ++t) {
      total += static_cast<T>(weight[t]) * from[source[t]];
    }
    to[i] = total;
  }
}

template <class T>
void resample_line_of_any(const AxisTable& table, const T* from, T* to) {
  const std::int64_t* const start = table.start.data();
  for (std::int64_t i = 0; i < table.outputs(); ++i) {
    T total = 0;
    for (std::int64_t t = start[i]; t < start[i + 1]; ++t) {
      total += static_cast<T>(table.weight.data()[t]) * from[table.source.data()[t]];
    }
    to[i] = total;
  }
}

template <class T>
void resample_lines(const AxisTable& table, std::int64_t lines, const T* from, T* to) {
  const std::int64_t taps = table.taps;
  for_rows(lines, static_cast<std::int64_t>(table.source.size()), [=, &table](std::int64_t line) {
    const T* const values = from + line * table.inputs;
    T* const result = to + line * table.outputs();
    if (taps == 1) return resample_line<1>(table, values, result);
    if (taps == 2) return resample_line<2>(table, values, result);
    if (taps == 4) return resample_line<4>(table, values, result);
    resample_line_of_any(table, values, result);
  });
}

}  // namespace

template <class T>
void resample_axis(
    const AxisTable& table, std::int64_t outer, std::int64_t inner, const T* from, T* to) {
  if (inner == 1) return resample_lines(table, outer, from, to);
  const std::int64_t outputs = table.outputs();
  const std::int64_t inputs = table.inputs;
  const std::int64_t* const start = table.start.data();
  const std::int64_t* const source = table.source.data();
  const double* const weight = table.weight.data();
  const auto taps = static_cast<std::int64_t>(table.source.size());
  const std::int64_t work = inner * (taps / std::max<std::int64_t>(outputs, 1) + 1);
  for_rows(outer * outputs, work, [=](std::int64_t row) {
    const T* const line = from + row / outputs * inputs * inner;
    T* const result = to + row * inner;
    std::fill_n(result, inner, T(0));
    for (std::int64_t t = start[row % outputs]; t < start[row % outputs + 1]; ++t) {
      const T* const values = line + source[t] * inner;
      const auto factor = static_cast<T>(weight[t]);
#pragma omp simd
      for (std::int64_t i = 0; i < inner; ++i) result[i] += factor * values[i];
    }
  });
}

template void resample_axis<float>(
    const AxisTable&, std::int64_t, std::int64_t, const float*, float*);
template void resample_axis<double>(
    const AxisTable&, std::int64_t, std::int64_t, const double*, double*);

}  // namespace fluidcore::cpu
