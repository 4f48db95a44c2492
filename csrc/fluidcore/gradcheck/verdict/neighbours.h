#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fluidcore/base/dtype.h"
#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/gradcheck/function/outputs.h"

namespace fluidcore::gradcheck {

// A point that differs from x in one element of one input.
struct Neighbour {
  std::size_t k = 0;
  std::int64_t element = 0;
  double value = 0;  // of that element, a number of the dtype under test
};

// Finds points whose f is that of x, but for a few rounding units of the dtype under test.
//
// The unit is that of the largest output, or of the terms that cancel out in it: these show where
// the inputs have other signs.
class Neighbourhood {
 public:
  // f is in float64, at numbers of `dtype`.
  Neighbourhood(Function& f, DType dtype, std::uint64_t seed);

  double unit() const { return unit_; }
  std::int64_t evaluations() const { return evaluations_; }  // of f, so far

  // The point where f differs by 1 to 3 units, after a step of one element to one side (1 or -1).
  // Behind a saturated function an element must go far before any intermediate result of the dtype
  // changes at all. There is no such point where f never changes; and none is needed where the root
  // of a rounding unit is enough: there the rounding errors of dithered points are independent.
  std::optional<Neighbour> beside(std::size_t k, std::int64_t element, double sign);

  // Points on the way from x to a neighbour: f changes by about the same from one to the next.
  std::vector<Neighbour> between(const Neighbour& end);

 private:
  double at(std::size_t k, std::int64_t element) const;
  double rounded(double value) const;
  bool run();  // whether f is defined at its inputs as they are
  // By how many units f differs where the element is `value`; inf outside of the domain of f.
  double change(std::size_t k, std::int64_t element, double value);

  Function& f_;
  DType dtype_;
  std::uint64_t seed_;
  Outputs outputs_;
  std::int64_t evaluations_ = 1;
  double unit_ = 0;
};

}  // namespace fluidcore::gradcheck
