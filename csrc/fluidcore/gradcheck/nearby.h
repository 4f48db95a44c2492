#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "fluidcore/gradcheck/derivatives.h"
#include "fluidcore/gradcheck/function.h"

namespace fluidcore::gradcheck {

struct Hull {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value);
};

// A derivative, by one cotangent, at points near by where f has one and does not stand still: it
// may have absorbed the steps. There are two sorts of points, the ones eight times as far as the
// others.
struct Nearby {
  std::vector<double> far;
  std::vector<double> near;
  double error = 0;  // the longest of their error bars

  Hull far_hull() const;
  Hull near_hull() const;
  // Of those of the nearer points that were found at another one, too, up to `same`: branches are
  // met again, and roundings are not.
  Hull repeated(double same) const;
};

struct Surroundings {
  std::vector<std::vector<Nearby>> columns;  // [columns, cotangents]
  std::vector<int> smooth;                   // at how many points each column has a derivative
  int points = 0;
  std::int64_t runs = 0;  // of f, to see whether a point is in its domain
};

// Calls measure(), which differentiates some columns, at points near by. Elements that are `held`
// move less than the others, so that at some of the points each lies between others that have the
// same value at x, in every rank.
Surroundings look_around(Function& function,
                         std::size_t input,
                         const std::vector<std::int64_t>& held,
                         std::uint64_t seed,
                         const std::function<Derivatives()>& measure);

}  // namespace fluidcore::gradcheck
