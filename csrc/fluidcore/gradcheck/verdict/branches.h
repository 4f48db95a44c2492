#pragma once

#include <functional>

#include "fluidcore/gradcheck/verdict/evidence.h"
#include "fluidcore/gradcheck/verdict/nearby.h"

namespace fluidcore::gradcheck {

// What derivatives the columns have at the points of a ring.
using LookAround = std::function<Surroundings(const Columns& columns, Ring ring)>;

// Looks near x at what the differences at x refute. Where f has more branches there than one-sided
// derivatives at x show, gradient code that is right near by is not refuted: what lies between all
// derivatives is right, and columns are open elsewhere.
void look_near(Evidence& evidence, const Columns& columns, const LookAround& look_around);

}  // namespace fluidcore::gradcheck
