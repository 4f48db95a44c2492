#pragma once

#include "fluidcore/base/dtype.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// The functions of a dtype throw InvalidArgument unless it is floating.

// Half the distance from 1 to the next larger number: 2^-53, 2^-24, 2^-11 (float16), 2^-8.
double unit_roundoff(DType dtype);
double smallest_subnormal(DType dtype);

// By which part of itself a number is changed to have another rounding error: many rounding units,
// but so little in float64 that what was rounded to a narrower dtype on the way stays what it was.
double rounding_dither(DType dtype);

double largest(DType dtype);

// `value` rounded once, to nearest, ties to even: not by way of float, as a conversion to a 16-bit
// dtype in steps would be.
double round_to(DType dtype, double value);

// The largest power of two that is not above `value`, which is positive and finite.
double power_of_two_below(double value);

// The root mean square of the finite elements; 1 if they are all 0 or there are none.
double root_mean_square(const Tensor& tensor);
double root_mean_square(const double* values, std::int64_t size);

}  // namespace fluidcore::gradcheck
