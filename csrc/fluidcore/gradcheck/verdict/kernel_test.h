#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/function/gradient.h"
#include "fluidcore/gradcheck/verdict/bias.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

// What a kernel is compared with, by one input: arrays of [cotangents, elements].
struct FormulaGradient {
  std::size_t input = 0;
  std::vector<std::int64_t> elements;  // of the flattened input, that are judged
  std::vector<double> value;           // the gradient of the formula
  std::vector<double> kernel;          // that of the kernel at x; NaN: not known
  const Derivatives& reference;        // what that was compared with, or what is right
  std::vector<std::uint8_t> open =
      {};  // [elements], what of it could not be judged; empty: nothing
};

// The gradient kernels of one dtype against those of float64: is a difference rounding, or a fault?
//
// Both gradients are taken at the same points, close to x, and for the same cotangents. Rounding
// errors differ from one point to the next, so that their mean is small against their spread; a
// fault is the same everywhere.
//
// The functions throw what the gradients throw at x.
class KernelTest {
 public:
  explicit KernelTest(GradientPair pair) : pair_(std::move(pair)) {}

  // The columns that at x are farther off than half of what is always rounding.
  std::vector<std::size_t> unproven(const FormulaGradient& formula) const;

  // Where at x alone no element is farther off than rounding, and all of them are proven. Takes
  // nothing for rounding that judge() would not.
  std::optional<Judgement> judge_at_point(const FormulaGradient& formula, const Rules& rules) const;

  // Looks around x at the elements of which x says too little.
  Judgement judge(const FormulaGradient& formula, const Rules& rules);

  // Whether the kernel's gradient went through a narrower dtype, as in digits.h.
  std::optional<DType> narrowed_to(const FormulaGradient& formula, const Rules& rules);

  const GradientPair& pair() const { return pair_; }
  std::int64_t evaluations() const { return evaluations_; }  // of f, so far

 private:
  const Bias& at_point(std::size_t input, const std::vector<std::int64_t>& elements);
  const std::vector<Bias>& around(std::size_t input, const std::vector<std::int64_t>& elements);
  Judgement compare(const FormulaGradient& formula,
                    std::vector<double> rounding,
                    const Rules& rules);
  std::vector<double> rounding(const Derivatives& reference) const;
  std::vector<Elements> kept(std::size_t input, const std::vector<std::int64_t>& elements) const;
  static void settle(const FormulaGradient& formula, Judgement& found);
  void excuse_lost_digits(const FormulaGradient& formula,
                          const Rules& rules,
                          std::vector<std::uint8_t>& doubt,
                          Judgement& found);

  GradientPair pair_;
  std::int64_t evaluations_ = 0;
  std::optional<Bias> at_point_;
  std::vector<Bias> around_;  // other centres
};

}  // namespace fluidcore::gradcheck
