#include "fluidcore/gradcheck/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "fluidcore/gradcheck/difference/direction.h"
#include "fluidcore/gradcheck/difference/noise.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/input_message.h"
#include "fluidcore/gradcheck/verdict/audited_gradient.h"
#include "fluidcore/gradcheck/verdict/digits.h"
#include "fluidcore/gradcheck/verdict/directional.h"
#include "fluidcore/gradcheck/verdict/element_check.h"
#include "fluidcore/gradcheck/verdict/kernel_check.h"

namespace fluidcore::gradcheck {

namespace {

using Tensors = std::vector<Tensor>;

OperatorCase case_in(const OperatorCase& at, DType dtype) {
  OperatorCase result = at;
  for (auto& [slot, tensors] : result.inputs) {
    for (Tensor& tensor : tensors) tensor = converted(tensor, dtype);
  }
  return result;
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return 65504.0;
    case DType::kFloat64: return 0x1.fffffffffffffp+1023;
    case DType::kBFloat16: return 0x1.fep+127;
    default: return 0x1.fffffep+127;
  }
}

std::vector<std::int64_t> every_element(const Tensor& tensor) {
  std::vector<std::int64_t> elements(static_cast<std::size_t>(tensor.size()));
  std::iota(elements.begin(), elements.end(), std::int64_t{0});
  return elements;
}

// [cotangents, elements] -> [elements]: where any cotangent has it.
std::vector<std::uint8_t> of_any_cotangent(const std::vector<std::uint8_t>& mask,
                                           std::size_t elements) {
  std::vector<std::uint8_t> any(elements);
  for (std::size_t i = 0; i < mask.size(); ++i) any[i % elements] |= mask[i];
  return any;
}

bool is_finite(const std::vector<double>& values, std::size_t i) {
  return std::isfinite(values[i]);
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
    judge_by(*f_);
    Tensors outputs;
    for (const Tensor& part : f_->run()) outputs.push_back(part.clone());
    claimed_ = audited(kernel_, cotangents_, outputs, options_.seed);
    exact_ = formula_ ? audited(*formula_, cotangents_, outputs, options_.seed) : claimed_;
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
  void judge_by(ProgramFunction& f) {
    judged_ = std::make_unique<Formula>(Formula{f, alone_ ? &kernel_ : nullptr, cotangents_});
    for (const Tensors& v : cotangents_) {
      std::vector<double>& flat = judged_->weights.emplace_back();
      for (const Tensor& part : v) append(flat, part);
    }
    for (const Tensor& y : f.run()) {
      append(judged_->outputs, y);
      judged_->output_sizes.push_back(static_cast<std::size_t>(y.size()));
    }
    judged_->noise = noise_floor(f, options_.seed);
    judged_->rules = rules_;
    judged_->alone = alone_;
    judged_->seed = options_.seed;
    judged_->workers = options_.workers;
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
      const std::int64_t rows = value.size() > options_.full ? kernel_.num_rows(k) : 0;
      const bool is_small = value.size() / std::max<std::int64_t>(rows, 1) <= options_.full;
      if (!is_small || !by_element(k, rows, check)) along_directions(k, check);
    }
    const bool is_linear = claimed_.is_linear[k] && exact_.is_linear[k];
    if (check.verdict != Verdict::kFail && !is_linear) {
      check.verdict = Verdict::kFail;
      check.reason = "not-linear";
    }
    return check;
  }

  // One element of every row at a time; false where the rows turn out to depend on each other.
  bool by_element(std::size_t k, std::int64_t rows, InputCheck& check) {
    const Look look{k, every_element(kernel_.inputs()[k]), rows,
                    [this, k] { return direction(k, 0); }};
    const std::optional<ElementCheck> found = check_elements(*judged_, look, {exact_.values[k]});
    if (found) judge_elements(look, *found, check);
    return found.has_value();
  }

  void judge_elements(const Look& look, const ElementCheck& found, InputCheck& check) {
    const std::size_t k = look.input;
    check_finite(claimed_.values[k], exact_.values[k], found.reference, check);
    if (check.verdict == Verdict::kFail) return;
    conclude(found.reference, found.judgement, "grad-mismatch", check);
    refuse_narrowed(narrowed_to(exact_.values[k], found.reference, judged_->dtype(), rules_.bars),
                    check);
    if (check.verdict == Verdict::kFail || !kernel_test_) return;
    judge_kernel(k, &found, check);
  }

