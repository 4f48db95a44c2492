#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/difference/question.h"
#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::gradcheck {

struct DifferentiateOptions {
  std::optional<std::vector<std::int64_t>> elements = {};  // of the flattened input; nullopt: all
  // R > 0 claims that the input, seen as [R, n/R], and every output, seen as R rows, depend on each
  // other only within a row. One element of every row is then moved at once, each by a step of its
  // own, and the result is bit for bit that of one element after the other; only that f's
  // exceptions hold for every row, and that below float64 no output of another row may absorb a
  // step.
  std::int64_t rows = 0;
  std::int64_t workers = 1;  // threads; they change no result
  // Factor of all steps. One of few bits that is no power of two makes a measurement of its own:
  // none of its points is one of those that 1 uses.
  double stretch = 1;
  Approach approach = {};
};

// The derivatives of ⟨v, f⟩ by elements of input number `input`, for each cotangent v, with error
// bars. Takes about 7 evaluations of f for each element where f is smooth and float64; 2 once.
//
// The inputs are put back always. Exceptions of f at the point go through; a std::exception at a
// moved point is an edge of f's domain. Throws InvalidArgument for an input that is not there or
// not floating, and for sizes, elements or rows that do not suit.
Derivatives differentiate(Function& function,
                          std::size_t input,
                          const Question& question,
                          const DifferentiateOptions& options = {});

// The same of the columns where `where` is not 0, in the place of those of `derivatives`; the
// others stay as they are and cost nothing. Evaluations are added.
void differentiate_again(Function& function,
                         std::size_t input,
                         const Question& question,
                         const std::vector<std::uint8_t>& where,
                         Derivatives& derivatives,
                         const DifferentiateOptions& options = {});

// The floating input number `input`; throws InvalidArgument for anything else.
const Tensor& floating_input(const Function& function, std::size_t input);

}  // namespace fluidcore::gradcheck
