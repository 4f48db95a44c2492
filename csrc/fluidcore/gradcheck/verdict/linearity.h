#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fluidcore/base/dtype.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// Whether a gradient is linear in its cotangent, as it is whatever f is: open where it is not, but
// by what looks like rounding, or cannot be told from that.
enum class Linear : std::uint8_t { kYes, kOpen, kNo };

// -1/64 of a cotangent: no number is rounded by that, nor what is linear in it.
inline constexpr double kExactFactor = -0x1p-6;
Tensor scaled_exactly(const Tensor& cotangent);

// How far sums may be apart that rounding alone tells apart, relative to the largest element.
double rounding_of_sums(DType dtype);

// Gradients by all inputs, of which linearity makes found = factor * first + second. Without a
// cotangent `factor` is 0: there is nothing to be rounded.
struct Related {
  using Values = std::vector<std::span<const double>>;  // by input

  Values found;
  Values first;
  double factor = 1;
  Values second = {};                      // empty: none
  std::shared_ptr<const void> owner = {};  // of the numbers, unless another keeps them

  bool is_zero() const { return factor == 0 && second.empty(); }
  double expected_at(std::size_t input, std::size_t i) const {
    return factor * first[input][i] + (second.empty() ? 0 : second[input][i]);
  }
};

// What else than rounding of the largest element may set the two apart.
struct Slack {
  double terms = 0;      // that a gradient of 0 may be a difference of
  double spread = 0;     // deviation of runs that should be the same
  double tolerance = 0;  // a relative error that is right
};

// The element that is off the most, of those where both are finite: what overflows is left to
// others. A gradient that is NaN where it should be a number comes first.
struct Deviation {
  std::size_t element = 0;
  double found = 0;
  double expected = 0;
  double limit = 0;  // of what rounding and slack allow for
  // Whether it is off by no more than that. kOpen: more, but it may be rounding beyond that.
  Linear linear = Linear::kYes;
};
std::optional<Deviation> deviation(const Related& related,
                                   std::size_t input,
                                   DType dtype,
                                   const Slack& slack = {});

// Where terms cancel that are larger than any that are seen, as behind a softmax of equal numbers,
// no limit is large enough for rounding. So what is wrong for one cotangent is measured again for
// copies of it, each number changed by up to a part of itself: as the gradient is linear in them,
// all that is left is rounding, another one for each copy; a fault is the same.
//
// That part is many rounding units of every dtype, for code may round to fewer digits inside.
constexpr double kCopyDither = 0x1p-4;

// Whether that is a fault. `off`: by how much the element is off for each copy.
bool is_fault(std::span<const double> off, double limit);

// How they were calculated.
struct Relation {
  DType dtype = DType::kFloat64;
  std::vector<Slack> slack = {};  // by input, but for the terms
  // The sum of |v y| over the size of an input; asked for where a gradient seems wrong without.
  std::function<double(std::size_t input)> terms{};
  // The cotangents of `first`, and of `second`; and the gradients for others in their place.
  std::function<std::vector<std::vector<Tensor>>()> cotangents{};
  std::function<Related(const std::vector<std::vector<Tensor>>&)> at{};
  std::uint64_t seed = 0;
};

// By input: where the gradients for the cotangents themselves are off the most, if anywhere, and
// whether copies refute that, too.
std::vector<std::optional<Deviation>> check_linear(const Related& related,
                                                   const Relation& relation);

}  // namespace fluidcore::gradcheck
