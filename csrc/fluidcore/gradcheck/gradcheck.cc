#include "fluidcore/gradcheck/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "fluidcore/gradcheck/conclusion.h"
#include "fluidcore/gradcheck/difference/direction.h"
#include "fluidcore/gradcheck/difference/noise.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/input_message.h"
#include "fluidcore/gradcheck/verdict/audited_gradient.h"
#include "fluidcore/gradcheck/verdict/digits.h"
#include "fluidcore/gradcheck/verdict/directional.h"
#include "fluidcore/gradcheck/verdict/element_check.h"
#include "fluidcore/gradcheck/verdict/infinite.h"
#include "fluidcore/gradcheck/verdict/kernel_check.h"
#include "fluidcore/gradcheck/verdict/linearity.h"
#include "fluidcore/gradcheck/verdict/repetition.h"

namespace fluidcore::gradcheck {

namespace {

OperatorCase case_in(const OperatorCase& at, DType dtype) {
  OperatorCase result = at;
  for (auto& [slot, tensors] : result.inputs) {
    for (Tensor& tensor : tensors) tensor = converted(tensor, dtype);
  }
  return result;
}

std::vector<std::int64_t> every_element(const Tensor& tensor) {
  std::vector<std::int64_t> elements(static_cast<std::size_t>(tensor.size()));
  std::iota(elements.begin(), elements.end(), std::int64_t{0});
  return elements;
}

std::vector<double> flat(const Tensors& tensors) {
  std::vector<double> values;
  for (const Tensor& tensor : tensors) append(values, tensor);
  return values;
}

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double one) { return std::isfinite(one); });
}

class Check {
 public:
  Check(const OpRegistry& ops, const OperatorCase& at, const CheckOptions& options)
      : options_(options), kernel_(ops, at) {
    dtype_ = kernel_.inputs().front().dtype();
    if (dtype_ != DType::kFloat64 && kernel_.has_kernels(DType::kFloat64)) {
      formula_ = std::make_unique<OperatorGradient>(ops, case_in(at, DType::kFloat64));
      // An output may have a dtype of its own, as that of cast.
      for (const auto& [name, spec] : formula_->outputs()) {
        if (spec.dtype != DType::kFloat64) formula_.reset();
        if (!formula_) break;
      }
    }
    alone_ = !formula_ && dtype_ != DType::kFloat64;
    rules_ = formula_ ? Rules::of_formula(dtype_) : Rules::of(dtype_, alone_);
    kernel_rules_ = Rules::of(dtype_, alone_);
    rules_ = rules_.with_tolerance(options.tolerance);
    kernel_rules_ = kernel_rules_.with_tolerance(options.tolerance);
    if (options.resolution > 0) {
      rules_.resolution = kernel_rules_.resolution = options.resolution;
    }
    for (std::size_t row = 0; row < options.cotangents; ++row) {
      Tensors& outputs = cotangents_.emplace_back();
      for (const auto& [name, spec] : kernel_.outputs()) {
        const std::string purpose = str_cat("cotangent ", row);
        outputs.push_back(gaussian(spec, random_sequence(options.seed, name, purpose)));
      }
    }
  }

  std::vector<InputCheck> run() {
    f_ = (formula_ ? *formula_ : kernel_).forward();
    Tensors outputs;
    for (const Tensor& part : f_->run()) outputs.push_back(part.clone());
    judge_by(outputs);
    claimed_ = audit(kernel_, outputs);
    exact_ = formula_ ? audit(*formula_, outputs) : claimed_;
    if (formula_) {
      kernel_test_ = std::make_unique<KernelTest>(
          GradientPair{kernel_, *formula_, *f_, cotangents_, options_.seed});
    }
    std::vector<InputCheck> checks;
    checks.reserve(kernel_.inputs().size());
    for (std::size_t k = 0; k < kernel_.inputs().size(); ++k) checks.push_back(check_input(k));
    return checks;
  }

 private:
  // What the gradient of f is judged by.
  void judge_by(const Tensors& outputs) {
    judged_ = std::make_unique<Formula>(
        Formula::of(*f_, formula_ ? &*formula_ : &kernel_, cotangents_, outputs));
    Repetition runs(judged_->outputs);
    while (runs.wants_more()) runs.add(flat(f_->run()));
    is_random_ = runs.is_random();
    judged_->noise = noise_floor(*f_, options_.seed).at_least(runs.margin());
    judged_->rules = rules_;
    judged_->alone = alone_;
    judged_->seed = options_.seed;
    judged_->workers = options_.workers;
  }

  AuditedGradient audit(OperatorGradient& gradient, const Tensors& outputs) const {
    return audited(gradient, cotangents_, outputs, {options_.tolerance, options_.seed});
  }

