#include "fluidcore/gradcheck/verdict/elsewhere.h"

#include <exception>

#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/verdict/audited_gradient.h"

namespace fluidcore::gradcheck {

namespace {

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

std::optional<std::vector<double>> outputs_elsewhere(Function& function,
                                                     const Move& move,
                                                     std::size_t size) {
  const MovedInputs there(function, move);
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
