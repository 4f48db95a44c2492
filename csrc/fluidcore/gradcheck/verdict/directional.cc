#include "fluidcore/gradcheck/verdict/directional.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/difference/along.h"
#include "fluidcore/gradcheck/difference/differentiate.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/verdict/audited_gradient.h"
#include "fluidcore/gradcheck/verdict/branch_direction.h"
#include "fluidcore/gradcheck/verdict/confirm.h"
#include "fluidcore/gradcheck/verdict/own_rounding.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::int64_t kLeaf = 8;    // elements that are looked at one by one
constexpr int kLooks = 64;           // directions that the search may take
constexpr std::size_t kEnough = 10;  // wrong elements

// Elements [begin, end), and by how much their part of a number seems wrong.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  double off = 0;
  double limit = 0;  // of what error bars explain; -inf where `off` says nothing
  bool is_wrong = true;
};

double sum_of_terms(const std::vector<double>& a, const std::vector<double>& d) {
  return std::inner_product(a.begin(), a.end(), d.begin(), 0.0);
}

double sum_of_sizes(const std::vector<double>& a, const std::vector<double>& d) {
  return std::inner_product(a.begin(), a.end(), d.begin(), 0.0, std::plus<>(),
                            [](double x, double y) { return std::abs(x * y); });
}

class DirectionalCheck {
 public:
  DirectionalCheck(Function& function,
                   const DirectionalClaim& claim,
                   const Rules& rules,
                   const DirectionalOptions& options)
      : function_(function), claim_(claim), rules_(rules), options_(options) {}

  Directional run() {
    Directional found = look();
    found.evaluations = evaluations_;
    return found;
  }

 private:
  Directional look() {
    Directional found;
    found.reference = measured(claim_.probes);
    judge_twice(claimed_along(claim_.probes), found);
    settle_rounding(found.judgement);
    found.min_detectable_99 = detectable(found.judgement);
    if (found.judgement.verdict() == Verdict::kFail) {
      search(found.judgement.worst(), found);
      if (found.culprits.empty()) leave_open(found, is_late() ? kLate : kKink);
    } else if (found.judgement.verdict() == Verdict::kInconclusive && is_late()) {
      leave_open(found, kLate);
    }
    return found;
  }

  const std::vector<Probe>& probes() const { return probes_.empty() ? claim_.probes : probes_; }

  bool is_late() const {
    const Interruption* const interruption = function_.interruption();
    return interruption != nullptr && interruption->is_over();
  }

  std::vector<double> claimed_along(const std::vector<Probe>& probes) const {
    std::vector<double> claimed;
    claimed.reserve(probes.size());
    for (std::size_t q = 0; q < probes.size(); ++q) {
      claimed.push_back(sum_of_terms(claim_.gradients[q], probes[q].direction));
    }
    return claimed;
  }

  Derivatives measured(const std::vector<Probe>& probes, Approach approach = {}) {
    const auto found = differentiate_probes(function_, claim_.input, probes,
                                            {options_.noise.widest(), options_.workers, approach});
    Derivatives all(1, std::ssize(found));
    for (std::size_t q = 0; q < found.size(); ++q) {
      copy_column(found[q], 0, all, q);
      evaluations_ += found[q].evaluations;
      if (!all.failure) all.failure = found[q].failure;
    }
    if (!found.empty()) all.levels = found.front().levels;
    weigh(probes, all);
    return all;
  }

  // What the terms of <A, d> add up to.
  void weigh(const std::vector<Probe>& probes, Derivatives& reference) const {
    for (std::size_t q = 0; q < probes.size(); ++q) {
      reference.scale[q] = sum_of_sizes(claim_.gradients[q], probes[q].direction);
    }
  }

  std::vector<double> tolerance(const Derivatives& reference) const {
    return claim_.alone ? alone_tolerance(reference, *claim_.alone) : formula_tolerance(reference);
  }

  void judge_twice(std::vector<double> claimed, Directional& found) {
    const std::vector<double> allowed = tolerance(found.reference);
    found.judgement = judge(found.reference, claimed, allowed, rules_);
    if (found.judgement.verdict() == Verdict::kPass || is_late() || settle_branches(found)) return;
    evaluations_ += confirm_probes(
        function_, {claim_.input, claimed, allowed}, claim_.probes, options_.noise.near, rules_,
        {options_.workers, options_.seed, options_.noise.far}, found.reference);
    weigh(claim_.probes, found.reference);
    found.judgement = judge(found.reference, std::move(claimed), allowed, rules_);
  }

