#pragma once

#include <cstdint>
#include <type_traits>

#include "fluidcore/kernels/cpu/softmax.h"
#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/kernels/prepared.h"
#include "fluidcore/op/decomposition.h"

namespace fluidcore {

// Softmax over rows of `columns` neighbours, by whatever is fastest for T; the input may be the
// output.
template <class T>
Prepared1<T> prepare_softmax(std::int64_t rows, std::int64_t columns) {
  if constexpr (onednn::kEnabled && std::is_same_v<T, float>) {
    if (Prepared1<float> prepared = onednn::prepare_softmax(rows, columns)) return prepared;
  }
  return [=](const T* x, T* out) { cpu::softmax(rows, columns, x, out); };
}

// The sums over the last dimension, which stays with extent 1.
Expr sum_of_row(const Expr& x);

}  // namespace fluidcore
