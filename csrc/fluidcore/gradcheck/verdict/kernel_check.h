#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/verdict/element_check.h"
#include "fluidcore/gradcheck/verdict/judge.h"
#include "fluidcore/gradcheck/verdict/kernel_test.h"

namespace fluidcore::gradcheck {

// The gradients by one input at the point, finite; arrays of [cotangents, elements].
struct KernelClaim {
  std::size_t input = 0;
  std::vector<std::int64_t> elements = {};  // of the flattened input
  std::vector<double> formula = {};
  std::vector<double> kernel = {};
};

// The verdict on each element of a kernel's gradient.
struct KernelCheck {
  Judgement judgement;
  // What it was compared with; nullopt: with the differences that the formula was judged by.
  std::optional<Derivatives> exact;
  std::optional<DType> narrowed_to;  // as KernelTest::narrowed_to

  // The error of one element that is found in 99 % of cases, relative to its measure.
  double detectable() const;
};

// Judges a kernel at the point, and around it what that does not prove.
//
// `formula` is what is known of the formula's elements. Null: it was looked at along directions,
// and is what the kernel is compared with; the terms of its elements are then as large as those
// gradients are that cotangents with random signs leave.
KernelCheck check_kernel(KernelTest& test,
                         const KernelClaim& claim,
                         const ElementCheck* formula,
                         const Rules& rules);

// Of a kernel that is proven.
struct ProvenKernel {
  double resolution = 0;
  double detectable = 0;
};

// The gradients by all elements of one input at the point, finite, for one cotangent.
struct WholeClaim {
  std::size_t input = 0;
  std::span<const double> formula;
  std::span<const double> kernel;
};

// The same of a whole input, without a judgement of each element: nullopt where not all are proven.
// The gradient at the point proves one block of elements after the other; the few that it does not
// prove are looked at around the point, together. The largest element, which others are compared
// with, is that of its block, and no larger: whatever is proven is proven.
std::optional<ProvenKernel> prove_kernel(KernelTest& test,
                                         const WholeClaim& claim,
                                         const Rules& rules);

}  // namespace fluidcore::gradcheck
