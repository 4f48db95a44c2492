#include "fluidcore/gradcheck/verdict/copies.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>

#include "fluidcore/gradcheck/difference/differentiate.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/verdict/audited_gradient.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::int64_t kNumbers = 1 << 12;  // that take f as long as a run takes beside them
constexpr double kSameOutputs = 0x1p-40;    // of the largest: copies may be added in another order

// The numbers of each output, once for every copy.
std::vector<double> copied(const std::vector<double>& numbers,
                           const std::vector<std::size_t>& sizes,
                           std::size_t count) {
  std::vector<double> all;
  all.reserve(numbers.size() * count);
  auto begin = numbers.begin();
  for (const std::size_t size : sizes) {
    const auto end = begin + static_cast<std::ptrdiff_t>(size);
    for (std::size_t copy = 0; copy < count; ++copy) all.insert(all.end(), begin, end);
    begin = end;
  }
  return all;
}

// Whether every copy has the outputs that f has without copies.
bool has_same_outputs(const std::vector<Tensor>& found,
                      const std::vector<double>& outputs,
                      const std::vector<std::size_t>& sizes,
                      std::size_t count) {
  if (found.size() != sizes.size()) return false;
  for (std::size_t o = 0; o < sizes.size(); ++o) {
    const bool has_rows =
        found[o].shape().rank() > 0 && found[o].shape()[0] == static_cast<std::int64_t>(count);
    if (!has_rows || static_cast<std::size_t>(found[o].size()) != count * sizes[o]) return false;
  }
  std::vector<double> values;
  for (const Tensor& part : found) append(values, part);
  const std::vector<double> expected = copied(outputs, sizes, count);
  double largest = 0;
  double apart = 0;
  for (const double y : outputs) largest = std::max(largest, std::abs(y));
  for (std::size_t j = 0; j < values.size(); ++j) {
    const double off = std::abs(values[j] - expected[j]);
    if (std::isnan(off)) return false;
    apart = std::max(apart, off);
  }
  return apart <= kSameOutputs * largest;
}

}  // namespace

std::int64_t copies_at_once(const Formula& formula, std::size_t input, std::int64_t count) {
  const bool can = formula.dtype() == DType::kFloat64 && formula.copies != nullptr &&
                   formula.runs_on_copies && count >= formula.fewest_copies;
  if (!can) return 0;
  const auto numbers = formula.f.inputs()[input].size() + std::ssize(formula.outputs);
  const auto fewest = std::max<std::int64_t>(formula.fewest_copies, 1);
  return numbers <= kNumbers ? fewest * kNumbers / std::max<std::int64_t>(numbers, 1) : 0;
}

std::optional<Derivatives> differentiate_copies(Formula& formula,
                                                std::size_t input,
                                                const std::vector<std::int64_t>& elements,
                                                const std::vector<double>& noise,
                                                bool once) {
  const auto give_up = [&] {
    formula.runs_on_copies = false;
    return std::nullopt;
  };
  const std::unique_ptr<Function> f = formula.copies(input, elements);
  if (f == nullptr) return give_up();
  f->set_interruption(formula.f.interruption());
  const std::vector<std::size_t>& sizes = formula.output_sizes;
  try {
    const auto& found =
        interruptible(f->interruption(), [&]() -> const std::vector<Tensor>& { return f->run(); });
    if (!has_same_outputs(found, formula.outputs, sizes, elements.size())) return give_up();
  } catch (const std::exception&) {  // whatever there is no rule for copies for
    return give_up();
  }
  Question question{{}, copied(noise, sizes, noise.empty() ? 0 : elements.size())};
  for (const std::vector<double>& v : formula.weights) {
    question.cotangents.push_back(copied(v, sizes, elements.size()));
  }
  DifferentiateOptions how;
  how.rows = std::ssize(elements);
  how.approach.once = once;
  Derivatives found = differentiate(*f, 0, question, how);
  if (!found.failure) return found;
  formula.evaluations += found.evaluations;  // f throws where one copy is outside of its domain
  return std::nullopt;
}

}  // namespace fluidcore::gradcheck
