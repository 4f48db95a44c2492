#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/difference/question.h"
#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::gradcheck {

// Elements of an input, at some of which f has two one-sided derivatives.
struct AtKinks {
  std::size_t input = 0;
  std::vector<std::int64_t> elements;
  std::vector<bool> is_kink;  // of each
  std::vector<double> claimed;
  std::vector<double> allowed;  // by how much each may be off
  std::vector<double> bend;     // the right derivative minus the left one
};

// Whether the claims together may be a generalized gradient of ⟨v, f⟩ (Clarke, Optimization and
// Nonsmooth Analysis, 1983, §2.1): along any direction d of these elements, ⟨claim, d⟩ is at most
// the largest, and at least the smallest derivative along d at points that tend to x. Tried with a
// few d, the first of which moves all elements by the same, those at no kink too, for what is tied
// may stand still when it moves alone; and at points on either side of x where each element is on
// its steeper or its flatter branch, and random ones.
//
// `question` has one cotangent. Adds the evaluations of f to `evaluations`.
//
// Returns what an element may be off by that was not seen, for f bends between these points;
// nullopt where the claims are none.
std::optional<double> subgradient_error(Function& function,
                                        const AtKinks& at,
                                        const Question& question,
                                        double bars,
                                        std::uint64_t seed,
                                        std::int64_t& evaluations);

}  // namespace fluidcore::gradcheck
