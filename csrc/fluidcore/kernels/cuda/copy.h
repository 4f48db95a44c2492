#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/kernels/cpu/strided.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/kernels/cuda/words.h"

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

// Axes of two views that are walked together; where element i of them is in each.
class StridedAxes {
 public:
  struct Offsets {
    std::int64_t to;
    std::int64_t from;
  };

  explicit StridedAxes(const std::vector<cpu::StridedAxis>& axes)
      : rank_(static_cast<int>(axes.size())) {
    require(axes.size() <= kMostAxes, "copy: on a CUDA device at most ", kMostAxes,
            " dimensions may be moved by themselves, got ", axes.size());
    for (std::size_t d = 0; d < axes.size(); ++d) axes_[d] = axes[d];
  }

  FC_HOST_DEVICE std::int64_t size() const {
    std::int64_t size = 1;
    for (int d = 0; d < rank_; ++d) size *= axes_[d].extent;
    return size;
  }

  template <class Index>
  FC_HOST_DEVICE Offsets operator()(Index i) const {
    Offsets offsets = {0, 0};
    for (int d = rank_ - 1; d >= 0; --d) {
      const auto extent = static_cast<Index>(axes_[d].extent);
      const Index outer = d == 0 ? Index(0) : i / extent;
      const std::int64_t at = i - outer * extent;
      offsets.to += at * axes_[d].to;
      offsets.from += at * axes_[d].from;
      i = outer;
    }
    return offsets;
  }

 private:
  static constexpr std::size_t kMostAxes = 8;

  int rank_;
  cpu::StridedAxis axes_[kMostAxes] = {};
};

// Elements of one view beside those of another; neighbouring threads write neighbours.
class StridedCopy {
 public:
  explicit StridedCopy(const cpu::StridedPair& pair)
      : axes_(pair.axes()), to_(pair.to()), from_(pair.from()) {}

  std::int64_t size() const { return axes_.size(); }

  template <class Index, class Word>
  FC_HOST_DEVICE void operator()(Index i, Word* to, const Word* from) const {
    const StridedAxes::Offsets at = axes_(i);
    to[to_ + at.to] = from[from_ + at.from];
  }

 private:
  StridedAxes axes_;
  std::int64_t to_;
  std::int64_t from_;
};

// As cpu::StridedPair::add().
class StridedAdd {
 public:
  explicit StridedAdd(const cpu::StridedPair& pair)
      : axes_(pair.axes()), summed_(pair.summed()), to_(pair.to()), from_(pair.from()) {}

  std::int64_t size() const { return axes_.size(); }

  template <class Index, class Total, class T>
  FC_HOST_DEVICE void operator()(Index i, Total* to, const T* from) const {
    const StridedAxes::Offsets at = axes_(i);
    Total total = to[to_ + at.to];
    for (std::int64_t k = 0; k < summed_.size(); ++k) {
      total += static_cast<Total>(from[from_ + at.from + summed_(k).from]);
    }
    to[to_ + at.to] = total;
  }

 private:
  StridedAxes axes_;
  StridedAxes summed_;
  std::int64_t to_;
  std::int64_t from_;
};

// As cpu::StridedPair::copy().
inline void copy_strided(DeviceContext& device,
                         const StridedCopy& copy,
                         void* to,
                         const void* from,
                         std::size_t element_bytes) {
  visit_word(element_bytes, [&](auto word) {
    using Word = decltype(word);
    for_each(device, copy.size(), copy, static_cast<Word*>(to), static_cast<const Word*>(from));
  });
}

}  // namespace fluidcore::cuda
