#include "fluidcore/gradcheck/verdict/kernel_test.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/verdict/digits.h"
#include "fluidcore/gradcheck/verdict/lost_digits.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kCentres = 4;    // besides x
constexpr int kConfirmed = 3;  // of them
constexpr double kSpreads = 4;
constexpr double kUnits = 4;
constexpr double kErrors = 6;    // of a mean
constexpr double kLittle = 0.5;  // of the rounding that is always right
constexpr double kTerms = 16;    // rounding units, times the root of the number of terms
constexpr double kSlight = 0.01;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
    votes += is_other && std::abs(at.mean) > kSpreads * at.spread + rounding ? 1 : 0;
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

bool is_kink(const Derivatives& reference, std::size_t i) {
  return (reference.flags[i % static_cast<std::size_t>(reference.elements)] & (kKink | kJump)) != 0;
}

bool is_forbidden_kink(const Derivatives& reference, const Rules& rules, std::size_t i) {
  return rules.on_kink == OnKink::kFail && is_kink(reference, i);
}

}  // namespace

Judgement KernelTest::judge(const FormulaGradient& formula, const Rules& rules) {
  return with_plain_exceptions([&] {
    const DType dtype = pair_.dtype();
    std::vector<double> rounding = padded_scale(formula.reference);
    for (double& value : rounding) {
      value = kUnits * unit_roundoff(dtype) * value + smallest_normal(dtype);
    }
    Judgement found = compare(formula, rounding, rules);
    settle(formula, found);
    excuse_lost_digits(formula, rules, found.wrong, found);
    if (found.verdict() == Verdict::kInconclusive) {
      excuse_lost_digits(formula, rules, found.unsure, found);
    }
    return found;
  });
}

// By what is seen around x, and, of what seems wrong there, around other centres.
Judgement KernelTest::compare(const FormulaGradient& formula,
                              const std::vector<double>& rounding,
                              const Rules& rules) {
  const Derivatives& reference = formula.reference;
  const std::size_t size = rounding.size();
  const std::size_t elements = formula.elements.size();
  const auto here = [&, &bias = at_point()](std::size_t i) -> const Bias::Element& {
    return bias.at(formula.input, formula.elements, i);
  };
  std::vector<double> claimed = formula.value;
  std::vector<double> tolerance = rounding;
  for (std::size_t i = 0; i < size; ++i) {
    claimed[i] += here(i).mean;
    tolerance[i] += kSpreads * here(i).spread;
  }
  Judgement found = gradcheck::judge(reference, std::move(claimed), tolerance, rules);
  // What would be wrong if rounding errors had no spread; only where they have little.
  std::vector<std::uint8_t> doubtful(size);
  std::vector<std::int64_t> suspects;
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < size; ++i) {
    const double off = std::abs(found.analytical[i] - found.nearest[i]);
    doubtful[i] = found.counted[i % elements] && !is_kink(reference, i) &&
                  here(i).spread <= kLittle * rounding[i] &&
                  off > found.limit[i] - kSpreads * here(i).spread;
    // Where not a bit differs anywhere, no tolerance is needed.
    const bool is_same = here(i).mean == 0 && here(i).spread == 0 && reference.error[i] == 0;
    if (is_same && !is_kink(reference, i)) found.unsure[i] = 0;
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
      if (!(std::abs(here(i).mean) > least)) continue;
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
  const double lost = kTerms * std::sqrt(static_cast<double>(terms)) * unit_roundoff(pair_.dtype());
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

std::vector<double> KernelTest::spread(std::size_t input,
                                       const std::vector<std::int64_t>& elements) {
  return with_plain_exceptions([&] {
    const Bias& bias = at_point();
    std::vector<double> result(bias.cotangents * elements.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = bias.at(input, elements, i).spread;
    }
    return result;
  });
}

std::optional<DType> KernelTest::narrowed_to(const FormulaGradient& formula,
                                             const std::vector<double>& claimed,
                                             const Rules& rules) {
  if (narrower_dtypes(claimed, pair_.dtype()).empty()) return std::nullopt;
  Derivatives exact = formula.reference;
  exact.value = formula.value;
  std::fill(exact.error.begin(), exact.error.end(), 0.0);
  std::fill(exact.flags.begin(), exact.flags.end(), std::uint8_t{0});
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
  return with_plain_exceptions(
      [&] { return gradcheck::narrowed_to(claimed, exact, pair_.dtype(), rules.bars, uncertain); });
}

const Bias& KernelTest::at_point() {
  if (!at_point_) {
    const std::vector<Tensor>& x = pair_.kernel.inputs();
    at_point_ = bias_around(pair_, x, "dither", true, std::vector<Elements>(x.size()));
  }
  return *at_point_;
}

// Around other centres, further away. Behind a saturated tanh the dither is too small to change an
// intermediate result, whose rounding error then is the same at all points; not at another centre.
//
// Of later inputs everything is kept, for they may be asked for next; of earlier ones nothing.
const std::vector<Bias>& KernelTest::around(std::size_t input,
                                            const std::vector<std::int64_t>& elements) {
  const std::vector<Tensor>& x = pair_.kernel.inputs();
  const bool is_known = !around_.empty() && around_[0].kept[input].value_or(elements) == elements;
  if (!is_known) {
    const double amplitude = std::sqrt(std::sqrt(unit_roundoff(pair_.dtype())));
    std::vector<Elements> kept(x.size());
    std::fill_n(kept.begin(), input, std::vector<std::int64_t>());
    kept[input] = elements;
    around_.clear();
    for (int q = 0; q < kCentres; ++q) {
      const std::string purpose = str_cat("centre ", q);
      const std::vector<Tensor> centre = dithered_point(pair_, x, amplitude, purpose);
      around_.push_back(bias_around(pair_, centre, str_cat("dither at ", purpose), false, kept));
    }
  }
  return around_;
}

}  // namespace fluidcore::gradcheck
