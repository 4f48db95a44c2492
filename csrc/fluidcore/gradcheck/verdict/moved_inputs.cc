#include "fluidcore/gradcheck/verdict/moved_inputs.h"

#include <algorithm>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

Move at_random(const Function& function,
               std::uint64_t seed,
               std::string_view purpose,
               std::function<double(double x, double random)> move) {
  std::vector<RandomSequence> numbers;
  numbers.reserve(function.inputs().size());
  for (std::size_t k = 0; k < function.inputs().size(); ++k)
    numbers.push_back(random_sequence(seed, str_cat("input ", k), purpose));
  return [numbers = std::move(numbers), move = std::move(move)](std::size_t k, std::int64_t i,
                                                                double x) {
    return move(x, numbers[k].uniform<double>(static_cast<std::uint64_t>(i)));
  };
}

double with_random_sign(double x, double random) {
  return random < 0.5 ? -x : x;
}

MovedInputs::MovedInputs(const Function& function, const Move& move) {
  for (std::size_t k = 0; k < function.inputs().size(); ++k) prepare(function.inputs()[k], k, move);
  exchange();
}

MovedInputs::MovedInputs(const Function& function, std::size_t input, const Move& move) {
  prepare(function.inputs()[input], input, move);
  exchange();
}

MovedInputs::~MovedInputs() {
  exchange();
}

void MovedInputs::prepare(const Tensor& input, std::size_t k, const Move& move) {
  Tensor other = input.clone();
  for (std::int64_t i = 0; i < other.size(); ++i)
    other.set_float_element(i, round_to(other.dtype(), move(k, i, other.get_float_element(i))));
  inputs_.push_back(input);
  others_.push_back(std::move(other));
}

void MovedInputs::exchange() noexcept {
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    auto* const one = static_cast<char*>(inputs_[k].raw());
    std::swap_ranges(one, one + inputs_[k].bytes(), static_cast<char*>(others_[k].raw()));
  }
}

MovedElements::MovedElements(const Function& function,
                             std::size_t input,
                             const std::vector<std::int64_t>& elements,
                             std::vector<double> values)
    : input_(function.inputs()[input]), elements_(elements), others_(std::move(values)) {
  for (double& value : others_) value = round_to(input_.dtype(), value);
  exchange();
}

MovedElements::~MovedElements() {
  exchange();
}

void MovedElements::exchange() {
  for (std::size_t j = 0; j < elements_.size(); ++j) {
    const double before = input_.get_float_element(elements_[j]);
    input_.set_float_element(elements_[j], std::exchange(others_[j], before));
  }
}

}  // namespace fluidcore::gradcheck
