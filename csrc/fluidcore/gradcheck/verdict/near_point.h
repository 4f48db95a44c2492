#pragma once

#include <cstddef>
#include <cstdint>

#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/gradcheck/verdict/moved_inputs.h"

namespace fluidcore::gradcheck {

// A random point near by.
struct NearPoint {
  double part = 0;  // of an element, that it moves at most; of the root mean square where it is 0
  double up = 0.5;  // the probability that an element goes up, not down
  int number = 0;   // of its random numbers
};

// Leads an input there, from where it is.
Move move_to(const NearPoint& near,
             const Function& function,
             std::size_t input,
             std::uint64_t seed);

// The part of an element that is near: a ladder of steps is twice as long as it takes to get below
// that distance.
double nearness(DType dtype);

// Whether f is finite where its inputs are.
bool is_in_domain(Function& function);

}  // namespace fluidcore::gradcheck
