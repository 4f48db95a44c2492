#pragma once

#include <cstdint>

#include "fluidcore/base/philox.h"

namespace fluidcore::cpu {

struct ClassDraws {
  std::int64_t rows;
  std::int64_t classes;
  std::int64_t samples;  // of each row
};

// out [rows, samples] = numbers of classes, in proportion to weights [rows, classes], which are
// overwritten. `order` is memory for a number for each weight: no class is drawn twice; null: each
// can be drawn again. The result does not depend on the number of threads. Throws InvalidArgument
// for a weight below 0 or not finite and for a row with too few above 0.
void draw_classes(const ClassDraws& shape,
                  const RandomSequence& numbers,
                  double* weights,
                  std::int64_t* order,
                  std::int64_t* out);

}  // namespace fluidcore::cpu
