#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fluidcore/gradcheck/function/gradient.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// At a tie or a kink f has several branches, and code has the gradient A of one of them. From one
// side f has a derivative, and along directions that reach that branch it is ⟨A, d⟩.
struct BranchDirection {
  std::vector<double> direction;  // of few bits
  // Whether it moves all elements. Those stand still by which A is the gradient of no branch that
  // was reached: a mean of several, or wrong.
  bool is_whole = true;
};

// Such a direction for gradients by input number `input`, of which A are those for v at x, close to
// `direction`: with other random numbers, those of `name`, for the elements by which the gradient
// at x + εd, as the code calculates it, is not A. nullopt if none was found, or where the code
// throws. Throws Unrecoverable when the Gradient is interrupted.
std::optional<BranchDirection> branch_direction(Gradient& gradient,
                                                std::size_t input,
                                                const std::vector<Tensor>& v,
                                                const std::vector<double>& a,
                                                std::vector<double> direction,
                                                std::uint64_t seed,
                                                std::string_view name);

}  // namespace fluidcore::gradcheck
