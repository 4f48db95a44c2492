#include "fluidcore/kernels/cpu/interleaved_conv.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/float_vectors.h"
#include "fluidcore/kernels/cpu/square.h"

namespace fluidcore::cpu {

namespace {

constexpr std::int64_t kOfTask = 1 << 16;  // elements of a task, which stay in the second cache
constexpr std::int64_t kMostOfTask = 4 * kOfTask;  // of one line of outputs
constexpr std::int64_t kMostLanes = 16;
constexpr int kTaps = 5;    // of a filter, whose sums stay in registers together
constexpr int kPixels = 4;  // of a line of outputs, likewise

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
    parallel_for(count_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t w = begin; w < end; ++w) {
        for (std::int64_t i = count * w / count_; i < count * (w + 1) / count_; ++i) {
          f(i, memory + w * elements_);
        }
      }
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

class FilterGrad {
 public:
  FilterGrad(const ConvProblem& p, const ScratchPtr& scratch, Isa isa)
      : p_(p),
        isa_(isa),
        cut_(p, lanes_of(isa)),
        offsets_(cut_.offsets(p)),
        workers_(cut_.elements(p)),
        parts_(std::min<std::int64_t>(cut_.tasks(), kMostParts)),
        sums_(divide_up(p.filters * p.taps() * cut_.lanes, kMostLanes) * kMostLanes),
        memory_(scratch),
        of_workers_(memory_.add(workers_.elements(), sizeof(float))),
        of_parts_(memory_.add(parts_ * sums_, sizeof(float))) {}

  void run(const float* input, const float* output_grad, float* filter_grad) const {
    auto* const sums = memory_.at<float>(of_parts_);
    workers_.each(parts_, memory_.at<float>(of_workers_), [&](std::int64_t i, float* memory) {
      float* const own = sums + i * sums_;
      std::fill_n(own, sums_, 0.0F);
      for (std::int64_t t = cut_.tasks() * i / parts_; t < cut_.tasks() * (i + 1) / parts_; ++t) {
        add_task(Task(p_, cut_, t), input, output_grad, memory, own);
      }
    });
    constexpr std::int64_t kGrain = 512;
    parallel_for(divide_up(p_.filters * p_.taps(), cut_.lanes), kGrain / cut_.lanes,
                 [&](std::int64_t begin, std::int64_t end) {
                   on_vectors(isa_,
                              [&](auto bytes) { add_up<bytes>(begin, end, sums, filter_grad); });
                 });
  }

 private:
  static constexpr std::int64_t kMostParts = 8;

  void add_task(const Task& task,
                const float* input,
                const float* output_grad,
                float* memory,
                float* sums) const {
    on_vectors(isa_, [&](auto bytes) { add_on<bytes>(task, input, output_grad, memory, sums); });
  }

  // The sums of all parts and lanes, of blocks of as many elements as there are lanes.
  template <int kBytes>
  [[gnu::always_inline]] void add_up(std::int64_t begin,
                                     std::int64_t end,
                                     const float* sums,
                                     float* filter_grad) const {
    using Vector = typename FloatVector<kBytes>::Type;
    constexpr std::int64_t kLanes = FloatVector<kBytes>::kLanes;
    alignas(64) std::array<float, kLanes * kLanes> square;
    auto* const lines = reinterpret_cast<Vector*>(square.data());
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * kLanes;
      const std::int64_t count = std::min(kLanes, p_.filters * p_.taps() - first);
      for (std::int64_t i = 0; i < kLanes; ++i) {
        lines[i] = Vector{};
        if (i >= count) continue;
        for (std::int64_t part = 0; part < parts_; ++part) {
          const float* const own = sums + part * sums_ + (first + i) * kLanes;
          lines[i] += *reinterpret_cast<const Vector*>(own);
        }
      }
      Square<float, kBytes>::turn(square.data(), kLanes, square.data(), kLanes);
      Vector total = lines[0];
      for (std::int64_t i = 1; i < kLanes; ++i) total += lines[i];
      std::memcpy(filter_grad + first, &total, static_cast<std::size_t>(count) * sizeof(float));
    }
  }

