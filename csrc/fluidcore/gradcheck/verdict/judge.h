#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fluidcore/base/dtype.h"
#include "fluidcore/gradcheck/difference/derivatives.h"

namespace fluidcore::gradcheck {

// Only kPass means that a gradient is right; kInconclusive says nothing about it.
enum class Verdict { kPass, kFail, kInconclusive };

std::string_view to_string(Verdict verdict);  // "PASS"

// What becomes of elements where f has no derivative, only one-sided ones.
enum class OnKink {
  kSubgradient,  // what lies between them is right
  kFail,         // they are wrong
  kSkip,         // they are not counted
};

// When a difference is an error.
struct Rules {
  double bars = 3;           // how many error bars the truth may be off
  double resolution = 1e-5;  // the relative error that a PASS must be able to see
  double allow_open = 0;     // the part of the gradient that need not be proven for a PASS
  OnKink on_kink = OnKink::kSubgradient;
  double tolerance = 0;  // a relative error that is right, as of a solver that stops there

  // The same for gradients that are right to a tolerance: a PASS need not see less than twice that.
  Rules with_tolerance(double part) const;

  // Those of a dtype; `alone` where there is no float64 form to compare with.
  static Rules of(DType dtype, bool alone);
  // Those of the float64 form of gradient code of a dtype.
  static Rules of_formula(DType dtype);
};

// The verdict on each element of a gradient, and what it rests on: arrays of [cotangents, elements]
// numbers, as in Derivatives.
struct Judgement {
  std::vector<double> analytical;  // what is claimed
  std::vector<double> nearest;     // the numerical value that is nearest to it
  std::vector<double> limit;       // the greatest distance that is right
  std::vector<double> resolution;  // the smallest relative error that would have been seen
  std::vector<double> measure;     // what errors are compared with: |G|, or 1 % of the largest
  std::vector<std::uint8_t> wrong;
  std::vector<std::uint8_t> unsure;   // neither proven nor refuted
  std::vector<std::uint8_t> counted;  // [elements]
  std::vector<std::uint8_t> suspect;  // [elements]: if it is open, a measurement has refuted it
  double allow_open = 0;
  // Elements of a kernel that are less precise than its dtype allows, and right nevertheless.
  std::int64_t num_imprecise = 0;
  // Of a kernel: the deviation of its differences from the formula; 0: proven at the point alone.
  std::vector<double> spread = {};

  // kFail if an element is wrong; kPass if all that count are proven, but for the part of the
  // gradient that may stay open; else kInconclusive.
  Verdict verdict() const;
  // [elements]: where more is unsure than may stay open, by all cotangents together, or suspect.
  std::vector<std::uint8_t> open() const;
  // Why what is unsure cannot be judged, the most frequent reason first: "noise", "kink", "jump",
  // "domain", "absorption" or "budget". `flags`: [elements], of the derivatives.
  std::vector<std::string_view> doubts(const std::vector<std::uint8_t>& flags) const;
  // By how many limits a value is off.
  double excess(std::size_t i) const;
  // The element to show: the one that is off by the most limits, of the wrong ones if there are
  // any. There must be one.
  std::size_t worst() const;
  // [elements]: the position of the cotangent by which each is off the most, of the wrong ones if
  // there are any.
  std::vector<std::size_t> worst_of_each() const;
  // Whether nothing is wrong or unsure.
  bool is_proven() const;
};

// `tolerance` is added to the error bars of `reference`; what is not finite among `analytical` is
// neither right nor wrong.
Judgement judge(const Derivatives& reference,
                std::vector<double> analytical,
                const std::vector<double>& tolerance,
                const Rules& rules);

// Elements below this part of the largest are compared with it.
inline constexpr double kSmallElement = 0.01;

// What errors of each element are compared with: |G|, at least 1 % of the largest and of its terms.
std::vector<double> measures(const Derivatives& reference);
// The scale of each element, at least 1 % of the greatest of the same cotangent.
std::vector<double> padded_scale(const Derivatives& reference);

// Below it a formula in float64 is as good as any other.
std::vector<double> formula_tolerance(const Derivatives& reference);
// The rounding of a gradient that has no float64 form to compare with.
std::vector<double> alone_tolerance(const Derivatives& reference, DType dtype);

double smallest_normal(DType dtype);

}  // namespace fluidcore::gradcheck
