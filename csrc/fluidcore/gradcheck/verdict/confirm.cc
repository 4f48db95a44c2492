#include "fluidcore/gradcheck/verdict/confirm.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "fluidcore/gradcheck/difference/differentiate.h"
#include "fluidcore/gradcheck/difference/noise.h"
#include "fluidcore/gradcheck/difference/rule.h"
#include "fluidcore/gradcheck/function/outputs.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/verdict/both_sides.h"
#include "fluidcore/gradcheck/verdict/branches.h"
#include "fluidcore/gradcheck/verdict/evidence.h"
#include "fluidcore/gradcheck/verdict/nearby.h"
#include "fluidcore/gradcheck/verdict/remeasure.h"
#include "fluidcore/gradcheck/verdict/subgradient.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::ptrdiff_t kGrowth = 4;  // of the columns looked at, as long as none is refuted
constexpr std::ptrdiff_t kShown = 64;  // columns that are looked at after one is refuted

class Confirmation {
 public:
  // `elements` are those of the columns; none where they are directions.
  Confirmation(Function& function,
               Remeasure::Differences differences,
               const Claim& claim,
               std::vector<std::int64_t> elements,
               const Question& question,
               const Rules& rules,
               const ConfirmOptions& options,
               Derivatives& reference)
      : function_(function),
        rough_{question.cotangents, options.far_noise},
        measure_(std::move(differences), question, rough_),
        evidence_(claim, rules, reference),
        input_(claim.input),
        elements_(std::move(elements)),
        question_(question),
        rules_(rules),
        options_(options),
        reference_(reference) {}

  // Whether nothing is refuted.
  bool run() {
    const Columns& columns = evidence_.in_doubt();
    auto begin = columns.begin();
    for (std::ptrdiff_t count = 1; begin != columns.end(); count *= kGrowth) {
      const auto end = begin + std::min(count, columns.end() - begin);
      if (look_at(Columns(begin, end))) {
        if (elements_.empty()) return false;  // one direction is searched for elements
        const auto shown = end + std::min(kShown, columns.end() - end);
        look_at_both_sides(evidence_, measure_, Columns(end, shown), is_coarse());
        return false;
      }
      begin = end;
    }
    return true;
  }

