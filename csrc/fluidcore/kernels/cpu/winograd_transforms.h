#pragma once

#include <cstddef>
#include <cstdint>

#include "fluidcore/kernels/cpu/winograd_panels.h"

namespace fluidcore::cpu::winograd {

// The transforms of F(2, 3), Y = A^T [(G g) (B^T d)] for 4 inputs d, 3 taps g and 2 outputs Y, and
// those of its gradients, along one axis.

struct OfInput {  // B^T
  template <class V>
  void operator()(const V (&d)[4], V (&out)[4]) const {
    out[0] = d[0] - d[2];
    out[1] = d[1] + d[2];
    out[2] = d[2] - d[1];
    out[3] = d[1] - d[3];
  }
};
struct ToOutput {  // A^T
  template <class V>
  void operator()(const V (&m)[4], V (&out)[2]) const {
    out[0] = m[0] + m[1] + m[2];
    out[1] = m[1] - m[2] - m[3];
  }
};
struct OfOutputGrad {  // A
  template <class V>
  void operator()(const V (&y)[2], V (&out)[4]) const {
    out[0] = y[0];
    out[1] = y[0] + y[1];
    out[2] = y[0] - y[1];
    out[3] = -y[1];
  }
};
struct OfFilter {  // G
  template <class V>
  void operator()(const V (&g)[3], V (&out)[4]) const {
    const V ends = 0.5F * (g[0] + g[2]);
    const V middle = 0.5F * g[1];
    out[0] = g[0];
    out[1] = ends + middle;
    out[2] = ends - middle;
    out[3] = g[2];
  }
};
struct ToFilterGrad {  // G^T
  template <class V>
  void operator()(const V (&u)[4], V (&out)[3]) const {
    const V half = 0.5F * (u[1] + u[2]);
    out[0] = u[0] + half;
    out[1] = 0.5F * (u[1] - u[2]);
    out[2] = half + u[3];
  }
};

// A transform along both axes.
template <class Transform, class V, std::size_t kIn, std::size_t kOut>
[[gnu::always_inline]] inline void transform(const V (&in)[kIn][kIn], V (&out)[kOut][kOut]) {
  V half[kIn][kOut];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < kIn; ++i) Transform()(in[i], half[i]);
#pragma GCC unroll 4
  for (std::size_t j = 0; j < kOut; ++j) {
    V column[kIn];
    V result[kOut];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kIn; ++i) column[i] = half[i][j];
    Transform()(column, result);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kOut; ++i) out[i][j] = result[i];
  }
}

// Transforms kLanes numbers from each of kIn x kIn places, to places `step` apart.
template <int kBytes, class Transform, std::size_t kIn>
[[gnu::always_inline]] inline void into_panels(const float* const (&in)[kIn][kIn],
                                               float* out,
                                               std::int64_t step) {
  using V = Vector<kBytes>;
#pragma GCC unroll 1
  for (std::int64_t lane = 0; lane < kLanes; lane += kBytes / 4) {
    Register<kBytes> loaded[kIn][kIn];
    Register<kBytes> result[kSide][kSide];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kIn; ++i) {
#pragma GCC unroll 4
      for (std::size_t j = 0; j < kIn; ++j) {
        loaded[i][j] = *reinterpret_cast<const V*>(in[i][j] + lane);
      }
    }
    transform<Transform>(loaded, result);
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < kSide; ++i) {
#pragma GCC unroll 4
      for (std::int64_t j = 0; j < kSide; ++j) {
        *reinterpret_cast<V*>(out + (i * kSide + j) * step + lane) = result[i][j];
      }
    }
  }
}

// The other way: kLanes numbers from places `step` apart, transformed and given to
// store(i, j, lane, vector).
template <int kBytes, class Transform, std::size_t kOut, class Store>
[[gnu::always_inline]] inline void from_panels(const float* in,
                                               std::int64_t step,
                                               const Store& store) {
  using V = Vector<kBytes>;
#pragma GCC unroll 1
  for (std::int64_t lane = 0; lane < kLanes; lane += kBytes / 4) {
    Register<kBytes> loaded[kSide][kSide];
    Register<kBytes> result[kOut][kOut];
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < kSide; ++i) {
#pragma GCC unroll 4
      for (std::int64_t j = 0; j < kSide; ++j) {
        loaded[i][j] = *reinterpret_cast<const V*>(in + (i * kSide + j) * step + lane);
      }
    }
    transform<Transform>(loaded, result);
#pragma GCC unroll 3
    for (std::size_t i = 0; i < kOut; ++i) {
#pragma GCC unroll 3
      for (std::size_t j = 0; j < kOut; ++j) store(i, j, lane, result[i][j]);
    }
  }
}

}  // namespace fluidcore::cpu::winograd
