#include "fluidcore/gradcheck/kernel_test.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "fluidcore/gradcheck/lost_digits.h"
#include "fluidcore/gradcheck/random_values.h"
#include "fluidcore/gradcheck/rounding.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::size_t kPoints = 8;  // besides the centre
constexpr std::size_t kCentres = 4;
constexpr int kConfirmed = 3;  // of the centres
constexpr double kSpreads = 4;
constexpr double kUnits = 4;
constexpr double kErrors = 6;    // of a mean
constexpr double kLittle = 0.5;  // of the rounding that is always right
constexpr double kTerms = 16;    // rounding units, times the root of the number of terms
constexpr double kSlight = 0.01;

std::vector<Tensor> values_of(const NamedTensors& named) {
  std::vector<Tensor> values;
  values.reserve(named.size());
  for (const auto& [name, tensor] : named) values.push_back(tensor);
  return values;
}

// Mean and standard deviation of the differences of a series of pairs of arrays.
class Moments {
 public:
  explicit Moments(std::size_t size) : mean_(size), squares_(size), formula_(size) {}

  // The difference of two arrays.
  void add(const Tensor& a, const Tensor& b) {
    ++count_;
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      const double formula = b.get_float_element(index);
      const double value = a.get_float_element(index) - formula;
      formula_[i] += (formula - formula_[i]) / count_;
      const double step = value - mean_[i];
      mean_[i] += step / count_;
      squares_[i] += step * (value - mean_[i]);
    }
  }
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& formula() const { return formula_; }  // the mean of the second ones
  std::vector<double> spread() const {
    std::vector<double> result = squares_;
    for (double& value : result) value = std::sqrt(value / (count_ - 1));
    return result;
  }

 private:
  int count_ = 0;
  std::vector<double> mean_;
  std::vector<double> squares_;
  std::vector<double> formula_;
};

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

void append(std::vector<double>& to, const std::vector<double>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

}  // namespace

KernelTest::KernelTest(OperatorGradient& kernel,
                       OperatorGradient& formula,
                       std::vector<std::vector<Tensor>> cotangents,
                       std::uint64_t seed)
    : kernel_(kernel),
      formula_(formula),
      cotangents_(std::move(cotangents)),
      seed_(seed),
      dtype_(kernel.inputs()[kernel.wanted().at(0)].second.dtype()) {
}

Judgement KernelTest::judge(std::size_t k,
                            const std::vector<double>& analytical,
                            const Derivatives& reference,
                            const Rules& rules) {
  if (!at_point_) at_point_ = bias(values_of(kernel_.inputs()), 0);
  const std::vector<double>& mean = at_point_.value().mean[k];
  const std::vector<double>& spread = at_point_.value().spread[k];
  std::vector<double> rounding = padded_scale(reference);
  std::vector<double> tolerance(rounding.size());
  std::vector<double> claimed = analytical;
  const auto elements = static_cast<std::size_t>(reference.elements);
  for (std::size_t i = 0; i < rounding.size(); ++i) {
    rounding[i] = kUnits * unit_roundoff(dtype_) * rounding[i] + smallest_normal(dtype_);
    tolerance[i] = kSpreads * spread[i] + rounding[i];
    claimed[i] += mean[i];
  }
  const Judgement doubtful = gradcheck::judge(reference, claimed, rounding, rules);
  Judgement found = gradcheck::judge(reference, std::move(claimed), tolerance, rules);
  for (std::size_t i = 0; i < found.wrong.size(); ++i) {
    const bool is_kink = (reference.flags[i % elements] & (kKink | kJump)) != 0;
    if (found.wrong[i]) {
      found.wrong[i] = is_confirmed(k, i, rounding[i]);
      if (!found.wrong[i] && !std::isfinite(mean[i])) found.unsure[i] = 1;
    }
    if (doubtful.wrong[i] && !is_kink && spread[i] <= kLittle * rounding[i]) {
      const double least = least_seen(k, i, rounding[i]);
      if (std::abs(mean[i]) <= least) continue;
      found.wrong[i] = 1;
      found.unsure[i] = 0;
      found.limit[i] = least;
    }
  }
  excuse_lost_digits(k, reference, rules, found.wrong, found);
  if (found.verdict() == Verdict::kInconclusive) {
    excuse_lost_digits(k, reference, rules, found.unsure, found);
  }
  return found;
}

// Whether most of the other centres show a fault, too, and all of them the same one.
bool KernelTest::is_confirmed(std::size_t k, std::size_t i, double rounding) {
  int votes = 0;
  std::vector<double> means = {at_point_.value().mean[k][i]};
  std::vector<double> parts = {at_point_.value().mean[k][i] / at_point_.value().formula[k][i]};
  for (const Bias& near : around()) {
    votes += std::abs(near.mean[k][i]) > kSpreads * near.spread[k][i] + rounding ? 1 : 0;
    means.push_back(near.mean[k][i]);
    parts.push_back(near.mean[k][i] / near.formula[k][i]);
  }
  return votes >= kConfirmed && (is_steady(means) || is_steady(parts));
}

