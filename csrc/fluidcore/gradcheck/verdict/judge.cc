#include "fluidcore/gradcheck/verdict/judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kSmall = 0.01;  // elements below this part of the largest are compared with it
constexpr double kLeast = 1e-290;
constexpr double kNothing = 1e-300;
constexpr double kSome = 0.5;  // of a gradient in 16 bits, or of a kernel, may stay open

// For each cotangent: the greatest of `values`, which are not negative, where there is a
// derivative.
std::vector<double> greatest(const Derivatives& reference, const std::vector<double>& values) {
  std::vector<double> result(static_cast<std::size_t>(reference.cotangents));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto elements = static_cast<std::size_t>(reference.elements);
    if ((reference.flags[i % elements] & (kJump | kDomain)) != 0) continue;
    double& most = result[i / elements];
    if (std::isfinite(values[i])) most = std::max(most, values[i]);
  }
  return result;
}

// `values`, at least 1 % of the greatest of the same cotangent.
std::vector<double> padded(const Derivatives& reference, std::vector<double> values) {
  const std::vector<double> most = greatest(reference, values);
  const auto elements = static_cast<std::size_t>(reference.elements);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double part = kSmall * most[i / elements];
    // Differences across a jump are as large as the steps are small: they say nothing of a size.
    const bool is_known = (reference.flags[i % elements] & (kJump | kDomain)) == 0;
    values[i] = is_known ? std::max(part, values[i]) : part;
  }
  return values;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return "PASS";
    case Verdict::kFail: return "FAIL";
    case Verdict::kInconclusive: return "INCONCLUSIVE";
  }
  return "unknown";
}

Rules Rules::of(DType dtype, bool alone) {
  switch (dtype) {
    case DType::kFloat32:
      return {.resolution = alone ? 6e-3 : 1e-3, .allow_open = alone ? 0.0 : kSome};
    case DType::kFloat16:
      return {.bars = alone ? 5.0 : 3.0, .resolution = alone ? 0.3 : 0.05, .allow_open = kSome};
    case DType::kBFloat16:
      return {.bars = alone ? 5.0 : 3.0, .resolution = alone ? 1.0 : 0.3, .allow_open = kSome};
    default: return {};
  }
}

Rules Rules::of_formula(DType dtype) {
  return {.resolution = dtype == DType::kFloat64 ? 1e-5 : 1e-3};
}

std::vector<double> measures(const Derivatives& reference) {
  std::vector<double> size(reference.value.size());
  for (std::size_t i = 0; i < size.size(); ++i) {
    const double largest = std::max(std::abs(reference.low[i]), std::abs(reference.high[i]));
    size[i] = std::isfinite(largest) ? largest : 0;
  }
  const std::vector<double> most = greatest(reference, reference.scale);
  size = padded(reference, std::move(size));
  for (std::size_t i = 0; i < size.size(); ++i) {
    const double part = kSmall * most[i / static_cast<std::size_t>(reference.elements)];
    size[i] = std::max({kLeast, part, size[i]});
  }
  return size;
}

Judgement judge(const Derivatives& reference,
                std::vector<double> analytical,
                const std::vector<double>& tolerance,
                const Rules& rules) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::size_t size = analytical.size();
  Judgement found;
  found.analytical = std::move(analytical);
  found.measure = measures(reference);
  found.allow_open = rules.allow_open;
  for (const std::uint8_t flags : reference.flags) {
    const bool is_kink = (flags & (kKink | kJump)) != 0;
    found.counted.push_back(rules.on_kink == OnKink::kSkip && is_kink ? 0 : 1);
  }
  for (auto* array : {&found.nearest, &found.limit, &found.resolution}) array->resize(size);
  found.wrong.resize(size);
  found.unsure.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t element = i % static_cast<std::size_t>(reference.elements);
    const std::uint8_t flags = reference.flags[element];
    const double error = (flags & (kJump | kDomain)) != 0 ? kInfinity : reference.error[i];
    const double low = reference.low[i];
    const double high = reference.high[i];
    const double claimed = found.analytical[i];
    const double limit = rules.bars * error + tolerance[i];
    const double seen = rules.resolution * found.measure[i];
    const double distance = std::max({low - claimed, claimed - high, 0.0});
    found.nearest[i] = claimed < low ? low : claimed > high ? high : claimed;
    found.limit[i] = limit;
    found.resolution[i] = std::isfinite(limit) ? limit / found.measure[i] : kInfinity;
    if (!found.counted[element]) continue;
    found.wrong[i] = std::isfinite(claimed) && distance > limit + kNothing;
    const bool is_kink = (flags & (kKink | kJump)) != 0;
    if (rules.on_kink == OnKink::kFail && is_kink) found.wrong[i] = 1;
    const bool is_finite = std::isfinite(low + high + limit + claimed);
    // No tolerance is needed for a 0 that is known to be one.
    const bool is_zero = error == 0 && low == 0 && high == 0 && claimed == 0;
    const bool is_wide = high - low > seen && (flags & kSubgradient) == 0;
    const bool is_vague = !is_finite || is_wide || limit > seen;
    found.unsure[i] = !found.wrong[i] && !is_zero && is_vague;
    found.is_suspect |= found.unsure[i] && (flags & kSuspect) != 0;
    if (is_zero) found.resolution[i] = 0;
  }
  return found;
}