  // Directions that cross ties or kinks tell nothing. Those that reach the branch whose gradient is
  // claimed do, from the side where f takes that branch.
  bool settle_branches(Directional& found) {
    if (claim_.gradient == nullptr || rules_.on_kink != OnKink::kSubgradient) return false;
    const auto& flags = found.reference.flags;
    bool has_branches = std::any_of(flags.begin(), flags.end(),
                                    [](std::uint8_t flag) { return (flag & kKink) != 0; });
    bool is_whole = true;
    std::vector<Probe> probes;
    for (std::size_t q = 0; q < claim_.probes.size(); ++q) {
      const Probe& probe = claim_.probes[q];
      auto found_direction = branch_direction(
          *claim_.gradient, claim_.input, like_outputs(function_, probe.cotangent),
          claim_.gradients[q], probe.direction, options_.seed, str_cat("branch of probe ", q));
      ++evaluations_;
      if (!found_direction) return false;
      has_branches |= found_direction->direction != probe.direction;
      is_whole &= found_direction->is_whole;
      probes.push_back({std::move(found_direction->direction), probe.cotangent});
    }
    if (!has_branches) return false;
    const Approach from_one_side = {1};
    Derivatives reference = measured(probes, from_one_side);
    Judgement judgement = judge(reference, claimed_along(probes), tolerance(reference), rules_);
    const Verdict verdict = judgement.verdict();
    if (verdict == Verdict::kInconclusive || (verdict == Verdict::kPass && !is_whole)) return false;
    probes_ = std::move(probes);
    approach_ = from_one_side;
    reference.levels = std::move(found.reference.levels);
    found.reference = std::move(reference);
    found.judgement = std::move(judgement);
    return true;
  }

  // Of the numbers <A(v), d> that seem wrong.
  void settle_rounding(Judgement& found) {
    if (claim_.gradient == nullptr || found.verdict() != Verdict::kFail || is_late()) return;
    std::vector<double> rounding(found.wrong.size());
    for (std::size_t q = 0; q < rounding.size(); ++q) {
      if (!found.wrong[q]) continue;
      const Probe& probe = probes()[q];
      const OfGradients along = [&](const std::vector<Tensor>& gradients) -> std::vector<double> {
        std::vector<double> a;
        append(a, gradients[claim_.input]);
        return {sum_of_terms(a, probe.direction)};
      };
      rounding[q] = own_rounding(*claim_.gradient, like_outputs(function_, probe.cotangent), along,
                                 {found.analytical[q]}, 0, options_.seed)[0];
      ++evaluations_;
    }
    excuse_rounding(rounding, found);
  }

  double detectable(const Judgement& judgement) const {
    const std::vector<double>& a = claim_.gradients.front();
    const double size = std::sqrt(sum_of_terms(a, a) / static_cast<double>(a.size()));
    const double limit = *std::max_element(judgement.limit.begin(), judgement.limit.end());
    return size > 0 ? limit / blind_spot(claim_.probes.size()) / size
                    : std::numeric_limits<double>::infinity();
  }

  // Halves the elements again and again, and follows the halves that are wrong.
  void search(std::size_t probe, Directional& found) {
    std::vector<Range> pending = {
        part(0, std::ssize(claim_.gradients[probe]), found.reference, found.judgement, probe)};
    for (int looks = 0; !pending.empty() && looks < kLooks && !is_late();) {
      const Range range = pending.back();
      pending.pop_back();
      if (range.end - range.begin <= kLeaf) {
        look_at_each(probe, range, found.culprits);
        if (found.culprits.size() >= kEnough) return;
        continue;
      }
      const std::int64_t middle = range.begin + (range.end - range.begin) / 2;
      ++looks;
      const Range first = look_at(probe, range.begin, middle);
      // What one half explains need not be looked for in the other.
      const double left = std::abs(range.off - first.off);
      const bool is_explained = first.is_wrong && left <= range.limit + first.limit;
      if (!is_explained) {
        ++looks;
        const Range second = look_at(probe, middle, range.end);
        if (second.is_wrong) pending.push_back(second);
      }
      if (first.is_wrong) pending.push_back(first);
    }
  }

  static Range part(std::int64_t begin,
                    std::int64_t end,
                    const Derivatives& found,
                    const Judgement& judgement,
                    std::size_t column) {
    Range range{begin, end, judgement.analytical[column] - found.value[column],
                judgement.limit[column], judgement.wrong[column] != 0};
    if (!is_smooth(found, column)) range.limit = -std::numeric_limits<double>::infinity();
    return range;
  }

