#include "fluidcore/gradcheck/verdict/audited_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/verdict/repetition.h"

namespace fluidcore::gradcheck {

namespace {

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

// Element by element, rounded to the dtype.
Tensors combined(const Tensors& a, double factor, const Tensors& b) {
  Tensors result = a;
  for (std::size_t j = 0; j < a.size(); ++j) {
    result[j] = a[j].clone();
    for (std::int64_t i = 0; i < a[j].size(); ++i) {
      const double value = a[j].get_float_element(i) + factor * b[j].get_float_element(i);
      result[j].set_float_element(i, value);
    }
  }
  return result;
}

Tensors sum_of(const Tensors& a, const Tensors& b) {
  return combined(a, 1, b);
}
Tensors apart(const Tensors& a, const Tensors& b) {
  return combined(a, -1, b);
}

Tensors scaled(Tensors cotangent) {
  for (Tensor& part : cotangent) part = scaled_exactly(part);
  return cotangent;
}

Related::Values spans(const Values& values) {
  return {values.begin(), values.end()};
}

Related owned(Values found, Values first, double factor, Values second = {}) {
  struct Owner {
    Values found, first, second;
  };
  const auto owner =
      std::make_shared<Owner>(Owner{std::move(found), std::move(first), std::move(second)});
  return {spans(owner->found), spans(owner->first), factor, spans(owner->second), owner};
}

class Audit {
 public:
  Audit(Gradient& gradient, const Tensors& outputs, const AuditOptions& options)
      : gradient_(gradient), outputs_(outputs), options_(options), x_(gradient.inputs()) {
    const double amplitude = std::sqrt(std::sqrt(unit_roundoff(dtype())));
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const RandomSequence numbers =
          random_sequence(options_.seed, str_cat("input ", i), "elsewhere");
      elsewhere_.push_back(dithered(x_[i], amplitude, numbers));
    }
    result_.values.resize(x_.size());
    result_.deviations.resize(x_.size());
    result_.faults.resize(x_.size());
    result_.linear.assign(x_.size(), Linear::kYes);
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
    if (!has_none) compare(owned(values_at(zeros), first, 0), {});
    compare(owned(values_at(scaled(v)), first, kExactFactor), {v});
    const Tensors w = another(v);
    compare(owned(values_at(sum_of(v, w)), first, 1, values_at(w)), {v, w});
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

  // Another cotangent, whose sum with v the dtype holds.
  Tensors another(const Tensors& v) const {
    Tensors result;
    for (std::size_t j = 0; j < v.size(); ++j) {
      const RandomSequence numbers =
          random_sequence(options_.seed, str_cat("output ", j), "second");
      result.push_back(gaussian(v[j].spec(), numbers));
    }
    return apart(sum_of(v, result), v);
  }

  // What linearity makes of the gradients for v, or for v and w.
  void compare(const Related& found, const std::vector<Tensors>& cotangents) {
    Relation relation{dtype()};
    for (std::size_t k = 0; k < x_.size(); ++k) {
      const std::vector<double>& all = result_.deviations[k];
      const double spread = all.empty() ? 0 : *std::max_element(all.begin(), all.end());
      relation.slack.push_back({0, spread, options_.tolerance});
    }
    relation.terms = [&](std::size_t k) {
      double weight = 0;
      for (const Tensors& v : cotangents) weight += weight_of(v, outputs_);
      return weight / root_mean_square(x_[k]);
    };
    relation.cotangents = [&] { return cotangents; };
    relation.at = [this](const std::vector<Tensors>& copies) { return related(copies); };
    relation.seed = options_.seed;
    const std::vector<std::optional<Deviation>> worst = check_linear(found, relation);
    for (std::size_t k = 0; k < worst.size(); ++k) {
      const std::optional<Deviation>& one = worst[k];
      if (one) result_.linear[k] = std::max(result_.linear[k], one->linear);
    }
  }

  Related related(const std::vector<Tensors>& cotangents) {
    const Tensors& v = cotangents[0];
    if (cotangents.size() == 1) return owned(values_at(scaled(v)), values_at(v), kExactFactor);
    const Tensors sum = sum_of(v, cotangents[1]);
    return owned(values_at(sum), values_at(v), 1, values_at(apart(sum, v)));
  }

  Gradient& gradient_;
  const Tensors& outputs_;
  const AuditOptions& options_;
  const Tensors& x_;
  Tensors elsewhere_;
  AuditedGradient result_;
};

}  // namespace

AuditedGradient audited(Gradient& gradient,
                        const std::vector<Tensors>& cotangents,
                        const Tensors& outputs,
                        const AuditOptions& options) {
  return Audit(gradient, outputs, options).of(cotangents);
}

void append(std::vector<double>& to, const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) to.push_back(tensor.get_float_element(i));
}

}  // namespace fluidcore::gradcheck