// What the mean of all centres can tell from rounding; infinite where they disagree. Only for
// errors that spread no more than the rounding of a result does: those of lost digits need not have
// the mean 0.
double KernelTest::least_seen(std::size_t k, std::size_t i, double rounding) {
  std::vector<double> means = {at_point_.value().mean[k][i]};
  double squares = at_point_.value().spread[k][i] * at_point_.value().spread[k][i];
  for (const Bias& near : around()) {
    means.push_back(near.mean[k][i]);
    squares += near.spread[k][i] * near.spread[k][i];
  }
  const auto count = static_cast<double>(means.size());
  const double least = rounding + kErrors * std::sqrt(squares / (kPoints + 1)) / count;
  const auto votes = std::count_if(means.begin(), means.end(),
                                   [&](double mean) { return std::abs(mean) > rounding; });
  const bool is_fault = std::abs(mean_of(means)) > least && votes >= std::ssize(means) - 1;
  return is_fault && is_steady(means) ? least : std::numeric_limits<double>::infinity();
}

// What is only imprecise is neither wrong nor in doubt: what is off by more than rounding, but by
// less than a sum of many terms may lose, and by nothing beside the largest element; or has lost
// its digits before the gradient is calculated. `doubt` is one of the masks of `found`.
void KernelTest::excuse_lost_digits(std::size_t k,
                                    const Derivatives& reference,
                                    const Rules& rules,
                                    std::vector<std::uint8_t>& doubt,
                                    Judgement& found) {
  const auto elements = static_cast<std::size_t>(reference.elements);
  std::int64_t terms = 0;
  for (const auto& [name, spec] : kernel_.outputs()) terms += spec.shape.num_elements();
  const double lost = kTerms * std::sqrt(static_cast<double>(terms)) * unit_roundoff(dtype_);
  const double part = std::min(lost, kSlight * rules.resolution);
  std::vector<std::uint8_t> much = doubt;
  for (std::size_t row = 0; row < cotangents_.size(); ++row) {
    const auto scale = reference.scale.begin() + static_cast<std::ptrdiff_t>(row * elements);
    const double most = *std::max_element(scale, scale + reference.elements);
    for (std::size_t i = row * elements; i < (row + 1) * elements; ++i) {
      const double allowed = found.unsure[i] ? rules.resolution * found.measure[i] : found.limit[i];
      if (may_be_off(found, i) <= allowed + part * most) much[i] = 0;
    }
  }
  const auto any = [](const std::vector<std::uint8_t>& mask) {
    return std::find(mask.begin(), mask.end(), 1) != mask.end();
  };
  if (!any(doubt)) return;
  if (any(much) && !are_rounding(kernel_, formula_, cotangents_, seed_, k, found, much)) return;
  std::vector<std::uint8_t> imprecise(elements);
  for (std::size_t i = 0; i < doubt.size(); ++i) {
    if (!doubt[i]) continue;
    const double limit = std::max(found.limit[i], may_be_off(found, i));
    found.resolution[i] *= limit / found.limit[i];
    found.limit[i] = limit;
    doubt[i] = 0;
    imprecise[i % elements] = 1;
  }
  found.num_imprecise += std::count(imprecise.begin(), imprecise.end(), 1);
}

// Behind a saturated tanh the dither is too small to change an intermediate result, whose rounding
// error then is the same at all points; not at another centre.
const std::vector<KernelTest::Bias>& KernelTest::around() {
  const double amplitude = std::sqrt(std::sqrt(unit_roundoff(dtype_)));
  for (std::size_t round = around_.size() + 1; round <= kCentres; ++round) {
    const std::string purpose = str_cat("centre ", round);
    around_.push_back(
        bias(dithered_inputs(values_of(kernel_.inputs()), purpose, amplitude), round));
  }
  return around_;
}

KernelTest::Bias KernelTest::bias(const std::vector<Tensor>& centre, std::size_t round) {
  const double root = std::sqrt(unit_roundoff(dtype_));
  const std::size_t wanted = kernel_.wanted().size();
  const std::vector<std::vector<double>> none(wanted);
  Bias result{none, none, none};
  for (std::size_t row = 0; row < cotangents_.size(); ++row) {
    std::vector<Moments> moments;
    for (const std::size_t i : kernel_.wanted()) {
      moments.emplace_back(static_cast<std::size_t>(centre[i].size()));
    }
    // The centres around x need not be points themselves.
    for (std::size_t point = round == 0 ? 0 : 1; point <= kPoints + (round == 0 ? 0 : 1); ++point) {
      std::vector<Tensor> x = centre;
      std::vector<Tensor> v = cotangents_[row];
      if (point > 0) {
        const std::string purpose = str_cat("dither ", round, " ", row, " ", point);
        x = dithered_inputs(centre, purpose, root);
        for (std::size_t j = 0; j < v.size(); ++j) {
          v[j] = dithered(v[j], root, random_sequence(seed_, str_cat("output ", j), purpose));
        }
      }
      const std::vector<Tensor>& kernel = kernel_.gradient(x, v);
      const std::vector<Tensor>& formula = formula_.gradient(in_float64(x), in_float64(v));
      for (std::size_t k = 0; k < wanted; ++k) moments[k].add(kernel[k], formula[k]);
    }
    for (std::size_t k = 0; k < wanted; ++k) {
      append(result.mean[k], moments[k].mean());
      append(result.spread[k], moments[k].spread());
      append(result.formula[k], moments[k].formula());
    }
  }
  return result;
}

std::vector<Tensor> KernelTest::dithered_inputs(const std::vector<Tensor>& x,
                                                const std::string& purpose,
                                                double amplitude) const {
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::string& name = kernel_.inputs()[i].first;
    result.push_back(dithered(x[i], amplitude, random_sequence(seed_, name, purpose)));
  }
  return result;
}

}  // namespace fluidcore::gradcheck
