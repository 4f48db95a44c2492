#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fluidcore/base/philox.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// Random numbers of their own for every seed, name and purpose: cotangents and dithers never repeat
// each other, nor the data.
RandomSequence random_sequence(std::uint64_t seed, std::string_view name, std::string_view purpose);

// Elements of the normal distribution, rounded to the dtype, which is floating.
Tensor gaussian(const TensorSpec& spec, const RandomSequence& numbers);

// x (1 + amplitude r) element by element, r uniform in [-1, 1), rounded to the dtype of x. Of zeros
// alone amplitude |r|: at one and the same point a rounding error is the same, too, and looks like
// a fault. A copy of x where it is not floating.
Tensor dithered(const Tensor& x, double amplitude, const RandomSequence& numbers);

// A copy in another floating dtype, rounded once; a copy as it is where x is not floating.
Tensor converted(const Tensor& x, DType dtype);
std::vector<Tensor> converted(const std::vector<Tensor>& values, DType dtype);

}  // namespace fluidcore::gradcheck
