#include "fluidcore/gradcheck/function/moved_outputs.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "fluidcore/base/threads.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::int64_t kComparedAtOnce = 64;    // outputs
constexpr std::int64_t kMovedPerThread = 8192;  // outputs; fewer are not worth one

}  // namespace

MovedOutputs::MovedOutputs(const Outputs& outputs, std::int64_t rows)
    : all_(outputs),
      rows_(rows),
      width_(outputs.size() / rows),
      counts_(static_cast<std::size_t>(rows)),
      moved_(static_cast<std::size_t>(outputs.size())) {
  if (rows > 1) outputs_.resize(moved_.size());
}

void MovedOutputs::find(std::int64_t row) {
  if (count(row) == width_) return;
  for (const Outputs::Part& part : all_.parts()) {
    const std::int64_t size = part.size / rows_;
    const std::int64_t first = part.offset + row * size;
    const double* const before = all_.base() + first;
    const double* const now = part.values + row * size;
    for (std::int64_t begin = 0; begin < size; begin += kComparedAtOnce) {
      const std::int64_t end = std::min(begin + kComparedAtOnce, size);
      const auto bytes = static_cast<std::size_t>(end - begin) * sizeof(double);
      if (std::memcmp(now + begin, before + begin, bytes) == 0) continue;
      for (std::int64_t j = begin; j < end; ++j) {
        if (now[j] != before[j] && !has_moved(first + j)) add(row, first + j);
      }
    }
  }
}

void MovedOutputs::add(std::int64_t row, std::int64_t output) {
  const std::int64_t slot = end(row);
  // One row alone needs no more slots than it has moved outputs.
  if (rows_ == 1 && slot == static_cast<std::int64_t>(outputs_.size())) {
    const std::int64_t more = std::min(std::max(kComparedAtOnce, 2 * slot), width_);
    outputs_.resize(static_cast<std::size_t>(more));
  }
  outputs_[static_cast<std::size_t>(slot)] = output;
  moved_[static_cast<std::size_t>(output)] = 1;
  ++counts_[static_cast<std::size_t>(row)];
}

bool MovedOutputs::gather(std::int64_t row, double* to) const {
  std::atomic<bool> finite = true;
  parallel_for(count(row), kMovedPerThread, [&](std::int64_t first, std::int64_t last) {
    if (!gather_slots(begin(row) + first, begin(row) + last, to)) finite = false;
  });
  return finite;
}

bool MovedOutputs::gather_slots(std::int64_t first, std::int64_t last, double* to) const {
  constexpr double kLargest = std::numeric_limits<double>::max();
  bool finite = true;
  const std::vector<Outputs::Part>& parts = all_.parts();
  if (parts.size() == 1) {
    const double* values = parts.front().values;
    for (std::int64_t slot = first; slot < last; ++slot) {
      to[slot] = values[output(slot)];
      finite &= std::abs(to[slot]) <= kLargest;
    }
    return finite;
  }
  for (std::int64_t slot = first; slot < last; ++slot) {
    const std::int64_t j = output(slot);
    const auto part = std::upper_bound(
        parts.begin(), parts.end(), j,
        [](std::int64_t index, const Outputs::Part& p) { return index < p.offset; });
    const Outputs::Part& holder = *(part - 1);
    to[slot] = holder.values[j - holder.offset];
    finite &= std::abs(to[slot]) <= kLargest;
  }
  return finite;
}

void MovedOutputs::clear() {
  for (std::int64_t row = 0; row < rows_; ++row) {
    for (std::int64_t slot = begin(row); slot < end(row); ++slot) {
      moved_[static_cast<std::size_t>(output(slot))] = 0;
    }
    counts_[static_cast<std::size_t>(row)] = 0;
  }
}

}  // namespace fluidcore::gradcheck
