#pragma once

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/verdict/formula.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

// At kinks of many branches points near by need not meet the one whose gradient is claimed. Where
// check_directions() proves that gradient, by all elements of the input, what `found` says of kinks
// in `reference` is replaced by it, with the error that may be hidden in one element; unless that
// may be what differences refute. Whether it is.
bool prove_along_branches(Formula& formula,
                          const Look& look,
                          const Judgement& found,
                          Derivatives& reference);

}  // namespace fluidcore::gradcheck
