#include "fluidcore/gradcheck/verdict/elsewhere.h"

#include <algorithm>
#include <exception>

#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/verdict/audited_gradient.h"

namespace fluidcore::gradcheck {

namespace {

// While it lives, the inputs of a Function are others.
class Elsewhere {
 public:
  Elsewhere(const Function& function, const std::vector<Tensor>& inputs)
      : inputs_(function.inputs()), originals_(inputs) {
    exchange();
  }
  ~Elsewhere() { exchange(); }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

 private:
  void exchange() {
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      auto* const one = static_cast<char*>(inputs_[k].raw());
      auto* const other = static_cast<char*>(originals_[k].raw());
      std::swap_ranges(one, one + inputs_[k].bytes(), other);
    }
  }

  std::vector<Tensor> inputs_;
  std::vector<Tensor> originals_;
};

bool is_of_another_kind(const Unrecoverable& unrecoverable) {
  try {
    std::rethrow_exception(unrecoverable.cause);
  } catch (const InvalidArgument&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

std::vector<Tensor> moved_inputs(const Function& function, const Move& move) {
  std::vector<Tensor> moved;
  for (std::size_t k = 0; k < function.inputs().size(); ++k) {
    Tensor x = function.inputs()[k].clone();
    for (std::int64_t i = 0; i < x.size(); ++i) {
      x.set_float_element(i, round_to(x.dtype(), move(k, i, x.get_float_element(i))));
    }
    moved.push_back(std::move(x));
  }
  return moved;
}

std::optional<std::vector<double>> outputs_elsewhere(Function& function,
                                                     const Move& move,
                                                     std::size_t size) {
  const Elsewhere there(function, moved_inputs(function, move));
  std::vector<double> y;
  try {
    const auto& outputs = interruptible(
        function.interruption(), [&]() -> const std::vector<Tensor>& { return function.run(); });
    for (const Tensor& output : outputs) append(y, output);
  } catch (const Unrecoverable& unrecoverable) {
    const Interruption* const interruption = function.interruption();
    const bool is_over = interruption != nullptr && interruption->is_over();
    if (is_over || !is_of_another_kind(unrecoverable)) throw;
    return std::nullopt;
  } catch (const std::exception&) {  // an edge of the domain
    return std::nullopt;
  }
  return y.size() == size ? std::optional(std::move(y)) : std::nullopt;
}

}  // namespace fluidcore::gradcheck
