#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/function/gradient.h"
#include "fluidcore/gradcheck/verdict/neighbours.h"

namespace fluidcore::gradcheck {

// What of the gradients depends on digits of intermediate results that the dtype under test lacks.
//
// 1 - tanh^2 has few digits where tanh is nearly 1, and none where tanh rounds to 1. There is a
// point near by whose outputs are those of x but for a rounding unit, and whose gradient is another
// one: a kernel cannot tell them apart, and its gradient may be that of either. On the way from one
// to the other it then is off by ever other amounts. A fault stays what it is, or the same part of
// the gradient.
class LostDigits {
 public:
  // Of the gradient by input `k`. The elements in `doubt` are moved, and all others of all inputs,
  // too, unless there are very many.
  LostDigits(const GradientPair& pair, std::size_t k, std::vector<std::int64_t> doubt);

  // [cotangents, size of the input]: by how much the formula changes at the neighbours, all
  // together.
  std::vector<double> uncertain() const;

  // Whether the kernel is off by the same amount, or part, on the way to a neighbour, too: to the
  // one where that seems least so. A kernel that is right all the way, as beyond a kink, has lost
  // no digits. `i` is a position in [cotangents, doubt].
  bool is_steady(std::size_t i);

  std::int64_t evaluations() const { return neighbourhood_.evaluations(); }  // of f, so far

 private:
  // The gradients by the input at a point; NaN where they throw.
  struct Both {
    std::vector<double> formula;
    std::vector<double> kernel;
  };

  Both gradients(const std::optional<Neighbour>& at) const;  // [cotangents, size]; nullopt: at x
  Both in_doubt(const Both& all) const;                      // [cotangents, doubt]
  double drift(const Both& at, std::size_t i) const;
  const std::vector<Both>& way(std::size_t index);

  const GradientPair& pair_;
  std::size_t k_;
  std::vector<std::int64_t> doubt_;
  Neighbourhood neighbourhood_;
  Both here_;
  std::vector<double> squares_;  // of the changes of the formula
  std::vector<Neighbour> neighbours_;
  std::vector<Both> there_;
  std::map<std::size_t, std::vector<Both>> ways_;
};

// Whether all that the kernel is off by has lost its digits before the gradient was calculated.
// `off`, [cotangents, elements], says by how much, and is 0 for what needs no excuse; `elements`
// are those of input `k` that it is of. Of very many the worst are looked at. Adds the evaluations
// of f to `evaluations`.
bool are_rounding(const GradientPair& pair,
                  std::size_t k,
                  const std::vector<std::int64_t>& elements,
                  const std::vector<double>& off,
                  std::int64_t& evaluations);

}  // namespace fluidcore::gradcheck
