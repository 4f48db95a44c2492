#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fluidcore/base/shape.h"

namespace fluidcore::cpu {

// One dimension of two views that are walked together: how many elements, and how far apart they
// are in the one tensor and in the other. Strides count elements; 0: the same one again; negative:
// backwards.
struct StridedAxis {
  std::int64_t extent;
  std::int64_t to;
  std::int64_t from;
};

// Two views of one shape, of different tensors, element beside element. Neighbouring axes that both
// walk as one are one, so that runs are long.
class StridedPair {
 public:
  // Outermost axis first. The views begin `to` and `from` elements into their tensors.
  StridedPair(const std::vector<StridedAxis>& axes, std::int64_t to, std::int64_t from);

  StridedPair reversed() const;  // with `to` and `from` exchanged

  // Those that move in `to`, outermost first, and where the views begin.
  const std::vector<StridedAxis>& axes() const { return axes_; }
  // Those that stay in one place there.
  const std::vector<StridedAxis>& summed() const { return summed_; }
  std::int64_t to() const { return to_; }
  std::int64_t from() const { return from_; }

  // Copies `from` to `to`, elements of 1, 2, 4 or 8 bytes. The tensors must not overlap, and axes
  // of more than one element must not have stride 0 in `to`.
  void copy(void* to, const void* from, std::size_t element_bytes) const;

  // Adds `from` to `to`, where stride 0 adds several elements up: in the same order, whatever the
  // number of threads. For Total float or double, T the same; or Total float, T 16 bits.
  template <class Total, class T>
  void add(Total* to, const T* from) const;

 private:
  template <class Word>
  void copy_words(Word* to, const Word* from) const;

  std::vector<StridedAxis> axes_;    // that move in `to`; outermost first, at least one
  std::vector<StridedAxis> runs_;    // the same for copies: a run and its repetitions are one axis
  std::int64_t period_ = 0;          // after how many elements the last of runs_ repeats; 0: never
  std::vector<StridedAxis> summed_;  // that stay in one place there; likewise
  std::int64_t size_;                // elements along axes_
  std::int64_t count_;               // elements along summed_
  std::int64_t to_;
  std::int64_t from_;
};

// What one dimension of a tensor takes from that of another: index to + i is index from + i * step
// there, for i in [0, count); and all this `repeats` times, each time `period` indices further on,
// from the same indices.
struct Segment {
  std::int64_t to;
  std::int64_t from;
  std::int64_t count;
  std::int64_t step = 1;
  std::int64_t repeats = 1;
  std::int64_t period = 0;
};
using Segments = std::vector<Segment>;

// The part in [begin, end) of `segment` that comes again every `period` indices, forwards and
// backwards; counted from `begin`.
void add_periodic(Segments& segments,
                  const Segment& segment,
                  std::int64_t period,
                  std::int64_t begin,
                  std::int64_t end);

// What a tensor takes from another of the same rank, segments[d] along dimension d.
std::vector<StridedPair> strided_pairs(const Shape& to,
                                       const Shape& from,
                                       const std::vector<Segments>& segments);

}  // namespace fluidcore::cpu