  template <int kBytes>
  [[gnu::always_inline]] void add_on(const Task& task,
                                     const float* input,
                                     const float* output_grad,
                                     float* patch,
                                     float* sums) const {
    constexpr int kMostRows = kBytes == 64 ? 5 : 2;  // of so many registers
    constexpr std::int64_t kLanes = FloatVector<kBytes>::kLanes;
    float* const grads = patch + cut_.patch(p_);
    copy_patch<kBytes>(p_, cut_, task, input, patch, grads + cut_.outputs(p_));
    const std::int64_t row = cut_.lines * cut_.line * kLanes;
    const float* from =
        output_grad + task.first_image * p_.filters * p_.out_plane() + task.first_line * cut_.line;
    for (std::int64_t f = 0; f < p_.filters; ++f) {
      interleave<kBytes>(task.images, p_.filters * p_.out_plane(), task.lines * cut_.line,
                         from + f * p_.out_plane(), grads + f * row);
    }
    for_groups<kMostRows>(p_.filters, [&](std::int64_t first, std::int64_t count) {
      with_constant<kMostRows>(count, [&](auto rows) {
        for (std::int64_t tap = 0; tap < p_.taps(); tap += kTaps) {
          add_products<kBytes, rows>(task.lines, patch, grads + first * row, row, tap,
                                     sums + first * p_.taps() * kLanes);
        }
      });
    });
  }

  // Adds the products of kRows filters' gradients and of what the taps from `tap` on meet. The last
  // ones come together with some before them, which are left as they are.
  template <int kBytes, int kRows>
  [[gnu::always_inline]] void add_products(std::int64_t lines,
                                           const float* patch,
                                           const float* grads,
                                           std::int64_t row,
                                           std::int64_t tap,
                                           float* sums) const {
    using Vector = typename FloatVector<kBytes>::Type;
    constexpr std::int64_t kLanes = FloatVector<kBytes>::kLanes;
    const std::int64_t taps = p_.taps();
    const std::int64_t first = std::max<std::int64_t>(std::min(tap, taps - kTaps), 0);
    const std::int64_t step = p_.stride[kWidth] * kLanes;
    Vector total[kRows][kTaps];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int k = 0; k < kTaps; ++k) total[r][k] = Vector{};
    }
    for (std::int64_t y = 0; y < lines; ++y) {
      const float* in[kTaps];
#pragma GCC unroll 8
      for (int k = 0; k < kTaps; ++k) {
        in[k] = patch + offsets_[static_cast<std::size_t>(std::min(first + k, taps - 1))] +
                y * p_.stride[kHeight] * cut_.pitch * kLanes;
      }
      const float* grad = grads + y * cut_.line * kLanes;
      for (std::int64_t x = 0; x < cut_.line; ++x, grad += kLanes) {
        Vector of_rows[kRows];
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          load_once(grad + r * row, of_rows[r]);
        }
#pragma GCC unroll 8
        for (int k = 0; k < kTaps; ++k) {
          Vector met;
          load_once(in[k] + x * step, met);
#pragma GCC unroll 8
          for (int r = 0; r < kRows; ++r) total[r][k] += of_rows[r] * met;
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int k = 0; k < kTaps; ++k) {
        const std::int64_t i = first + k;
        if (i < tap || i >= taps) continue;
        auto* const sum = reinterpret_cast<Vector*>(sums + (r * taps + i) * kLanes);
        *sum += total[r][k];
      }
    }
  }

  ConvProblem p_;
  Isa isa_;
  Cut cut_;
  std::vector<std::int64_t> offsets_;
  Workers workers_;
  std::int64_t parts_;
  std::int64_t sums_;  // of each part, [filters, taps, lanes]
  ScratchParts memory_;
  std::size_t of_workers_;
  std::size_t of_parts_;
};

class Interleaved {
 public:
  Interleaved(const ConvProblem& p, ScratchPtr scratch, Isa isa)
      : p_(p),
        isa_(isa),
        cut_(p, lanes_of(isa)),
        workers_(cut_.elements(p)),
        scratch_(std::move(scratch)) {
    scratch_->reserve(static_cast<std::size_t>(workers_.elements()) * sizeof(float));
  }

