#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#endif

#include "fluidcore/base/division.h"
#include "fluidcore/base/host_device.h"
#include "fluidcore/kernels/math.h"
#include "fluidcore/tensor/device_context.h"

// How loops get onto a CUDA device. What they do are functions of an index, or of a group of
// threads and an index, that also compile for the host: there one thread does everything, which is
// the emulated device of the tests.

namespace fluidcore::cuda {

// Threads that work together on one thing, a row for instance; each takes every size()th element,
// from rank() on. On the host there is one.
class Group {
 public:
#ifdef __CUDA_ARCH__
  FC_HOST_DEVICE std::int64_t rank() const { return threadIdx.x; }
  FC_HOST_DEVICE std::int64_t size() const { return blockDim.x; }
#else
  FC_HOST_DEVICE std::int64_t rank() const { return 0; }
  FC_HOST_DEVICE std::int64_t size() const { return 1; }
#endif

  // What `combine` makes of the values of all threads, in an order that is always the same; every
  // thread gets it.
  template <class T, class Combine>
  FC_HOST_DEVICE T all(T value, const Combine& combine) const {
#ifdef __CUDA_ARCH__
    __shared__ T of_warps[32];
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    const unsigned warps = blockDim.x / 32;
    value = in_warp(value, combine);
    if (warps == 1) return value;
    __syncthreads();  // nobody reads the last result any more
    if (lane == 0) of_warps[warp] = value;
    __syncthreads();
    value = of_warps[0];
    for (unsigned i = 1; i < warps; ++i) value = combine(value, of_warps[i]);
    return value;
#else
    static_cast<void>(combine);
    return value;
#endif
  }

  template <class T>
  FC_HOST_DEVICE T sum(T value) const {
    return all(value, [](T a, T b) { return a + b; });
  }

  // All threads have written what others read next.
  FC_HOST_DEVICE void meet() const {
#ifdef __CUDA_ARCH__
    __syncthreads();
#endif
  }

 private:
#ifdef __CUDA_ARCH__
  template <class T>
  FC_HOST_DEVICE static T of_lane(T value, unsigned distance) {
    using Word = std::conditional_t<std::is_same_v<T, bool>, int, T>;
    return static_cast<T>(__shfl_xor_sync(0xffffffffu, static_cast<Word>(value), distance));
  }
  // A tree whose two sides are added the same way in every lane: all get the same bits.
  template <class T, class Combine>
  FC_HOST_DEVICE static T in_warp(T value, const Combine& combine) {
    for (unsigned distance = 16; distance > 0; distance /= 2) {
      const T other = of_lane(value, distance);
      value = threadIdx.x & distance ? combine(other, value) : combine(value, other);
    }
    return value;
  }
#endif
};

// A group of one thread.
struct Alone {
  FC_HOST_DEVICE static std::int64_t rank() { return 0; }
  FC_HOST_DEVICE static std::int64_t size() { return 1; }
  template <class T, class Combine>
  FC_HOST_DEVICE static T all(T value, const Combine& /*combine*/) {
    return value;
  }
};

// combine(so_far, load(i)) for the i of [begin, end) that are this thread's, in their order.
// Several loads are on their way at once: memory is far.
template <class T, class Load, class Combine>
FC_HOST_DEVICE T combined(T so_far,
                          std::int64_t begin,
                          std::int64_t end,
                          std::int64_t step,
                          const Load& load,
                          const Combine& combine) {
  constexpr int kAtOnce = 4;
  std::int64_t i = begin;
  for (; i + (kAtOnce - 1) * step < end; i += kAtOnce * step) {
    T loaded[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) loaded[k] = load(i + k * step);
    for (int k = 0; k < kAtOnce; ++k) so_far = combine(so_far, loaded[k]);
  }
  for (; i < end; i += step) so_far = combine(so_far, load(i));
  return so_far;
}

#ifdef __CUDACC__

namespace detail {

inline cudaStream_t stream_of(const DeviceContext& device) {
  return static_cast<cudaStream_t>(device.stream());
}

template <class Index, class Body, class... Args>
__global__ void run_each(Index size, Body body, Args... args) {
  const Index step = static_cast<Index>(gridDim.x) * static_cast<Index>(blockDim.x);
  for (Index i = static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x) +
                 static_cast<Index>(threadIdx.x);
       i < size; i += step) {
    body(i, args...);
  }
}

template <class Body, class... Args>
__global__ void run_loop(std::int64_t size, Body body, Args... args) {
  body(std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x, std::int64_t{gridDim.x} * blockDim.x,
       size, args...);
}

template <class Body, class... Args>
__global__ void run_groups(std::int64_t count, Body body, Args... args) {
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) body(Group(), i, args...);
}

}  // namespace detail

#endif

// body(i, args...) for each i in [0, size), in any order and at the same time; i is an int where
// all fit, which is faster.
template <class Body, class... Args>
void for_each(DeviceContext& device, std::int64_t size, const Body& body, Args... args) {
  if (size <= 0) return;
#ifdef __CUDACC__
  constexpr std::int64_t kThreads = 256;
  constexpr std::int64_t kMostBlocks = std::int64_t{1} << 20;
  const auto blocks = static_cast<unsigned>(std::min(divide_up(size, kThreads), kMostBlocks));
  if (size <= (std::int64_t{1} << 30)) {
    detail::run_each<<<blocks, kThreads, 0, detail::stream_of(device)>>>(static_cast<int>(size),
                                                                         body, args...);
  } else {
    detail::run_each<<<blocks, kThreads, 0, detail::stream_of(device)>>>(size, body, args...);
  }
  device.check_launch();
#else
  device.enqueue([=] {
    if (size <= (std::int64_t{1} << 30)) {
      for (int i = 0; i < static_cast<int>(size); ++i) body(i, args...);
    } else {
      for (std::int64_t i = 0; i < size; ++i) body(i, args...);
    }
  });
#endif
}

// body(first, step, size, args...), once in each of some threads, for the indices first, first +
// step,
// ... below size: where there is something to prepare.
template <class Body, class... Args>
void loop(DeviceContext& device, std::int64_t size, const Body& body, Args... args) {
  if (size <= 0) return;
#ifdef __CUDACC__
  constexpr std::int64_t kThreads = 256;
  constexpr std::int64_t kMostBlocks = 2048;
  const auto blocks = static_cast<unsigned>(std::min(divide_up(size, kThreads), kMostBlocks));
  detail::run_loop<<<blocks, kThreads, 0, detail::stream_of(device)>>>(size, body, args...);
  device.check_launch();
#else
  device.enqueue([=] { body(std::int64_t{0}, std::int64_t{1}, size, args...); });
#endif
}

// body(group, i, args...) for each i in [0, count), by a group for each that has about `work`
// things to do.
template <class Body, class... Args>
void for_each_group(
    DeviceContext& device, std::int64_t count, std::int64_t work, const Body& body, Args... args) {
  if (count <= 0) return;
#ifdef __CUDACC__
  constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;
  unsigned threads = 32;
  while (threads < 512 && threads * 4 < work) threads *= 2;
  detail::run_groups<<<static_cast<unsigned>(std::min(count, kMostBlocks)), threads, 0,
                       detail::stream_of(device)>>>(count, body, args...);
  device.check_launch();
#else
  static_cast<void>(work);
  device.enqueue([=] {
    for (std::int64_t i = 0; i < count; ++i) body(Group(), i, args...);
  });
#endif
}

}  // namespace fluidcore::cuda
