#include "fluidcore/gradcheck/verdict/audited_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/verdict/linearity.h"
#include "fluidcore/gradcheck/verdict/repetition.h"

namespace fluidcore::gradcheck {

namespace {

using Tensors = std::vector<Tensor>;
using Values = std::vector<std::vector<double>>;  // by input

Tensor zeros_like(const Tensor& tensor) {
  Tensor result = tensor.clone();
  for (std::int64_t i = 0; i < result.size(); ++i) result.set_float_element(i, 0);
  return result;
}

// The sum of |v y|.
double weight_of(const Tensors& v, const Tensors& outputs) {
  double sum = 0;
  for (std::size_t j = 0; j < v.size(); ++j) {
    for (std::int64_t i = 0; i < v[j].size(); ++i) {
      sum += std::abs(v[j].get_float_element(i) * outputs[j].get_float_element(i));
    }
  }
  return sum;
}

// Whether nothing is there; NaN is not.
bool is_zero(const Tensor& gradient) {
  for (std::int64_t i = 0; i < gradient.size(); ++i) {
    if (gradient.get_float_element(i) != 0) return false;
  }
  return true;
}

class Audit {
 public:
  Audit(Gradient& gradient, const Tensors& outputs, std::uint64_t seed)
      : gradient_(gradient), outputs_(outputs), seed_(seed), x_(gradient.inputs()) {
    const double amplitude = std::sqrt(std::sqrt(unit_roundoff(dtype())));
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const RandomSequence numbers = random_sequence(seed, str_cat("input ", i), "elsewhere");
      elsewhere_.push_back(dithered(x_[i], amplitude, numbers));
    }
    result_.values.resize(x_.size());
    result_.deviations.resize(x_.size());
    result_.faults.resize(x_.size());
    result_.is_linear.assign(x_.size(), true);
  }

  AuditedGradient of(const std::vector<Tensors>& cotangents) {
    for (const Tensors& cotangent : cotangents) look_at(converted(cotangent, dtype()));
    return std::move(result_);
  }

 private:
  DType dtype() const { return x_.front().dtype(); }

  // NaN where the shape or the dtype is wrong.
  Values values_at(const Tensors& v) {
    Values values;
    const Tensors& found = gradient_.at(x_, v);
    for (std::size_t k = 0; k < x_.size(); ++k) {
      if (found[k].spec() == x_[k].spec()) {
        append(values.emplace_back(), found[k]);
        continue;
      }
      values.emplace_back(static_cast<std::size_t>(x_[k].size()), std::nan(""));
      result_.faults[k] = "wrong-shape";
    }
    return values;
  }

  void look_at(const Tensors& v) {
    Tensors zeros;
    for (const Tensor& part : v) zeros.push_back(zeros_like(part));
    const Tensors& beside = gradient_.at(elsewhere_, zeros);
    const bool has_none = std::all_of(beside.begin(), beside.end(), is_zero);
    const Values first = values_at(v);
    for (std::size_t k = 0; k < first.size(); ++k) {
      result_.values[k].insert(result_.values[k].end(), first[k].begin(), first[k].end());
    }
    run_again(v, first);
    if (!has_none) compare(values_at(zeros), first, 0, nullptr, 0);
    const double weight = weight_of(v, outputs_);
    Tensors scaled = v;
    for (Tensor& part : scaled) part = scaled_exactly(part);
    compare(values_at(scaled), first, kExactFactor, nullptr, weight);
    const auto [w, sum] = another(v);
    const Values part = values_at(w);
    compare(values_at(sum), first, 1, &part, weight + weight_of(w, outputs_));
  }

  void run_again(const Tensors& v, const Values& first) {
    std::vector<Repetition> runs(first.begin(), first.end());
    while (std::any_of(runs.begin(), runs.end(), [](auto& one) { return one.wants_more(); })) {
      const Values again = values_at(v);
      for (std::size_t k = 0; k < runs.size(); ++k) runs[k].add(again[k]);
    }
    for (std::size_t k = 0; k < runs.size(); ++k) {
      if (runs[k].repeats()) continue;
      if (result_.faults[k].empty() && !runs[k].is_rounding(dtype())) {
        result_.faults[k] = "not-repeatable";
      }
      const std::vector<double> deviation = runs[k].deviation();
      std::vector<double>& most = result_.deviations[k];
      most.resize(deviation.size());
      for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], deviation[i]);
    }
  }

  // Another cotangent, and its sum with v, which the dtype holds.
  std::pair<Tensors, Tensors> another(const Tensors& v) const {
    std::pair<Tensors, Tensors> result;
    for (std::size_t j = 0; j < v.size(); ++j) {
      const RandomSequence numbers = random_sequence(seed_, str_cat("output ", j), "second");
      Tensor w = gaussian(v[j].spec(), numbers);
      Tensor sum = w.clone();
      for (std::int64_t i = 0; i < w.size(); ++i) {
        sum.set_float_element(i, v[j].get_float_element(i) + w.get_float_element(i));
        w.set_float_element(i, sum.get_float_element(i) - v[j].get_float_element(i));
      }
      result.first.push_back(std::move(w));
      result.second.push_back(std::move(sum));
    }
    return result;
  }

  void compare(const Values& found,
               const Values& first,
               double factor,
               const Values* second,
               double weight) {
    for (std::size_t k = 0; k < first.size(); ++k) {
      const LinearRelation relation{found[k].data(),
                                    first[k].data(),
                                    factor,
                                    second == nullptr ? nullptr : (*second)[k].data(),
                                    std::ssize(first[k]),
                                    dtype()};
      const std::vector<double>& all = result_.deviations[k];
      const double spread = all.empty() ? 0 : *std::max_element(all.begin(), all.end());
      const auto off = deviation(relation, {weight, root_mean_square(x_[k]), spread});
      if (off && off->is_wrong) result_.is_linear[k] = false;
    }
  }

  Gradient& gradient_;
  const Tensors& outputs_;
  std::uint64_t seed_;
  const Tensors& x_;
  Tensors elsewhere_;
  AuditedGradient result_;
};

}  // namespace

AuditedGradient audited(Gradient& gradient,
                        const std::vector<std::vector<Tensor>>& cotangents,
                        const std::vector<Tensor>& outputs,
                        std::uint64_t seed) {
  return Audit(gradient, outputs, seed).of(cotangents);
}

void append(std::vector<double>& to, const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) to.push_back(tensor.get_float_element(i));
}

}  // namespace fluidcore::gradcheck
