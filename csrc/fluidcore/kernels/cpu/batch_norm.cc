#include "fluidcore/kernels/cpu/batch_norm.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"

namespace fluidcore::cpu {

namespace {

constexpr std::int64_t kTileSize = 4096;  // elements that are worked on in the first cache
constexpr std::int64_t kMostWidth = 512;  // channels

template <class T>
using TileOf = std::array<T, kTileSize>;

// Once for all loops, which would each have a copy.
[[gnu::noinline]] void widen(const Elements& from,
                             std::int64_t begin,
                             std::int64_t size,
                             float* to) {
  if (from.dtype == DType::kBFloat16) {
    convert_row(cpu_isa(), size, to, static_cast<const BFloat16*>(from.data) + begin);
  } else {
    convert_row(cpu_isa(), size, to, static_cast<const Float16*>(from.data) + begin);
  }
}
[[gnu::noinline]] void narrow(const float* from, std::int64_t size, DType dtype, void* to) {
  if (dtype == DType::kBFloat16) {
    convert_row(cpu_isa(), size, static_cast<BFloat16*>(to), from);
  } else {
    convert_row(cpu_isa(), size, static_cast<Float16*>(to), from);
  }
}

// Elements [begin, begin + size) as T, in `tile` if they are not yet.
template <class T>
const T* load(const Elements& elements, std::int64_t begin, std::int64_t size, TileOf<T>& tile) {
  if constexpr (std::is_same_v<T, float>) {
    if (elements.dtype != DType::kFloat32) {
      widen(elements, begin, size, tile.data());
      return tile.data();
    }
  }
  return static_cast<const T*>(elements.data) + begin;
}

// Calculates the elements of `out`, tile by tile: f(at, count, to).
template <class T, class F>
void store(DType dtype, std::int64_t size, void* out, const F& f) {
  alignas(64) TileOf<T> tile;
  for (std::int64_t at = 0; at < size; at += kTileSize) {
    const std::int64_t count = std::min(kTileSize, size - at);
    if constexpr (std::is_same_v<T, float>) {
      if (dtype != DType::kFloat32) {
        f(at, count, tile.data());
        narrow(tile.data(), count, dtype, static_cast<BFloat16*>(out) + at);
        continue;
      }
    }
    f(at, count, static_cast<T*>(out) + at);
  }
}

// sums[column] = the sum of f(column, i) over the elements i of a column of a tile.
template <class F>
void sum_columns(std::int64_t rows, std::int64_t width, double* sums, const F& f) {
  if (width == 1) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (std::int64_t i = 0; i < rows; ++i) total += f(0, i);
    sums[0] = total;
    return;
  }
  std::fill_n(sums, width, 0.0);
  for (std::int64_t row = 0; row < rows; ++row) {
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) sums[j] += f(j, row * width + j);
  }
}

// Calls f(channel, i) for the elements i of [begin, begin + size), counted from `begin`.
template <class F>
void for_elements(const ChannelLayout& layout, std::int64_t begin, std::int64_t size, const F& f) {
  run_on(cpu_isa(), [&] {
    const F own = f;
    for (std::int64_t at = 0; at < size;) {
      if (layout.inner == 1) {
        const std::int64_t channel = (begin + at) % layout.channels;
        const std::int64_t count = std::min(layout.channels - channel, size - at);
#pragma omp simd
        for (std::int64_t j = 0; j < count; ++j) own(channel + j, at + j);
        at += count;
      } else {
        const std::int64_t plane = (begin + at) / layout.inner;
        const std::int64_t channel = plane % layout.channels;
        const std::int64_t count = std::min((plane + 1) * layout.inner - begin, size) - at;
#pragma omp simd
        for (std::int64_t j = 0; j < count; ++j) own(channel, at + j);
        at += count;
      }
    }
  });
}

}  // namespace

template <class T>
ChannelSums<T>::ChannelSums(const ChannelLayout& layout)
    : layout_(layout), width_(layout.inner == 1 ? std::min(layout.channels, kMostWidth) : 1) {
  constexpr std::int64_t kParts = 64;  // for threads to share
  constexpr std::int64_t kLeast = 16384;
  if (layout.size() == 0) return;
  blocks_ = divide_up(layout.channels, width_);
  parts_ = std::min({layout.outer, kParts / blocks_, layout.size() / blocks_ / kLeast});
  parts_ = std::max<std::int64_t>(parts_, 1);
  first_.resize(static_cast<std::size_t>(parts_ * layout.channels));
  second_.resize(first_.size());
}

