#include "fluidcore/kernels/cpu/interleaved_conv.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "fluidcore/base/division.h"
#include "fluidcore/kernels/cpu/float_vectors.h"
#include "fluidcore/kernels/cpu/interleaved_images.h"

namespace fluidcore::cpu {

namespace {

using interleaved::copy_patch;
using interleaved::Cut;
using interleaved::for_groups;
using interleaved::is_flat;
using interleaved::kMostOfTask;
using interleaved::separate;
using interleaved::Task;
using interleaved::with_constant;
using interleaved::Workers;

constexpr int kPixels = 4;  // of a line of outputs, likewise

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

}  // namespace fluidcore::cpu
