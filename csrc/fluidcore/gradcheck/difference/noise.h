#pragma once

#include <cstdint>
#include <vector>

#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::gradcheck {

// The rounding noise of every output, one standard deviation, [m].
struct NoiseLevel {
  std::vector<double> near;  // on the shortest lines that it takes to tell it from f itself
  // On a wide line. It is more where f is in steps there that are wider than the short lines, as a
  // float64 f that calculates in float32: of such an f, what small steps see is a tread.
  std::vector<double> far;

  // What a first measurement takes: what that proves holds however rough f is.
  const std::vector<double>& widest() const { return far.empty() ? near : far; }
  // The larger of both, output by output; empty is 0 everywhere. Throws InvalidArgument for another
  // number of outputs.
  NoiseLevel at_least(const std::vector<double>& least) const;
};

// From sixth divided differences of f along a random line of 14 exactly representable points around
// x. The points are about u^(3/8) of each element apart: near enough that f itself leaves no sixth
// difference, and far enough that the roundings inside of f have nothing in common; but not evenly,
// so that they are in step with no grid that f rounds to. Meant for float32: in 16 bits the line is
// too long.
//
// Where f is steep, the line may lead past a pole of f or out of its domain, or bend. An output
// whose noise would take half of its digits, that is not finite on the line, or that is not level
// there, is therefore measured on another as long, and then on others, each an eighth as long as
// the one before. As long as the output moves there, the least noise counts as the near one. The
// far one is that of the first two lines, or of longer ones where most values are the one before,
// if it is level. Else both are the same.
//
// 0 for an output that is finite on no line, and for all of them when f throws on each. f's
// exceptions at the point itself go through. The inputs are put back always.
//
// Adds the runs of f that it takes to `evaluations`, if there is one.
NoiseLevel measure_noise(Function& function,
                         std::uint64_t seed = 0,
                         std::int64_t* evaluations = nullptr);

// What error bars must allow for besides the rounding of an output itself: three standard
// deviations of its noise, which is no less than the usual one of outputs of its size, and 0 where
// that is no more. Empty in 16 bits, where nothing can be measured, where every output has 0, and
// for `far` where both are the same.
NoiseLevel noise_floor(Function& function,
                       std::uint64_t seed = 0,
                       std::int64_t* evaluations = nullptr);

// The same where nothing moves but these elements of an input, on lines whose points are 2^-14 to
// 2^-4 of each element apart: an f that rounds to few digits inside, or whose other elements hide
// that it does, is in treads that are wider than the lines of measure_noise(). Only noise is the
// same on two lines, one sixteen times as long as the other: at a kink differences grow with the
// distance of the points, and f's own by a power of it.
std::vector<double> noise_of_treads(Function& function,
                                    std::size_t input,
                                    const std::vector<std::int64_t>& elements,
                                    std::uint64_t seed,
                                    std::int64_t& evaluations);

}  // namespace fluidcore::gradcheck