  Range look_at(std::size_t probe, std::int64_t begin, std::int64_t end) {
    const std::vector<double>& whole = probes()[probe].direction;
    std::vector<double> some(whole.size());
    std::copy(whole.begin() + begin, whole.begin() + end, some.begin() + begin);
    const double claimed = sum_of_terms(claim_.gradients[probe], some);
    const double size = sum_of_sizes(claim_.gradients[probe], some);
    Directions directions(function_.inputs().size());
    directions[claim_.input] = std::move(some);
    Derivatives found = differentiate_along(function_, directions, asked(probe), false,
                                            options_.workers, approach_);
    evaluations_ += found.evaluations;
    found.scale[0] = size;
    return part(begin, end, found, judge(found, {claimed}, tolerance(found), rules_), 0);
  }

  Question asked(std::size_t probe) const {
    return {{claim_.probes[probe].cotangent}, options_.noise.widest()};
  }

  void look_at_each(std::size_t probe,
                    const Range& range,
                    std::vector<Directional::Culprit>& culprits) {
    DifferentiateOptions how;
    how.workers = options_.workers;
    std::vector<std::int64_t>& elements = how.elements.emplace(range.end - range.begin);
    std::iota(elements.begin(), elements.end(), range.begin);
    const Derivatives found = differentiate(function_, claim_.input, asked(probe), how);
    evaluations_ += found.evaluations;
    for (std::size_t j = 0; j < elements.size(); ++j) {
      Directional::Culprit one{elements[j], picked(found, {j}), {}};
      // Once one is wrong for certain, others are shown beside it.
      if (is_confirmed(probe, culprits.empty(), one)) culprits.push_back(std::move(one));
    }
  }

  bool is_confirmed(std::size_t probe, bool looks_near, Directional::Culprit& one) {
    const double claimed = claim_.gradients[probe][static_cast<std::size_t>(one.element)];
    std::vector<double> allowed = tolerance(one.reference);
    one.judgement = judge(one.reference, {claimed}, allowed, rules_);
    if (one.judgement.verdict() != Verdict::kFail) return false;
    evaluations_ +=
        confirm(function_, {claim_.input, {claimed}, allowed}, {one.element}, 0,
                {{claim_.probes[probe].cotangent}, options_.noise.near}, rules_,
                {options_.workers, options_.seed, options_.noise.far, looks_near, claim_.gradient},
                one.reference);
    allowed[0] = std::max(allowed[0], formula_tolerance(one.reference)[0]);
    one.judgement = judge(one.reference, {claimed}, allowed, rules_);
    return one.judgement.verdict() == Verdict::kFail;
  }

  static void leave_open(Directional& found, DerivativeFlag why) {
    for (std::size_t q = 0; q < found.judgement.wrong.size(); ++q) {
      if (!found.judgement.wrong[q] && (why != kLate || !found.judgement.unsure[q])) continue;
      found.reference.flags[q] |= why;
      found.judgement.wrong[q] = 0;
      found.judgement.unsure[q] = 1;
    }
  }

  Function& function_;
  const DirectionalClaim& claim_;
  const Rules& rules_;
  const DirectionalOptions& options_;
  std::vector<Probe> probes_;  // of other directions, approached from one side; else of the claim
  Approach approach_;
  std::int64_t evaluations_ = 0;
};

}  // namespace

Directional check_directions(Function& function,
                             const DirectionalClaim& claim,
                             const Rules& rules,
                             const DirectionalOptions& options) {
  require(!claim.probes.empty() && claim.probes.size() == claim.gradients.size(),
          "gradcheck: there must be a gradient for each of the directions, at least one, got ",
          claim.gradients.size(), " for ", claim.probes.size());
  for (std::size_t q = 0; q < claim.probes.size(); ++q) {
    require(claim.gradients[q].size() == claim.probes[q].direction.size(), "gradcheck: gradient ",
            q, " must have the ", claim.probes[q].direction.size(),
            " elements of its direction, got ", claim.gradients[q].size());
  }
  return with_plain_exceptions(
      [&] { return DirectionalCheck(function, claim, rules, options).run(); });
}

double blind_spot(std::size_t probes) {
  // P(|Z| < b) = 0.01^(1 / probes), of a normal Z, by bisection.
  const double probability = std::pow(0.01, 1.0 / static_cast<double>(probes));
  double low = 0;
  double high = 10;
  while (true) {
    const double middle = (low + high) / 2;
    if (middle == low || middle == high) return middle;
    (std::erf(middle / std::sqrt(2.0)) < probability ? low : high) = middle;
  }
}

}  // namespace fluidcore::gradcheck