  // Leaves elements at kinks open that are right one by one, but not together.
  void settle_kinks() {
    Columns kinks;
    for (std::size_t column = 0; column < evidence_.columns(); ++column) {
      constexpr unsigned kBoth = kKink | kSubgradient;
      if ((reference_.flags[column] & kBoth) == kBoth) kinks.push_back(column);
    }
    if (kinks.empty()) return;
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      AtKinks together;
      together.input = input_;
      double seen = std::numeric_limits<double>::infinity();
      for (std::size_t column = 0; column < evidence_.columns(); ++column) {
        const std::size_t i = evidence_.at(row, column);
        together.elements.push_back(elements_[column]);
        together.claimed.push_back(evidence_.claimed(i));
        together.allowed.push_back(evidence_.limit(i, reference_.error[i]));
        together.bend.push_back(evidence_.bend(i));
        together.is_kink.push_back((reference_.flags[column] & kKink) != 0);
      }
      for (const std::size_t column : kinks)
        seen = std::min(seen, evidence_.visible(evidence_.at(row, column)));
      const Question one{{question_.cotangents[row]}, question_.noise};
      const std::optional<double> unseen = subgradient_error(function_, together, one, rules_.bars,
                                                             options_.seed, measure_.evaluations);
      if (!unseen) {
        for (const std::size_t column : kinks) evidence_.leave_open(column, kKink);
        return;
      }
      if (*unseen > seen) continue;  // no bend, but kinks that do not belong together
      for (const std::size_t column : kinks) reference_.error[evidence_.at(row, column)] += *unseen;
    }
  }

  std::int64_t evaluations() const { return measure_.evaluations; }

 private:
  // Whether one of the columns is refuted.
  bool look_at(const Columns& columns) {
    const Columns refuted = look_at_both_sides(evidence_, measure_, columns, is_coarse());
    // A direction that is refuted is searched for an element that is, which is looked at there.
    if (!refuted.empty() && !elements_.empty() && options_.looks_near) {
      look_near(evidence_, refuted,
                [this](const Columns& some, Ring ring) { return look_around(some, ring); });
    }
    if (!elements_.empty()) {
      leave_small_open(refuted);
      leave_treads_open(refuted);
    }
    return std::any_of(refuted.begin(), refuted.end(),
                       [&](std::size_t column) { return evidence_.is_refuted(column); });
  }

  // Of elements that are nothing beside the others, what both measurements refute may be right on
  // the scale of the element, where f may have vanished in its rounding.
  void leave_small_open(const Columns& columns) {
    const Tensor& x = function_.inputs()[input_];
    const double unit = unit_roundoff(x.dtype());
    const double small = std::ldexp(root_mean_square(x), -rule_of(x.dtype()).first);
    const auto size_of = [&](std::size_t column) {
      return std::abs(x.get_float_element(elements_[column]));
    };
    const Columns refuted = still_refuted(columns, [&](std::size_t column) {
      return 0 < size_of(column) && size_of(column) < small;
    });
    if (refuted.empty() || is_coarse()) return;
    Derivatives closer = measure_(refuted, kByX);
    const std::vector<double> terms = sums_of_terms();
    for (std::size_t k = 0; k < closer.error.size(); ++k) {
      const double size = size_of(refuted[k % refuted.size()]);
      const double hidden = kHidden * unit * terms[k / refuted.size()] / size;
      if (closer.scale[k] == 0) closer.error[k] = std::max(closer.error[k], hidden);
    }
    leave_open_what_holds(refuted, closer);
  }

  // Σ |v y| for each cotangent.
  std::vector<double> sums_of_terms() {
    const Outputs outputs(function_);
    ++measure_.evaluations;
    std::vector<double> sums;
    for (const std::vector<double>& v : question_.cotangents) {
      double& sum = sums.emplace_back();
      for (std::size_t j = 0; j < v.size(); ++j) sum += std::abs(v[j] * outputs.base()[j]);
    }
    return sums;
  }

  // What both measurements refute may stand on one tread of f all the same. Then steps that are
  // much wider than it know no better than that the claim holds.
  void leave_treads_open(const Columns& columns) {
    const Columns refuted = still_refuted(columns, [](std::size_t) { return true; });
    if (refuted.empty() || is_coarse()) return;
    std::vector<std::int64_t> elements;
    for (const std::size_t column : refuted) elements.push_back(elements_[column]);
    Question asked{question_.cotangents, noise_of_treads(function_, input_, elements, options_.seed,
                                                         measure_.evaluations)};
    if (asked.noise.empty()) return;
    for (std::size_t j = 0; j < question_.noise.size(); ++j)
      asked.noise[j] = std::max(asked.noise[j], question_.noise[j]);
    leave_open_what_holds(refuted, measure_(refuted, kCentral, asked));
  }

  template <class Is>
  Columns still_refuted(const Columns& columns, const Is& is) const {
    Columns refuted;
    std::copy_if(columns.begin(), columns.end(), std::back_inserter(refuted),
                 [&](std::size_t column) { return evidence_.is_refuted(column) && is(column); });
    return refuted;
  }

  // Of these columns those whose claims lie in what was found of them.
  void leave_open_what_holds(const Columns& columns, const Derivatives& found) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      bool holds = true;
      for (std::size_t row = 0; row < evidence_.rows(); ++row) {
        const std::size_t k = row * columns.size() + j;
        holds &= evidence_.holds(evidence_.at(row, columns[j]),
                                 {found.low[k], found.high[k], found.error[k]});
      }
      if (holds) evidence_.leave_open(columns[j], kSuspect);
    }
  }

  Surroundings look_around(const Columns& columns, Ring ring) {
    const auto here = [&] {
      AtPoint found = {measure_(columns, kNearBy, measure_.far())};
      if (ring == Ring::kNear && options_.gradient != nullptr)
        found.claimed = claimed_here(columns);
      return found;
    };
    Surroundings around = gradcheck::look_around(function_, input_, ring, options_.seed, here);
    measure_.evaluations += around.runs;
    return around;
  }

  // By the gradient under test where the inputs of f are now, [cotangents, columns]; NaN where it
  // throws.
  std::vector<double> claimed_here(const Columns& columns) {
    std::vector<double> claimed;
    for (const std::vector<double>& v : question_.cotangents) {
      const std::vector<Tensor>* const found =
          gradients_at(*options_.gradient, function_.inputs(), like_outputs(function_, v));
      ++measure_.evaluations;
      for (const std::size_t column : columns) {
        claimed.push_back(found == nullptr ? std::numeric_limits<double>::quiet_NaN()
                                           : (*found)[input_].get_float_element(elements_[column]));
      }
    }
    return claimed;
  }

  bool is_coarse() const {
    constexpr double kCoarse = 0x1p-20;
    return unit_roundoff(function_.inputs()[input_].dtype()) > kCoarse;
  }

  Function& function_;
  Question rough_;
  Remeasure measure_;
  Evidence evidence_;
  std::size_t input_;
  std::vector<std::int64_t> elements_;
  const Question& question_;
  const Rules& rules_;
  const ConfirmOptions& options_;
  Derivatives& reference_;
};