// Calls f(part, first, second): where the two sums of the part belong.
template <class T>
template <class F>
void ChannelSums<T>::for_parts(const F& f) {
  const std::int64_t count = parts_ * blocks_;
  const std::int64_t work = layout_.size() / std::max<std::int64_t>(count, 1);
  const Isa isa = cpu_isa();
  parallel_for(count, kGrain / std::max<std::int64_t>(work, 1) + 1,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t part = i / blocks_;
                   const std::int64_t channel = i % blocks_ * width_;
                   const std::int64_t at = part * layout_.channels + channel;
                   run_on(isa, [&] {
                     f(Part{channel, std::min(width_, layout_.channels - channel),
                            layout_.outer * part / parts_, layout_.outer * (part + 1) / parts_},
                       first_.data() + at, second_.data() + at);
                   });
                 }
               });
}

// Calls f(begin, rows) for tiles that the elements of the part consist of, one after the other in
// memory: [rows, width].
template <class T>
template <class F>
void ChannelSums<T>::for_tiles(const Part& part, const F& f) const {
  const bool is_whole = part.width == layout_.channels;  // rows follow each other
  if (layout_.inner == 1) {
    const std::int64_t most = is_whole ? std::max<std::int64_t>(kTileSize / part.width, 1) : 1;
    for (std::int64_t outer = part.begin; outer < part.end; outer += most) {
      f(outer * layout_.channels + part.channel, std::min(most, part.end - outer));
    }
    return;
  }
  for (std::int64_t outer = part.begin; outer < part.end; ++outer) {
    const std::int64_t plane = (outer * layout_.channels + part.channel) * layout_.inner;
    for (std::int64_t at = 0; at < layout_.inner; at += kTileSize) {
      f(plane + at, std::min(kTileSize, layout_.inner - at));
    }
  }
}

// The squares around the mean of each tile are added up as Chan, Golub and LeVeque do (Algorithms
// for computing the sample variance, 1983), so memory is read once.
template <class T>
void ChannelSums<T>::moments(const Elements& x, T* mean, T* variance) {
  // (count, mean, squares) and (more, its mean, its squares) -> of both.
  const auto merge = [](std::int64_t count, std::int64_t more, std::int64_t width,
                        const double* more_mean, const double* more_squares, double* into_mean,
                        double* into_squares) {
    const double share = static_cast<double>(more) / static_cast<double>(count + more);
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) {
      const double apart = more_mean[j] - into_mean[j];
      into_mean[j] += apart * share;
      into_squares[j] += more_squares[j] + apart * apart * share * static_cast<double>(count);
    }
  };
  for_parts([&](const Part& part, double* means, double* squares) {
    alignas(64) TileOf<T> tile;
    alignas(64) std::array<double, kMostWidth> tile_mean;
    alignas(64) std::array<double, kMostWidth> tile_squares;
    std::fill_n(means, part.width, 0.0);
    std::fill_n(squares, part.width, 0.0);
    std::int64_t count = 0;
    for_tiles(part, [&](std::int64_t begin, std::int64_t rows) {
      const T* const values = load<T>(x, begin, rows * part.width, tile);
      double* const center = tile_mean.data();
      sum_columns(rows, part.width, center,
                  [=](std::int64_t, std::int64_t i) { return static_cast<double>(values[i]); });
      const double factor = 1.0 / static_cast<double>(rows);
      for (std::int64_t j = 0; j < part.width; ++j) center[j] *= factor;
      sum_columns(rows, part.width, tile_squares.data(), [=](std::int64_t j, std::int64_t i) {
        const double deviation = static_cast<double>(values[i]) - center[j];
        return deviation * deviation;
      });
      merge(count, rows, part.width, center, tile_squares.data(), means, squares);
      count += rows;
    });
  });
  const std::int64_t channels = layout_.channels;
  for (std::int64_t part = 1; part < parts_; ++part) {
    const std::int64_t before = layout_.outer * part / parts_ * layout_.inner;
    const std::int64_t with = layout_.outer * (part + 1) / parts_ * layout_.inner;
    merge(before, with - before, channels, first_.data() + part * channels,
          second_.data() + part * channels, first_.data(), second_.data());
  }
  const auto count = static_cast<double>(layout_.per_channel());
  for (std::int64_t j = 0; j < channels; ++j) {
    mean[j] = static_cast<T>(first_[static_cast<std::size_t>(j)]);
    variance[j] = static_cast<T>(second_[static_cast<std::size_t>(j)] / count);
  }
}

