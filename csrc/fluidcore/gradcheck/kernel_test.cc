#include "fluidcore/gradcheck/kernel_test.h"

#include <cmath>
#include <string>
#include <utility>

#include "fluidcore/gradcheck/random_values.h"
#include "fluidcore/gradcheck/rounding.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::size_t kPoints = 8;  // besides the centre
constexpr std::size_t kCentres = 4;
constexpr int kConfirmed = 3;  // of the centres
constexpr double kSpreads = 4;
constexpr double kUnits = 4;

std::vector<Tensor> values_of(const NamedTensors& named) {
  std::vector<Tensor> values;
  for (const auto& [name, tensor] : named) values.push_back(tensor);
  return values;
}

std::vector<Tensor> in_float64(const std::vector<Tensor>& values) {
  std::vector<Tensor> result;
  for (const Tensor& value : values) result.push_back(converted(value, DType::kFloat64));
  return result;
}

// Mean and standard deviation of a series of arrays.
class Moments {
 public:
  explicit Moments(std::size_t size) : mean_(size), squares_(size) {}

  // The difference of two arrays.
  void add(const Tensor& a, const Tensor& b) {
    ++count_;
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      const double value = a.get_float_element(index) - b.get_float_element(index);
      const double step = value - mean_[i];
      mean_[i] += step / count_;
      squares_[i] += step * (value - mean_[i]);
    }
  }
  const std::vector<double>& mean() const { return mean_; }
  std::vector<double> spread() const {
    std::vector<double> result = squares_;
    for (double& value : result) value = std::sqrt(value / (count_ - 1));
    return result;
  }

 private:
  int count_ = 0;
  std::vector<double> mean_;
  std::vector<double> squares_;
};

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
  const std::vector<double>& mean = at_point_->mean[k];
  const std::vector<double>& spread = at_point_->spread[k];
  std::vector<double> rounding = padded_scale(reference);
  std::vector<double> tolerance(rounding.size());
  std::vector<double> claimed = analytical;
  for (std::size_t i = 0; i < rounding.size(); ++i) {
    rounding[i] = kUnits * unit_roundoff(dtype_) * rounding[i] + smallest_normal(dtype_);
    tolerance[i] = kSpreads * spread[i] + rounding[i];
    claimed[i] += mean[i];
  }
  Judgement found = gradcheck::judge(reference, std::move(claimed), tolerance, rules);
  for (std::size_t i = 0; i < found.wrong.size(); ++i) {
    if (!found.wrong[i]) continue;
    int votes = 0;
    for (const Bias& near : around()) {
      votes += std::abs(near.mean[k][i]) > kSpreads * near.spread[k][i] + rounding[i] ? 1 : 0;
    }
    found.wrong[i] = votes >= kConfirmed;
    if (!found.wrong[i] && !std::isfinite(mean[i])) found.unsure[i] = 1;
  }
  return found;
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
  Bias result{std::vector<std::vector<double>>(wanted), std::vector<std::vector<double>>(wanted)};
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
