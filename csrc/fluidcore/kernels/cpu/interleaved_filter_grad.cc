#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/float_vectors.h"
#include "fluidcore/kernels/cpu/interleaved_conv.h"
#include "fluidcore/kernels/cpu/interleaved_images.h"
#include "fluidcore/kernels/cpu/square.h"

namespace fluidcore::cpu {

namespace {

using interleaved::copy_patch;
using interleaved::Cut;
using interleaved::for_groups;
using interleaved::interleave;
using interleaved::is_flat;
using interleaved::kMostLanes;
using interleaved::Task;
using interleaved::with_constant;
using interleaved::Workers;

constexpr int kTaps = 5;  // of a filter, whose sums stay in registers together

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

}  // namespace

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