template <class T>
void ChannelSums<T>::gradients(const Elements& x,
                               const T* mean,
                               const T* inv_std,
                               const Elements& y_grad,
                               T* scale_grad,
                               T* bias_grad) {
  for_parts([&](const Part& part, double* plain, double* weighted) {
    alignas(64) TileOf<T> x_tile;
    alignas(64) TileOf<T> grad_tile;
    alignas(64) std::array<double, kMostWidth> sums;
    const T* const center = mean + part.channel;
    std::fill_n(plain, part.width, 0.0);
    std::fill_n(weighted, part.width, 0.0);
    const auto add = [&](double* to) {
      for (std::int64_t j = 0; j < part.width; ++j) to[j] += sums[static_cast<std::size_t>(j)];
    };
    for_tiles(part, [&](std::int64_t begin, std::int64_t rows) {
      const T* const values = load<T>(x, begin, rows * part.width, x_tile);
      const T* const grads = load<T>(y_grad, begin, rows * part.width, grad_tile);
      sum_columns(rows, part.width, sums.data(),
                  [=](std::int64_t, std::int64_t i) { return static_cast<double>(grads[i]); });
      add(plain);
      sum_columns(rows, part.width, sums.data(), [=](std::int64_t j, std::int64_t i) {
        return static_cast<double>(grads[i]) * static_cast<double>(values[i] - center[j]);
      });
      add(weighted);
    });
  });
  const std::int64_t channels = layout_.channels;
  for (std::int64_t j = 0; j < channels; ++j) {
    double plain = 0;
    double weighted = 0;
    for (std::int64_t part = 0; blocks_ > 0 && part < parts_; ++part) {
      plain += first_[static_cast<std::size_t>(part * channels + j)];
      weighted += second_[static_cast<std::size_t>(part * channels + j)];
    }
    bias_grad[j] = static_cast<T>(plain);
    scale_grad[j] = static_cast<T>(weighted * static_cast<double>(inv_std[j]));
  }
}

template <class T>
void normalize(const ChannelLayout& layout,
               std::int64_t begin,
               std::int64_t size,
               const Elements& x,
               const T* mean,
               const T* factor,
               const T* bias,
               void* y) {
  alignas(64) TileOf<T> tile;
  store<T>(x.dtype, size, y, [&](std::int64_t at, std::int64_t count, T* to) {
    const T* const from = load<T>(x, at, count, tile);
    for_elements(layout, begin + at, count, [=](std::int64_t channel, std::int64_t i) {
      to[i] = (from[i] - mean[channel]) * factor[channel] + bias[channel];
    });
  });
}

template <class T>
void batch_norm_x_grad(const ChannelLayout& layout,
                       std::int64_t begin,
                       std::int64_t size,
                       const Elements& x,
                       const Elements& y_grad,
                       const T* mean,
                       const T* factor,
                       const T* slope,
                       const T* offset,
                       void* x_grad) {
  alignas(64) TileOf<T> x_tile;
  alignas(64) TileOf<T> grad_tile;
  store<T>(x.dtype, size, x_grad, [&](std::int64_t at, std::int64_t count, T* to) {
    const T* const values = load<T>(x, at, count, x_tile);
    const T* const grads = load<T>(y_grad, at, count, grad_tile);
    for_elements(layout, begin + at, count, [=](std::int64_t channel, std::int64_t i) {
      to[i] = grads[i] * factor[channel] +
              ((values[i] - mean[channel]) * slope[channel] + offset[channel]);
    });
  });
}

template class ChannelSums<float>;
template class ChannelSums<double>;
template void normalize(const ChannelLayout&,
                        std::int64_t,
                        std::int64_t,
                        const Elements&,
                        const float*,
                        const float*,
                        const float*,
                        void*);
template void normalize(const ChannelLayout&,
                        std::int64_t,
                        std::int64_t,
                        const Elements&,
                        const double*,
                        const double*,
                        const double*,
                        void*);
template void batch_norm_x_grad(const ChannelLayout&,
                                std::int64_t,
                                std::int64_t,
                                const Elements&,
                                const Elements&,
                                const float*,
                                const float*,
                                const float*,
                                const float*,
                                void*);
template void batch_norm_x_grad(const ChannelLayout&,
                                std::int64_t,
                                std::int64_t,
                                const Elements&,
                                const Elements&,
                                const double*,
                                const double*,
                                const double*,
                                const double*,
                                void*);

}  // namespace fluidcore::cpu
