#pragma once

#include <cstddef>
#include <type_traits>

#include "oneapi/dnnl/dnnl.hpp"

#include "fluidcore/base/float16.h"
#include "fluidcore/kernels/spatial.h"

namespace fluidcore::onednn {

// `first`, then the last `axes` numbers of `spatial`: the dimensions of an image or a filter.
inline dnnl::memory::dims with_axes(dnnl::memory::dims first,
                                    const Spatial& spatial,
                                    std::size_t axes) {
  first.insert(first.end(), spatial.end() - static_cast<std::ptrdiff_t>(axes), spatial.end());
  return first;
}

template <class T>
inline constexpr auto kDataType =
    std::is_same_v<T, BFloat16> ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;

// Whether the processor multiplies T: elsewhere oneDNN would emulate it.
template <class T>
bool is_native() {
  if constexpr (std::is_same_v<T, float>) return true;
  constexpr auto kNeeded = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kNeeded) == kNeeded;
}

// In the order of its dimensions, without gaps.
inline dnnl::memory::desc plain(const dnnl::memory::dims& dims,
                                dnnl::memory::data_type data_type = dnnl::memory::data_type::f32) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {dims, data_type, strides};
}

// An image [N, C, ...] whose channels come last in memory.
inline dnnl::memory::desc channels_last(const dnnl::memory::dims& dims,
                                        dnnl::memory::data_type data_type) {
  dnnl::memory::dims strides(dims.size(), 1);
  strides.back() = dims[1];
  for (std::size_t i = dims.size() - 1; i > 2; --i) strides[i - 1] = strides[i] * dims[i];
  strides[0] = strides[2] * dims[2];
  strides[1] = 1;
  return {dims, data_type, strides};
}

}  // namespace fluidcore::onednn
