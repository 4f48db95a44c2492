#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/difference/probes.h"
#include "fluidcore/gradcheck/difference/question.h"
#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/gradcheck/function/gradient.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

// What is claimed of the derivatives by input number `input`, all as long as the arrays of the
// reference.
struct Claim {
  std::size_t input = 0;
  std::vector<double> value;
  std::vector<double> tolerance;  // added to the error bars
};

struct ConfirmOptions {
  std::int64_t workers = 1;  // threads; they change no result
  std::uint64_t seed = 0;    // of the points near by
  // Of f's outputs on a wide line; empty: not known.
  std::vector<double> far_noise;
  bool looks_near = true;  // at points near by, too: else a few of what is refuted may be right
  Gradient* gradient = nullptr;  // under test; nullptr: nothing is known but what is claimed
};

// A second measurement of every element that `reference`, the first, does not prove: so that only
// what two measurements refute is called wrong, and only what was looked at is called right.
//
// The columns of `reference` become what both say:
//   - central differences with other steps. Where both measurements were smooth, and have found
//     different numbers, f is faster than the steps, and nothing is known: error inf, kKink.
//   - one-sided derivatives with other steps again, from both sides. [low, high] holds them.
//   - where the claim is still refuted, derivatives at points near by. At a tie of three, as in a
//     median, the branch that was chosen lies in no one-sided difference at x.
//   - where it is refuted even so, and the steps reach across 0, central differences with steps
//     that are small beside the element itself; then with the noise of treads that are wider than
//     all of these steps. What they do not refute is open.
//   - elements at kinks together: a derivative along a direction d of all of them lies between
//     those of the branches that meet at x, or the claim is the gradient of none of these (1 for
//     every tied element of a maximum), and they stay open.
//
// The worst are looked at first, and few more once some of them are refuted: what was not looked at
// keeps its first measurement. What the first refutes is never proven by longer error bars alone:
// it is open. `elements` are those of the columns, in the flattened input; where `rows` is not 0,
// as in DifferentiateOptions, they are all. Returns the evaluations of f; throws as
// differentiate().
std::int64_t confirm(Function& function,
                     const Claim& claim,
                     const std::vector<std::int64_t>& elements,
                     std::int64_t rows,
                     const Question& question,
                     const Rules& rules,
                     const ConfirmOptions& options,
                     Derivatives& reference);

// The same for derivatives along directions, a column of the reference for each probe; one that is
// refuted is enough, for elements are searched for in it, and the others are not looked at. Across
// several kinks nothing is proven by a derivative that lies between two, and a right gradient may
// be refuted: no element need be wrong.
std::int64_t confirm_probes(Function& function,
                            const Claim& claim,
                            const std::vector<Probe>& probes,
                            const std::vector<double>& noise,
                            const Rules& rules,
                            const ConfirmOptions& options,
                            Derivatives& reference);

}  // namespace fluidcore::gradcheck