void check_sizes(const Claim& claim, std::size_t columns, const Derivatives& reference) {
  const std::size_t size = reference.value.size();
  require(claim.value.size() == size && claim.tolerance.size() == size &&
              columns == static_cast<std::size_t>(reference.elements),
          "gradcheck: a claim must have the size of the reference, ", size, " numbers for ",
          reference.elements, " columns, got ", claim.value.size(), " for ", columns);
}

}  // namespace

std::int64_t confirm(Function& function,
                     const Claim& claim,
                     const std::vector<std::int64_t>& elements,
                     std::int64_t rows,
                     const Question& question,
                     const Rules& rules,
                     const ConfirmOptions& options,
                     Derivatives& reference) {
  check_sizes(claim, elements.size(), reference);
  const auto measure = [&](const Columns& columns, const Steps& steps, const Question& asked) {
    DifferentiateOptions how;
    how.workers = options.workers;
    how.stretch = steps.stretch;
    how.approach = steps.approach;
    const bool is_more = rows > 0 && std::ssize(columns) > reference.elements / rows;
    if (is_more) {
      how.rows = rows;
      return picked(differentiate(function, claim.input, asked, how), columns);
    }
    auto& chosen = how.elements.emplace();
    for (const std::size_t column : columns) chosen.push_back(elements[column]);
    return differentiate(function, claim.input, asked, how);
  };
  return with_plain_exceptions([&] {
    Confirmation confirmation(function, measure, claim, elements, question, rules, options,
                              reference);
    if (confirmation.run()) confirmation.settle_kinks();
    return confirmation.evaluations();
  });
}

std::int64_t confirm_probes(Function& function,
                            const Claim& claim,
                            const std::vector<Probe>& probes,
                            const std::vector<double>& noise,
                            const Rules& rules,
                            const ConfirmOptions& options,
                            Derivatives& reference) {
  check_sizes(claim, probes.size(), reference);
  const auto measure = [&](const Columns& columns, const Steps& steps, const Question& asked) {
    std::vector<Probe> chosen;
    for (const std::size_t column : columns) {
      chosen.push_back(probes[column]);
      for (double& d : chosen.back().direction) d *= steps.stretch;
    }
    const auto found = differentiate_probes(function, claim.input, chosen,
                                            {asked.noise, options.workers, steps.approach});
    Derivatives all(1, std::ssize(columns));
    for (std::size_t j = 0; j < found.size(); ++j) {
      copy_column(found[j], 0, all, j);
      all.evaluations += found[j].evaluations;
    }
    for (auto* const part : {&all.value, &all.error, &all.low, &all.high, &all.scale}) {
      for (double& number : *part) number /= steps.stretch;
    }
    return all;
  };
  return with_plain_exceptions([&] {
    const Question question{{}, noise};
    Confirmation confirmation(function, measure, claim, {}, question, rules, options, reference);
    confirmation.run();
    // What lies between the sums of many slopes is not proven by that.
    for (std::uint8_t& flags : reference.flags) flags &= ~unsigned{kSubgradient};
    return confirmation.evaluations();
  });
}

}  // namespace fluidcore::gradcheck
