#include "fluidcore/kernels/cpu/direct_conv.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "fluidcore/base/division.h"
#include "fluidcore/kernels/cpu/float_vectors.h"

namespace fluidcore::cpu {

namespace {

constexpr std::int64_t kMostFilters = 6;  // whose sums stay in registers together
constexpr std::int64_t kPatch = 16384;    // elements of the input that are copied together
constexpr std::int64_t kMostLanes = 16;

// Some lines of all channels of an image, zeros around them, as the inner loop reads it: the
// columns that one tap meets, a stride apart in the image, are neighbours. So every line is cut
// into as many pieces as the stride says.
struct Patch {
  explicit Patch(const ConvProblem& p)
      : stride(p.stride[kWidth]),
        piece(divide_up((p.kernel[kWidth] - 1) * p.dilation[kWidth], stride) + p.out[kWidth]),
        line(piece * stride),
        reach((p.kernel[kHeight] - 1) * p.dilation[kHeight] + 1) {
    // Vectors may read beyond the end.
    const std::int64_t lines = (kPatch - kMostLanes) / std::max<std::int64_t>(p.channels * line, 1);
    outputs = lines < reach ? 0 : (lines - reach) / p.stride[kHeight] + 1;
    outputs = std::min(outputs, p.out[kHeight]);
    channel = ((outputs - 1) * p.stride[kHeight] + reach) * line;
  }

  std::int64_t stride;
  std::int64_t piece;
  std::int64_t line;
  std::int64_t reach;    // lines that a line of outputs is made of
  std::int64_t outputs;  // lines of them; 0: they do not fit
  std::int64_t channel;  // elements of each channel
};

// Sums of kRows filters and kVectors vectors of outputs. Tap i of each filter, which are `taps`
// apart, meets what is offsets[i] behind `from`.
template <int kBytes, int kRows, int kVectors>
[[gnu::always_inline]] inline void sum_taps(std::int64_t taps,
                                            const std::int64_t* offsets,
                                            const float* filter,
                                            const std::array<const float*, kVectors>& from,
                                            float* sums) {
  using Vector = typename FloatVector<kBytes>::Type;
  using Unaligned = typename FloatVector<kBytes>::Unaligned;
  constexpr int kLanes = FloatVector<kBytes>::kLanes;
  Vector total[kRows][kVectors];
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) total[row][v] = Vector{};
  }
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    Vector in[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      load_once(from[static_cast<std::size_t>(v)] + offsets[tap], in[v]);
    }
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const float factor = filter[row * taps + tap];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) total[row][v] += factor * in[v];
    }
  }
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      *reinterpret_cast<Unaligned*>(sums + std::ptrdiff_t{kLanes} * (row * kVectors + v)) =
          total[row][v];
    }
  }
}

class Convolution {
 public:
  Convolution(const ConvProblem& p, Isa isa) : p_(p), isa_(isa), patch_(p) {
    for (std::int64_t channel = 0; channel < p.channels; ++channel) {
      for (std::int64_t y = 0; y < p.kernel[kHeight]; ++y) {
        for (std::int64_t x = 0; x < p.kernel[kWidth]; ++x) {
          const std::int64_t column = x * p.dilation[kWidth];
          offsets_.push_back(channel * patch_.channel + y * p.dilation[kHeight] * patch_.line +
                             column % patch_.stride * patch_.piece + column / patch_.stride);
        }
      }
    }
  }

  void run(std::int64_t first,
           std::int64_t count,
           const float* input,
           const float* filter,
           float* output) const {
    for (std::int64_t plane = first; plane < first + count;) {
      const std::int64_t row = plane % p_.filters;
      const std::int64_t rows = std::min(p_.filters - row, first + count - plane);
      const std::int64_t image = plane / p_.filters - first / p_.filters;
      run_image(input + image * p_.channels * p_.in_plane(), rows, filter + row * p_.taps(),
                output + (plane - first) * p_.out_plane());
      plane += rows;
    }
  }

 private:
  void run_image(const float* input, std::int64_t rows, const float* filter, float* output) const {
    alignas(64) std::array<float, kPatch> patch;
    // Filters in groups of nearly the same size.
    const std::int64_t groups = divide_up(rows, kMostFilters);
    for (std::int64_t line = 0; line < p_.out[kHeight]; line += patch_.outputs) {
      const std::int64_t lines = std::min(patch_.outputs, p_.out[kHeight] - line);
      copy(input, line, lines, patch.data());
      for (std::int64_t group = 0; group < groups; ++group) {
        const std::int64_t begin = rows * group / groups;
        const std::int64_t size = rows * (group + 1) / groups - begin;
        multiply(size, patch.data(), lines, filter + begin * p_.taps(),
                 output + begin * p_.out_plane() + line * p_.out[kWidth]);
      }
    }
  }

