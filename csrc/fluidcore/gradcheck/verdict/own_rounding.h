#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/gradcheck/function/gradient.h"
#include "fluidcore/gradcheck/verdict/formula.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

// Terms of a gradient that cancel leave errors that are large beside the sum, and the differences
// of f do not show them. The gradients at x + d for v + e and at x - d for v - e, averaged, are
// that at x for v but for rounding: rounding errors differ from copy to copy, and a bug does not.

// A number that gradients by all inputs make, or several.
using OfGradients = std::function<std::vector<double>(const std::vector<Tensor>& gradients)>;

// The root mean square of what such averages are off `values`, those at x for v. e is
// rounding_dither() of v, unless nobody may choose that. `size`: of the largest d / x. Where it is
// 0, what is seen is rounding for certain, as gradients are linear in v; else it may be a kink.
std::vector<double> own_rounding(Gradient& gradient,
                                 const std::vector<Tensor>& v,
                                 const OfGradients& numbers,
                                 const std::vector<double>& values,
                                 double size,
                                 std::uint64_t seed);

// Leaves what is `wrong` open where it seems so by no more than that, and raises its limit.
// `rounding`: [cotangents, elements].
void excuse_rounding(const std::vector<double>& rounding, Judgement& found);

// The same of elements. Where there is no wider form to compare with, all that rounds may be large:
// d is rounding_dither() of x then, and more where f does not move at all, as rounding may be one
// and the same in a neighbourhood.
void settle_own_rounding(Formula& formula,
                         const Look& look,
                         const Derivatives& reference,
                         Judgement& found);

}  // namespace fluidcore::gradcheck
