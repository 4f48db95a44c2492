#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// What element i of input k becomes, which is x now.
using Move = std::function<double(std::size_t k, std::int64_t i, double x)>;

// Every element by a random number of its own, in [0, 1).
Move at_random(const Function& function,
               std::uint64_t seed,
               std::string_view purpose,
               std::function<double(double x, double random)> move);
double with_random_sign(double x, double random);

// While it lives, inputs of a Function hold other numbers, rounded to their dtypes.
class MovedInputs {
 public:
  MovedInputs(const Function& function, const Move& move);
  MovedInputs(const Function& function, std::size_t input, const Move& move);  // one alone
  ~MovedInputs();
  MovedInputs(const MovedInputs&) = delete;
  MovedInputs& operator=(const MovedInputs&) = delete;

 private:
  void prepare(const Tensor& input, std::size_t k, const Move& move);
  void exchange() noexcept;

  std::vector<Tensor> inputs_;
  std::vector<Tensor> others_;  // what they are to hold, or held before
};

// The same of a few elements of one input, in time that does not grow with it.
class MovedElements {
 public:
  MovedElements(const Function& function,
                std::size_t input,
                const std::vector<std::int64_t>& elements,
                std::vector<double> values);
  ~MovedElements();
  MovedElements(const MovedElements&) = delete;
  MovedElements& operator=(const MovedElements&) = delete;

 private:
  void exchange();

  Tensor input_;
  std::vector<std::int64_t> elements_;
  std::vector<double> others_;
};

}  // namespace fluidcore::gradcheck