  void along_directions(std::size_t k, InputCheck& check) {
    const auto is_number = [](double number) { return std::isfinite(number); };
    for (const auto* values : {&claimed_.values[k], &exact_.values[k]}) {
      if (std::all_of(values->begin(), values->end(), is_number)) continue;
      check.verdict = Verdict::kInconclusive;  // differences of elements alone tell what is right
      check.reason = "domain";
      check.resolution = std::numeric_limits<double>::infinity();
      return;
    }
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
    const Tensor& x = kernel_.inputs()[k];
    const auto elements = static_cast<std::ptrdiff_t>(x.size());
    DirectionalClaim claim{k, {}, {}, alone_ ? std::optional(dtype_) : std::nullopt};
    for (std::size_t q = 0; q < options_.probes; ++q) {
      const std::size_t row = q % cotangents_.size();
      const auto begin = exact_.values[k].begin() + static_cast<std::ptrdiff_t>(row) * elements;
      claim.probes.push_back({direction(k, q), judged_->weights[row]});
      claim.gradients.emplace_back(begin, begin + elements);
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
  void judge_kernel(std::size_t k, const ElementCheck* formula, InputCheck& check) const {
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

  static void name_culprits(const std::vector<Directional::Culprit>& culprits, InputCheck& check) {
    const auto excess = [](const Directional::Culprit& one) {
      return std::abs(one.judgement.analytical[0] - one.judgement.nearest[0]) /
             one.judgement.limit[0];
    };
    const auto worst = std::max_element(
        culprits.begin(), culprits.end(),
        [&](const auto& one, const auto& other) { return excess(one) < excess(other); });
    conclude(worst->reference, worst->judgement, "grad-mismatch", check);
    check.directions = 0;
    check.num_wrong = std::ssize(culprits);
    check.index = worst->element;
  }

  // Fails where a gradient is not finite that is, and that the dtype can hold.
  void check_finite(const std::vector<double>& claimed,
                    const std::vector<double>& formula,
                    const Derivatives& reference,
                    InputCheck& check) const {
    const auto elements = static_cast<std::size_t>(reference.elements);
    for (std::size_t i = claimed.size(); i-- > 0;) {
      constexpr double kBars = 5;
      const double most = std::abs(reference.value[i]) + kBars * reference.error[i];
      const bool is_known =
          (reference.flags[i % elements] & (kJump | kDomain)) == 0 && most <= largest(dtype_);
      if (!is_known || (is_finite(claimed, i) && is_finite(formula, i))) continue;
      ++check.num_wrong;
      check.verdict = Verdict::kFail;
      check.reason = "non-finite";
      check.index = static_cast<std::int64_t>(i % elements);
      check.analytical = is_finite(formula, i) ? claimed[i] : formula[i];
      check.numerical = reference.value[i];
      check.error_bar = reference.error[i];
    }
  }

  // Fails where a gradient was rounded through a narrower dtype.
  static void refuse_narrowed(const std::optional<DType>& narrow, InputCheck& check) {
    if (!narrow) return;
    check.narrowed_to = narrow;
    check.verdict = Verdict::kFail;
    check.reason = "narrowed";
  }

  static void conclude(const Derivatives& reference,
                       const Judgement& found,
                       const std::string& reason,
                       InputCheck& check) {
    const auto elements = static_cast<std::size_t>(reference.elements);
    const std::vector<std::uint8_t> wrong = of_any_cotangent(found.wrong, elements);
    const std::vector<std::uint8_t> unsure = of_any_cotangent(found.unsure, elements);
    double resolution = 0;
    for (std::size_t i = 0; i < found.wrong.size(); ++i) {
      if (!found.unsure[i]) resolution = std::max(resolution, found.resolution[i]);
    }
    const std::size_t worst = found.worst();
    check.verdict = found.verdict();
    const std::string warning = found.num_imprecise > 0 ? "precision-loss" : "";
    check.reason = check.verdict == Verdict::kPass ? warning
                   : check.verdict == Verdict::kFail
                       ? reason
                       : std::string(found.doubts(reference.flags).front());
    check.num_wrong = std::count(wrong.begin(), wrong.end(), 1);
    check.num_unsure = std::count(unsure.begin(), unsure.end(), 1);
    check.index = static_cast<std::int64_t>(worst % elements);
    check.analytical = found.analytical[worst];
    check.numerical = found.nearest[worst];
    check.error_bar = reference.error[worst];
    check.limit = found.limit[worst];
    check.resolution = resolution;
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
