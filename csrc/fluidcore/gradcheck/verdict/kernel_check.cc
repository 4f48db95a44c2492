#include "fluidcore/gradcheck/verdict/kernel_check.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/verdict/digits.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kCotangentSigns = 4;  // random signs that measure the terms of a gradient
constexpr std::size_t kElementsAtOnce = 1 << 16;  // that are looked at
constexpr double kSeenSpreads = 2.33 / 3;  // standard errors of a mean of 9: found in 99 % of cases

Tensor with_random_signs(Tensor x, const RandomSequence& numbers) {
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (numbers.uniform<double>(static_cast<std::uint64_t>(i)) < 0.5) {
      x.set_float_element(i, -x.get_float_element(i));
    }
  }
  return x;
}

// Adds the squares of the formula's gradients for cotangents with random signs.
void add_signed_squares(const GradientPair& pair,
                        const KernelClaim& claim,
                        std::size_t row,
                        double* squares) {
  const std::vector<Tensor>& x = pair.formula.inputs();
  for (int sign = 0; sign < kCotangentSigns; ++sign) {
    std::vector<Tensor> v = converted(pair.cotangents[row], x.front().dtype());
    for (std::size_t j = 0; j < v.size(); ++j) {
      const std::string purpose = str_cat("signs ", row, " ", sign);
      v[j] = with_random_signs(std::move(v[j]),
                               random_sequence(pair.seed, str_cat("output ", j), purpose));
    }
    const std::vector<Tensor>& found =
        interruptible(pair.formula.interruption(),
                      [&]() -> const std::vector<Tensor>& { return pair.formula.at(x, v); });
    for (std::size_t j = 0; j < claim.elements.size(); ++j) {
      const double a = found[claim.input].get_float_element(claim.elements[j]);
      squares[j] += a * a;
    }
  }
}

// The formula as what is right. Its terms are twice as large as the root mean square of the
// gradients for some cotangents: for that of the claim alone, or for those with random signs, too.
Derivatives of_formula(const GradientPair& pair, const KernelClaim& claim, bool signs) {
  const std::size_t elements = claim.elements.size();
  std::vector<double> scale(claim.formula.size());
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = claim.formula[i] * claim.formula[i];
  for (std::size_t row = 0; row < scale.size() / elements; ++row) {
    double* const squares = scale.data() + row * elements;
    if (signs) add_signed_squares(pair, claim, row, squares);
    double mean = 0;
    for (std::size_t j = 0; j < elements; ++j) {
      if (signs) squares[j] /= kCotangentSigns + 1;
      mean += squares[j] / static_cast<double>(elements);
    }
    for (std::size_t j = 0; j < elements; ++j) {
      squares[j] = 2 * std::sqrt(std::max(squares[j], mean));
    }
  }
  return exact(claim.formula, std::move(scale), std::ssize(claim.elements));
}

std::vector<std::uint8_t> open_elements(const ElementCheck& formula) {
  std::vector<std::uint8_t> open(formula.judgement.counted.size());
  for (std::size_t i = 0; i < formula.judgement.unsure.size(); ++i) {
    open[i % open.size()] |= formula.judgement.unsure[i];
  }
  return open;
}

double detectable_of(const Judgement& found) {
  double most = 0;
  for (std::size_t i = 0; i < found.limit.size(); ++i) {
    const double least = (kSeenSpreads * found.spread[i] + found.limit[i]) / found.measure[i];
    if (!std::isnan(least)) most = std::max(most, least);
  }
  return most;
}

double coarsest(const std::vector<double>& resolution) {
  return resolution.empty() ? 0 : *std::max_element(resolution.begin(), resolution.end());
}

// Elements of a claim, compared with the formula itself.
struct ClaimedElements {
  KernelClaim claim;
  Derivatives reference;

  ClaimedElements(const WholeClaim& whole,
                  const std::vector<std::size_t>& positions,
                  double least) {
    claim.input = whole.input;
    std::vector<double> scale;
    for (const std::size_t i : positions) {
      claim.elements.push_back(static_cast<std::int64_t>(i));
      claim.formula.push_back(whole.formula[i]);
      claim.kernel.push_back(whole.kernel[i]);
      scale.push_back(2 * std::max(std::abs(whole.formula[i]), least));
    }
    reference = exact(claim.formula, std::move(scale), std::ssize(claim.elements));
  }

