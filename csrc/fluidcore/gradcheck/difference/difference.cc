#include "fluidcore/gradcheck/difference/difference.h"

#include <cmath>
#include <memory>

#include "fluidcore/base/division.h"
#include "fluidcore/gradcheck/difference/differentiate.h"
#include "fluidcore/gradcheck/function/outputs.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/function/workers.h"

namespace fluidcore::gradcheck {

namespace {

// Compiled without fused multiply-add: the sum has to be the same on every machine.
double weighted_sum(const Outputs& outputs, const std::optional<std::vector<double>>& weights) {
  double sum = 0;
  for (const Outputs::Part& part : outputs.parts()) {
    if (!weights) {
      for (std::int64_t j = 0; j < part.size; ++j) sum += part.values[j];
      continue;
    }
    const double* const weight = weights->data() + part.offset;
    for (std::int64_t j = 0; j < part.size; ++j) sum += weight[j] * part.values[j];
  }
  return sum;
}

// One element that is moved, and put back at the end.
class Moved {
 public:
  Moved(Tensor input, std::int64_t index)
      : input_(std::move(input)), index_(index), original_(input_.get_float_element(index)) {}
  ~Moved() { input_.set_float_element(index_, original_); }
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;

  void by(double delta) {
    input_.set_float_element(index_, original_ + delta);
    require(input_.get_float_element(index_) != original_,
            "gradcheck: delta must change the elements of the input, got ", std::abs(delta),
            " for ", original_, " in ", input_.dtype(), "; take a larger delta");
  }

 private:
  Tensor input_;
  std::int64_t index_;
  double original_;
};

struct DifferenceWorker {
  DifferenceWorker(Function& function, std::size_t input)
      : outputs(function), tensor(function.inputs()[input]) {}

  Outputs outputs;
  Tensor tensor;
};

double quotient(DifferenceWorker& worker,
                std::int64_t index,
                double delta,
                const DifferenceOptions& options,
                double y) {
  const auto at = [&](double offset) {
    Moved moved(worker.tensor, index);
    moved.by(offset);
    worker.outputs.run();
    return weighted_sum(worker.outputs, options.weights);
  };
  if (options.forward) return (at(delta) - y) / delta;
  const double right = at(delta);
  const double left = at(-delta);
  return (right - left) / delta / 2;
}

std::vector<double> quotients(Function& function,
                              std::size_t input,
                              double delta,
                              const DifferenceOptions& options) {
  const Tensor& tensor = floating_input(function, input);
  require(delta > 0 && std::isfinite(delta), "gradcheck: delta must be positive, got ", delta);
  const auto& elements = options.elements;
  for (const std::int64_t element : elements.value_or(std::vector<std::int64_t>())) {
    require(element >= 0 && element < tensor.size(), "gradcheck: elements must be in [0, ",
            tensor.size(), "), got ", element);
  }
  const std::int64_t count = elements ? static_cast<std::int64_t>(elements->size()) : tensor.size();
  const Workers threads(function, input, options.workers, divide_up(count, kElementsPerBlock));
  std::vector<std::unique_ptr<DifferenceWorker>> workers(threads.size());
  workers[0] = std::make_unique<DifferenceWorker>(threads.function(0), input);
  const Outputs& outputs = workers[0]->outputs;
  const auto m = static_cast<std::size_t>(outputs.size());
  require(!options.weights || options.weights->size() == m,
          "gradcheck: weights must have a number for each of the ", m, " output elements, got ",
          options.weights ? options.weights->size() : 0);
  const double y = weighted_sum(outputs, options.weights);

  std::vector<double> result(static_cast<std::size_t>(count));
  const auto work = [&](std::size_t index, std::int64_t begin, std::int64_t end) {
    if (workers[index] == nullptr) {
      workers[index] = std::make_unique<DifferenceWorker>(threads.function(index), input);
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      result[at] = quotient(*workers[index], elements ? (*elements)[at] : i, delta, options, y);
    }
  };
  threads.run(count, kElementsPerBlock, work);
  return result;
}

}  // namespace

std::vector<double> difference(Function& function,
                               std::size_t input,
                               double delta,
                               const DifferenceOptions& options) {
  return with_plain_exceptions([&] { return quotients(function, input, delta, options); });
}

}  // namespace fluidcore::gradcheck
