#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// A random point near by.
struct NearPoint {
  double part = 0;   // of an element, that it moves at most
  double up = 0.5;   // the probability that an element goes up, not down
  int number = 0;    // of its random numbers
  bool wide = true;  // small elements move by a part of the root mean square of all
};

// While it lives, an input of a Function is another point near by.
class MovedPoint {
 public:
  MovedPoint(Function& function, std::size_t input, const NearPoint& near, std::uint64_t seed);
  // By `offsets`, one for each of `elements`.
  MovedPoint(Function& function,
             std::size_t input,
             const std::vector<std::int64_t>& elements,
             const std::vector<double>& offsets);
  ~MovedPoint();
  MovedPoint(const MovedPoint&) = delete;
  MovedPoint& operator=(const MovedPoint&) = delete;

  // Whether f is finite here.
  bool is_in_domain() const;

  // The part of an element that is near: a ladder of steps is twice as long as it takes to get
  // below that distance.
  static double nearness(DType dtype);

 private:
  Function& function_;
  Tensor input_;
  Tensor original_;
};

}  // namespace fluidcore::gradcheck
