#include "fluidcore/gradcheck/verdict/kernel_test.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/infinity.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/verdict/digits.h"
#include "fluidcore/gradcheck/verdict/lost_digits.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kCentres = 4;    // besides x
constexpr int kConfirmed = 3;  // of them
constexpr double kFaultSpreads = 4;
constexpr double kKernelUnits = 4;
constexpr double kCertainRounding = 0.5;  // twice that cannot look like it at one point
constexpr double kErrors = 6;             // of a mean
constexpr double kLittle = 0.5;           // of the rounding that is always right
constexpr double kUnitsOfSum = 16;        // times the root of the number of terms
constexpr double kSlight = 0.01;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Whether the values of all centres are of one kind; rounding errors scatter around 0.
bool is_steady(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::abs(mean) > std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// Whether most of the other centres show a fault, too, and all of them the same one, or the same
// part of the gradient. The first centre is x.
bool is_confirmed(const std::vector<Bias::Element>& centres, double rounding) {
  std::vector<double> means;
  std::vector<double> parts;
  int votes = 0;
  for (const Bias::Element& at : centres) {
    const bool is_other = !means.empty();
    votes += is_other && std::abs(at.mean) > kFaultSpreads * at.spread + rounding ? 1 : 0;
    means.push_back(at.mean);
    parts.push_back(at.part);
  }
  return votes >= kConfirmed && (is_steady(means) || is_steady(parts));
}

// What the mean of all centres can tell from rounding; infinite where they disagree. Only for
// errors that spread no more than the rounding of a result does: those of lost digits need not have
// the mean 0.
double least_seen(const std::vector<Bias::Element>& centres, double rounding) {
  std::vector<double> means;
  double squares = 0;
  for (const Bias::Element& at : centres) {
    means.push_back(at.mean);
    squares += at.spread * at.spread;
  }
  const auto count = static_cast<double>(means.size());
  const double least = rounding + kErrors * std::sqrt(squares / Bias::kPoints) / count;
  const auto votes = std::count_if(means.begin(), means.end(),
                                   [&](double mean) { return std::abs(mean) > rounding; });
  const bool is_fault = std::abs(mean_of(means)) > least && votes >= std::ssize(means) - 1;
  return is_fault && is_steady(means) ? least : kInfinity;
}

// By how much an element of a kernel is off, or, if it is unsure, may be off.
double may_be_off(const Judgement& found, std::size_t i) {
  const double distance = std::abs(found.analytical[i] - found.nearest[i]);
  if (!std::isfinite(distance)) return kInfinity;
  return found.unsure[i] ? std::max(found.limit[i], distance) : distance;
}

bool any(const std::vector<std::uint8_t>& mask) {
  return std::find(mask.begin(), mask.end(), 1) != mask.end();
}

bool knows(const Bias& bias, std::size_t input, const std::vector<std::int64_t>& elements) {
  return bias.kept[input].value_or(elements) == elements;
}

bool is_kink(const Derivatives& reference, std::size_t i) {
  return (reference.flags[i % static_cast<std::size_t>(reference.elements)] & (kKink | kJump)) != 0;
}

bool is_forbidden_kink(const Derivatives& reference, const Rules& rules, std::size_t i) {
  return rules.on_kink == OnKink::kFail && is_kink(reference, i);
}

}  // namespace

Judgement KernelTest::judge(const FormulaGradient& formula, const Rules& rules) {
  return with_plain_exceptions([&] {
    Judgement found = compare(formula, rounding(formula.reference), rules);
    settle(formula, found);
    excuse_lost_digits(formula, rules, found.wrong, found);
    if (found.verdict() == Verdict::kInconclusive) {
      excuse_lost_digits(formula, rules, found.unsure, found);
    }
    return found;
  });
}

std::optional<Judgement> KernelTest::judge_at_point(const FormulaGradient& formula,
                                                    const Rules& rules) const {
  if (any(formula.open) || !unproven(formula).empty()) return std::nullopt;
  const std::vector<double> allowed = rounding(formula.reference);
  Judgement found = gradcheck::judge(formula.reference, formula.kernel, allowed, rules);
  if (any(found.wrong) || any(found.unsure)) return std::nullopt;
  found.spread.resize(allowed.size());
  return found;
}

std::vector<std::size_t> KernelTest::unproven(const FormulaGradient& formula) const {
  const std::vector<double> allowed = rounding(formula.reference);
  const std::size_t elements = formula.elements.size();
  std::vector<std::size_t> columns;
  for (std::size_t j = 0; j < elements; ++j) {
    bool is_rounding = true;
    for (std::size_t i = j; i < allowed.size(); i += elements) {
      is_rounding &=
          std::abs(formula.kernel[i] - formula.value[i]) <= kCertainRounding * allowed[i];
    }
    if (!is_rounding) columns.push_back(j);
  }
  return columns;
}

