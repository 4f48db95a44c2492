#include "fluidcore/kernels/cpu/small_image_conv.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "fluidcore/base/division.h"
#include "fluidcore/base/shared_tasks.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/panel_product.h"

namespace fluidcore::cpu {

namespace {

using namespace panels;

// Of a product of all rows that is finished before the next one: what it reads of the filters stays
// in the first cache.
constexpr std::int64_t kDepthBlock = 256;
constexpr std::int64_t kPanelsTogether = 2;
// Operations that are worth a second thread.
constexpr double kOperations = 3e6;

// Row i of the first matrix is the window of output i: for each tap of the filter, all channels.
class SmallImageConv {
 public:
  SmallImageConv(const ConvProblem& p, ScratchPtr scratch, Isa isa)
      : p_(p),
        scratch_(std::move(scratch)),
        isa_(isa),
        rows_(round_up(p.batch * p.out_plane(), kTileRows)),
        channels_(round_up(p.channels, kLanes)),
        depth_(product(p.kernel) * channels_),
        panels_(divide_up(p.filters, kLanes)),
        blocks_(divide_up(panels_, kPanelsTogether)),
        workers_(p.flops() < kOperations ? 1 : std::min<std::int64_t>(num_threads(), blocks_)) {
    scratch_->reserve(sizeof(float) * static_cast<std::size_t>(workers_ * worker_size()));
  }

  [[gnu::noinline]] void run(const float* input,
                             const float* filter,
                             std::uint64_t version,
                             float* output,
                             const Epilogue& epilogue) {
    if (version == 0 || version_ != version) {
      version_ = 0;  // until they are packed
      pack(filter);
      version_ = version;
    }
    const auto* const filters = reinterpret_cast<const float*>(filters_.data());
    auto* const memory = reinterpret_cast<float*>(scratch_->data());
    parallel_workers(workers_, blocks_, [&](std::int64_t worker, const auto& next_block) {
      float* const windows = memory + worker * worker_size();
      std::optional<std::int64_t> block = next_block();
      if (!block) return;
      with_vectors(isa_, [&](auto bytes) {
        write_windows(input, windows);
        for (; block; block = next_block()) {
          multiply_block<bytes()>(*block * kPanelsTogether, windows, filters, output, epilogue);
        }
      });
    });
  }

 private:
  std::int64_t window_size() const { return rows_ * depth_; }
  std::int64_t worker_size() const { return window_size() + rows_ * kPanelsTogether * kLanes; }
  // From one panel of filters to the next: the gap keeps them from the same set of a cache.
  std::int64_t filter_panel() const { return (depth_ + 1) * kLanes; }

  void pack(const float* filter) {
    filters_.reserve(sizeof(float) * static_cast<std::size_t>(panels_ * filter_panel()));
    auto* const packed = reinterpret_cast<float*>(filters_.data());
    parallel_for(panels_, 1, [&](std::int64_t begin, std::int64_t end) {
      run_on(isa_, [&] {
        for (std::int64_t panel = begin; panel < end; ++panel) {
          pack_panel(filter, panel, packed + panel * filter_panel());
        }
      });
    });
  }

  [[gnu::always_inline]] void pack_panel(const float* filter, std::int64_t panel, float* to) const {
    const std::int64_t taps = product(p_.kernel);
    const std::int64_t count = std::min(kLanes, p_.filters - panel * kLanes);
    const std::int64_t of_filter = p_.channels * taps;
    const float* const from = filter + panel * kLanes * of_filter;
    if (count < kLanes || channels_ > p_.channels) std::fill_n(to, depth_ * kLanes, 0.0F);
    for (std::int64_t channel = 0; channel < p_.channels; ++channel) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        float* const row = to + (tap * channels_ + channel) * kLanes;
        const float* const taken = from + channel * taps + tap;
        for (std::int64_t lane = 0; lane < count; ++lane) row[lane] = taken[lane * of_filter];
      }
    }
  }

  [[gnu::always_inline]] void write_windows(const float* input, float* to) const {
    std::fill_n(to, window_size(), 0.0F);
    for (std::int64_t y = 0; y < p_.kernel[kHeight]; ++y) {
      for (std::int64_t x = 0; x < p_.kernel[kWidth]; ++x, to += channels_ * rows_) {
        write_tap(input, y * p_.dilation[kHeight] - p_.pad[kHeight],
                  x * p_.dilation[kWidth] - p_.pad[kWidth], to);
      }
    }
  }

