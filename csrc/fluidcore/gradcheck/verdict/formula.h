#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "fluidcore/base/dtype.h"
#include "fluidcore/gradcheck/difference/noise.h"
#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/gradcheck/function/gradient.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

// f at a copy of its point for each of some elements of an input: a Function of these elements,
// [b], whose outputs are [b, ...]. Null where f cannot run on copies.
using CopiesOf = std::function<std::unique_ptr<Function>(
    std::size_t input, const std::vector<std::int64_t>& elements)>;

// Gradient code in the dtype in which f is differentiated, and what all inputs have in common.
struct Formula {
  Function& f;
  Gradient* gradient = nullptr;  // null: nothing is known but its values at the point
  std::vector<std::vector<double>> weights = {};  // cotangents, as numbers
  std::vector<double> outputs = {};               // y at the point
  std::vector<std::size_t> output_sizes = {};     // of which so many are of each output of f
  NoiseLevel noise = {};                          // of f's outputs
  Rules rules = {};
  bool alone = false;  // there is no wider form: differences show the rounding of code under test
  std::uint64_t seed = 0;
  std::int64_t workers = 1;  // threads; they change no result
  CopiesOf copies = {};
  std::int64_t fewest_copies = 0;  // a run on copies takes as long as so many runs, beside f itself
  bool runs_on_copies = true;      // as far as it was tried

  std::int64_t evaluations = 0;  // of f, so far

  // Of f, whose outputs at the point are `outputs`, and of which nothing more is known. Throws
  // InvalidArgument for a cotangent of another size.
  static Formula of(Function& f,
                    Gradient* gradient,
                    const std::vector<std::vector<Tensor>>& cotangents,
                    const std::vector<Tensor>& outputs);

  DType dtype() const { return f.inputs().front().dtype(); }
  // Whether the time of f is over. Throws what else has ended its runs.
  bool is_late() const;
  // f over x, the size of a derivative that is not small, by an input: for each cotangent.
  std::vector<double> heights(std::size_t input) const;
};

// Which derivatives are asked for.
struct Look {
  std::size_t input = 0;
  std::vector<std::int64_t> elements = {};  // of the flattened input, in ascending order
  // As in DifferentiateOptions; where it is not 0, `elements` are all.
  std::int64_t rows = 0;
  // A direction of the input, of few bits.
  std::function<std::vector<double>()> direction = {};
};

}  // namespace fluidcore::gradcheck
