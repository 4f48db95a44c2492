#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/judge.h"
#include "fluidcore/gradcheck/neighbours.h"
#include "fluidcore/gradcheck/operator_gradient.h"

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
  // `kernel` and `formula` are one operator in two dtypes, at the same values; `cotangents` are
  // those of `kernel`. `elements` are those of wanted input `k` that are in doubt; they are moved,
  // and all others, too, unless there are very many.
  LostDigits(OperatorGradient& kernel,
             OperatorGradient& formula,
             const std::vector<std::vector<Tensor>>& cotangents,
             std::uint64_t seed,
             std::size_t k,
             const std::vector<std::int64_t>& elements);

  // [cotangents, elements]: by how much the formula changes at the neighbours, all together.
  std::vector<double> uncertain() const;

  // Whether the kernel is off by the same amount, or part, on the way to a neighbour, too: to the
  // one where that seems least so. A kernel that is right all the way, as beyond a kink, has lost
  // no digits. `i` is a position in [cotangents, elements].
  bool is_steady(std::size_t i);

 private:
  // The gradients by input k at a point, [cotangents, elements].
  struct Both {
    std::vector<double> formula;
    std::vector<double> kernel;
  };

  Both gradients(const std::optional<Neighbour>& at);  // nullopt: at x
  double drift(const Both& at, std::size_t i) const;
  const std::vector<Both>& way(std::size_t index);

  OperatorGradient& kernel_;
  OperatorGradient& formula_;
  const std::vector<std::vector<Tensor>>& cotangents_;
  std::size_t k_;
  Neighbourhood neighbourhood_;
  Both here_;
  std::vector<Neighbour> neighbours_;
  std::vector<Both> there_;
  std::map<std::size_t, std::vector<Both>> ways_;
};

// By how much an element of a kernel is off, or, if it is unsure, may be off.
double may_be_off(const Judgement& found, std::size_t i);

// Whether all elements of wanted input `k` that seem `wrong`, or are unsure, [cotangents,
// elements], have lost their digits before the gradient was calculated. Of very many the worst are
// looked at.
bool are_rounding(OperatorGradient& kernel,
                  OperatorGradient& formula,
                  const std::vector<std::vector<Tensor>>& cotangents,
                  std::uint64_t seed,
                  std::size_t k,
                  const Judgement& found,
                  const std::vector<std::uint8_t>& wrong);

}  // namespace fluidcore::gradcheck
