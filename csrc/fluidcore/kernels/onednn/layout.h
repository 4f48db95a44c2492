#pragma once

#include <cstddef>

#include "oneapi/dnnl/dnnl.hpp"

#include "fluidcore/kernels/spatial.h"

namespace fluidcore::onednn {

// `first`, then the last `axes` numbers of `spatial`: the dimensions of an image or a filter.
inline dnnl::memory::dims with_axes(dnnl::memory::dims first,
                                    const Spatial& spatial,
                                    std::size_t axes) {
  first.insert(first.end(), spatial.end() - static_cast<std::ptrdiff_t>(axes), spatial.end());
  return first;
}

// float32 in the order of its dimensions, without gaps.
inline dnnl::memory::desc plain(const dnnl::memory::dims& dims) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {dims, dnnl::memory::data_type::f32, strides};
}

}  // namespace fluidcore::onednn
