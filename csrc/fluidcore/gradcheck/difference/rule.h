#pragma once

#include "fluidcore/base/dtype.h"

namespace fluidcore::gradcheck {

// How the differences of one dtype are taken. The step of level k is 2^(e - first - k), where 2^e
// is the largest power of two below the scale of the element: steps are large and the order is
// high, the more so the fewer digits there are.
struct LadderRule {
  int first = 4;
  int enough = 9;         // levels after which the estimate is not improved further
  int most = 24;          // levels after which what is not smooth is called a kink
  double target = 0;      // relative error at which the estimate is good enough; 0: none
  double unit = 0;        // unit roundoff
  double tiny = 0;        // smallest subnormal
  double resolution = 0;  // relative error of a derivative that can still be judged
  // Whether an output that never moved may have absorbed the step, and is not known to be
  // independent.
  bool absorbs = false;
};

// In float64 a change of f, for a change of x as large as x, may be hidden if it is less than so
// many unit roundoffs of f: the longest step is a 16th of x, and two outputs are rounded.
constexpr double kHidden = 32;

// Throws InvalidArgument unless `dtype` is floating.
LadderRule rule_of(DType dtype);

}  // namespace fluidcore::gradcheck
