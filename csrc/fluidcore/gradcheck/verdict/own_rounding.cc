#include "fluidcore/gradcheck/verdict/own_rounding.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>

#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/verdict/elsewhere.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kPairs = 6;
constexpr double kCertain = 4;  // standard deviations
constexpr double kWidest = 0x1p-6;

class OwnRounding {
 public:
  OwnRounding(Formula& formula, const Look& look, const Judgement& found)
      : formula_(formula), look_(look), found_(found) {}

  // [cotangents, elements]: the root mean square of what the averages are off.
  std::vector<double> measured(double size) {
    std::vector<double> squares(found_.analytical.size());
    for (int pair = 0; pair < kPairs; ++pair) {
      const std::vector<Tensor> up = moved(size, pair);
      const std::vector<Tensor> down = moved(-size, pair);
      for (std::size_t row = 0; row < formula_.cotangents.size(); ++row) {
        const std::vector<double> above = at(up, row);
        const std::vector<double> below = at(down, row);
        for (std::size_t j = 0; j < look_.elements.size(); ++j) {
          const std::size_t i = row * look_.elements.size() + j;
          const double off = (above[j] + below[j]) / 2 - found_.analytical[i];
          if (std::isfinite(off)) squares[i] += off * off;
        }
      }
    }
    for (double& square : squares) square = std::sqrt(square / kPairs);
    return squares;
  }

 private:
  std::vector<Tensor> moved(double size, int pair) const {
    std::vector<RandomSequence> random;
    random.reserve(formula_.f.inputs().size());
    for (std::size_t k = 0; k < formula_.f.inputs().size(); ++k) {
      random.push_back(
          random_sequence(formula_.seed, str_cat("input ", k), str_cat("own rounding ", pair)));
    }
    return moved_inputs(formula_.f, [&](std::size_t k, std::int64_t i, double x) {
      return x * (1 + size * (2 * random[k].uniform<double>(static_cast<std::uint64_t>(i)) - 1));
    });
  }

  // NaN where the gradient is not defined.
  std::vector<double> at(const std::vector<Tensor>& x, std::size_t row) {
    std::vector<double> values(look_.elements.size(), std::nan(""));
    Gradient& gradient = *formula_.gradient;
    try {
      const std::vector<Tensor>& found = interruptible(
          gradient.interruption(),
          [&]() -> const std::vector<Tensor>& { return gradient.at(x, formula_.cotangents[row]); });
      for (std::size_t j = 0; j < values.size(); ++j) {
        values[j] = found[look_.input].get_float_element(look_.elements[j]);
      }
      return values;
    } catch (const std::exception&) {  // an edge of the domain
      return values;
    }
  }

  Formula& formula_;
  const Look& look_;
  const Judgement& found_;
};

}  // namespace

void settle_own_rounding(Formula& formula,
                         const Look& look,
                         const Derivatives& reference,
                         Judgement& found) {
  const bool is_right = std::none_of(found.wrong.begin(), found.wrong.end(),
                                     [](std::uint8_t one) { return one != 0; });
  if (!formula.alone || formula.gradient == nullptr || is_right || formula.is_late()) return;
  const bool is_still = std::all_of(reference.scale.begin(), reference.scale.end(),
                                    [](double scale) { return scale == 0; });
  const double near = std::sqrt(unit_roundoff(formula.dtype()));
  const std::vector<double> rounding =
      OwnRounding(formula, look, found).measured(is_still ? kWidest : std::min(near, kWidest));
  for (std::size_t i = 0; i < found.wrong.size(); ++i) {
    if (!found.wrong[i] || !(found.excess(i) > 1)) continue;
    const double limit = found.limit[i] + kCertain * rounding[i];
    if (!(std::abs(found.analytical[i] - found.nearest[i]) <= limit)) continue;
    found.limit[i] = limit;
    found.wrong[i] = 0;
    found.unsure[i] = 1;
  }
}

}  // namespace fluidcore::gradcheck