  InputCheck check_input(std::size_t k) {
    const Tensor& value = kernel_.inputs()[k];
    InputCheck check;
    check.name = kernel_.name(k);
    check.spec = value.spec();
    check.reason = claimed_.faults[k].empty() ? exact_.faults[k] : claimed_.faults[k];
    if (!check.reason.empty()) {
      check.verdict = Verdict::kFail;
    } else if (value.size() > 0) {  // of no element, each is right
      judge(k, check);
    }
    const Linear linear = std::max(claimed_.linear[k], exact_.linear[k]);
    if (linear == Linear::kNo && check.verdict != Verdict::kFail) {
      check.verdict = Verdict::kFail;
      check.reason = "not-linear";
    } else if (linear == Linear::kOpen && check.verdict == Verdict::kPass) {
      leave_open(check, "noise");
    }
    return check;
  }

  void judge(std::size_t k, InputCheck& check) {
    if (!all_finite(judged_->outputs) || is_random_) {
      leave_open(check, is_random_ ? "stochastic" : "domain");
      return;
    }
    const std::optional<std::vector<std::uint8_t>> infinite = look_at_infinite(k, check);
    if (!infinite) return;
    const std::int64_t size = kernel_.inputs()[k].size();
    const std::int64_t rows = size > options_.full ? kernel_.num_rows(k) : 0;
    const bool is_small = size / std::max<std::int64_t>(rows, 1) <= options_.full;
    if (is_small && by_element(k, rows, *infinite, check)) return;
    if (infinite->empty()) {
      along_directions(k, check);
    } else {
      leave_open(check);  // differences of elements alone tell what is right
    }
  }

  // Where the formula's gradient is infinite and may be, empty if nowhere; nullopt where it is
  // wrong.
  std::optional<std::vector<std::uint8_t>> look_at_infinite(std::size_t k, InputCheck& check) {
    std::vector<std::uint8_t> infinite;
    for (std::size_t row = 0; row < cotangents_.size(); ++row) {
      const std::vector<double> claimed = gradient_of(exact_, k, row);
      const Infinite found = check_infinite(*f_, k, claimed, question(row), rules_.bars);
      if (found.wrong) {
        refuse_infinite(claimed, *found.wrong, check);
        return std::nullopt;
      }
      infinite.resize(std::max(infinite.size(), found.infinite.size()));
      for (std::size_t i = 0; i < found.infinite.size(); ++i) infinite[i] |= found.infinite[i];
    }
    return infinite;
  }

  Question question(std::size_t row) const {
    return {{judged_->weights[row]}, judged_->noise.near};
  }

  // For one cotangent: [elements].
  std::vector<double> gradient_of(const AuditedGradient& gradient,
                                  std::size_t k,
                                  std::size_t row) const {
    const std::ptrdiff_t elements = kernel_.inputs()[k].size();
    const auto begin = gradient.values[k].begin() + static_cast<std::ptrdiff_t>(row) * elements;
    return {begin, begin + elements};
  }

  // One element of every row at a time; false where the rows turn out to depend on each other.
  bool by_element(std::size_t k,
                  std::int64_t rows,
                  const std::vector<std::uint8_t>& infinite,
                  InputCheck& check) {
    const Look look{k, every_element(kernel_.inputs()[k]), rows,
                    [this, k] { return direction(k, 0); }};
    const std::optional<ElementCheck> found =
        check_elements(*judged_, look, {exact_.values[k], exact_.deviations[k], infinite});
    if (found) judge_elements(look, *found, check);
    return found.has_value();
  }

  void judge_elements(const Look& look, const ElementCheck& found, InputCheck& check) {
    const std::size_t k = look.input;
    conclude(found.reference, found.judgement, "grad-mismatch", check);
    if (!all_finite(exact_.values[k])) return;  // that is no number of any dtype
    refuse_narrowed(narrowed_to(exact_.values[k], found.reference, judged_->dtype(), rules_.bars),
                    check);
    if (check.verdict == Verdict::kFail || !kernel_test_) return;
    judge_kernel(k, &found, check);
  }

  void along_directions(std::size_t k, InputCheck& check) {
    const Directional found = check_directions(*f_, directional_claim(k), rules_,
                                               {judged_->noise, options_.workers, options_.seed});
    conclude(found.reference, found.judgement, "grad-mismatch", check);
    check.directions = options_.probes;
    check.resolution = std::max(check.resolution, found.min_detectable_99);
    if (!found.culprits.empty()) name_culprits(found.culprits, check);
    if (check.verdict == Verdict::kFail || !kernel_test_) return;
    judge_kernel(k, nullptr, check);
  }