// By which a right kernel may always be off.
std::vector<double> KernelTest::rounding(const Derivatives& reference) const {
  std::vector<double> result = padded_scale(reference);
  for (double& value : result) {
    value = kKernelUnits * unit_roundoff(pair_.dtype()) * value + smallest_normal(pair_.dtype());
  }
  return result;
}

// By what is seen at x, of what may not be rounding there around x, and, of what seems wrong then,
// around other centres.
Judgement KernelTest::compare(const FormulaGradient& formula,
                              std::vector<double> rounding,
                              const Rules& rules) {
  const Derivatives& reference = formula.reference;
  const std::size_t size = rounding.size();
  const std::size_t elements = formula.elements.size();
  const std::vector<std::size_t> asked = unproven(formula);
  std::vector<std::int64_t> asked_elements;
  asked_elements.reserve(asked.size());
  for (const std::size_t column : asked) asked_elements.push_back(formula.elements[column]);
  const Bias* const bias = asked.empty() ? nullptr : &at_point(formula.input, asked_elements);
  const auto here = [&](std::size_t i) -> Bias::Element {
    const auto at = std::lower_bound(asked.begin(), asked.end(), i % elements);
    if (at == asked.end() || *at != i % elements) {
      const double mean = formula.kernel[i] - formula.value[i];
      return {mean, 0, mean / formula.value[i]};
    }
    const auto q = static_cast<std::size_t>(at - asked.begin());
    return bias->at(formula.input, asked_elements, i / elements * asked.size() + q);
  };
  std::vector<double> claimed = formula.kernel;
  std::vector<double> spread(size);
  for (std::size_t row = 0; row < size; row += elements) {
    for (const std::size_t column : asked) {
      const std::size_t i = row + column;
      claimed[i] = formula.value[i] + here(i).mean;
      spread[i] = here(i).spread;
      rounding[i] += kFaultSpreads * spread[i];
    }
  }
  Judgement found = gradcheck::judge(reference, std::move(claimed), rounding, rules);
  found.spread = std::move(spread);
  for (std::size_t i = 0; i < size; ++i) rounding[i] -= kFaultSpreads * found.spread[i];
  // What would be wrong if rounding errors had no spread; only where they have little.
  std::vector<std::uint8_t> doubtful(size);
  std::vector<std::int64_t> suspects;
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < size; ++i) {
    const double off = std::abs(found.analytical[i] - found.nearest[i]);
    doubtful[i] = found.counted[i % elements] && !is_kink(reference, i) &&
                  found.spread[i] <= kLittle * rounding[i] &&
                  off > found.limit[i] - kFaultSpreads * found.spread[i];
    // Where not a bit differs anywhere, no tolerance is needed.
    const bool is_same = found.analytical[i] == formula.value[i] && found.spread[i] == 0;
    if (is_same && reference.error[i] == 0 && !is_kink(reference, i)) found.unsure[i] = 0;
  }
  for (std::size_t j = 0; j < elements; ++j) {
    bool is_suspect = false;
    for (std::size_t i = j; i < size; i += elements) is_suspect |= found.wrong[i] || doubtful[i];
    if (!is_suspect) continue;
    columns.push_back(j);
    suspects.push_back(formula.elements[j]);
  }
  if (columns.empty()) return found;
  const std::vector<Bias>& centres = around(formula.input, suspects);
  for (std::size_t row = 0; row < pair_.cotangents.size(); ++row) {
    for (std::size_t q = 0; q < columns.size(); ++q) {
      const std::size_t i = row * elements + columns[q];
      std::vector<Bias::Element> all = {here(i)};
      for (const Bias& one : centres) {
        all.push_back(one.at(formula.input, suspects, row * columns.size() + q));
      }
      if (found.wrong[i] && !is_forbidden_kink(reference, rules, i)) {
        found.wrong[i] = is_confirmed(all, rounding[i]);
        found.unsure[i] = !found.wrong[i];
      }
      if (!doubtful[i]) continue;
      const double least = least_seen(all, rounding[i]);
      if (!(std::abs(all[0].mean) > least)) continue;
      found.wrong[i] = 1;
      found.unsure[i] = 0;
      found.limit[i] = least;
    }
  }
  return found;
}

// What is known of kinks holds for the kernel, too: where the formula could not be judged, there is
// nothing that the kernel could be right by.
void KernelTest::settle(const FormulaGradient& formula, Judgement& found) {
  for (std::size_t i = 0; i < found.wrong.size() && !formula.open.empty(); ++i) {
    const std::size_t element = i % formula.open.size();
    if (!formula.open[element] || !is_kink(formula.reference, i)) continue;
    found.wrong[i] = 0;
    found.unsure[i] = found.counted[element];
  }
}