  void run(const float* input, const float* filter, float* output) const {
    auto* const all = reinterpret_cast<float*>(scratch_->data());
    workers_.each(cut_.tasks(), all, [&](std::int64_t t, float* memory) {
      const Task task(p_, cut_, t);
      on_vectors(isa_, [&](auto bytes) { run_task<bytes>(task, input, filter, memory, output); });
    });
  }

 private:
  template <int kBytes>
  [[gnu::always_inline]] void run_task(const Task& task,
                                       const float* input,
                                       const float* filter,
                                       float* patch,
                                       float* output) const {
    constexpr int kMostRows = kBytes == 64 ? 6 : 2;  // of so many registers
    constexpr std::int64_t kLanes = FloatVector<kBytes>::kLanes;
    float* const results = patch + cut_.patch(p_);
    copy_patch<kBytes>(p_, cut_, task, input, patch, results + cut_.outputs(p_));
    const std::int64_t row = cut_.lines * cut_.line * kLanes;
    for_groups<kMostRows>(p_.filters, [&](std::int64_t first, std::int64_t count) {
      with_constant<kMostRows>(count, [&](auto rows) {
        for (std::int64_t y = 0; y < task.lines; ++y) {
          for (std::int64_t begin = 0; begin < cut_.line; begin += kPixels) {
            const std::int64_t x = std::min(begin, cut_.line - kPixels);
            sum_taps<kBytes, rows>(task.first_line + y, x,
                                   patch + y * p_.stride[kHeight] * cut_.pitch * kLanes,
                                   filter + first * p_.taps(),
                                   results + first * row + (y * cut_.line + x) * kLanes, row);
          }
        }
      });
    });
    float* to =
        output + task.first_image * p_.filters * p_.out_plane() + task.first_line * cut_.line;
    for (std::int64_t f = 0; f < p_.filters; ++f) {
      separate<kBytes>(task.images, p_.filters * p_.out_plane(), task.lines * cut_.line,
                       results + f * row, to + f * p_.out_plane());
    }
  }

  // The taps along an axis that meet the input, not zeros around it, for some of `count` outputs
  // from `first` on.
  struct Met {
    Met(const ConvProblem& p, std::size_t axis, std::int64_t first, std::int64_t count) {
      const std::int64_t step = p.dilation[axis];
      const std::int64_t last = first + count - 1;
      begin = divide_up(std::max<std::int64_t>(p.pad[axis] - last * p.stride[axis], 0), step);
      const std::int64_t room = p.in[axis] - 1 + p.pad[axis] - first * p.stride[axis];
      end = room < 0 ? begin : std::clamp<std::int64_t>(room / step + 1, begin, p.kernel[axis]);
    }
    std::int64_t begin;
    std::int64_t end;
  };

  // kPixels outputs of line y, from x on, of kRows filters; `results` are `row` apart.
  template <int kBytes, int kRows>
  [[gnu::always_inline]] void sum_taps(std::int64_t y,
                                       std::int64_t x,
                                       const float* patch,
                                       const float* filter,
                                       float* results,
                                       std::int64_t row) const {
    using Vector = typename FloatVector<kBytes>::Type;
    constexpr std::int64_t kLanes = FloatVector<kBytes>::kLanes;
    const Met lines(p_, kHeight, y, 1);
    const Met columns(p_, kWidth, x, kPixels);
    const std::int64_t taps = p_.taps();
    const std::int64_t step = p_.stride[kWidth] * kLanes;
    Vector total[kRows][kPixels];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < kPixels; ++j) total[r][j] = Vector{};
    }
    for (std::int64_t c = 0; c < p_.channels; ++c) {
      for (std::int64_t i = lines.begin; i < lines.end; ++i) {
        const float* from = patch + ((c * cut_.rows + i * p_.dilation[kHeight]) * cut_.pitch +
                                     x * p_.stride[kWidth]) *
                                        kLanes;
        const float* factors = filter + (c * p_.kernel[kHeight] + i) * p_.kernel[kWidth];
        for (std::int64_t k = columns.begin; k < columns.end; ++k) {
          const float* in = from + k * p_.dilation[kWidth] * kLanes;
          Vector met[kPixels];
#pragma GCC unroll 4
          for (int j = 0; j < kPixels; ++j) load_once(in + j * step, met[j]);
#pragma GCC unroll 8
          for (int r = 0; r < kRows; ++r) {
            const float factor = factors[r * taps + k];
#pragma GCC unroll 4
            for (int j = 0; j < kPixels; ++j) total[r][j] += factor * met[j];
          }
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < kPixels; ++j) {
        *reinterpret_cast<Vector*>(results + r * row + j * kLanes) = total[r][j];
      }
    }
  }

  ConvProblem p_;
  Isa isa_;
  Cut cut_;
  Workers workers_;
  ScratchPtr scratch_;
};

