#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fluidcore/base/dtype.h"
#include "fluidcore/gradcheck/difference/noise.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// A gradient is linear in its cotangent, whatever f is.

// -1/64 of a cotangent: no number is rounded by that, nor what is linear in it.
inline constexpr double kExactFactor = -0x1p-6;
Tensor scaled_exactly(const Tensor& cotangent);

// How far sums may be apart that rounding alone tells apart, relative to the largest element.
double rounding_of_sums(DType dtype);

// A gradient by one input, and what linearity makes of others at the same point: factor * first +
// second. Arrays of `size` elements; `second` may be null. Without a cotangent, `factor` is 0:
// there is nothing to be rounded.
struct LinearRelation {
  const double* gradient = nullptr;
  const double* first = nullptr;
  double factor = 1;
  const double* second = nullptr;
  std::int64_t size = 0;
  DType dtype = DType::kFloat64;  // that it was calculated in

  bool is_zero() const { return factor == 0 && second == nullptr; }
  double expected_at(std::int64_t i) const {
    return factor * first[i] + (second == nullptr ? 0 : second[i]);
  }
};

// What else than rounding of the largest element may set the two apart.
struct Slack {
  // The sum of |v y|: a gradient of 0 may be a difference of terms as large as that over |x|.
  double weight = 0;
  double size_of_point = 1;  // root mean square of x
  double spread = 0;         // deviation of runs that should be the same
  double tolerance = 0;      // a relative error that is right
};

// The element that is off the most, of those where both are finite: what overflows is left to
// others. A gradient that is NaN where it should be a number comes first.
struct Deviation {
  std::int64_t element = 0;
  double found = 0;
  double expected = 0;
  double limit = 0;              // of what rounding and slack allow for
  bool is_wrong = false;         // more than that
  bool may_be_rounding = false;  // wrong, if it is no rounding beyond that: see is_fault()
};
std::optional<Deviation> deviation(const LinearRelation& relation, const Slack& slack = {});

// Where terms cancel that are larger than any that are seen, as behind a softmax of equal numbers,
// no limit is large enough for rounding. So what is wrong for one cotangent is measured again for
// copies of it, each number changed by up to a part of itself: as the gradient is linear in them,
// all that is left is rounding, another one for each copy; a fault is the same.
inline constexpr int kCopiesOfCotangent = 8;

// That part for gradient code of a dtype: rounding_dither(), or the root of what f is rounded by,
// relative to its outputs, if it rounds to fewer digits inside. `noise` as of noise_floor().
double copy_dither(DType dtype, const NoiseLevel& noise, const std::vector<double>& outputs);

// Whether that is a fault. `off`: by how much the element is off for each copy.
bool is_fault(std::span<const double> off, double limit);

}  // namespace fluidcore::gradcheck