  FormulaGradient gradient() const {
    return {claim.input, claim.elements, claim.formula, claim.kernel, reference};
  }
};

// The dtypes that all elements are numbers of, block by block.
void keep_common(const std::vector<double>& kernel,
                 DType dtype,
                 std::optional<std::set<DType>>& of) {
  if (of && of->empty()) return;
  const std::vector<DType> narrower = narrower_dtypes(kernel, dtype);
  std::set<DType> common;
  for (const DType one : narrower) {
    if (!of || of->contains(one)) common.insert(one);
  }
  of = std::move(common);
}

}  // namespace

double KernelCheck::detectable() const {
  return detectable_of(judgement);
}

KernelCheck check_kernel(KernelTest& test,
                         const KernelClaim& claim,
                         const ElementCheck* formula,
                         const Rules& rules) {
  std::optional<Derivatives> own;
  if (formula == nullptr) own = of_formula(test.pair(), claim, false);
  if (formula != nullptr && !formula->trusts_reference()) own = formula->trusted();
  const auto asked = [&]() -> FormulaGradient {
    return {claim.input,
            claim.elements,
            claim.formula,
            claim.kernel,
            own ? *own : formula->reference,
            formula == nullptr ? std::vector<std::uint8_t>() : open_elements(*formula)};
  };
  std::optional<Judgement> found = test.judge_at_point(asked(), rules);
  if (!found) {
    if (formula == nullptr) {
      own = with_plain_exceptions([&] { return of_formula(test.pair(), claim, true); });
    }
    found = test.judge(asked(), rules);
  }
  const std::optional<DType> narrow = test.narrowed_to(asked(), rules);
  return {*std::move(found), std::move(own), narrow};
}

std::optional<ProvenKernel> prove_kernel(KernelTest& test,
                                         const WholeClaim& claim,
                                         const Rules& rules) {
  if (test.pair().cotangents.size() != 1) return std::nullopt;
  double squares = 0;
  double most = 0;
  for (const double a : claim.formula) {
    squares += a * a;
    most = std::max(most, std::abs(a));
  }
  const double mean = squares / static_cast<double>(claim.formula.size());
  const double least = std::max(std::sqrt(mean), kSmallElement * most);
  std::optional<std::set<DType>> narrow;
  std::vector<std::size_t> rest;
  ProvenKernel proven;
  for (std::size_t begin = 0; begin < claim.formula.size(); begin += kElementsAtOnce) {
    std::vector<std::size_t> all(std::min(kElementsAtOnce, claim.formula.size() - begin));
    std::iota(all.begin(), all.end(), begin);
    const ClaimedElements block(claim, all, least);
    keep_common(block.claim.kernel, test.pair().dtype(), narrow);
    const std::vector<std::size_t> columns = test.unproven(block.gradient());
    std::vector<std::size_t> others;
    for (std::size_t j = 0, at = 0; j < all.size(); ++j) {
      const bool is_left = at < columns.size() && columns[at] == j;
      (is_left ? rest : others).push_back(all[j]);
      if (is_left) ++at;
    }
    if (others.empty()) continue;
    const ClaimedElements part(claim, others, least);
    const std::optional<Judgement> found = test.judge_at_point(part.gradient(), rules);
    if (!found) return std::nullopt;
    proven.resolution = std::max(proven.resolution, coarsest(found->resolution));
  }
  proven.detectable = proven.resolution;
  if (!rest.empty()) {
    const ClaimedElements part(claim, rest, least);
    const Judgement found = test.judge(part.gradient(), rules);
    if (!found.is_proven() || found.num_imprecise > 0) return std::nullopt;
    proven.resolution = std::max(proven.resolution, coarsest(found.resolution));
    proven.detectable = std::max(proven.resolution, detectable_of(found));
  }
  return narrow && !narrow->empty() ? std::nullopt : std::optional(proven);
}

}  // namespace fluidcore::gradcheck