  // The channels that one tap of the filter reads, (top, left) away from the corner of an output.
  [[gnu::always_inline]] void write_tap(const float* input,
                                        std::int64_t top,
                                        std::int64_t left,
                                        float* to) const {
    float* row = to;
    for (std::int64_t image = 0; image < p_.batch; ++image) {
      for (std::int64_t i = 0; i < p_.out[kHeight]; ++i) {
        for (std::int64_t j = 0; j < p_.out[kWidth]; ++j, row += kLanes) {
          const std::int64_t y = i * p_.stride[kHeight] + top;
          const std::int64_t x = j * p_.stride[kWidth] + left;
          if (y < 0 || y >= p_.in[kHeight] || x < 0 || x >= p_.in[kWidth]) continue;
          const float* from =
              input + ((image * p_.in[kHeight] + y) * p_.in[kWidth] + x) * p_.channels;
          for (std::int64_t c = 0; c < p_.channels; c += kLanes) {
            std::copy_n(from + c, std::min(kLanes, p_.channels - c), row + c * rows_);
          }
        }
      }
    }
  }

  template <int kBytes>
  [[gnu::always_inline]] void multiply_block(std::int64_t panel,
                                             float* windows,
                                             const float* filters,
                                             float* output,
                                             const Epilogue& epilogue) const {
    float* const results = windows + window_size();
    const std::int64_t count = std::min(kPanelsTogether, panels_ - panel);
    for (std::int64_t depth = 0; depth < depth_; depth += kDepthBlock) {
      const PanelProduct block{rows_,          std::min(kDepthBlock, depth_ - depth),
                               count,          rows_ * kLanes,
                               filter_panel(), rows_ * kLanes,
                               depth > 0};
      multiply<kBytes, Along::kDepth>(block, windows + depth * rows_,
                                      filters + panel * filter_panel() + depth * kLanes, results);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      store(results + i * rows_ * kLanes, (panel + i) * kLanes, output, epilogue);
    }
  }

  [[gnu::always_inline]] void store(const float* from,
                                    std::int64_t first,
                                    float* output,
                                    const Epilogue& epilogue) const {
    const std::int64_t count = std::min(kLanes, p_.filters - first);
    for (std::int64_t row = 0; row < p_.batch * p_.out_plane(); ++row, from += kLanes) {
      const std::int64_t at = row * p_.filters + first;
      const Epilogue own = epilogue.from(at, first);
      for (std::int64_t lane = 0; lane < count; ++lane) {
        output[at + lane] = own.finished(from[lane], lane);
      }
    }
  }

  ConvProblem p_;
  ScratchPtr scratch_;
  Isa isa_;
  std::int64_t rows_;      // outputs, and zeros that fill a tile
  std::int64_t channels_;  // and zeros that fill a panel
  std::int64_t depth_;     // of the product
  std::int64_t panels_;    // of filters
  std::int64_t blocks_;    // of panels
  std::int64_t workers_;
  Scratch filters_;
  std::uint64_t version_ = 0;  // of the filter that is there
};

}  // namespace

bool small_image_conv_pays(const ConvProblem& p) {
  const bool fits = p.channels_last && p.axes == 2 && p.groups == 1 && !p.is_empty();
  if (!fits || cpu_isa() == Isa::kBaseline) return false;
  constexpr std::int64_t kShortRow = 8;  // from here on other kernels fill their registers
  constexpr std::int64_t kPixels = 16;   // more are worth a transform of the filters
  const std::int64_t pixels = p.batch * p.out_plane();
  if (p.out[kWidth] >= kShortRow || pixels == 0 || pixels > kPixels) return false;
  constexpr double kPadding = 1.5;  // of the work
  const std::int64_t rows = round_up(pixels, panels::kTileRows);
  const std::int64_t depth = product(p.kernel) * round_up(p.channels, panels::kLanes);
  const std::int64_t filters = round_up(p.filters, panels::kLanes);
  return 2.0 * static_cast<double>(rows * filters) * static_cast<double>(depth) <=
         kPadding * p.flops();
}

FusedKernel prepare_small_image_conv(const ConvProblem& p, const ScratchPtr& scratch, Isa isa) {
  auto conv = std::make_shared<SmallImageConv>(p, scratch, isa);
  return [conv](const float* input, const float* filter, std::uint64_t version, float* output,
                const Epilogue& epilogue) { conv->run(input, filter, version, output, epilogue); };
}

}  // namespace fluidcore::cpu