  void copy(const float* input, std::int64_t line, std::int64_t lines, float* patch) const {
    const std::int64_t top = line * p_.stride[kHeight] - p_.pad[kHeight];
    const std::int64_t height = (lines - 1) * p_.stride[kHeight] + patch_.reach;
    const std::int64_t width = p_.in[kWidth];
    for (std::int64_t channel = 0; channel < p_.channels; ++channel) {
      float* to = patch + channel * patch_.channel;
      for (std::int64_t y = top; y < top + height; ++y, to += patch_.line) {
        std::fill_n(to, patch_.line, 0.0F);
        if (y < 0 || y >= p_.in[kHeight]) continue;
        const float* from = input + channel * p_.in_plane() + y * width;
        for (std::int64_t phase = 0; phase < patch_.stride; ++phase) {
          // Element i of the piece is column i * stride + phase - pad.
          const std::int64_t before = p_.pad[kWidth] - phase;
          const std::int64_t skip = before > 0 ? divide_up(before, patch_.stride) : 0;
          const std::int64_t end =
              divide_up(std::max<std::int64_t>(width + before, 0), patch_.stride);
          float* const piece = to + phase * patch_.piece;
          const float* const column = from - before;
          const std::int64_t last = std::min(end, patch_.piece);
          if (patch_.stride == 1 && last > skip) {
            std::memcpy(piece + skip, column + skip,
                        static_cast<std::size_t>(last - skip) * sizeof(float));
            continue;
          }
          for (std::int64_t i = skip; i < last; ++i) piece[i] = column[i * patch_.stride];
        }
      }
    }
  }

  void multiply(std::int64_t rows,
                const float* patch,
                std::int64_t lines,
                const float* filter,
                float* output) const {
    on_vectors(isa_, [&](auto bytes) {
      constexpr int kVectors = bytes == 64 ? 4 : 2;  // of so many registers
      multiply_rows<bytes, kVectors>(rows, patch, lines, filter, output);
    });
  }

  template <int kBytes, int kVectors>
  [[gnu::always_inline]] void multiply_rows(std::int64_t rows,
                                            const float* patch,
                                            std::int64_t lines,
                                            const float* filter,
                                            float* output) const {
    switch (rows) {
      case 1: return multiply_tiles<kBytes, 1, kVectors>(patch, lines, filter, output);
      case 2: return multiply_tiles<kBytes, 2, kVectors>(patch, lines, filter, output);
      case 3: return multiply_tiles<kBytes, 3, kVectors>(patch, lines, filter, output);
      case 4: return multiply_tiles<kBytes, 4, kVectors>(patch, lines, filter, output);
      case 5: return multiply_tiles<kBytes, 5, kVectors>(patch, lines, filter, output);
      default: return multiply_tiles<kBytes, 6, kVectors>(patch, lines, filter, output);
    }
  }

  // Vectors of all lines, one after the other. The last one of a line ends with it, where the line
  // is not shorter than a vector, so that some outputs are calculated twice and none is cut off.
  template <int kBytes, int kRows, int kVectors>
  [[gnu::always_inline]] void multiply_tiles(const float* patch,
                                             std::int64_t lines,
                                             const float* filter,
                                             float* output) const {
    using Unaligned = typename FloatVector<kBytes>::Unaligned;
    constexpr std::int64_t kLanes = FloatVector<kBytes>::kLanes;
    const std::int64_t width = p_.out[kWidth];
    const std::int64_t of_line = divide_up(width, kLanes);
    const std::int64_t length = std::min(width, kLanes);
    const std::int64_t vectors = lines * of_line;
    alignas(64) std::array<float, std::size_t{kRows} * kVectors * kLanes> sums;
    std::array<const float*, kVectors> from;
    std::array<float*, kVectors> to;
    for (std::int64_t first = 0; first < vectors; first += kVectors) {
      for (int v = 0; v < kVectors; ++v) {
        const std::int64_t vector = std::min(first + v, vectors - 1);
        const std::int64_t line = vector / of_line;
        const std::int64_t column =
            std::min(vector % of_line * kLanes, std::max<std::int64_t>(width - kLanes, 0));
        from[static_cast<std::size_t>(v)] =
            patch + line * p_.stride[kHeight] * patch_.line + column;
        to[static_cast<std::size_t>(v)] = output + line * width + column;
      }
      sum_taps<kBytes, kRows, kVectors>(p_.taps(), offsets_.data(), filter, from, sums.data());
      for (int row = 0; row < kRows; ++row) {
        for (int v = 0; v < kVectors; ++v) {
          float* const out = to[static_cast<std::size_t>(v)] + row * p_.out_plane();
          const float* const sum = sums.data() + (row * kVectors + v) * kLanes;
          if (length == kLanes) {
            *reinterpret_cast<Unaligned*>(out) = *reinterpret_cast<const Unaligned*>(sum);
          } else {
            for (std::int64_t i = 0; i < length; ++i) out[i] = sum[i];
          }
        }
      }
    }
  }

  ConvProblem p_;
  Isa isa_;
  Patch patch_;
  std::vector<std::int64_t> offsets_;  // of the taps, in the patch
};

}  // namespace

bool has_direct_conv(const ConvProblem& p, Isa /*isa*/) {
  const bool is_flat = p.in[kDepth] == 1 && p.kernel[kDepth] == 1 && p.pad[kDepth] == 0;
  return is_flat && !p.channels_last && p.groups == 1 && !p.is_empty() && p.out_plane() > 0 &&
         Patch(p).outputs > 0;
}

bool direct_conv_pays(const ConvProblem& p, Isa isa) {
  const std::int64_t lanes = lanes_of(isa);
  const std::int64_t width = p.out[kWidth];
  // width / its vectors' elements > filters / their vectors' elements
  return has_direct_conv(p, isa) &&
         width * divide_up(p.filters, lanes) > p.filters * divide_up(width, lanes);
}

DirectConv prepare_direct_conv(const ConvProblem& p, Isa isa) {
  return [conv = std::make_shared<const Convolution>(p, isa)](
             std::int64_t first, std::int64_t count, const float* input, const float* filter,
             float* output) { conv->run(first, count, input, filter, output); };
}

}  // namespace fluidcore::cpu
