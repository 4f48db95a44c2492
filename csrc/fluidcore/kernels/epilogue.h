#pragma once

#include <cstdint>
#include <functional>

namespace fluidcore {

// What is done to each output before it is stored: times the scale and + bias of its column (of a
// convolution: its filter), + residual, of the output's shape, and negative numbers become 0.
struct Epilogue {
  const float* scale = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;
  bool relu = false;

  // That of the outputs from one on: number `output` of all, in this column.
  Epilogue from(std::int64_t output, std::int64_t column) const {
    const auto moved = [](const float* numbers, std::int64_t offset) {
      return numbers == nullptr ? nullptr : numbers + offset;
    };
    return {moved(scale, column), moved(bias, column), moved(residual, output), relu};
  }

  // What becomes of a sum in column j of a row.
  [[gnu::always_inline]] float finished(float sum, std::int64_t j) const {
    if (scale != nullptr) sum *= scale[j];
    if (bias != nullptr) sum += bias[j];
    if (residual != nullptr) sum += residual[j];
    return relu && sum < 0 ? 0 : sum;
  }
};

// (input, weights, version of the weights, output, epilogue), for rows of outputs: images have
// their channels last. What is made of the weights may be kept while the version is the same and
// not 0.
using FusedKernel = std::function<void(const float* input,
                                       const float* weights,
                                       std::uint64_t version,
                                       float* output,
                                       const Epilogue&)>;

// Which parts of an Epilogue there are, where a kernel must know it before.
struct EpilogueParts {
  bool scale = false;
  bool bias = false;
  bool residual = false;
  bool relu = false;
};

}  // namespace fluidcore
