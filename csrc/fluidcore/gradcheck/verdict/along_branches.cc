#include "fluidcore/gradcheck/verdict/along_branches.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/difference/direction.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/verdict/audited_gradient.h"
#include "fluidcore/gradcheck/verdict/directional.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::size_t kProbes = 4;  // for each cotangent

// Of A, [cotangents, elements].
DirectionalClaim claim_of(const Formula& formula, std::size_t input, const std::vector<double>& a) {
  const Tensor& x = formula.f.inputs()[input];
  DirectionalClaim claim{input,
                         {},
                         {},
                         formula.alone ? std::optional(formula.dtype()) : std::nullopt,
                         formula.gradient};
  for (std::size_t row = 0; row < formula.weights.size(); ++row) {
    const auto begin = a.begin() + static_cast<std::ptrdiff_t>(row) * x.size();
    for (std::size_t q = 0; q < kProbes; ++q) {
      const RandomSequence numbers = random_sequence(formula.seed, str_cat("input ", input),
                                                     str_cat("along branches ", row, " ", q));
      std::vector<double> direction;
      append(direction, gaussian({x.shape(), DType::kFloat64}, numbers));
      claim.probes.push_back({round_direction(std::move(direction)), formula.weights[row]});
      claim.gradients.emplace_back(begin, begin + x.size());
    }
  }
  return claim;
}

}  // namespace

bool prove_along_branches(Formula& formula,
                          const Look& look,
                          const Judgement& found,
                          Derivatives& reference) {
  const std::int64_t size = formula.f.inputs()[look.input].size();
  const auto is_kink = [&](std::size_t i) {
    return (reference.flags[i % look.elements.size()] & kKink) != 0;
  };
  const bool has_kinks = std::any_of(reference.flags.begin(), reference.flags.end(),
                                     [](std::uint8_t flags) { return (flags & kKink) != 0; });
  const bool is_whole = std::ssize(look.elements) == size;
  if (formula.gradient == nullptr || !has_kinks || !is_whole || formula.is_late()) return false;
  const Directional proof =
      check_directions(formula.f, claim_of(formula, look.input, found.analytical), formula.rules,
                       {formula.noise, formula.workers, formula.seed});
  formula.evaluations += proof.evaluations;
  if (proof.judgement.verdict() != Verdict::kPass) return false;
  const std::vector<double>& limit = proof.judgement.limit;
  const double hidden = *std::max_element(limit.begin(), limit.end()) / blind_spot(kProbes);
  for (std::size_t i = 0; i < found.analytical.size(); ++i) {
    const double off = std::abs(found.analytical[i] - found.nearest[i]);
    const bool is_in_doubt = found.wrong[i] != 0 || found.unsure[i] != 0;
    if (is_kink(i) && is_in_doubt && off > 0 && off <= hidden) return false;
  }
  for (std::size_t i = 0; i < found.analytical.size(); ++i) {
    if (!is_kink(i)) continue;
    reference.value[i] = reference.low[i] = reference.high[i] = found.analytical[i];
    reference.error[i] = hidden / formula.rules.bars;
    // What differences across a jump have is no size.
    reference.scale[i] = std::abs(found.analytical[i]);
  }
  for (std::uint8_t& flags : reference.flags) {
    if ((flags & kKink) != 0) flags = kKink | kSubgradient;
  }
  return true;
}

}  // namespace fluidcore::gradcheck
