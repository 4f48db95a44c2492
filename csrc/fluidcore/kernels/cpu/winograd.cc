#include "fluidcore/kernels/cpu/winograd.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "fluidcore/base/division.h"
#include "fluidcore/base/shared_tasks.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/winograd_filter.h"
#include "fluidcore/kernels/cpu/winograd_tiles.h"

namespace fluidcore::cpu {

namespace {

using namespace winograd;

// Tiles, and panels of filters, that are transformed and multiplied before the next ones: their
// matrices stay in the second-level cache.
constexpr std::int64_t kTileBlock = 32;
constexpr std::int64_t kPanelBlock = 2;
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

// The products have a row for each tile and a column for each filter. The threads share blocks of
// tiles or of filters, whichever are more; of the others each thread transforms all for itself:
// to fetch them from another core would take longer.
class Forward {
 public:
  Forward(const ConvProblem& p, const FilterMatrix& matrix, ScratchPtr scratch, Isa isa)
      : p_(p),
        matrix_(matrix),
        scratch_(std::move(scratch)),
        isa_(isa),
        tiles_(p),
        cuts_tiles_(tiles_.count >= p.filters),
        threads_(p.flops() < kThreadWork ? 1 : num_threads()),
        tile_block_(cuts_tiles_ ? block_of(tiles_.count, kTileRows, kTileBlock)
                                : round_up(tiles_.count, kTileRows)),
        panel_block_(cuts_tiles_ ? panels() : block_of(panels(), 1, kPanelBlock)),
        blocks_(cuts_tiles_ ? divide_up(tiles_.count, tile_block_)
                            : divide_up(panels(), panel_block_)),
        workers_(std::min(threads_, blocks_)),
        input_(tile_block_, p.channels),
        filter_(round_up(p.channels, kLanes), panel_block_ * kLanes),
        output_(tile_block_, panel_block_ * kLanes) {
    scratch_->reserve(sizeof(float) *
                      static_cast<std::size_t>(zeros_size() + workers_ * worker_size()));
  }

  [[gnu::noinline]] void run(const float* input,
                             const float* filter,
                             std::uint64_t version,
                             float* output,
                             const Epilogue& epilogue) {
    auto* const zeros = reinterpret_cast<float*>(scratch_->data());
    std::fill_n(zeros, zeros_size(), 0.0F);
    const Run run{input, filter, zeros, output, epilogue, prepare_kept(filter, version)};
    parallel_workers(workers_, blocks_, [&](std::int64_t worker, const auto& next_block) {
      float* const matrices = zeros + zeros_size() + worker * worker_size();
      with_vectors(isa_, [&](auto bytes) { run_blocks<bytes()>(run, next_block, matrices); });
    });
  }

 private:
  struct Run {
    const float* input;
    const float* filter;
    const float* zeros;
    float* output;
    const Epilogue& epilogue;
    const float* kept;  // the transformed filter, block by block, or null
  };

  std::int64_t panels() const { return divide_up(p_.filters, kLanes); }
  // As few as `unit`, so that each thread gets a block.
  std::int64_t block_of(std::int64_t count, std::int64_t unit, std::int64_t most) const {
    return std::clamp(round_up(divide_up(count, threads_), unit), unit, most);
  }
  std::int64_t zeros_size() const { return round_up(p_.channels, kLanes); }
  std::int64_t worker_size() const { return input_.size() + filter_.size() + output_.size(); }

  // The transformed filter if this version came before. Else null, and each worker makes its own.
  const float* prepare_kept(const float* filter, std::uint64_t version) {
    const bool again = version != 0 && std::exchange(version_, version) == version;
    if (!again) {
      is_kept_ = false;
      return nullptr;
    }
    const std::int64_t blocks = cuts_tiles_ ? 1 : blocks_;
    kept_.reserve(sizeof(float) * static_cast<std::size_t>(blocks * filter_.size()));
    auto* const kept = reinterpret_cast<float*>(kept_.data());
    if (is_kept_) return kept;
    parallel_for(panels(), 1, [&](std::int64_t begin, std::int64_t end) {
      with_vectors(isa_, [&](auto bytes) {
        for (std::int64_t panel = begin; panel < end; ++panel) {
          float* const to =
              kept + panel / panel_block_ * filter_.size() + panel % panel_block_ * filter_.panel;
          transform_filter<bytes()>(matrix_, filter, panel, panel + 1, filter_, to);
        }
      });
    });
    is_kept_ = true;
    return kept;
  }

