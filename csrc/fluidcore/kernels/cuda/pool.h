#pragma once

#include <cstdint>

#include "fluidcore/base/dtype.h"
#include "fluidcore/kernels/cuda/image.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/kernels/pool_problem.h"

namespace fluidcore::cuda {

// Pooling by element; see kernels/cpu/pool.h.

FC_HOST_DEVICE inline ImageLayout input_layout(const PoolProblem& p) {
  return {p.channels_last, p.channels, p.in_plane()};
}
FC_HOST_DEVICE inline ImageLayout output_layout(const PoolProblem& p) {
  return {p.channels_last, p.channels, p.out_plane()};
}

// Numbers from `begin` on, below `end`, along each axis.
struct Box {
  std::int64_t begin[3];
  std::int64_t end[3];

  FC_HOST_DEVICE std::int64_t size() const {
    std::int64_t size = 1;
    for (int axis = 0; axis < 3; ++axis) size *= end[axis] - begin[axis];
    return size;
  }

  // f(position) in a plane of these extents, in their order.
  template <class F>
  FC_HOST_DEVICE void for_each(const Spatial& extents, const F& f) const {
    for (std::int64_t z = begin[kDepth]; z < end[kDepth]; ++z) {
      for (std::int64_t y = begin[kHeight]; y < end[kHeight]; ++y) {
        const std::int64_t line = (z * extents[kHeight] + y) * extents[kWidth];
        for (std::int64_t x = begin[kWidth]; x < end[kWidth]; ++x) f(line + x);
      }
    }
  }
};

// Where the window of output `at` begins along an axis, before the input perhaps, and its end.
FC_HOST_DEVICE inline std::int64_t window_begin(const PoolProblem& p,
                                                std::size_t axis,
                                                std::int64_t at) {
  return p.adaptive ? at * p.in[axis] / p.out[axis] : at * p.stride[axis] - p.pad[axis];
}
FC_HOST_DEVICE inline std::int64_t window_end(const PoolProblem& p,
                                              std::size_t axis,
                                              std::int64_t at) {
  return p.adaptive ? ((at + 1) * p.in[axis] + p.out[axis] - 1) / p.out[axis]
                    : window_begin(p, axis, at) + p.kernel[axis];
}

// What of the input the window of an output covers.
FC_HOST_DEVICE inline Box window_of(const PoolProblem& p, std::int64_t out) {
  Box box = {};
  for (std::size_t axis = 3; axis-- > 0;) {
    const std::int64_t at = out % p.out[axis];
    out /= p.out[axis];
    const std::int64_t begin = window_begin(p, axis, at);
    const std::int64_t end = window_end(p, axis, at);
    box.begin[axis] = begin < 0 ? 0 : begin;
    box.end[axis] = end < p.in[axis] ? end : p.in[axis];
  }
  return box;
}

// The outputs whose windows cover an element of the input.
FC_HOST_DEVICE inline Box windows_over(const PoolProblem& p, std::int64_t in) {
  Box box = {};
  for (std::size_t axis = 3; axis-- > 0;) {
    const std::int64_t at = in % p.in[axis];
    in /= p.in[axis];
    const std::int64_t last = p.out[axis] - 1;
    std::int64_t begin =
        p.adaptive ? at * p.out[axis] / p.in[axis] : (at + p.pad[axis]) / p.stride[axis];
    begin = begin < last ? begin : last;
    std::int64_t end = begin + 1;
    while (end <= last && window_begin(p, axis, end) <= at) ++end;
    while (begin > 0 && window_end(p, axis, begin - 1) > at) --begin;
    if (window_end(p, axis, begin) <= at) end = begin;  // between two windows, or behind the last
    box.begin[axis] = begin;
    box.end[axis] = end;
  }
  return box;
}

// Where in its plane the window of an output has the first NaN or, without one, the first maximum.
template <class T>
FC_HOST_DEVICE std::int64_t first_maximum(const PoolProblem& p,
                                          const ImageElement& out,
                                          const T* x) {
  using C = ComputeType<T>;
  std::int64_t found = -1;
  C best = 0;
  window_of(p, out.position).for_each(p.in, [&](std::int64_t position) {
    const C value = static_cast<C>(x[input_layout(p).at(out.image, out.channel, position)]);
    if (found >= 0 && !(value > best || (value != value && best == best))) return;
    found = position;
    best = value;
  });
  return found;
}

// Where the maximum of each output is.
struct MaximumIndex {
  PoolProblem p;

  template <class Index, class T, class Place>
  FC_HOST_DEVICE void operator()(Index i, const T* x, Place* index) const {
    index[i] = static_cast<Place>(first_maximum(p, output_layout(p).element(i), x));
  }
};

struct PoolElements {
  PoolProblem p;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* x, T* out) const {
    using C = ComputeType<T>;
    const ImageElement to = output_layout(p).element(i);
    const ImageLayout in = input_layout(p);
    if (p.pooling == Pooling::kMax) {
      out[i] = x[in.at(to.image, to.channel, first_maximum(p, to, x))];
      return;
    }
    const Box window = window_of(p, to.position);
    C sum = 0;
    window.for_each(p.in, [&](std::int64_t position) {
      sum += static_cast<C>(x[in.at(to.image, to.channel, position)]);
    });
    out[i] = static_cast<T>(sum / static_cast<C>(window.size()));
  }
};

// An element of X@GRAD. `index`, of a maximum, is what MaximumIndex found.
struct PoolGrad {
  PoolProblem p;

  template <class Index, class T, class Place>
  FC_HOST_DEVICE void operator()(Index i, const T* dout, const Place* index, T* dx) const {
    using C = ComputeType<T>;
    const ImageElement to = input_layout(p).element(i);
    C sum = 0;
    windows_over(p, to.position).for_each(p.out, [&](std::int64_t position) {
      const std::int64_t from = output_layout(p).at(to.image, to.channel, position);
      if (p.pooling == Pooling::kAverage) {
        sum += static_cast<C>(dout[from]) / static_cast<C>(window_of(p, position).size());
      } else if (index[from] == to.position) {
        sum += static_cast<C>(dout[from]);
      }
    });
    dx[i] = static_cast<T>(sum);
  }
};

// What `values`, of the input's shape, have where the index says.
struct PickIndexed {
  ImageLayout in;
  ImageLayout out;

  template <class Index, class T, class Place>
  FC_HOST_DEVICE void operator()(Index i, const T* values, const Place* index, T* picked) const {
    const ImageElement to = out.element(i);
    picked[i] = values[in.at(to.image, to.channel, index[i])];
  }
};

// Adds the elements of a plane of the output, in their order, to those of the input that the index
// names, which need not lie in its window.
struct AddIndexed {
  std::int64_t in_plane;
  std::int64_t out_plane;

  template <class Index, class T, class Place>
  FC_HOST_DEVICE void operator()(Index plane, const T* values, const Place* index, T* sums) const {
    using C = ComputeType<T>;
    const std::int64_t from = plane * out_plane;
    T* const to = sums + plane * in_plane;
    for (std::int64_t i = 0; i < out_plane; ++i) {
      T& sum = to[index[from + i]];
      sum = static_cast<T>(static_cast<C>(sum) + static_cast<C>(values[from + i]));
    }
  }
};

}  // namespace fluidcore::cuda
