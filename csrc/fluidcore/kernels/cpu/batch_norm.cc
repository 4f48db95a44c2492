#include "fluidcore/kernels/cpu/batch_norm.h"

#include <algorithm>
#include <array>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

namespace {

// Channels that are treated together, side by side where they are neighbours in memory.
constexpr std::int64_t kBlock = 64;

struct Block {
  std::int64_t first;
  std::int64_t count;
};

// Calls f(block) for all blocks of channels, compiled for the processor; on several threads.
template <class F>
void for_blocks(const ChannelLayout& layout, const F& f) {
  constexpr std::int64_t kThreadWork = 16384;  // elements
  const Isa isa = cpu_isa();
  const std::int64_t width = layout.inner == 1 ? kBlock : 1;
  const std::int64_t blocks = (layout.channels + width - 1) / width;
  const std::int64_t work = layout.per_channel() * width;
  parallel_for(blocks, kThreadWork / std::max<std::int64_t>(work, 1) + 1,
               [&](std::int64_t begin, std::int64_t end) {
                 run_on(isa, [&] {
                   for (std::int64_t i = begin; i < end; ++i) {
                     f(Block{i * width, std::min(width, layout.channels - i * width)});
                   }
                 });
               });
}

using Sums = std::array<double, kBlock>;

// sums[j] = the sum of f(channel, index of element) over the channels of the block.
template <class F>
void sum(const ChannelLayout& layout, const Block& block, Sums& sums, const F& f) {
  sums.fill(0);
  if (layout.inner == 1) {
    for (std::int64_t outer = 0; outer < layout.outer; ++outer) {
      const std::int64_t start = outer * layout.channels + block.first;
#pragma omp simd
      for (std::int64_t j = 0; j < block.count; ++j) {
        sums[static_cast<std::size_t>(j)] += f(block.first + j, start + j);
      }
    }
    return;
  }
  for (std::int64_t outer = 0; outer < layout.outer; ++outer) {
    const std::int64_t start = (outer * layout.channels + block.first) * layout.inner;
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (std::int64_t i = 0; i < layout.inner; ++i) total += f(block.first, start + i);
    sums[0] += total;
  }
}

// Calls f(channel, index of element) for the channels of the block.
template <class F>
void for_elements(const ChannelLayout& layout, const Block& block, const F& f) {
  for (std::int64_t outer = 0; outer < layout.outer; ++outer) {
    if (layout.inner == 1) {
      const std::int64_t start = outer * layout.channels + block.first;
#pragma omp simd
      for (std::int64_t j = 0; j < block.count; ++j) f(block.first + j, start + j);
    } else {
      const std::int64_t start = (outer * layout.channels + block.first) * layout.inner;
#pragma omp simd
      for (std::int64_t i = 0; i < layout.inner; ++i) f(block.first, start + i);
    }
  }
}

}  // namespace

template <class T>
void channel_moments(const ChannelLayout& layout, const T* x, T* mean, T* variance) {
  const auto count = static_cast<double>(layout.per_channel());
  for_blocks(layout, [=](const Block& block) {
    Sums sums;
    Sums means;
    sum(layout, block, sums,
        [=](std::int64_t, std::int64_t i) { return static_cast<double>(x[i]); });
    for (std::size_t j = 0; j < static_cast<std::size_t>(block.count); ++j)
      means[j] = sums[j] / count;
    const double* center = means.data() - block.first;
    sum(layout, block, sums, [=](std::int64_t channel, std::int64_t i) {
      const double deviation = static_cast<double>(x[i]) - center[channel];
      return deviation * deviation;
    });
    for (std::int64_t j = 0; j < block.count; ++j) {
      mean[block.first + j] = static_cast<T>(means[static_cast<std::size_t>(j)]);
      variance[block.first + j] = static_cast<T>(sums[static_cast<std::size_t>(j)] / count);
    }
  });
}

template <class T>
void normalize(const ChannelLayout& layout,
               const T* x,
               const T* mean,
               const T* inv_std,
               const T* scale,
               const T* bias,
               T* y) {
  for_blocks(layout, [=](const Block& block) {
    for_elements(layout, block, [=](std::int64_t channel, std::int64_t i) {
      y[i] = (x[i] - mean[channel]) * inv_std[channel] * scale[channel] + bias[channel];
    });
  });
}

template <class T>
void batch_norm_sums(const ChannelLayout& layout,
                     const T* x,
                     const T* mean,
                     const T* inv_std,
                     const T* y_grad,
                     T* scale_grad,
                     T* bias_grad) {
  for_blocks(layout, [=](const Block& block) {
    Sums sums;
    sum(layout, block, sums,
        [=](std::int64_t, std::int64_t i) { return static_cast<double>(y_grad[i]); });
    for (std::int64_t j = 0; j < block.count; ++j) {
      bias_grad[block.first + j] = static_cast<T>(sums[static_cast<std::size_t>(j)]);
    }
    sum(layout, block, sums, [=](std::int64_t channel, std::int64_t i) {
      return static_cast<double>(y_grad[i]) * static_cast<double>(x[i] - mean[channel]);
    });
    for (std::int64_t j = 0; j < block.count; ++j) {
      scale_grad[block.first + j] = static_cast<T>(sums[static_cast<std::size_t>(j)] *
                                                   static_cast<double>(inv_std[block.first + j]));
    }
  });
}

template <class T>
void batch_norm_x_grad(const ChannelLayout& layout,
                       bool of_batch,
                       const T* x,
                       const T* mean,
                       const T* inv_std,
                       const T* scale,
                       const T* scale_grad,
                       const T* bias_grad,
                       const T* y_grad,
                       T* x_grad) {
  const T share = of_batch ? T(1) / static_cast<T>(layout.per_channel()) : T(0);
  for_blocks(layout, [=](const Block& block) {
    for_elements(layout, block, [=](std::int64_t channel, std::int64_t i) {
      const T normalized = (x[i] - mean[channel]) * inv_std[channel];
      const T through_statistics = (bias_grad[channel] + normalized * scale_grad[channel]) * share;
      x_grad[i] = scale[channel] * inv_std[channel] * (y_grad[i] - through_statistics);
    });
  });
}

template void channel_moments<float>(const ChannelLayout&, const float*, float*, float*);
template void normalize<float>(const ChannelLayout&,
                               const float*,
                               const float*,
                               const float*,
                               const float*,
                               const float*,
                               float*);
template void batch_norm_sums<float>(
    const ChannelLayout&, const float*, const float*, const float*, const float*, float*, float*);
template void batch_norm_x_grad<float>(const ChannelLayout&,
                                       bool,
                                       const float*,
                                       const float*,
                                       const float*,
                                       const float*,
                                       const float*,
                                       const float*,
                                       const float*,
                                       float*);
template void channel_moments<double>(const ChannelLayout&, const double*, double*, double*);
template void normalize<double>(const ChannelLayout&,
                                const double*,
                                const double*,
                                const double*,
                                const double*,
                                const double*,
                                double*);
template void batch_norm_sums<double>(const ChannelLayout&,
                                      const double*,
                                      const double*,
                                      const double*,
                                      const double*,
                                      double*,
                                      double*);
template void batch_norm_x_grad<double>(const ChannelLayout&,
                                        bool,
                                        const double*,
                                        const double*,
                                        const double*,
                                        const double*,
                                        const double*,
                                        const double*,
                                        const double*,
                                        double*);

}  // namespace fluidcore::cpu
