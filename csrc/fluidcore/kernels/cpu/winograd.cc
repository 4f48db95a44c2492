#include "fluidcore/kernels/cpu/winograd.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/winograd_filter.h"
#include "fluidcore/kernels/cpu/winograd_tiles.h"

namespace fluidcore::cpu {

namespace {

using namespace winograd;

// Tiles that are transformed, multiplied and transformed back before the next ones: their matrices
// stay in the second-level cache.
constexpr std::int64_t kBlock = 32;
// Operations that are worth a second thread.
constexpr double kThreadWork = 3e6;

// The convolution whose output is the gradient of the input of `p`.
ConvProblem of_input_grad(const ConvProblem& p) {
  ConvProblem grad = p;
  std::swap(grad.channels, grad.filters);
  std::swap(grad.in, grad.out);
  for (const std::size_t axis : {kHeight, kWidth}) grad.pad[axis] = 2 - p.pad[axis];
  return grad;
}

class Forward {
 public:
  Forward(const ConvProblem& p, const FilterMatrix& matrix, ScratchPtr scratch, Isa isa)
      : p_(p),
        matrix_(matrix),
        scratch_(std::move(scratch)),
        isa_(isa),
        tiles_(p),
        threads_(p.flops() < kThreadWork ? 1 : num_threads()),
        block_(
            std::clamp(round_up(divide_up(tiles_.count, threads_), kTileRows), kTileRows, kBlock)),
        input_(block_, p.channels),
        filter_(round_up(p.channels, kLanes), p.filters),
        output_(block_, p.filters),
        slices_(std::min(threads_, divide_up(tiles_.count, block_))) {
    scratch_->reserve(sizeof(float) *
                      static_cast<std::size_t>(zeros_size() + filter_.size() +
                                               slices_ * (input_.size() + output_.size())));
  }

  void run(const float* input,
           const float* filter,
           std::uint64_t version,
           float* output,
           const ConvEpilogue& epilogue) {
    auto* const zeros = reinterpret_cast<float*>(scratch_->data());
    std::fill_n(zeros, zeros_size(), 0.0F);
    float* const transformed = zeros + zeros_size();
    const float* const by = transformed_filter(filter, version, transformed);
    float* const matrices = transformed + filter_.size();
    const std::int64_t blocks = divide_up(tiles_.count, block_);
    parallel_for(slices_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t slice = begin; slice < end; ++slice) {
        float* const in = matrices + slice * (input_.size() + output_.size());
        for (std::int64_t i = blocks * slice / slices_; i < blocks * (slice + 1) / slices_; ++i) {
          const std::int64_t first = i * block_;
          const std::int64_t last = std::min(first + block_, tiles_.count);
          with_vectors(isa_, [&](auto bytes) {
            transform_input<bytes()>(first, last, input, zeros, in);
            multiply_all<bytes()>(last - first, in, by, in + input_.size());
            transform_output<bytes()>(first, last, in + input_.size(), output, epilogue);
          });
        }
      }
    });
  }

 private:
  std::int64_t zeros_size() const { return round_up(p_.channels, kLanes); }

  const float* transformed_filter(const float* filter, std::uint64_t version, float* scratch) {
    const bool same = version != 0 && version == version_;
    if (same && is_kept_) return reinterpret_cast<const float*>(kept_.data());
    if (same) kept_.reserve(static_cast<std::size_t>(filter_.size()) * sizeof(float));
    float* const result = kept_.bytes() > 0 ? reinterpret_cast<float*>(kept_.data()) : scratch;
    transform_filter(isa_, matrix_, filter, filter_, result);
    version_ = version;
    is_kept_ = result != scratch;
    return result;
  }

  template <int kBytes>
  [[gnu::always_inline]] void transform_input(std::int64_t first,
                                              std::int64_t last,
                                              const float* input,
                                              const float* zeros,
                                              float* out) const {
    const Image shape = input_of(p_);
    tiles_.for_each(first, last, [&](std::int64_t image, std::int64_t y, std::int64_t x) {
      transform_patch<kBytes, OfInput, 4>(shape, input, image, y - p_.pad[kHeight],
                                          x - p_.pad[kWidth], 0, p_.channels, zeros, input_, out);
      out += kLanes;
    });
  }

  template <int kBytes>
  [[gnu::always_inline]] void multiply_all(std::int64_t tiles,
                                           const float* a,
                                           const float* b,
                                           float* c) const {
    const Product product{round_up(tiles, kTileRows),
                          round_up(p_.channels, kLanes),
                          output_.count,
                          input_.panel,
                          filter_.panel,
                          output_.panel,
                          false};
    for (std::int64_t i = 0; i < kElements; ++i) {
      multiply<kBytes, Along::kDepth>(product, a + i * input_.matrix, b + i * filter_.matrix,
                                      c + i * output_.matrix);
    }
  }