  DirectionalClaim directional_claim(std::size_t k) const {
    DirectionalClaim claim{
        k, {}, {}, alone_ ? std::optional(dtype_) : std::nullopt, judged_->gradient};
    for (std::size_t q = 0; q < options_.probes; ++q) {
      const std::size_t row = q % cotangents_.size();
      claim.probes.push_back({direction(k, q), judged_->weights[row]});
      claim.gradients.push_back(gradient_of(exact_, k, row));
    }
    return claim;
  }

  std::vector<double> direction(std::size_t k, std::size_t probe) const {
    const RandomSequence numbers =
        random_sequence(options_.seed, kernel_.name(k), str_cat("direction ", probe));
    std::vector<double> direction;
    append(direction, gaussian({kernel_.inputs()[k].shape(), DType::kFloat64}, numbers));
    return round_direction(std::move(direction));
  }

  // `formula` is what is known of its elements; null where they were not looked at one by one.
  void judge_kernel(std::size_t k, const ElementCheck* formula, InputCheck& check) {
    if (!all_finite(claimed_.values[k])) {
      judge_infinite_kernel(k, check);
      return;
    }
    const KernelCheck found =
        check_kernel(*kernel_test_,
                     {k, every_element(kernel_.inputs()[k]), exact_.values[k], claimed_.values[k]},
                     formula, kernel_rules_);
    if (check.verdict == Verdict::kPass || found.judgement.verdict() == Verdict::kFail) {
      const double resolution = check.directions > 0 ? check.resolution : 0;
      conclude(found.exact ? *found.exact : formula->reference, found.judgement, "kernel-mismatch",
               check);
      check.resolution = std::max(check.resolution, resolution);
      if (check.verdict == Verdict::kFail) check.directions = 0;  // elements are named
    }
    refuse_narrowed(found.narrowed_to, check);
  }

  // A kernel's gradient is not finite, where that of the formula is.
  void judge_infinite_kernel(std::size_t k, InputCheck& check) {
    leave_open(check);
    const std::unique_ptr<ProgramFunction> f = kernel_.forward();
    if (!all_finite(flat(f->run()))) return;
    for (std::size_t row = 0; row < cotangents_.size(); ++row) {
      const std::vector<double> claimed = gradient_of(claimed_, k, row);
      const std::vector<double> exact = gradient_of(exact_, k, row);
      for (std::size_t i = 0; i < claimed.size(); ++i) {
        const bool may_be = may_be_infinite(claimed[i], exact[i], exact[i], dtype_);
        if (std::isfinite(claimed[i]) || may_be) continue;
        refuse_infinite(claimed, {static_cast<std::int64_t>(i), exact[i], 0}, check);
        return;
      }
    }
  }

  const CheckOptions& options_;
  OperatorGradient kernel_;
  DType dtype_ = DType::kFloat64;
  std::unique_ptr<OperatorGradient> formula_;  // the same in float64
  bool alone_ = false;                         // there is none, where it would be needed
  Rules rules_;
  Rules kernel_rules_;
  std::vector<Tensors> cotangents_;

  std::unique_ptr<ProgramFunction> f_;  // what is differentiated
  std::unique_ptr<Formula> judged_;
  bool is_random_ = false;
  AuditedGradient claimed_;
  AuditedGradient exact_;  // of the formula
  std::unique_ptr<KernelTest> kernel_test_;
};

Verdict together(const std::vector<InputCheck>& checks) {
  Verdict verdict = Verdict::kPass;
  for (const InputCheck& check : checks) {
    if (check.verdict == Verdict::kFail) return Verdict::kFail;
    if (check.verdict == Verdict::kInconclusive) verdict = Verdict::kInconclusive;
  }
  return verdict;
}

}  // namespace

GradCheck check_gradients(const OpRegistry& ops,
                          const std::string& type,
                          const SlotTensors& inputs,
                          const AttributeMap& attrs,
                          const CheckOptions& options) {
  require(options.cotangents >= 1, "check_gradients: cotangents must be at least 1, got 0");
  require(options.probes >= 1, "check_gradients: probes must be at least 1, got 0");
  require(options.tolerance >= 0 && std::isfinite(options.tolerance),
          "check_gradients: tolerance must be 0 or more, got ", options.tolerance);
  const OperatorCase given{type, inputs, attrs, options.no_grad, options.num_outputs, options.seed};
  GradCheck result;
  result.inputs = Check(ops, options.dtype ? case_in(given, *options.dtype) : given, options).run();
  result.verdict = together(result.inputs);
  result.passed = result.verdict == Verdict::kPass;
  result.message = str_cat(type, ": ", result.verdict);
  for (const InputCheck& check : result.inputs) result.message += message_of(check);
  return result;
}

}  // namespace fluidcore::gradcheck
