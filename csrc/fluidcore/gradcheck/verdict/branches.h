#pragma once

#include <functional>

#include "fluidcore/gradcheck/verdict/evidence.h"
#include "fluidcore/gradcheck/verdict/nearby.h"

namespace fluidcore::gradcheck {

// What derivatives the columns have at the points of a ring.
using LookAround = std::function<Surroundings(const Columns& columns, Ring ring)>;

// Widens [low, high] of the columns by the derivatives that f has near x, in all of three rings and
// more than once: those of other branches that meet at x. Where f may have some that are not met
// like that, columns stay open.
void look_near(Evidence& evidence, const Columns& columns, const LookAround& look_around);

}  // namespace fluidcore::gradcheck
