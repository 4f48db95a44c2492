#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/verdict/formula.h"

namespace fluidcore::gradcheck {

// What f does at large steps of all elements of an input along a random direction. It tells whether
// f depends on the input at all, though every small step seems to change it: a bias in front of a
// batch normalization has the derivative 0, and what steps see is rounding, which grows as they
// shrink, and so looks like a kink or a jump.
struct FarAway {
  std::vector<double> direction;  // [elements], without unit
  // How steep the first move is that stands out of the rounding, for each cotangent; nullopt: there
  // is none, and f does not depend on the input, as far as one can see.
  std::optional<std::vector<double>> slopes;
  double still = 0;  // the largest step, in sizes of x, until which not a bit of f has moved
  // How steep f is at most between here and the first of these points, for each cotangent.
  std::vector<double> steepness;

  // Whether f has a slope that derivatives which are known to `limit`, [cotangents, elements], may
  // hide. `elements` are those of the columns.
  bool is_hidden_by(const std::vector<double>& limit,
                    const std::vector<std::int64_t>& elements) const;
};

// Looks at f where steps are so large that it cannot absorb them.
//
// f is evaluated at evenly spaced points along the direction, further and further apart: a smooth
// move that stands out of the rounding is a dependence. What does not depend on x moves by rounding
// only, without order from one point to the next, however large x becomes (von Neumann, Ann. Math.
// Stat. 12 (1941) 367). If not a bit of f has moved so far, the steps grow until x is larger than
// f. Where f is not finite, or throws, nothing is seen.
FarAway far_away(Formula& formula, std::size_t input);

// How steep f can be by one element of the input, for each cotangent, as large steps of all of them
// along `direction` show: where f is as good as constant along a random direction that moves all
// elements, it is so along each.
std::vector<double> largest_slopes(Formula& formula,
                                   std::size_t input,
                                   const std::vector<double>& direction);

}  // namespace fluidcore::gradcheck
