#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fluidcore/base/dtype.h"
#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/difference/question.h"
#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::gradcheck {

// For each input a direction of its size; nullopt: the input stays.
using Directions = std::vector<std::optional<std::vector<double>>>;

// The dtype with the fewest digits of the inputs that have a direction. Throws InvalidArgument
// unless there is a direction or nullopt for each input, finite and of its size, and those that
// move are floating.
DType check_directions(const Function& function, const Directions& directions);

// The derivative of ⟨v, f(x + t d)⟩ by t at 0, all inputs moved together: one element. Steps are
// relative to the smallest ratio of the root mean squares of an input and its direction.
//
// `traces` notes the levels, coarse to fine, at least 12 where the dtype has so many; `workers` are
// threads, which change no result; a side is that where t is of its sign. Otherwise as
// differentiate(), also in what it throws.
Derivatives differentiate_along(Function& function,
                                const Directions& directions,
                                const Question& question,
                                bool traces = false,
                                std::int64_t workers = 1,
                                const Approach& approach = {});

}  // namespace fluidcore::gradcheck
