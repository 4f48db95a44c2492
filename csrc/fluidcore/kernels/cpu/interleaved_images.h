#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "fluidcore/base/division.h"
#include "fluidcore/base/shared_tasks.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/cpu/float_vectors.h"
#include "fluidcore/kernels/cpu/square.h"

// Images of which a vector holds the same element each: what convolutions of them share.
namespace fluidcore::cpu::interleaved {

inline constexpr std::int64_t kOfTask =
    1 << 16;  // elements of a task, which stay in the second cache
inline constexpr std::int64_t kMostOfTask = 4 * kOfTask;  // of one line of outputs
inline constexpr std::int64_t kMostLanes = 16;

// Whether there are kernels for the problem at all.
inline bool is_flat(const ConvProblem& p) {
  return p.in[kDepth] == 1 && p.kernel[kDepth] == 1 && p.pad[kDepth] == 0 && !p.channels_last &&
         p.groups == 1 && !p.is_empty() && p.in_plane() > 0 && p.out_plane() > 0;
}

// to[i kLanes + j] = element i of image j, for i < count; 0 of images that are not there.
template <int kBytes>
[[gnu::always_inline]] inline void interleave(
    std::int64_t images, std::int64_t apart, std::int64_t count, const float* from, float* to) {
  constexpr std::int64_t kLanes = FloatVector<kBytes>::kLanes;
  if (images == kLanes && count >= kLanes) {
    for (std::int64_t begin = 0; begin < count; begin += kLanes) {
      const std::int64_t i = std::min(begin, count - kLanes);
      Square<float, kBytes>::turn(from + i, apart, to + i * kLanes, kLanes);
    }
    return;
  }
  std::fill_n(to, count * kLanes, 0.0F);
  for (std::int64_t j = 0; j < images; ++j) {
    for (std::int64_t i = 0; i < count; ++i) to[i * kLanes + j] = from[j * apart + i];
  }
}

// The other way round.
template <int kBytes>
[[gnu::always_inline]] inline void separate(
    std::int64_t images, std::int64_t apart, std::int64_t count, const float* from, float* to) {
  constexpr std::int64_t kLanes = FloatVector<kBytes>::kLanes;
  if (images == kLanes && count >= kLanes) {
    for (std::int64_t begin = 0; begin < count; begin += kLanes) {
      const std::int64_t i = std::min(begin, count - kLanes);
      Square<float, kBytes>::turn(from + i * kLanes, kLanes, to + i, apart);
    }
    return;
  }
  for (std::int64_t j = 0; j < images; ++j) {
    for (std::int64_t i = 0; i < count; ++i) to[j * apart + i] = from[i * kLanes + j];
  }
}

// How a problem is cut: a task has some lines of the outputs of as many images as a vector has
// lanes, and the patch of all channels that they are made of, zeros around it.
struct Cut {
  Cut(const ConvProblem& p, std::int64_t lanes)
      : lanes(lanes),
        groups(divide_up(p.batch, lanes)),
        pitch(p.in[kWidth] + 2 * p.pad[kWidth]),
        line(p.out[kWidth]) {
    const std::int64_t reach = (p.kernel[kHeight] - 1) * p.dilation[kHeight] + 1;
    const std::int64_t of_line =
        (p.channels * p.stride[kHeight] * pitch + p.filters * line) * lanes;
    const std::int64_t of_first = p.channels * (reach - p.stride[kHeight]) * pitch * lanes;
    lines = std::clamp<std::int64_t>((kOfTask - of_first) / std::max<std::int64_t>(of_line, 1), 1,
                                     std::max<std::int64_t>(p.out[kHeight], 1));
    of_group = divide_up(p.out[kHeight], lines);
    rows = (lines - 1) * p.stride[kHeight] + reach;
  }

  std::int64_t tasks() const { return groups * of_group; }
  std::int64_t patch(const ConvProblem& p) const { return p.channels * rows * pitch * lanes; }
  std::int64_t outputs(const ConvProblem& p) const { return p.filters * lines * line * lanes; }
  // Both, and the lines of a channel without the zeros.
  std::int64_t elements(const ConvProblem& p) const {
    return patch(p) + outputs(p) + rows * p.in[kWidth] * lanes;
  }

