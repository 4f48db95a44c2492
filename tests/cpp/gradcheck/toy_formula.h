#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "fluidcore/gradcheck/verdict/formula.h"
#include "gradcheck/toy_function.h"

namespace fluidcore::gradcheck {

// The Formula of f at its point; no weights: 1 for each output.
inline Formula formula_of(Function& f, std::vector<std::vector<double>> weights = {}) {
  Formula formula{f};
  for (const Tensor& y : f.run()) {
    formula.output_sizes.push_back(static_cast<std::size_t>(y.size()));
    for (const double value : values_of(y)) formula.outputs.push_back(value);
  }
  if (weights.empty()) weights = {std::vector<double>(formula.outputs.size(), 1)};
  formula.weights = std::move(weights);
  return formula;
}

// At all elements of an input of so many.
inline Look look_at(std::int64_t size, std::int64_t rows = 0) {
  Look look{0, std::vector<std::int64_t>(static_cast<std::size_t>(size)), rows};
  std::iota(look.elements.begin(), look.elements.end(), std::int64_t{0});
  look.direction = [size] {
    std::vector<double> direction;
    for (std::int64_t i = 0; i < size; ++i) direction.push_back(i % 2 == 0 ? 0.75 : -1.25);
    return direction;
  };
  return look;
}

}  // namespace fluidcore::gradcheck
