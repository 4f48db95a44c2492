#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/difference/hull.h"
#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::gradcheck {

// Points that are all about as far from x, the near ones an eighth as far as the others. What is
// found at both is a branch of f at x; what f does between the rings is not.
enum class Ring { kFar, kNear };

// The derivatives of a column by one cotangent at the points of a ring where f has one and does not
// stand still: it may have absorbed the steps.
struct Nearby {
  std::vector<double> values;
  std::vector<double> claimed;  // by the gradient under test at these points; empty: not asked
  double error = 0;             // the longest of their error bars

  Hull hull() const;
};

// What is found at a point.
struct AtPoint {
  Derivatives derivatives;
  std::vector<double> claimed = {};  // as the derivatives; empty: not asked
};

struct Surroundings {
  std::vector<std::vector<Nearby>> columns;  // [columns, cotangents]
  std::vector<int> smooth;                   // at how many points each column has a derivative
  int points = 0;
  std::int64_t runs = 0;  // of f, to see whether a point is in its domain
};

// Calls measure(), of some columns, at the points of a ring.
Surroundings look_around(Function& function,
                         std::size_t input,
                         Ring ring,
                         std::uint64_t seed,
                         const std::function<AtPoint()>& measure);

}  // namespace fluidcore::gradcheck