  // Where the taps of a filter are in the patch, in their order in memory.
  std::vector<std::int64_t> offsets(const ConvProblem& p) const {
    std::vector<std::int64_t> all;
    for (std::int64_t c = 0; c < p.channels; ++c) {
      for (std::int64_t y = 0; y < p.kernel[kHeight]; ++y) {
        for (std::int64_t x = 0; x < p.kernel[kWidth]; ++x) {
          all.push_back(((c * rows + y * p.dilation[kHeight]) * pitch + x * p.dilation[kWidth]) *
                        lanes);
        }
      }
    }
    return all;
  }

  std::int64_t lanes;
  std::int64_t groups;    // of images
  std::int64_t pitch;     // elements of a line of the patch,
  std::int64_t line;      // and of the outputs
  std::int64_t lines;     // of outputs in a task, at most
  std::int64_t of_group;  // tasks
  std::int64_t rows;      // of each channel of the patch
};

struct Task {
  Task(const ConvProblem& p, const Cut& cut, std::int64_t index)
      : first_image(index / cut.of_group * cut.lanes),
        images(std::min(cut.lanes, p.batch - first_image)),
        first_line(index % cut.of_group * cut.lines),
        lines(std::min(cut.lines, p.out[kHeight] - first_line)) {}

  std::int64_t first_image;
  std::int64_t images;
  std::int64_t first_line;
  std::int64_t lines;
};

// The threads, each with memory of its own.
class Workers {
 public:
  explicit Workers(std::int64_t elements)
      : count_(num_threads()), elements_(divide_up(elements, kMostLanes) * kMostLanes) {}

  std::int64_t elements() const { return count_ * elements_; }

  // f(i, memory) for i of [0, count), with memory of elements().
  template <class F>
  void each(std::int64_t count, float* memory, const F& f) const {
    parallel_workers(count_, count, [&](std::int64_t worker, const auto& next) {
      while (const std::optional<std::int64_t> i = next()) f(*i, memory + worker * elements_);
    });
  }

 private:
  std::int64_t count_;
  std::int64_t elements_;  // of each
};

// The patch of a task. `spare` is memory for the lines of one channel.
template <int kBytes>
[[gnu::always_inline]] inline void copy_patch(const ConvProblem& p,
                                              const Cut& cut,
                                              const Task& task,
                                              const float* input,
                                              float* patch,
                                              float* spare) {
  constexpr std::int64_t kLanes = FloatVector<kBytes>::kLanes;
  const std::int64_t width = p.in[kWidth] * kLanes;
  const std::int64_t pad = p.pad[kWidth] * kLanes;
  const std::int64_t pitch = cut.pitch * kLanes;
  const std::int64_t top = task.first_line * p.stride[kHeight] - p.pad[kHeight];
  const std::int64_t begin = std::clamp<std::int64_t>(-top, 0, cut.rows);
  const std::int64_t end = std::clamp<std::int64_t>(p.in[kHeight] - top, begin, cut.rows);
  const std::int64_t image = p.channels * p.in_plane();
  for (std::int64_t c = 0; c < p.channels; ++c, patch += cut.rows * pitch) {
    std::fill_n(patch, begin * pitch, 0.0F);
    std::fill_n(patch + end * pitch, (cut.rows - end) * pitch, 0.0F);
    if (begin == end) continue;
    const float* from =
        input + task.first_image * image + c * p.in_plane() + (top + begin) * p.in[kWidth];
    float* to = patch + begin * pitch;
    const std::int64_t count = (end - begin) * p.in[kWidth];
    interleave<kBytes>(task.images, image, count, from, pad == 0 ? to : spare);
    if (pad == 0) continue;
    for (std::int64_t row = begin; row < end; ++row, to += pitch) {
      std::fill_n(to, pad, 0.0F);
      std::memcpy(to + pad, spare + (row - begin) * width,
                  static_cast<std::size_t>(width) * sizeof(float));
      std::fill_n(to + pad + width, pad, 0.0F);
    }
  }
}

// f(first, count) for `all` things in groups of nearly the same size, at most kMost.
template <int kMost, class F>
[[gnu::always_inline]] inline void for_groups(std::int64_t all, const F& f) {
  const std::int64_t groups = divide_up(all, kMost);
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t begin = all * group / groups;
    f(begin, all * (group + 1) / groups - begin);
  }
}

// f(constant) of a number from 1 to kMost.
template <int kMost, class F>
[[gnu::always_inline]] inline void with_constant(std::int64_t number, const F& f) {
  if constexpr (kMost > 1) {
    if (number < kMost) return with_constant<kMost - 1>(number, f);
  }
  f(std::integral_constant<int, kMost>());
}

}  // namespace fluidcore::cpu::interleaved
