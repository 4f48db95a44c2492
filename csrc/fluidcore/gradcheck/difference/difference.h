#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::gradcheck {

struct DifferenceOptions {
  std::optional<std::vector<double>> weights;         // of the m output elements; nullopt: ones
  bool forward = false;                               // else central
  std::optional<std::vector<std::int64_t>> elements;  // of the flattened input; nullopt: all
  std::int64_t workers = 1;                           // threads; they change no result
};

// Plain difference quotients with the step that the caller wants:
//   (y(x + delta) - y(x - delta)) / delta / 2, or forward (y(x + delta) - y(x)) / delta,
// where y is the sum of weights * outputs in float64, added one after the other from the first to
// the last, so that any program can calculate the same bits.
//
// f's exceptions go through. Throws InvalidArgument unless delta is positive, finite and changes
// the elements in their dtype. The inputs are put back always.
std::vector<double> difference(Function& function,
                               std::size_t input,
                               double delta,
                               const DifferenceOptions& options = {});

}  // namespace fluidcore::gradcheck