// The convolution of the output's gradient that gives the input's.
ConvProblem adjoint(const ConvProblem& p) {
  ConvProblem q = p;
  std::swap(q.channels, q.filters);
  std::swap(q.in, q.out);
  for (std::size_t axis = 0; axis < q.pad.size(); ++axis) {
    q.pad[axis] = (p.kernel[axis] - 1) * p.dilation[axis] - p.pad[axis];
  }
  return q;
}

// [channels, filters, taps from the last one on]
void turn_filter(const ConvProblem& p, const float* filter, float* turned) {
  const std::int64_t taps = product(p.kernel);
  for (std::int64_t channel = 0; channel < p.channels; ++channel) {
    for (std::int64_t f = 0; f < p.filters; ++f, turned += taps) {
      const float* from = filter + (f * p.channels + channel) * taps;
      std::reverse_copy(from, from + taps, turned);
    }
  }
}

bool is_flat(const ConvProblem& p) {
  return p.in[kDepth] == 1 && p.kernel[kDepth] == 1 && p.pad[kDepth] == 0 && !p.channels_last &&
         p.groups == 1 && !p.is_empty() && p.in_plane() > 0 && p.out_plane() > 0;
}

}  // namespace

bool interleaved_conv_pays(const ConvProblem& p, Isa isa) {
  constexpr double kLeast = 0.5;  // with fewer images copying them is not worth its while
  const std::int64_t lanes = lanes_of(isa);
  const auto used = [lanes](std::int64_t count) {
    return static_cast<double>(count) / static_cast<double>(divide_up(count, lanes) * lanes);
  };
  return is_flat(p) && used(p.batch) >= kLeast &&
         used(p.batch) > used(p.channels) * used(p.filters) &&
         Cut(p, lanes).elements(p) <= kMostOfTask;
}

bool has_interleaved_conv(const ConvProblem& p) {
  return is_flat(p) && p.out[kWidth] >= kPixels;
}

Prepared2<float> prepare_interleaved_conv(const ConvProblem& p, ScratchPtr scratch, Isa isa) {
  return [conv = Interleaved(p, std::move(scratch), isa)](const float* input, const float* filter,
                                                          float* output) {
    conv.run(input, filter, output);
  };
}

bool has_interleaved_input_grad(const ConvProblem& p) {
  const ConvProblem q = adjoint(p);
  return p.stride == Spatial{1, 1, 1} && has_interleaved_conv(q) &&
         *std::min_element(q.pad.begin(), q.pad.end()) >= 0;
}

Prepared2<float> prepare_interleaved_input_grad(const ConvProblem& p,
                                                const ScratchPtr& scratch,
                                                Isa isa) {
  ScratchParts memory(scratch);
  const std::size_t turned = memory.add(p.filters * p.taps(), sizeof(float));
  return [p, memory, turned, conv = prepare_interleaved_conv(adjoint(p), memory.rest(), isa)](
             const float* output_grad, const float* filter, float* input_grad) {
    turn_filter(p, filter, memory.at<float>(turned));
    conv(output_grad, memory.at<float>(turned), input_grad);
  };
}

bool has_interleaved_filter_grad(const ConvProblem& p) {
  return is_flat(p);
}

Prepared2<float> prepare_interleaved_filter_grad(const ConvProblem& p,
                                                 const ScratchPtr& scratch,
                                                 Isa isa) {
  return [grad = FilterGrad(p, scratch, isa)](const float* input, const float* output_grad,
                                              float* filter_grad) {
    grad.run(input, output_grad, filter_grad);
  };
}

}  // namespace fluidcore::cpu
