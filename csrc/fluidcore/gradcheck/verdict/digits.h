#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "fluidcore/base/dtype.h"
#include "fluidcore/gradcheck/difference/derivatives.h"

namespace fluidcore::gradcheck {

// The dtypes narrower than `dtype` that every element is a number of, those with the fewest digits
// first; none where an element is not finite.
std::vector<DType> narrower_dtypes(const std::vector<double>& claimed, DType dtype);

// Whether a gradient has the digits of its dtype, or went through a narrower one: the dtype that
// every element of `claimed` is a number of, though at least four elements should not be; nullopt
// if there is none, and where an element is not finite.
//
// An element should not be one where the reference is further from the nearest such number than
// `bars` error bars and a few rounding units of `dtype` allow.
//
//   claimed    [cotangents, elements], what gradient code of `dtype` calculated
//   reference  what it is compared with
//   uncertain  by how much elements may be off for want of digits of what they are made from; asked
//              only when there is a suspicion
std::optional<DType> narrowed_to(const std::vector<double>& claimed,
                                 const Derivatives& reference,
                                 DType dtype,
                                 double bars,
                                 const std::function<std::vector<double>()>& uncertain = {});

}  // namespace fluidcore::gradcheck
