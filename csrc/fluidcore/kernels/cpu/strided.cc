#include "fluidcore/kernels/cpu/strided.h"

#include <algorithm>
#include <cstring>

#include "fluidcore/base/float16.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"

namespace fluidcore::cpu {

namespace {

using Axes = std::vector<StridedAxis>;

void append_merged(Axes& axes, const StridedAxis& inner) {
  if (!axes.empty() && axes.back().to == inner.to * inner.extent &&
      axes.back().from == inner.from * inner.extent) {
    axes.back() = {axes.back().extent * inner.extent, inner.to, inner.from};
  } else {
    axes.push_back(inner);
  }
}

std::int64_t elements(const Axes& axes) {
  std::int64_t count = 1;
  for (const StridedAxis& axis : axes) count *= axis.extent;
  return count;
}

// A piece of the innermost axis: the offsets of its first element, and which of the axis it is.
struct Run {
  std::int64_t to;
  std::int64_t from;
  std::int64_t count;
  std::int64_t column;
};

// Calls f(run) for the runs that elements [begin, end) consist of.
template <class F>
void for_runs(const Axes& axes, std::int64_t begin, std::int64_t end, const F& f) {
  const StridedAxis inner = axes.back();
  const StridedAxis line = axes.size() > 1 ? axes[axes.size() - 2] : StridedAxis{1, 0, 0};
  while (begin < end) {
    std::int64_t index = begin / inner.extent;
    std::int64_t column = begin - index * inner.extent;
    std::int64_t row = index % line.extent;
    index /= line.extent;
    std::int64_t to = row * line.to;
    std::int64_t from = row * line.from;
    for (std::size_t axis = axes.size() - std::min<std::size_t>(axes.size(), 2); axis-- > 0;) {
      const std::int64_t next = index / axes[axis].extent;
      to += (index - next * axes[axis].extent) * axes[axis].to;
      from += (index - next * axes[axis].extent) * axes[axis].from;
      index = next;
    }
    for (; row < line.extent && begin < end; ++row) {
      const std::int64_t count = std::min(inner.extent - column, end - begin);
      f(Run{to + column * inner.to, from + column * inner.from, count, column});
      to += line.to;
      from += line.from;
      begin += count;
      column = 0;
    }
  }
}

template <class Word>
void copy_run(Word* to, const Word* from, std::int64_t count, const StridedAxis& axis) {
  if (axis.to == 1 && axis.from == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Word));
  } else if (axis.to == 1 && axis.from == -1) {
    run_on(cpu_isa(), [=] {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[-i];
    });
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * axis.to] = from[i * axis.from];
  }
}

// Elements `phase`, phase + 1, ... of what repeats the `period` elements from `from` on.
template <class Word>
void repeat_run(
    Word* to, const Word* from, std::int64_t count, std::int64_t period, std::int64_t phase) {
  if (period == 1) {
    std::fill_n(to, count, *from);
    return;
  }
  const std::int64_t first = std::min(count, period - phase);
  std::copy_n(from + phase, first, to);
  std::copy_n(from, std::min(count - first, phase), to + first);
  // What is read is still in the first cache.
  constexpr std::int64_t kNear = std::int64_t{16384} / static_cast<std::int64_t>(sizeof(Word));
  const std::int64_t most = std::max(kNear / period, std::int64_t{1}) * period;
  for (std::int64_t done = period; done < count; done += std::min(done, most)) {
    std::copy_n(to, std::min({done, most, count - done}), to + done);
  }
}

std::vector<std::int64_t> strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.rank(), 1);
  for (std::size_t axis = shape.rank(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * shape[axis];
  }
  return strides;
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace

StridedPair::StridedPair(const Axes& axes, std::int64_t to, std::int64_t from)
    : to_(to), from_(from) {
  for (const StridedAxis& axis : axes) {
    if (axis.extent != 1) append_merged(axis.to == 0 ? summed_ : axes_, axis);
  }
  if (axes_.empty()) axes_.push_back({1, 1, 1});
  if (summed_.empty()) summed_.push_back({1, 0, 1});
  runs_ = axes_;
  if (runs_.size() > 1 && runs_.back().to == 1 && runs_.back().from == 1) {
    const StridedAxis run = runs_.back();
    const StridedAxis again = runs_[runs_.size() - 2];
    if (again.to == run.extent && again.from == 0) {
      runs_.pop_back();
      runs_.back() = {again.extent * run.extent, 1, 0};
      period_ = run.extent;
    }
  }
  if (period_ == 0 && runs_.back().to == 1 && runs_.back().from == 0) period_ = 1;
  size_ = elements(axes_);
  count_ = elements(summed_);
}

StridedPair StridedPair::reversed() const {
  Axes axes = axes_;
  axes.insert(axes.end(), summed_.begin(), summed_.end());
  for (StridedAxis& axis : axes) std::swap(axis.to, axis.from);
  return {axes, from_, to_};
}

template <class Word>
void StridedPair::copy_words(Word* to, const Word* from) const {
  parallel_for(size_, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for_runs(runs_, begin, end, [&](const Run& run) {
      Word* const target = to + to_ + run.to;
      const Word* const first = from + from_ + run.from;
      if (period_ == 0) return copy_run(target, first, run.count, runs_.back());
      repeat_run(target, first, run.count, period_, run.column % period_);
    });
  });
}

