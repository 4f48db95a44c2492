#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/derivatives.h"
#include "fluidcore/gradcheck/judge.h"
#include "fluidcore/gradcheck/operator_gradient.h"

namespace fluidcore::gradcheck {

// The gradient kernels of one dtype against those of float64: is a difference rounding, or a fault?
//
// Both gradients are taken at the same points, close to x, and for the same cotangents. Rounding
// errors differ from one point to the next, so that their mean is small against their spread; a
// fault is the same everywhere.
class KernelTest {
 public:
  // `kernel` and `formula` are one operator in two dtypes, at the same values; `cotangents` are
  // those of `kernel`, one list of outputs each.
  KernelTest(OperatorGradient& kernel,
             OperatorGradient& formula,
             std::vector<std::vector<Tensor>> cotangents,
             std::uint64_t seed);

  // The verdict on the gradient by wanted input `k`. `analytical` is that of the formula, and
  // `reference` what it was compared with.
  Judgement judge(std::size_t k,
                  const std::vector<double>& analytical,
                  const Derivatives& reference,
                  const Rules& rules);

 private:
  // Kernel minus formula, by wanted input: mean and spread over the points, [cotangents, elements].
  struct Bias {
    std::vector<std::vector<double>> mean;
    std::vector<std::vector<double>> spread;
    std::vector<std::vector<double>> formula;  // its mean
  };

  Bias bias(const std::vector<Tensor>& centre, std::size_t round);
  const std::vector<Bias>& around();
  bool is_confirmed(std::size_t k, std::size_t i, double rounding);
  double least_seen(std::size_t k, std::size_t i, double rounding);
  void excuse_lost_digits(std::size_t k,
                          const Derivatives& reference,
                          const Rules& rules,
                          std::vector<std::uint8_t>& doubt,
                          Judgement& found);
  std::vector<Tensor> dithered_inputs(const std::vector<Tensor>& x,
                                      const std::string& purpose,
                                      double amplitude) const;

  OperatorGradient& kernel_;
  OperatorGradient& formula_;
  std::vector<std::vector<Tensor>> cotangents_;
  std::uint64_t seed_;
  DType dtype_;
  std::optional<Bias> at_point_;
  std::vector<Bias> around_;
};

}  // namespace fluidcore::gradcheck
