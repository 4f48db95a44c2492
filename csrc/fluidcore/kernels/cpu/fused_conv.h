#pragma once

#include <cstdint>
#include <functional>

namespace fluidcore::cpu {

// What is done to each output before it is stored: times the scale and + bias of its filter,
// + residual, of the output's shape, and negative numbers become 0.
struct ConvEpilogue {
  const float* scale = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;
  bool relu = false;
};

// (input, filter, version of the filter, output, epilogue), for images with their channels last.
// What is made of the filter may be kept while the version is the same and not 0.
using FusedConv = std::function<void(const float* input,
                                     const float* filter,
                                     std::uint64_t version,
                                     float* output,
                                     const ConvEpilogue&)>;

}  // namespace fluidcore::cpu
