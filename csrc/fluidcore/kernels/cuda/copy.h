#pragma once

#include <cstddef>
#include <cstdint>

#include "fluidcore/base/error.h"
#include "fluidcore/kernels/cpu/strided.h"
#include "fluidcore/kernels/cuda/launch.h"

namespace fluidcore::cuda {

// to[i] = value
template <class T>
struct SetAll {
  T value;

  template <class Index>
  FC_HOST_DEVICE void operator()(Index i, T* to) const {
    to[i] = value;
  }
};

// Elements of one view beside those of another; neighbouring threads write neighbours.
class StridedCopy {
 public:
  explicit StridedCopy(const cpu::StridedPair& pair)
      : rank_(static_cast<int>(pair.axes().size())), to_(pair.to()), from_(pair.from()) {
    require(pair.axes().size() <= kMostAxes, "copy: on a CUDA device at most ", kMostAxes,
            " dimensions may be moved by themselves, got ", pair.axes().size());
    for (std::size_t d = 0; d < pair.axes().size(); ++d) axes_[d] = pair.axes()[d];
  }

  std::int64_t size() const {
    std::int64_t size = 1;
    for (int d = 0; d < rank_; ++d) size *= axes_[d].extent;
    return size;
  }

  template <class Index, class Word>
  FC_HOST_DEVICE void operator()(Index i, Word* to, const Word* from) const {
    std::int64_t into = to_;
    std::int64_t out_of = from_;
    for (int d = rank_ - 1; d >= 0; --d) {
      const auto extent = static_cast<Index>(axes_[d].extent);
      const Index outer = d == 0 ? Index(0) : i / extent;
      const std::int64_t at = i - outer * extent;
      into += at * axes_[d].to;
      out_of += at * axes_[d].from;
      i = outer;
    }
    to[into] = from[out_of];
  }

 private:
  static constexpr std::size_t kMostAxes = 8;

  int rank_;
  std::int64_t to_;
  std::int64_t from_;
  cpu::StridedAxis axes_[kMostAxes] = {};
};

// As cpu::StridedPair::copy().
inline void copy_strided(DeviceContext& device,
                         const StridedCopy& copy,
                         void* to,
                         const void* from,
                         std::size_t element_bytes) {
  const auto run = [&](auto word) {
    using Word = decltype(word);
    for_each(device, copy.size(), copy, static_cast<Word*>(to), static_cast<const Word*>(from));
  };
  switch (element_bytes) {
    case 1: return run(std::uint8_t{});
    case 2: return run(std::uint16_t{});
    case 4: return run(std::uint32_t{});
    default: return run(std::uint64_t{});
  }
}

}  // namespace fluidcore::cuda