  template <int kBytes, class NextBlock>
  [[gnu::always_inline]] void run_blocks(const Run& run,
                                         const NextBlock& next_block,
                                         float* matrices) const {
    float* const a = matrices;
    float* const own = a + input_.size();
    float* const c = own + filter_.size();
    bool is_first = true;
    while (const std::optional<std::int64_t> next = next_block()) {
      const std::int64_t block = *next;
      const std::int64_t tile = cuts_tiles_ ? block * tile_block_ : 0;
      const std::int64_t tiles = std::min(tile_block_, tiles_.count - tile);
      const std::int64_t panel = cuts_tiles_ ? 0 : block * panel_block_;
      const std::int64_t count = std::min(panel_block_, panels() - panel);
      if (cuts_tiles_ || is_first) transform_input<kBytes>(run, tile, tile + tiles, a);
      const float* b = own;
      if (run.kept) {
        b = run.kept + (cuts_tiles_ ? 0 : block * filter_.size());
      } else if (!cuts_tiles_ || is_first) {
        transform_filter<kBytes>(matrix_, run.filter, panel, panel + count, filter_, own);
      }
      const PanelProduct product{round_up(tiles, kTileRows),
                                 round_up(p_.channels, kLanes),
                                 count,
                                 input_.panel,
                                 filter_.panel,
                                 output_.panel,
                                 false};
      for (std::int64_t i = 0; i < kElements; ++i) {
        multiply<kBytes, Along::kDepth>(product, a + i * input_.matrix, b + i * filter_.matrix,
                                        c + i * output_.matrix);
      }
      transform_output<kBytes>(run, tile, tile + tiles, panel, panel + count, c);
      is_first = false;
    }
  }

  template <int kBytes>
  [[gnu::always_inline]] void transform_input(const Run& run,
                                              std::int64_t first,
                                              std::int64_t last,
                                              float* out) const {
    const Image shape = input_of(p_);
    tiles_.for_each(first, last, [&](std::int64_t image, std::int64_t y, std::int64_t x) {
      transform_patch<kBytes, OfInput, 4>(shape, run.input, image, y - p_.pad[kHeight],
                                          x - p_.pad[kWidth], 0, p_.channels, run.zeros, input_,
                                          out);
      out += kLanes;
    });
  }

  template <int kBytes>
  [[gnu::always_inline]] void transform_output(const Run& run,
                                               std::int64_t first,
                                               std::int64_t last,
                                               std::int64_t first_panel,
                                               std::int64_t last_panel,
                                               const float* in) const {
    const Image shape = output_of(p_);
    tiles_.for_each(first, last, [&](std::int64_t image, std::int64_t y, std::int64_t x) {
      std::int64_t places[2][2];
      for (std::int64_t i = 0; i < 2; ++i) {
        for (std::int64_t j = 0; j < 2; ++j) places[i][j] = shape.offset(image, y + i, x + j);
      }
      const float* from = in;
      for (std::int64_t panel = first_panel; panel < last_panel; ++panel, from += output_.panel) {
        store_outputs<kBytes>(from, places, panel * kLanes, run.output, run.epilogue);
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
                                            const Epilogue& epilogue) const {
    using V = Vector<kBytes>;
    const std::int64_t count = std::min(kLanes, p_.filters - channel);
    float spare[2][2][kLanes];
    float residual_tail[2][2][kLanes];
    float tails[2][kLanes] = {};
    float* to[2][2];
    const float* residual[2][2] = {};
    const auto of_filters = [&](const float* numbers, float* tail) {
      if (numbers && count < kLanes) copy_lanes(numbers + channel, count, tail);
      return !numbers ? nullptr : count < kLanes ? tail : numbers + channel;
    };
    const float* const scale = of_filters(epilogue.scale, tails[0]);
    const float* const bias = of_filters(epilogue.bias, tails[1]);
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
          if (scale) value *= *reinterpret_cast<const V*>(scale + lane);
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
  bool cuts_tiles_;  // else the filters
  std::int64_t threads_;
  std::int64_t tile_block_;
  std::int64_t panel_block_;  // of filters
  std::int64_t blocks_;
  std::int64_t workers_;
  Panels input_;  // of a block
  Panels filter_;
  Panels output_;
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

FusedKernel prepare_winograd(const ConvProblem& p, const ScratchPtr& scratch, Isa isa) {
  auto forward = std::make_shared<Forward>(p, filter_matrix(p), scratch, isa);
  return [forward](const float* input, const float* filter, std::uint64_t version, float* output,
                   const Epilogue& epilogue) {
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
