#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fluidcore/base/dtype.h"
#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/gradcheck.h"
#include "fluidcore/gradcheck/verdict/directional.h"
#include "fluidcore/gradcheck/verdict/infinite.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

// What was found, written into the check of an input.

// The verdict of a judgement; `reason` is that of a FAIL.
void conclude(const Derivatives& reference,
              const Judgement& found,
              const std::string& reason,
              InputCheck& check);
// The worst of the wrong elements, which the search along directions has found.
void name_culprits(const std::vector<Directional::Culprit>& culprits, InputCheck& check);
// FAIL: the gradient, [elements], is not finite.
void refuse_infinite(const std::vector<double>& claimed,
                     const Infinite::Wrong& wrong,
                     InputCheck& check);
// FAIL: the gradient was rounded through a narrower dtype, if it was.
void refuse_narrowed(const std::optional<DType>& narrow, InputCheck& check);
// INCONCLUSIVE: "domain", where f has no derivative at the point, or none that the dtype holds;
// "stochastic", where f is random.
void leave_open(InputCheck& check, std::string reason = "domain");

}  // namespace fluidcore::gradcheck
