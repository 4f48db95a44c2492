#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/verdict/formula.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

// What is claimed of the gradient by one input; arrays of [cotangents, elements].
struct ElementClaim {
  std::vector<double> value;
  // What the gradient varies by from run to run: one standard deviation; empty: it does not.
  std::vector<double> deviation = {};
  // [elements]: 1 where it is too large for its dtype, and nothing can be said; empty: nowhere.
  std::vector<std::uint8_t> overflows = {};
  // Of the code that calculated it, where nothing else is known of that: it may have been made of
  // differences, or in a narrower dtype than f is differentiated in.
  std::optional<DType> made_in = std::nullopt;
};

// The verdict on each element, and what it rests on.
struct ElementCheck {
  Derivatives reference;
  Judgement judgement;
  // Where the gradient is 0 as far as f tells: what it is judged by, as of settle_zero().
  std::optional<std::vector<double>> heights = std::nullopt;
  std::optional<Derivatives> along = std::nullopt;  // as in Numerical

  // Whether a kernel can be compared with the differences: they do not refute the formula, and can
  // tell it from 0. Else trusted() is the formula itself.
  bool trusts_reference() const;
  Derivatives trusted() const;
};

// Derivatives that need no error bars, [cotangents, elements], and the scale of their terms.
Derivatives exact(std::vector<double> value, std::vector<double> scale, std::int64_t elements);

// Judges a gradient element by element: a first measurement, a second one of what that does not
// prove, and what rounding, cancellation and absorption may hide.
//
// nullopt where rows depend on each other that promise not to. Throws as differentiate().
std::optional<ElementCheck> check_elements(Formula& formula,
                                           const Look& look,
                                           const ElementClaim& claim);

}  // namespace fluidcore::gradcheck
