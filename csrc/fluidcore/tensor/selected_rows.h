#pragma once

#include <cstddef>
#include <cstdint>

#include "fluidcore/base/shape.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

// How selected rows lie in memory: their values, [rows, ...], then the numbers of rows.
//
// Who writes them keeps to this: every number is -1 or that of a row of the tensor, and the values
// of a row whose number is -1 are 0.

// How many rows are held; known, as wherever there is memory.
inline std::int64_t num_selected(const TensorSpec& spec) {
  return spec.rows.value_or(0);
}

// Where the numbers begin, in bytes.
std::size_t offset_of_rows(const TensorSpec& spec);

inline const std::int64_t* row_numbers(const TensorSpec& spec, const void* data) {
  return reinterpret_cast<const std::int64_t*>(static_cast<const std::byte*>(data) +
                                               offset_of_rows(spec));
}
inline std::int64_t* row_numbers(const TensorSpec& spec, void* data) {
  return reinterpret_cast<std::int64_t*>(static_cast<std::byte*>(data) + offset_of_rows(spec));
}

// The elements of one row.
std::int64_t row_width(const TensorSpec& spec);

// The tensor that selected rows stand for, in memory of its own; a tensor as it is.
Tensor to_dense(const Tensor& tensor);

// Selected rows without those whose number is -1, in memory of their own.
Tensor without_unused_rows(const Tensor& selected);

}  // namespace fluidcore