  template <int kBytes>
  [[gnu::always_inline]] void transform_output(std::int64_t first,
                                               std::int64_t last,
                                               const float* in,
                                               float* output,
                                               const ConvEpilogue& epilogue) const {
    const Image shape = output_of(p_);
    tiles_.for_each(first, last, [&](std::int64_t image, std::int64_t y, std::int64_t x) {
      std::int64_t places[2][2];
      for (std::int64_t i = 0; i < 2; ++i) {
        for (std::int64_t j = 0; j < 2; ++j) places[i][j] = shape.offset(image, y + i, x + j);
      }
      for (std::int64_t panel = 0; panel < output_.count; ++panel) {
        const std::int64_t channel = panel * kLanes;
        store_outputs<kBytes>(in + panel * output_.panel, places, channel, output, epilogue);
      }
      in += kLanes;
    });
  }

  // The outputs of one tile and one panel of filters. Those that are outside, and all of a panel
  // that is not full, are calculated in spare memory.
  template <int kBytes>
  [[gnu::always_inline]] void store_outputs(const float* in,
                                            const std::int64_t (&places)[2][2],
                                            std::int64_t channel,
                                            float* output,
                                            const ConvEpilogue& epilogue) const {
    using V = Vector<kBytes>;
    const std::int64_t count = std::min(kLanes, p_.filters - channel);
    float spare[2][2][kLanes];
    float residual_tail[2][2][kLanes];
    float bias_tail[kLanes] = {};
    float* to[2][2];
    const float* residual[2][2] = {};
    const float* bias = epilogue.bias ? epilogue.bias + channel : nullptr;
    if (bias && count < kLanes) {
      copy_lanes(bias, count, bias_tail);
      bias = bias_tail;
    }
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        const bool is_inside = places[i][j] >= 0;
        const std::int64_t at = places[i][j] + channel;
        to[i][j] = is_inside && count == kLanes ? output + at : spare[i][j];
        if (!epilogue.residual || !is_inside) continue;
        residual[i][j] = epilogue.residual + at;
        if (count == kLanes) continue;
        std::fill_n(residual_tail[i][j], kLanes, 0.0F);
        copy_lanes(residual[i][j], count, residual_tail[i][j]);
        residual[i][j] = residual_tail[i][j];
      }
    }
    from_panels<kBytes, ToOutput, 2>(
        in, output_.matrix, [&](std::size_t i, std::size_t j, std::int64_t lane, V& value) {
          if (bias) value += *reinterpret_cast<const V*>(bias + lane);
          if (residual[i][j]) value += *reinterpret_cast<const V*>(residual[i][j] + lane);
          if (epilogue.relu) value = value < 0 ? V{} : value;
          *reinterpret_cast<V*>(to[i][j] + lane) = value;
        });
    if (count == kLanes) return;
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        if (places[i][j] >= 0) copy_lanes(spare[i][j], count, output + places[i][j] + channel);
      }
    }
  }

  static void copy_lanes(const float* from, std::int64_t count, float* to) {
    for (std::int64_t lane = 0; lane < count; ++lane) to[lane] = from[lane];
  }

  ConvProblem p_;
  FilterMatrix matrix_;
  ScratchPtr scratch_;
  Isa isa_;
  Tiles tiles_;
  std::int64_t threads_;
  std::int64_t block_;
  Panels input_;
  Panels filter_;
  Panels output_;
  std::int64_t slices_;
  Scratch kept_;  // the transformed filter
  bool is_kept_ = false;
  std::uint64_t version_ = 0;  // of the filter in the last run
};

}  // namespace

bool winograd_pays(const ConvProblem& p) {
  constexpr Spatial kOnes{1, 1, 1};
  const bool fits = p.channels_last && p.axes == 2 && p.groups == 1 && !p.is_empty() &&
                    p.kernel == Spatial{1, 3, 3} && p.stride == kOnes && p.dilation == kOnes;
  if (!fits || cpu_isa() == Isa::kBaseline) return false;
  // What a processor calculates while it moves a byte to a near cache or back.
  constexpr double kFlopsOfByte = 4;
  const auto tiles = static_cast<double>(round_up(Tiles(p).count, kTileRows));
  const auto channels = static_cast<double>(round_up(p.channels, kLanes));
  const auto filters = static_cast<double>(round_up(p.filters, kLanes));
  const double matrices = tiles * (channels + filters) + channels * filters;
  const double bytes = 2 * sizeof(float) * kElements * matrices;  // written and read
  return p.flops() > 2 * kElements * tiles * channels * filters + kFlopsOfByte * bytes;
}

WinogradConv prepare_winograd(const ConvProblem& p, const ScratchPtr& scratch, Isa isa) {
  auto forward = std::make_shared<Forward>(p, filter_matrix(p), scratch, isa);
  return [forward](const float* input, const float* filter, std::uint64_t version, float* output,
                   const ConvEpilogue& epilogue) {
    forward->run(input, filter, version, output, epilogue);
  };
}

Prepared2<float> prepare_winograd_input_grad(const ConvProblem& p,
                                             const ScratchPtr& scratch,
                                             Isa isa) {
  auto forward =
      std::make_shared<Forward>(of_input_grad(p), mirrored_filter_matrix(p), scratch, isa);
  return [forward](const float* output_grad, const float* filter, float* input_grad) {
    forward->run(output_grad, filter, 0, input_grad, {});
  };
}

}  // namespace fluidcore::cpu
