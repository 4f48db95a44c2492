#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fluidcore/base/dtype.h"
#include "fluidcore/gradcheck/difference/question.h"
#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::gradcheck {

// NaN is the derivative of nothing. An infinity may stand for a derivative that its dtype cannot
// hold, or for one that has no end, as that of a square root at 0.

// Whether the infinity `claimed`, a number of `dtype`, may stand for a derivative between `low` and
// `high`; false for a NaN.
bool may_be_infinite(double claimed, double low, double high, DType dtype);

// What becomes of the elements of a gradient that are not finite.
struct Infinite {
  struct Wrong {
    std::int64_t element = 0;
    double derivative = 0;  // nearest to what is claimed
    double error = 0;       // its error bar
  };
  std::optional<Wrong> wrong;          // one of those that are known to be
  std::vector<std::uint8_t> infinite;  // [elements]: 1 where nothing can be said
  std::int64_t evaluations = 0;        // of f
};

// `claimed` is the gradient of <v, f> by an input, in the dtype of f, for the one cotangent of
// `question`. Of many infinite elements some are looked at, which stand for all.
//
// Throws as differentiate().
Infinite check_infinite(Function& f,
                        std::size_t input,
                        const std::vector<double>& claimed,
                        const Question& question,
                        double bars);

}  // namespace fluidcore::gradcheck