// What is only imprecise is neither wrong nor in doubt: what is off by more than rounding, but by
// less than a sum of many terms may lose, and by nothing beside the largest element; or has lost
// its digits before the gradient is calculated. `doubt` is one of the masks of `found`.
void KernelTest::excuse_lost_digits(const FormulaGradient& formula,
                                    const Rules& rules,
                                    std::vector<std::uint8_t>& doubt,
                                    Judgement& found) {
  if (!any(doubt)) return;
  const Derivatives& reference = formula.reference;
  const auto elements = static_cast<std::size_t>(reference.elements);
  std::int64_t terms = 0;
  for (const Tensor& v : pair_.cotangents.at(0)) terms += v.size();
  const double lost =
      kUnitsOfSum * std::sqrt(static_cast<double>(terms)) * unit_roundoff(pair_.dtype());
  const double part = std::min(lost, kSlight * rules.resolution);
  std::vector<double> much(doubt.size());
  for (std::size_t row = 0; row < pair_.cotangents.size(); ++row) {
    const auto scale = reference.scale.begin() + static_cast<std::ptrdiff_t>(row * elements);
    const double most = *std::max_element(scale, scale + reference.elements);
    for (std::size_t i = row * elements; i < (row + 1) * elements; ++i) {
      const double allowed = found.unsure[i] ? rules.resolution * found.measure[i] : found.limit[i];
      // A kink that is forbidden is no matter of precision.
      const bool is_forbidden = found.wrong[i] && is_forbidden_kink(formula.reference, rules, i);
      const double off = is_forbidden ? kInfinity : may_be_off(found, i);
      if (doubt[i] && off > allowed + part * most) much[i] = off;
    }
  }
  const bool is_much = std::any_of(much.begin(), much.end(), [](double off) { return off > 0; });
  if (is_much && !are_rounding(pair_, formula.input, formula.elements, much, evaluations_)) return;
  std::vector<std::uint8_t> imprecise(elements);
  for (std::size_t i = 0; i < doubt.size(); ++i) {
    if (!doubt[i]) continue;
    found.limit[i] = std::max(found.limit[i], may_be_off(found, i));
    found.resolution[i] = found.limit[i] / found.measure[i];
    doubt[i] = 0;
    imprecise[i % elements] = 1;
  }
  found.num_imprecise += std::count(imprecise.begin(), imprecise.end(), 1);
}

std::optional<DType> KernelTest::narrowed_to(const FormulaGradient& formula, const Rules& rules) {
  if (narrower_dtypes(formula.kernel, pair_.dtype()).empty()) return std::nullopt;
  Derivatives exact = formula.reference;
  exact.value = formula.value;
  std::fill(exact.error.begin(), exact.error.end(), 0.0);
  // What is open of the formula says nothing of digits, either.
  exact.flags.assign(formula.elements.size(), 0);
  for (std::size_t j = 0; j < formula.open.size(); ++j) exact.flags[j] = formula.open[j];
  const auto uncertain = [&] {
    const LostDigits lost(pair_, formula.input, {});
    evaluations_ += lost.evaluations();
    const std::vector<double> all = lost.uncertain();
    const std::size_t rows = pair_.cotangents.size();
    std::vector<double> result;
    for (std::size_t row = 0; row < rows; ++row) {
      for (const std::int64_t element : formula.elements) {
        result.push_back(all[row * (all.size() / rows) + static_cast<std::size_t>(element)]);
      }
    }
    return result;
  };
  return with_plain_exceptions([&] {
    return gradcheck::narrowed_to(formula.kernel, exact, pair_.dtype(), rules.bars, uncertain);
  });
}

const Bias& KernelTest::at_point(std::size_t input, const std::vector<std::int64_t>& elements) {
  if (!at_point_ || !knows(*at_point_, input, elements)) {
    at_point_ = bias_around(pair_, pair_.kernel.inputs(), "dither", true, kept(input, elements));
  }
  return *at_point_;
}

// Around other centres, further away. Behind a saturated tanh the dither is too small to change an
// intermediate result, whose rounding error then is the same at all points; not at another centre.
const std::vector<Bias>& KernelTest::around(std::size_t input,
                                            const std::vector<std::int64_t>& elements) {
  if (around_.empty() || !knows(around_[0], input, elements)) {
    const double amplitude = std::sqrt(std::sqrt(unit_roundoff(pair_.dtype())));
    around_.clear();
    for (int q = 0; q < kCentres; ++q) {
      const std::string purpose = str_cat("centre ", q);
      const std::vector<Tensor> centre =
          dithered_point(pair_, pair_.kernel.inputs(), amplitude, purpose);
      around_.push_back(
          bias_around(pair_, centre, str_cat("dither at ", purpose), false, kept(input, elements)));
    }
  }
  return around_;
}

// Of later inputs everything is kept, for they may be asked for next; of earlier ones nothing.
std::vector<Elements> KernelTest::kept(std::size_t input,
                                       const std::vector<std::int64_t>& elements) const {
  std::vector<Elements> result(pair_.kernel.inputs().size());
  std::fill_n(result.begin(), input, std::vector<std::int64_t>());
  result[input] = elements;
  return result;
}

}  // namespace fluidcore::gradcheck
