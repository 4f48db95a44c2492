#pragma once

#include "fluidcore/op/decomposition.h"

namespace fluidcore {

// The sums over the last dimension, which stays with extent 1.
Expr sum_of_row(const Expr& x);

}  // namespace fluidcore
