#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/difference/noise.h"
#include "fluidcore/gradcheck/difference/probes.h"
#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/gradcheck/function/gradient.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

// The gradient A by one input, as code calculates it, beside the directions d that it is looked at
// along: what is compared are the numbers <A(v), d>.
struct DirectionalClaim {
  std::size_t input = 0;
  std::vector<Probe> probes;                   // d and v; d of few bits (round_direction)
  std::vector<std::vector<double>> gradients;  // A(v) of each probe, [elements]
  // The dtype of A where there is no float64 form to compare with; nullopt: A is one.
  std::optional<DType> alone = std::nullopt;
  Gradient* gradient = nullptr;  // A itself; null: nothing is known but its values
};

struct DirectionalOptions {
  NoiseLevel noise = {};     // of f's outputs, as noise_floor() gives it
  std::int64_t workers = 1;  // threads; they change no result
  std::uint64_t seed = 0;    // of the points near by
};

// What the directions show.
struct Directional {
  // An element that is wrong, looked at by itself.
  struct Culprit {
    std::int64_t element = 0;  // of the flattened input
    Derivatives reference;     // one column
    Judgement judgement;
  };

  Derivatives reference;  // a column for each direction
  Judgement judgement;
  // The error of any one element that is found with a probability of 99 %, relative to the root
  // mean square of the gradient of the first probe; infinite where that is 0.
  double min_detectable_99 = 0;
  std::vector<Culprit> culprits;  // of a FAIL, about ten at most
  std::int64_t evaluations = 0;   // of f
};

// For an input with too many elements to look at each: compares <A(v), d> with differences along
// all directions, and again what these do not prove; by how much A is off through its own rounding,
// where it seems wrong; at ties and kinks from one side, along directions that reach the branch of
// f whose gradient A is. In the direction that is off the most, wrong elements are searched by
// halves. Where none is found the judgement stays open, as a kink: of several elements at kinks
// each may have a slope of its own choice, and their sum need not lie between the slopes along a
// direction. When the time of the Function is over, only what was looked at until then is known.
//
// Throws as differentiate_probes().
Directional check_directions(Function& function,
                             const DirectionalClaim& claim,
                             const Rules& rules,
                             const DirectionalOptions& options = {});

// An error of limit / blind_spot(probes) in one element escapes all of so many Gaussian directions
// in 1 % of cases: 0.0125, 0.126, 0.273, 0.407 for 1 to 4.
double blind_spot(std::size_t probes);

}  // namespace fluidcore::gradcheck
