#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fluidcore/gradcheck/function/gradient.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// Elements of a flattened input; nullopt: all.
using Elements = std::optional<std::vector<std::int64_t>>;

// What kernel minus formula has in common at points around a centre, and how it differs.
struct Bias {
  static constexpr int kPoints = 9;

  // The kernel is off by the same amount, or by the same part of the gradient: by what leaves less
  // to chance. Where the gradient changes its sign from one point to the next, a fault is a part.
  struct Element {
    double mean = 0;    // by how much it is off; NaN where it was defined at few of the points
    double spread = 0;  // the standard deviation of what is left
    double part = 0;    // by which part of the formula it is off
  };

  std::size_t cotangents = 0;
  std::vector<Elements> kept;                // by input
  std::vector<std::vector<Element>> values;  // by input: [cotangents, kept]

  // Position i of [cotangents, elements], of input `k`. All elements are kept, or these.
  const Element& at(std::size_t k, const std::vector<std::int64_t>& elements, std::size_t i) const;
};

// At kPoints points that differ from the centre, numbers of the kernel's dtype, by up to the root u
// of a rounding unit, and for cotangents that do so, too. `itself`: the centre is one of them, and
// the gradients must be defined there; elsewhere they may throw, or not be finite.
Bias bias_around(const GradientPair& pair,
                 const std::vector<Tensor>& centre,
                 std::string_view purpose,
                 bool itself,
                 std::vector<Elements> kept);

// The point of a pair with each element changed by a part of itself, up to u.
std::vector<Tensor> dithered_point(const GradientPair& pair,
                                   const std::vector<Tensor>& x,
                                   double amplitude,
                                   std::string_view purpose);

}  // namespace fluidcore::gradcheck
