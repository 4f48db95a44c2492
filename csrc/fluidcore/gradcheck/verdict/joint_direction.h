#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/gradcheck/verdict/judge.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// The gradients A of ⟨v, f⟩ by some inputs, as code calculates them.
struct JointClaim {
  std::vector<std::size_t> inputs;  // of the Function
  std::vector<Tensor> gradients;    // by each of these, finite, float64, of its size
  // Of these the ones that may be looked at element by element: they are proven only where an error
  // of any one element would have been reported that such a look reports.
  std::set<std::size_t> by_element = {};
  std::vector<double> cotangent;  // v, [outputs]
};

struct JointOptions {
  std::size_t probes = 4;  // directions by which what is not proven would be looked at alone
  std::uint64_t seed = 0;  // of the directions
  bool levels = false;     // whether steps are wanted even where one is enough
};

// What one direction d says of the gradient by one input k.
struct Proof {
  double analytical = 0;  // ⟨A, d⟩ of the input
  double numerical = 0;   // the same by differences, if the other inputs are right
  double error = 0;       // its error bar
  double resolution = 0;  // the relative error of ⟨A, d⟩ that would have been reported
  // The error of any one element that would have been reported, relative to the root mean square
  // of the gradient.
  double min_detectable_99 = 0;
  double claimed = 0;               // ⟨A, d⟩ of all inputs that moved
  std::vector<TracedLevel> levels;  // along the direction of all
};

struct Proofs {
  std::map<std::size_t, Proof> of;  // by the input
  std::int64_t evaluations = 0;     // of f
};

// The inputs whose gradients are right, as directions of several of them at once show. An error in
// the gradient by input k shows as ⟨error, d_k⟩ in the one number that is compared, so the limit of
// that number is that of every input, over the length of d_k. What a direction of all cannot
// resolve is looked at once more, without the others; where it disagrees, its halves are. What is
// not proven that way is left to a look at each input by itself.
//
// f is of float64, repeats itself and may have kinks: where one lies at the point, nothing is
// proven but what is right there, too. When the time of the Function is over, only what was proven
// until then is known. Throws InvalidArgument where claim and function do not fit, and as
// slope_along().
Proofs prove_jointly(Function& function,
                     const JointClaim& claim,
                     const Rules& rules,
                     const JointOptions& options = {});

}  // namespace fluidcore::gradcheck
