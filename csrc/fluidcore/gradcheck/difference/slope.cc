#include "fluidcore/gradcheck/difference/slope.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/gradcheck/difference/direction.h"
#include "fluidcore/gradcheck/difference/question.h"
#include "fluidcore/gradcheck/function/infinity.h"
#include "fluidcore/gradcheck/function/outputs.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/function/sums.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kFirstStep = 9;   // 2^-9 of the scale
constexpr int kLevels = 16;     // at most
constexpr int kSmallStep = 16;  // 2^-16 of it: leaves less truncation than is wanted

// The changes of the outputs, weighted and summed.
class Projected {
 public:
  Projected(Function& function, const std::vector<double>& weights)
      : outputs_(function), weights_(weights) {
    require(outputs_.coarsest() == DType::kFloat64,
            "gradcheck: a slope is that of float64 outputs, got ", outputs_.coarsest());
    check_cotangent(weights, 0, outputs_.size());
    const ProductSums terms = product_sums(weights_.data(), outputs_.base(), outputs_.size());
    at_point_ = terms.sum;
    constexpr double kRoundings = 2;
    rounding_ = kRoundings * unit_roundoff(DType::kFloat64) * std::sqrt(terms.squares);
  }

  double at_point() const { return at_point_; }
  double rounding() const { return rounding_; }  // of one evaluation

  double change_now() {
    outputs_.run();
    double sum = 0;
    for (const Outputs::Part& part : outputs_.parts()) {
      sum += weighted_change(weights_.data() + part.offset, part.values,
                             outputs_.base() + part.offset, part.size);
    }
    return sum;
  }

 private:
  Outputs outputs_;
  const std::vector<double>& weights_;
  double at_point_ = 0;
  double rounding_ = 0;
};

// Richardson's extrapolation of the last three quotients, each of half the step of the one before.
class LastThree {
 public:
  void add(double quotient, double noise) {
    for (int j = kCount - 1; j > 0; --j) before_[j] = now_[j];
    before_[0] = now_[0];
    now_[0] = quotient;
    double factor = 1;
    for (int j = 1; j < kCount; ++j) {
      factor *= 4;
      now_[j] = (factor * now_[j - 1] - before_[j - 1]) / (factor - 1);
    }
    noise_ = noise;
    ++levels_;
  }

  double value() const { return now_[kCount - 1]; }

  double error() const {
    if (levels_ < kCount) return kInfinity;
    constexpr double kAmplified = 2;
    const double apart =
        std::max(std::abs(value() - now_[kCount - 2]), std::abs(value() - before_[kCount - 2]));
    return std::isfinite(apart) ? apart + kAmplified * noise_ : kInfinity;
  }

 private:
  static constexpr int kCount = 3;
  double now_[kCount] = {};
  double before_[kCount] = {};
  double noise_ = 0;
  int levels_ = 0;
};

class Ascent {
 public:
  Ascent(Projected& projected, Direction& direction)
      : projected_(projected), direction_(direction), found_(1, 1) {
    found_.evaluations = 1;
  }

  Derivatives run(double wanted, std::optional<double> claimed) {
    const RestoreAtEnd restore(direction_);
    const double scale = power_of_two_below(direction_.scale(0));
    if (claimed && agrees(std::ldexp(scale, -kSmallStep), wanted, *claimed)) {
      return std::move(found_);
    }
    LastThree last;
    const double first = std::ldexp(scale, -kFirstStep);
    double best = kInfinity;
    for (int level = 0; level < kLevels && best > wanted; ++level) {
      const std::optional<TracedLevel> traced = take(std::ldexp(first, -level));
      if (!traced) return without_derivative(kDomain);
      found_.levels.push_back(*traced);
      last.add(traced->difference, traced->noise);
      if (last.error() >= best) continue;
      best = last.error();
      found_.value[0] = found_.low[0] = found_.high[0] = last.value();
      found_.error[0] = best;
    }
    return std::isfinite(best) ? std::move(found_) : without_derivative(kJump);
  }

  Derivatives without_derivative(DerivativeFlag flag) {
    found_.value[0] = std::numeric_limits<double>::quiet_NaN();
    found_.error[0] = found_.high[0] = kInfinity;
    found_.low[0] = -kInfinity;
    found_.flags[0] = flag;
    return std::move(found_);
  }

 private:
  bool agrees(double h, double wanted, double claimed) {
    const std::optional<TracedLevel> traced = take(h);
    if (!traced || !(traced->noise <= wanted)) return false;
    const double apart = std::abs(traced->difference - claimed);
    if (!(apart <= wanted + traced->noise)) return false;
    found_.value[0] = found_.low[0] = found_.high[0] = traced->difference;
    found_.error[0] = apart + traced->noise;
    return true;
  }

  std::optional<TracedLevel> take(double h) {
    const std::optional<double> plus = change_at(h);
    const std::optional<double> minus = plus ? change_at(-h) : std::nullopt;
    if (!minus) return std::nullopt;
    const double width = 2 * h;  // in float64 hardly any element of x + hd is rounded
    const double at_point = projected_.at_point();
    return TracedLevel{h,
                       (*plus - *minus) / width,
                       2 * projected_.rounding() / width,
                       at_point + *plus,
                       at_point + *minus,
                       at_point};
  }

  std::optional<double> change_at(double offset) {
    direction_.move(0, offset);
    ++found_.evaluations;
    try {
      const double change = projected_.change_now();
      return std::isfinite(change) ? std::optional(change) : std::nullopt;
    } catch (const std::exception& exception) {
      found_.failure = exception.what();
      return std::nullopt;
    }
  }

  Projected& projected_;
  Direction& direction_;
  Derivatives found_;
};

}  // namespace

Derivatives slope_along(Function& function,
                        Directions directions,
                        const std::vector<double>& cotangent,
                        double wanted,
                        std::optional<double> claimed) {
  require(wanted > 0, "gradcheck: the wanted error must be positive, got ", wanted);
  return with_plain_exceptions([&] {
    require(check_directions(function, directions) == DType::kFloat64,
            "gradcheck: a slope is that of float64 inputs");
    Projected projected(function, cotangent);
    Direction direction(function.inputs(), std::move(directions));
    Ascent ascent(projected, direction);
    const bool can_move = !direction.is_zero() && direction.scale(0) > 0;
    if (!can_move || !std::isfinite(projected.at_point())) {
      return ascent.without_derivative(kDomain);
    }
    return ascent.run(wanted, claimed);
  });
}

}  // namespace fluidcore::gradcheck
