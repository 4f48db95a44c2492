#include "fluidcore/gradcheck/verdict/subgradient.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/difference/along.h"
#include "fluidcore/gradcheck/difference/direction.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/verdict/near_point.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kDirections = 5;
constexpr int kRandomPoints = 32;  // as long as they are needed

class Together {
 public:
  Together(Function& function,
           const AtKinks& at,
           const Question& question,
           double bars,
           std::uint64_t seed,
           std::int64_t& evaluations)
      : function_(function),
        at_(at),
        question_(question),
        bars_(bars),
        seed_(seed),
        evaluations_(evaluations) {}

  // Whether ⟨claim, d⟩ lies between derivatives along d.
  bool holds_along(int number) {
    const std::vector<double> d = direction(number);
    double claimed = 0;
    double squares = 0;
    std::vector<double> up(d.size());
    for (std::size_t j = 0; j < d.size(); ++j) {
      if (d[j] == 0) continue;
      claimed += at_.claimed[j] * d[j];
      squares += at_.allowed[j] * d[j] * at_.allowed[j] * d[j];
      up[j] = at_.bend[j] < 0 ? -d[j] : d[j];
    }
    allowed_ = std::sqrt(squares);
    low_ = std::numeric_limits<double>::infinity();
    high_ = -low_;
    // Where f is smooth along d it is so however near the point is, and the nearer, the less it is
    // curved on the way there. Else the steps must be shorter than that.
    double part = number == 0 ? nearness() * nearness() : nearness();
    look_on_both_sides(up, part, d);
    if (low_ > high_ && part < nearness()) look_on_both_sides(up, part = nearness(), d);
    for (int point = 0; point < kRandomPoints && !is_between(claimed); ++point) {
      const NearPoint near{part, (point + 0.5) / kRandomPoints, point};
      const MovedInputs moved(function_, at_.input, move_to(near, function_, at_.input, seed_));
      if (const auto found = derivative_here(d)) take_in(*found);
    }
    return is_between(claimed);
  }

  // Of the interval of derivatives, for one element, where all move by the same.
  double width() const {
    return (high_ - low_) / (root_mean_square(input()) * static_cast<double>(at_.elements.size()));
  }

 private:
  double nearness() const { return gradcheck::nearness(input().dtype()); }
  const Tensor& input() const { return function_.inputs()[at_.input]; }
  bool is_between(double claimed) const {
    return low_ - allowed_ <= claimed && claimed <= high_ + allowed_;
  }

  // First all elements by the same: f is smooth along it where it depends on what is equal only.
  // Then by numbers no two of which are nearly the same, for these are what tells branches apart.
  std::vector<double> direction(int number) const {
    const double rms = root_mean_square(input());
    const auto count = static_cast<double>(at_.elements.size());
    std::vector<double> d(at_.elements.size(), rms);
    if (number == 0) return round_direction(std::move(d));
    const RandomSequence random =
        random_sequence(seed_, str_cat("input ", at_.input), str_cat("kinks ", number));
    std::vector<std::uint64_t> order(d.size());
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
      return random.uniform<double>(a) < random.uniform<double>(b);
    });
    for (std::size_t j = 0; j < d.size(); ++j) {
      const double sign = number > 1 && random.uniform<double>(d.size() + j) < 0.5 ? -1 : 1;
      d[j] *= at_.is_kink[j] ? sign * (1 + static_cast<double>(order[j]) / count) : 0;
    }
    return round_direction(std::move(d));
  }

  // The derivatives along d on both sides of x. On the way there f is curved; extrapolated from two
  // distances, they are those of the branches at x itself.
  void look_on_both_sides(const std::vector<double>& up,
                          double part,
                          const std::vector<double>& d) {
    constexpr double kNearer = 8;
    for (const double side : {part, -part}) {
      const auto at = [&](double distance) {
        std::vector<double> there;
        there.reserve(up.size());
        for (std::size_t j = 0; j < up.size(); ++j)
          there.push_back(input().get_float_element(at_.elements[j]) + distance * up[j]);
        const MovedElements moved(function_, at_.input, at_.elements, std::move(there));
        return derivative_here(d);
      };
      const std::optional<Slope> far = at(side);
      if (!far) continue;
      const std::optional<Slope> near = at(side / kNearer);
      if (!near) continue;
      take_in({near->value + (near->value - far->value) / (kNearer - 1),
               (kNearer * near->error + far->error) / (kNearer - 1)});
    }
  }

  struct Slope {
    double value;
    double error;
  };

  // Along d, where the input is.
  std::optional<Slope> derivative_here(const std::vector<double>& d) {
    ++evaluations_;
    if (!is_in_domain(function_)) return std::nullopt;
    Directions along(function_.inputs().size());
    auto& whole = along[at_.input].emplace(static_cast<std::size_t>(input().size()));
    for (std::size_t j = 0; j < d.size(); ++j) {
      whole[static_cast<std::size_t>(at_.elements[j])] = d[j];
    }
    const Derivatives found = differentiate_along(function_, along, question_);
    evaluations_ += found.evaluations;
    if (found.flags[0] != 0 || !std::isfinite(found.error[0])) return std::nullopt;
    return Slope{found.value[0], found.error[0]};
  }

  void take_in(const Slope& slope) {
    low_ = std::min(low_, slope.value - bars_ * slope.error);
    high_ = std::max(high_, slope.value + bars_ * slope.error);
  }

  Function& function_;
  const AtKinks& at_;
  const Question& question_;
  double bars_;
  std::uint64_t seed_;
  std::int64_t& evaluations_;
  double allowed_ = 0;
  double low_ = 0;
  double high_ = 0;
};

}  // namespace

std::optional<double> subgradient_error(Function& function,
                                        const AtKinks& at,
                                        const Question& question,
                                        double bars,
                                        std::uint64_t seed,
                                        std::int64_t& evaluations) {
  Together together(function, at, question, bars, seed, evaluations);
  double unseen = 0;
  for (int number = 0; number < kDirections; ++number) {
    if (!together.holds_along(number)) return std::nullopt;
    if (number == 0) unseen = together.width();
  }
  return unseen;
}

}  // namespace fluidcore::gradcheck