void StridedPair::copy(void* to, const void* from, std::size_t element_bytes) const {
  switch (element_bytes) {
    case 1:
      return copy_words(static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from));
    case 2:
      return copy_words(static_cast<std::uint16_t*>(to), static_cast<const std::uint16_t*>(from));
    case 4:
      return copy_words(static_cast<std::uint32_t*>(to), static_cast<const std::uint32_t*>(from));
    default:
      return copy_words(static_cast<std::uint64_t*>(to), static_cast<const std::uint64_t*>(from));
  }
}

template <class Total, class T>
void StridedPair::add(Total* to, const T* from) const {
  if (count_ == 0) return;
  const StridedAxis each = axes_.back();
  const StridedAxis again = summed_.back();
  parallel_for(size_, kGrain / count_, [&](std::int64_t begin, std::int64_t end) {
    for_runs(axes_, begin, end, [&](const Run& run) {
      Total* const totals = to + to_ + run.to;
      for_runs(summed_, 0, count_, [&](const Run& terms) {
        const T* const first = from + from_ + run.from + terms.from;
        for (std::int64_t k = 0; k < terms.count; ++k) {
          const T* const row = first + k * again.from;
          for (std::int64_t i = 0; i < run.count; ++i) {
            totals[i * each.to] += static_cast<Total>(row[i * each.from]);
          }
        }
      });
    });
  });
}

template void StridedPair::add(float*, const float*) const;
template void StridedPair::add(float*, const BFloat16*) const;
template void StridedPair::add(float*, const Float16*) const;
template void StridedPair::add(double*, const double*) const;

void add_periodic(Segments& segments,
                  const Segment& segment,
                  std::int64_t period,
                  std::int64_t begin,
                  std::int64_t end) {
  // The segment comes at segment.to + k * period, for k from `first` to `last` inside the range.
  std::int64_t first = floor_divide(begin - segment.to - segment.count, period) + 1;
  std::int64_t last = floor_divide(end - 1 - segment.to, period);
  const auto add = [&](std::int64_t k, std::int64_t repeats) {
    const std::int64_t start = segment.to + k * period;
    const std::int64_t from = std::max(start, begin);
    const std::int64_t count = std::min(start + segment.count, end) - from;
    const std::int64_t source = segment.from + (from - start) * segment.step;
    segments.push_back({from - begin, source, count, segment.step, repeats, period});
  };
  if (first <= last && segment.to + first * period < begin) add(first++, 1);
  if (first <= last && segment.to + last * period + segment.count > end) add(last--, 1);
  if (first <= last) add(first, last - first + 1);
}

std::vector<StridedPair> strided_pairs(const Shape& to,
                                       const Shape& from,
                                       const std::vector<Segments>& segments) {
  struct Views {
    Axes axes;
    std::int64_t to = 0;
    std::int64_t from = 0;
  };
  const std::vector<std::int64_t> to_strides = strides(to);
  const std::vector<std::int64_t> from_strides = strides(from);
  std::vector<Views> all(1);
  for (std::size_t d = 0; d < segments.size(); ++d) {
    std::vector<Views> next;
    for (const Views& outer : all) {
      for (const Segment& segment : segments[d]) {
        if (segment.count == 0 || segment.repeats == 0) continue;
        Views views = outer;
        views.to += segment.to * to_strides[d];
        views.from += segment.from * from_strides[d];
        views.axes.push_back({segment.repeats, segment.period * to_strides[d], 0});
        views.axes.push_back({segment.count, to_strides[d], segment.step * from_strides[d]});
        next.push_back(std::move(views));
      }
    }
    all = std::move(next);
  }
  std::vector<StridedPair> pairs;
  pairs.reserve(all.size());
  for (const Views& views : all) pairs.emplace_back(views.axes, views.to, views.from);
  return pairs;
}

}  // namespace fluidcore::cpu
