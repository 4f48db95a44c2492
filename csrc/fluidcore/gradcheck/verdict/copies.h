#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/verdict/formula.h"

namespace fluidcore::gradcheck {

// Elements that are differentiated by in one run, each in a copy of the point of its own. That is
// what independent rows are differentiated by: the copies do not depend on each other.

// How many of `count` elements by an input go into one run: those on which f takes as long as all
// else in it. 0: f is not run on copies, or takes longer for one than a run takes beside it.
std::int64_t copies_at_once(const Formula& formula, std::size_t input, std::int64_t count);

// The derivatives by some elements of an input, in float64; nullopt where f does not run on copies,
// or has other outputs there: then it is not tried again.
std::optional<Derivatives> differentiate_copies(Formula& formula,
                                                std::size_t input,
                                                const std::vector<std::int64_t>& elements,
                                                const std::vector<double>& noise,
                                                bool once);

}  // namespace fluidcore::gradcheck
