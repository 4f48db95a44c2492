#include "fluidcore/gradcheck/verdict/judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "fluidcore/gradcheck/function/infinity.h"
#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kLeastMeasure = 1e-290;
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
    const double part = kSmallElement * most[i / elements];
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
    const double part = kSmallElement * most[i / static_cast<std::size_t>(reference.elements)];
    size[i] = std::max({kLeastMeasure, part, size[i]});
  }
  return size;
}

Rules Rules::with_tolerance(double part) const {
  Rules rules = *this;
  rules.tolerance = part;
  rules.resolution = std::max(resolution, 2 * part);
  return rules;
}

Judgement judge(const Derivatives& reference,
                std::vector<double> analytical,
                const std::vector<double>& tolerance,
                const Rules& rules) {
  const std::size_t size = analytical.size();
  Judgement found;
  found.analytical = std::move(analytical);
  found.measure = measures(reference);
  found.allow_open = rules.allow_open;
  for (const std::uint8_t flags : reference.flags) {
    const bool is_kink = (flags & (kKink | kJump)) != 0;
    found.counted.push_back(rules.on_kink == OnKink::kSkip && is_kink ? 0 : 1);
    found.suspect.push_back((flags & kSuspect) != 0);
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
    const double limit = rules.bars * error + tolerance[i] + rules.tolerance * found.measure[i];
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
    if (is_zero) found.resolution[i] = 0;
  }
  return found;
}

namespace {

// How much of a gradient there is, and how much of that is open.
struct OpenShare {
  double open = 0;
  double whole = 0;
  bool is_suspect = false;

  void add(const Judgement& judgement, std::size_t i) {
    const std::size_t element = i % judgement.counted.size();
    if (!judgement.counted[element]) return;
    const double claimed = std::abs(judgement.analytical[i]);
    const double size =
        std::isnan(claimed) ? judgement.measure[i] : std::max(judgement.measure[i], claimed);
    whole += size;
    if (!judgement.unsure[i]) return;
    open += size;
    is_suspect |= judgement.suspect[element] != 0;
  }

  bool is_too_much(double allowed) const {
    return is_suspect || std::isinf(open) || open > allowed * whole;
  }
};

}  // namespace

Verdict Judgement::verdict() const {
  if (std::count(wrong.begin(), wrong.end(), 0) < std::ssize(wrong)) return Verdict::kFail;
  OpenShare part;
  for (std::size_t i = 0; i < unsure.size(); ++i) part.add(*this, i);
  return part.is_too_much(allow_open) ? Verdict::kInconclusive : Verdict::kPass;
}

std::vector<std::uint8_t> Judgement::open() const {
  std::vector<std::uint8_t> found(counted.size());
  for (std::size_t element = 0; element < found.size(); ++element) {
    OpenShare part;
    for (std::size_t i = element; i < unsure.size(); i += found.size()) part.add(*this, i);
    found[element] = part.is_too_much(allow_open) ? 1 : 0;
  }
  return found;
}

std::vector<std::string_view> Judgement::doubts(const std::vector<std::uint8_t>& flags) const {
  struct Doubt {
    unsigned flags;
    std::string_view reason;
    int count = 0;
  };
  std::array<Doubt, 6> doubts = {{{kLate, "budget"},
                                  {kDomain, "domain"},
                                  {kJump, "jump"},
                                  {kKink, "kink"},
                                  {kAbsorbed, "absorption"},
                                  {~0U, "noise"}}};
  for (std::size_t element = 0; element < counted.size(); ++element) {
    bool is_unsure = false;
    unsigned why = flags[element];
    for (std::size_t i = element; i < unsure.size(); i += counted.size()) {
      is_unsure |= unsure[i] && counted[element];
      if (std::isinf(analytical[i])) why |= kDomain;  // an overflow
    }
    if (!is_unsure) continue;
    const auto doubt = std::find_if(doubts.begin(), doubts.end() - 1,
                                    [&](const Doubt& one) { return (why & one.flags) != 0; });
    ++doubt->count;
  }
  std::stable_sort(doubts.begin(), doubts.end(),
                   [](const Doubt& a, const Doubt& b) { return a.count > b.count; });
  std::vector<std::string_view> found;
  for (const Doubt& doubt : doubts) {
    if (doubt.count > 0) found.push_back(doubt.reason);
  }
  return found;
}

double Judgement::excess(std::size_t i) const {
  const double ratio = std::abs(analytical[i] - nearest[i]) / (limit[i] + kNothing);
  return std::isnan(ratio) ? 0 : ratio;
}

bool Judgement::is_proven() const {
  const auto is_set = [](std::uint8_t one) { return one != 0; };
  return std::none_of(wrong.begin(), wrong.end(), is_set) &&
         std::none_of(unsure.begin(), unsure.end(), is_set);
}

namespace {

// A wrong one before others, then by how many limits it is off.
bool is_worse(const Judgement& found, std::size_t i, std::size_t than) {
  const auto rank = [&](std::size_t at) { return std::pair(found.wrong[at], found.excess(at)); };
  return rank(i) > rank(than);
}

}  // namespace

std::size_t Judgement::worst() const {
  std::size_t worst = 0;
  for (std::size_t i = 1; i < wrong.size(); ++i) {
    if (is_worse(*this, i, worst)) worst = i;
  }
  return worst;
}

std::vector<std::size_t> Judgement::worst_of_each() const {
  std::vector<std::size_t> worst(counted.size());
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    std::size_t& known = worst[i % worst.size()];
    if (i < worst.size() || is_worse(*this, i, known)) known = i;
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

double smallest_normal(DType dtype) {
  return smallest_subnormal(dtype) / (2 * unit_roundoff(dtype));
}

}  // namespace fluidcore::gradcheck
