#include "fluidcore/gradcheck/verdict/audited_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/verdict/linearity.h"

namespace fluidcore::gradcheck {

namespace {

using Tensors = std::vector<Tensor>;
using Values = std::vector<std::vector<double>>;  // by input

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.spec() == b.spec() && (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

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

// The same, of the elements that a cotangent gives a number: 0 times infinity is none.
bool is_zero_where_finite(const Tensor& gradient, const std::vector<double>& before) {
  for (std::int64_t i = 0; i < gradient.size(); ++i) {
    const bool is_number = std::isfinite(before.at(static_cast<std::size_t>(i)));
    if (is_number && gradient.get_float_element(i) != 0) return false;
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
    result_.faults.resize(x_.size());
    result_.is_linear.assign(x_.size(), true);
  }

  AuditedGradient of(const std::vector<Tensors>& cotangents) {
    for (const Tensors& cotangent : cotangents) look_at(converted(cotangent, dtype()));
    return std::move(result_);
  }

 private:
  DType dtype() const { return x_.front().dtype(); }

  Values values_at(const Tensors& v) {
    Values values;
    for (const Tensor& part : gradient_.at(x_, v)) append(values.emplace_back(), part);
    return values;
  }

  void look_at(const Tensors& v) {
    Tensors zeros;
    for (const Tensor& part : v) zeros.push_back(zeros_like(part));
    const Tensors& beside = gradient_.at(elsewhere_, zeros);
    const bool has_none = std::all_of(beside.begin(), beside.end(), is_zero);
    Tensors first;
    for (const Tensor& part : gradient_.at(x_, v)) first.push_back(part.clone());
    const Tensors& second = gradient_.at(x_, v);
    for (std::size_t k = 0; k < first.size(); ++k) {
      if (!(first[k].spec() == x_[k].spec())) {
        result_.faults[k] = "wrong-shape";
        continue;
      }
      if (!same_bits(first[k], second[k])) result_.faults[k] = "not-repeatable";
    }
    Values before;
    for (std::size_t k = 0; k < first.size(); ++k) {
      append(before.emplace_back(), first[k]);
      append(result_.values[k], first[k]);
    }
    if (!has_none) {
      const Tensors& none = gradient_.at(x_, zeros);
      for (std::size_t k = 0; k < none.size(); ++k) {
        result_.is_linear[k] = result_.is_linear[k] && is_zero_where_finite(none[k], before[k]);
      }
    }
    const double weight = weight_of(v, outputs_);
    Tensors scaled = v;
    for (Tensor& part : scaled) part = scaled_exactly(part);
    compare(values_at(scaled), before, kExactFactor, nullptr, weight);
    const auto [w, sum] = another(v);
    const Values part = values_at(w);
    compare(values_at(sum), before, 1, &part, weight + weight_of(w, outputs_));
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
      if (found[k].size() != first[k].size()) continue;  // a fault of the shape
      const LinearRelation relation{found[k].data(),
                                    first[k].data(),
                                    factor,
                                    second == nullptr ? nullptr : (*second)[k].data(),
                                    std::ssize(first[k]),
                                    dtype()};
      const auto off = deviation(relation, {weight, root_mean_square(x_[k])});
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
