#include "fluidcore/gradcheck/conclusion.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace fluidcore::gradcheck {

namespace {

// [cotangents, elements] -> [elements]: where any cotangent has it.
std::vector<std::uint8_t> of_any_cotangent(const std::vector<std::uint8_t>& mask,
                                           std::size_t elements) {
  std::vector<std::uint8_t> any(elements);
  for (std::size_t i = 0; i < mask.size(); ++i) any[i % elements] |= mask[i];
  return any;
}

}  // namespace

void leave_open(InputCheck& check, std::string reason) {
  check.verdict = Verdict::kInconclusive;
  check.reason = std::move(reason);
  check.resolution = std::numeric_limits<double>::infinity();
}

void name_culprits(const std::vector<Directional::Culprit>& culprits, InputCheck& check) {
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

void refuse_infinite(const std::vector<double>& claimed,
                     const Infinite::Wrong& wrong,
                     InputCheck& check) {
  check.num_wrong =
      std::count_if(claimed.begin(), claimed.end(), [](double one) { return !std::isfinite(one); });
  check.verdict = Verdict::kFail;
  check.reason = "non-finite";
  check.index = wrong.element;
  check.analytical = claimed[static_cast<std::size_t>(wrong.element)];
  check.numerical = wrong.derivative;
  check.error_bar = wrong.error;
  check.directions = 0;  // elements are named
}

void refuse_narrowed(const std::optional<DType>& narrow, InputCheck& check) {
  if (!narrow) return;
  check.narrowed_to = narrow;
  check.verdict = Verdict::kFail;
  check.reason = "narrowed";
}

void conclude(const Derivatives& reference,
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

}  // namespace fluidcore::gradcheck
