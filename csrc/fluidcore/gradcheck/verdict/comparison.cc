#include "fluidcore/gradcheck/verdict/comparison.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fluidcore/gradcheck/difference/along.h"
#include "fluidcore/gradcheck/difference/differentiate.h"
#include "fluidcore/gradcheck/function/infinity.h"
#include "fluidcore/gradcheck/verdict/agreement.h"
#include "fluidcore/gradcheck/verdict/copies.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::int64_t kChunk = 32;  // elements between two looks at the clock

Derivatives left_out(std::int64_t cotangents, std::int64_t elements) {
  Derivatives unknown(cotangents, elements);
  std::fill(unknown.error.begin(), unknown.error.end(), kInfinity);
  std::fill(unknown.flags.begin(), unknown.flags.end(), std::uint8_t{kLate});
  return unknown;
}

class Comparison {
 public:
  Comparison(Formula& formula, const Look& look)
      : formula_(formula), look_(look), question_{formula.weights, formula.noise.widest()} {}

  Derivatives by_element(const std::vector<std::int64_t>& elements, bool once) {
    if (everything_at_once(elements)) return one_by_one(elements, once);
    Derivatives all(cotangents(), std::ssize(elements));
    for (std::int64_t begin = 0; begin < all.elements;) {
      const std::int64_t most = copies_at_once(formula_, look_.input, all.elements - begin);
      const std::int64_t chunk = is_timed() ? kChunk : all.elements;
      const std::int64_t count =
          std::min(all.elements - begin, most > 0 ? std::min(most, chunk) : chunk);
      const std::vector<std::int64_t> some(elements.begin() + begin,
                                           elements.begin() + begin + count);
      const Derivatives found = in_time(some, most > 0, once);
      for (std::int64_t j = 0; j < count; ++j) {
        copy_column(found, static_cast<std::size_t>(j), all, static_cast<std::size_t>(begin + j));
      }
      all.evaluations += found.evaluations;
      if (!all.failure) all.failure = found.failure;
      begin += count;
    }
    return all;
  }

  void by_element_again(const std::vector<std::uint8_t>& where, Derivatives& found) {
    std::vector<std::int64_t> rest;
    for (std::size_t j = 0; j < where.size(); ++j) {
      if (where[j]) rest.push_back(look_.elements[j]);
    }
    const Derivatives later = by_element(rest, false);
    for (std::size_t j = 0, i = 0; j < where.size(); ++j) {
      if (where[j]) copy_column(later, i++, found, j);
    }
    found.evaluations += later.evaluations;
    found.failure = later.failure;
  }

  Derivatives by_row(bool once) {
    return differentiate(formula_.f, look_.input, question_, options(once));
  }

  void by_row_again(const std::vector<std::uint8_t>& where, Derivatives& found) {
    differentiate_again(formula_.f, look_.input, question_, where, found, options(false));
  }

  bool adds_up(Numerical& found) {
    const std::vector<double> d = look_.direction();
    Directions directions(formula_.f.inputs().size());
    directions[look_.input] = d;
    found.along = differentiate_along(formula_.f, directions, question_, true, formula_.workers);
    formula_.evaluations += found.along->evaluations;
    return gradcheck::adds_up(found.reference, *found.along, d, formula_.rules);
  }

 private:
  std::int64_t cotangents() const { return std::ssize(formula_.weights); }

  bool is_timed() const {
    const Interruption* const interruption = formula_.f.interruption();
    return interruption != nullptr && interruption->is_urgent();
  }

  bool everything_at_once(const std::vector<std::int64_t>& elements) const {
    return !is_timed() && copies_at_once(formula_, look_.input, std::ssize(elements)) == 0;
  }

  DifferentiateOptions options(bool once) const {
    DifferentiateOptions how;
    how.rows = look_.rows;
    how.workers = formula_.workers;
    how.approach.once = once;
    return how;
  }

  Derivatives in_time(const std::vector<std::int64_t>& some, bool in_copies, bool once) {
    if (!formula_.is_late()) {
      try {
        std::optional<Derivatives> found;
        if (in_copies) {
          found = differentiate_copies(formula_, look_.input, some, question_.noise, once);
        }
        return found ? *std::move(found) : one_by_one(some, once);
      } catch (...) {
        if (!formula_.is_late()) throw;
      }
    }
    return left_out(cotangents(), std::ssize(some));
  }

  Derivatives one_by_one(const std::vector<std::int64_t>& some, bool once) const {
    DifferentiateOptions how = options(once);
    if (std::ssize(some) != formula_.f.inputs()[look_.input].size()) how.elements = some;
    return differentiate(formula_.f, look_.input, question_, how);
  }

  Formula& formula_;
  const Look& look_;
  Question question_;
};

}  // namespace

bool adds_up(const Derivatives& parts,
             const Derivatives& dense,
             const std::vector<double>& direction,
             const Rules& rules) {
  for (std::size_t row = 0; row < static_cast<std::size_t>(parts.cotangents); ++row) {
    double least = 0;
    double most = 0;
    double squares = 0;
    double largest = 0;
    for (std::size_t j = 0; j < direction.size(); ++j) {
      const std::size_t i = row * direction.size() + j;
      const double low = parts.low[i] * direction[j];
      const double high = parts.high[i] * direction[j];
      least += std::min(low, high);
      most += std::max(low, high);
      if (std::isfinite(parts.error[i])) squares += std::pow(parts.error[i] * direction[j], 2);
      largest = std::max(largest, std::abs(parts.scale[i] * direction[j]));
    }
    constexpr double kSmall = 0.01;
    const double limit =
        rules.bars * (dense.error[row] + std::sqrt(squares)) + rules.resolution * kSmall * largest;
    if (std::max(dense.low[row] - most, least - dense.high[row]) > limit) return false;
  }
  return true;
}

std::optional<Numerical> compare(Formula& formula,
                                 const Look& look,
                                 const std::vector<double>* claimed) {
  Comparison comparison(formula, look);
  const bool once = claimed != nullptr && formula.dtype() == DType::kFloat64;
  Numerical found{look.rows > 0 ? comparison.by_row(once)
                                : comparison.by_element(look.elements, once)};
  if (once) {
    std::vector<std::uint8_t> rest = agreement(found.reference, *claimed);
    for (std::uint8_t& element : rest) element = element == 0 ? 1 : 0;
    if (std::count(rest.begin(), rest.end(), 1) > 0) {
      if (look.rows > 0) {
        comparison.by_row_again(rest, found.reference);
      } else {
        comparison.by_element_again(rest, found.reference);
      }
    }
  }
  formula.evaluations += found.reference.evaluations;
  if (look.rows > 0 && !comparison.adds_up(found)) return std::nullopt;
  return found;
}

}  // namespace fluidcore::gradcheck