Verdict Judgement::verdict() const {
  if (std::count(wrong.begin(), wrong.end(), 0) < std::ssize(wrong)) return Verdict::kFail;
  const auto is_infinite = [](double value) { return std::isinf(value); };
  if (std::any_of(analytical.begin(), analytical.end(), is_infinite)) return Verdict::kInconclusive;
  double total = 0;
  double open = 0;
  for (std::size_t i = 0; i < unsure.size(); ++i) {
    if (!counted[i % counted.size()]) continue;
    const double size = std::max(measure[i], std::abs(analytical[i]));
    total += size;
    open += unsure[i] ? size : 0;
  }
  return is_suspect || open > allow_open * total ? Verdict::kInconclusive : Verdict::kPass;
}

std::size_t Judgement::worst() const {
  const auto rank = [this](std::size_t i) {
    const double ratio = std::abs(analytical[i] - nearest[i]) / (limit[i] + kNothing);
    return std::pair(wrong[i], std::isfinite(ratio) ? ratio : 0.0);
  };
  std::size_t worst = 0;
  for (std::size_t i = 1; i < wrong.size(); ++i) {
    if (rank(i) > rank(worst)) worst = i;
  }
  return worst;
}

std::vector<double> padded_scale(const Derivatives& reference) {
  return padded(reference, reference.scale);
}

std::vector<double> formula_tolerance(const Derivatives& reference) {
  std::vector<double> tolerance = padded_scale(reference);
  for (double& value : tolerance) value *= 1e-9;
  return tolerance;
}

std::vector<double> alone_tolerance(const Derivatives& reference, DType dtype) {
  const double part = dtype == DType::kFloat64 ? 1e-9 : 16 * unit_roundoff(dtype);
  std::vector<double> tolerance = padded_scale(reference);
  for (double& value : tolerance) value = part * value + smallest_normal(dtype);
  return tolerance;
}

std::string_view main_doubt(const Derivatives& reference, const Judgement& judgement) {
  constexpr std::array<std::pair<std::uint8_t, std::string_view>, 4> kReasons = {
      {{kDomain, "domain"}, {kJump, "jump"}, {kKink, "kink"}, {kAbsorbed, "absorption"}}};
  std::array<int, kReasons.size() + 1> counts = {};
  for (std::size_t i = 0; i < judgement.unsure.size(); ++i) {
    if (!judgement.unsure[i]) continue;
    if (std::isinf(judgement.analytical[i])) return "domain";  // an overflow, which comes first
    const std::uint8_t flags = reference.flags[i % static_cast<std::size_t>(reference.elements)];
    const auto why = std::find_if(kReasons.begin(), kReasons.end(),
                                  [&](const auto& reason) { return (flags & reason.first) != 0; });
    ++counts[static_cast<std::size_t>(why - kReasons.begin())];
  }
  const auto most = std::max_element(counts.begin(), counts.end()) - counts.begin();
  return most == std::ssize(kReasons) ? "noise" : kReasons[static_cast<std::size_t>(most)].second;
}

double smallest_normal(DType dtype) {
  return smallest_subnormal(dtype) / (2 * unit_roundoff(dtype));
}

}  // namespace fluidcore::gradcheck
