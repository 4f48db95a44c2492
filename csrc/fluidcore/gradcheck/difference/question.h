#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fluidcore::gradcheck {

// What is asked of f, wherever it is moved.
struct Question {
  std::vector<std::vector<double>> cotangents;  // v, each of m numbers
  std::vector<double> noise;  // what f's outputs are wrong by at least, m numbers; empty: not known
};

// Throws InvalidArgument unless v, the cotangent number `index`, is of m finite numbers.
void check_cotangent(const std::vector<double>& v, std::size_t index, std::int64_t m);

// Throws InvalidArgument unless all sizes are m and all numbers are finite (noise: not negative).
void check(const Question& question, std::int64_t m);

}  // namespace fluidcore::gradcheck
