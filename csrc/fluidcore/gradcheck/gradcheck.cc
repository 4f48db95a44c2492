#include "fluidcore/gradcheck/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "fluidcore/gradcheck/difference/differentiate.h"
#include "fluidcore/gradcheck/difference/noise.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/input_message.h"
#include "fluidcore/gradcheck/verdict/agreement.h"
#include "fluidcore/gradcheck/verdict/confirm.h"
#include "fluidcore/gradcheck/verdict/digits.h"
#include "fluidcore/gradcheck/verdict/kernel_test.h"
#include "fluidcore/gradcheck/verdict/linearity.h"

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

void append(std::vector<double>& to, const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) to.push_back(tensor.get_float_element(i));
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.spec() == b.spec() && (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
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
std::vector<std::uint8_t> by_element(const std::vector<std::uint8_t>& mask, std::size_t elements) {
  std::vector<std::uint8_t> any(elements);
  for (std::size_t i = 0; i < mask.size(); ++i) any[i % elements] |= mask[i];
  return any;
}

bool is_finite(const std::vector<double>& values, std::size_t i) {
  return std::isfinite(values[i]);
}

// What the gradient operators of one dtype calculate, for all cotangents.
struct Calculated {
  std::vector<std::vector<double>> values;  // by wanted input: [cotangents, elements]
  std::vector<std::string> faults;          // by wanted input: a reason to fail, or nothing
  std::vector<bool> is_linear;              // by wanted input: in the cotangent
};

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
    for (std::size_t row = 0; row < options.cotangents; ++row) {
      Tensors& outputs = cotangents_.emplace_back();
      for (const auto& [name, spec] : kernel_.outputs()) {
        const std::string purpose = str_cat("cotangent ", row);
        outputs.push_back(gaussian(spec, random_sequence(options.seed, name, purpose)));
      }
    }
  }

  std::vector<InputCheck> run() {
    const bool alone = !formula_ && dtype_ != DType::kFloat64;
    OperatorGradient& judged = formula_ ? *formula_ : kernel_;
    Rules rules = formula_ ? Rules::of_formula(dtype_) : Rules::of(dtype_, alone);
    Rules kernel_rules = Rules::of(dtype_, alone);
    if (options_.resolution > 0) rules.resolution = kernel_rules.resolution = options_.resolution;
    const Calculated claimed = calculate(kernel_);
    const Calculated formula = formula_ ? calculate(*formula_) : claimed;
    const auto f = judged.forward();
    Question question;
    for (const Tensors& v : cotangents_) {
      std::vector<double>& flat = question.cotangents.emplace_back();
      for (const Tensor& part : v) append(flat, part);
    }
    std::optional<NoiseLevel> noise;  // where it is needed
    std::optional<KernelTest> kernel_test;
    if (formula_) {
      kernel_test.emplace(GradientPair{kernel_, *formula_, *f, cotangents_, options_.seed});
    }
    std::vector<InputCheck> checks;
    for (std::size_t k = 0; k < kernel_.inputs().size(); ++k) {
      const Tensor& value = kernel_.inputs()[k];
      InputCheck& check = checks.emplace_back();
      check.name = kernel_.name(k);
      check.spec = value.spec();
      check.reason = claimed.faults[k].empty() ? formula.faults[k] : claimed.faults[k];
      if (!check.reason.empty()) {
        check.verdict = Verdict::kFail;
        continue;
      }
      if (value.size() == 0) {
        continue;  // of no element, each is right
      }
      const std::vector<std::int64_t> elements = every_element(value);
      Derivatives reference = compare(*f, k, question, formula.values[k], noise);
      const std::vector<double> tolerance =
          alone ? alone_tolerance(reference, dtype_) : formula_tolerance(reference);
      Judgement found = judge(reference, formula.values[k], tolerance, rules);
      if (found.verdict() != Verdict::kPass) {
        const auto& [near, far] = measured(*f, noise);
        confirm(*f, {k, formula.values[k], tolerance}, elements, 0, {question.cotangents, near},
                rules, {options_.workers, options_.seed, far}, reference);
        found = judge(reference, formula.values[k], tolerance, rules);
      }
      check_finite(claimed.values[k], formula.values[k], reference, check);
      if (check.verdict == Verdict::kFail) continue;
      conclude(reference, found, "grad-mismatch", check);
      const DType judged_in = formula_ ? DType::kFloat64 : dtype_;
      refuse_narrowed(narrowed_to(formula.values[k], reference, judged_in, rules.bars), check);
      if (check.verdict == Verdict::kFail || !kernel_test) continue;
      const FormulaGradient exact{k,
                                  elements,
                                  formula.values[k],
                                  claimed.values[k],
                                  reference,
                                  by_element(found.unsure, elements.size())};
      std::optional<Judgement> proven = kernel_test->judge_at_point(exact, kernel_rules);
      found = proven ? *std::move(proven) : kernel_test->judge(exact, kernel_rules);
      if (check.verdict == Verdict::kPass || found.verdict() == Verdict::kFail) {
        conclude(reference, found, "kernel-mismatch", check);
      }
      refuse_narrowed(kernel_test->narrowed_to(exact, kernel_rules), check);
    }
    for (std::size_t k = 0; k < checks.size(); ++k) {
      if (checks[k].verdict == Verdict::kFail) continue;
      if (claimed.is_linear[k] && formula.is_linear[k]) continue;
      checks[k].verdict = Verdict::kFail;
      checks[k].reason = "not-linear";
    }
    return checks;
  }

 private:
  const NoiseLevel& measured(Function& f, std::optional<NoiseLevel>& noise) const {
    if (!noise) noise = noise_floor(f, options_.seed);
    return *noise;
  }

  // One central difference for each element; what is not proven by it is extrapolated.
  Derivatives compare(Function& f,
                      std::size_t k,
                      const Question& question,
                      const std::vector<double>& claimed,
                      std::optional<NoiseLevel>& noise) const {
    DifferentiateOptions how;
    how.workers = options_.workers;
    how.approach.once = true;
    Derivatives found = differentiate(f, k, question, how);
    std::vector<std::uint8_t> rest = agreement(found, claimed);
    for (std::uint8_t& element : rest) element = element == 0 ? 1 : 0;
    if (std::count(rest.begin(), rest.end(), 1) == 0) return found;
    how.approach.once = false;
    const Question widest{question.cotangents, measured(f, noise).widest()};
    differentiate_again(f, k, widest, rest, found, how);
    return found;
  }

  // At the point, after a run elsewhere: a kernel that keeps values of an earlier run is not right.
  Calculated calculate(OperatorGradient& gradient) const {
    const Tensors& x = gradient.inputs();
    const DType dtype = x.front().dtype();
    Tensors elsewhere;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double amplitude = std::sqrt(std::sqrt(unit_roundoff(dtype)));
      const RandomSequence numbers = random_sequence(options_.seed, gradient.name(i), "elsewhere");
      elsewhere.push_back(dithered(x[i], amplitude, numbers));
    }
    Calculated result;
    result.values.resize(x.size());
    result.faults.resize(x.size());
    result.is_linear.assign(x.size(), true);
    for (const Tensors& cotangent : cotangents_) {
      Tensors v;
      for (const Tensor& part : cotangent) v.push_back(converted(part, dtype));
      Tensors other;
      for (const Tensor& part : v) other.push_back(dithered(part, 0.5, {.key = options_.seed}));
      Tensors first;
      gradient.at(elsewhere, other);
      for (const Tensor& part : gradient.at(x, v)) first.push_back(part.clone());
      const Tensors& second = gradient.at(x, v);
      for (std::size_t k = 0; k < first.size(); ++k) {
        const TensorSpec& spec = x[k].spec();
        if (!(first[k].spec() == spec)) {
          result.faults[k] = "wrong-shape";
        } else if (!same_bits(first[k], second[k])) {
          result.faults[k] = "not-repeatable";
        }
        append(result.values[k], first[k]);
      }
      for (Tensor& part : v) part = scaled_exactly(part);
      const Tensors& third = gradient.at(x, v);
      for (std::size_t k = 0; k < first.size(); ++k) {
        result.is_linear[k] = result.is_linear[k] && is_scaled_exactly(third[k], first[k]);
      }
    }
    return result;
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
    const std::vector<std::uint8_t> wrong = by_element(found.wrong, elements);
    const std::vector<std::uint8_t> unsure = by_element(found.unsure, elements);
    double resolution = 0;
    for (std::size_t i = 0; i < found.wrong.size(); ++i) {
      if (!found.unsure[i]) resolution = std::max(resolution, found.resolution[i]);
    }
    const std::size_t worst = found.worst();
    check.verdict = found.verdict();
    const std::string warning = found.num_imprecise > 0 ? "precision-loss" : "";
    check.reason = check.verdict == Verdict::kPass   ? warning
                   : check.verdict == Verdict::kFail ? reason
                                                     : std::string(main_doubt(reference, found));
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
  std::vector<Tensors> cotangents_;
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
