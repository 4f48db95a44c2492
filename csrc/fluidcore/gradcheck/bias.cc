#include "fluidcore/gradcheck/bias.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/random_values.h"
#include "fluidcore/gradcheck/rounding.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kFewest = 5;  // that make a mean; the others were outside of the domain of f

// Mean and standard deviation of the differences of a series of pairs of arrays, by Welford (1962).
class Moments {
 public:
  Moments(std::int64_t size, const Elements& kept)
      : kept_(kept),
        count_(kept ? kept->size() : static_cast<std::size_t>(size)),
        mean_(count_.size()),
        squares_(count_.size()),
        formula_(count_.size()) {}

  // Takes in `kernel - formula` where `formula` is finite.
  void add(const Tensor& kernel, const Tensor& formula) {
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      const std::int64_t element = kept_ ? (*kept_)[i] : static_cast<std::int64_t>(i);
      const double exact = formula.get_float_element(element);
      if (!std::isfinite(exact)) continue;
      const double value = kernel.get_float_element(element) - exact;
      ++count_[i];
      formula_[i] += (exact - formula_[i]) / count_[i];
      const double step = value - mean_[i];
      mean_[i] += step / count_[i];
      squares_[i] += step * (value - mean_[i]);
    }
  }

  void append_to(std::vector<Bias::Element>& values) const {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      const bool is_known = count_[i] >= kFewest;
      values.push_back({is_known ? mean_[i] : kNaN,
                        std::sqrt(squares_[i] / std::max(count_[i] - 1, 1)),
                        is_known ? formula_[i] : kNaN});
    }
  }

 private:
  const Elements& kept_;
  std::vector<std::uint8_t> count_;
  std::vector<double> mean_;
  std::vector<double> squares_;
  std::vector<double> formula_;
};

}  // namespace

std::vector<Bias::Element> Bias::of(std::size_t k,
                                    const std::vector<std::int64_t>& elements) const {
  std::vector<Element> found;
  if (elements.empty()) return found;
  const std::vector<Element>& all = values[k];
  if (kept[k]) return all;
  for (std::size_t row = 0; row < cotangents; ++row) {
    for (const std::int64_t element : elements) {
      found.push_back(all[row * (all.size() / cotangents) + static_cast<std::size_t>(element)]);
    }
  }
  return found;
}

Bias bias_around(const GradientPair& pair,
                 const std::vector<Tensor>& centre,
                 std::string_view purpose,
                 bool itself,
                 std::vector<Elements> kept) {
  const double amplitude = std::sqrt(unit_roundoff(pair.dtype()));
  Bias result{pair.cotangents.size(), std::move(kept), {}};
  result.values.resize(centre.size());
  for (std::size_t row = 0; row < pair.cotangents.size(); ++row) {
    std::vector<Moments> moments;
    for (std::size_t k = 0; k < centre.size(); ++k) {
      moments.emplace_back(centre[k].size(), result.kept[k]);
    }
    for (int point = 0; point < Bias::kPoints; ++point) {
      const bool is_centre = itself && point == 0;
      std::vector<Tensor> x = centre;
      std::vector<Tensor> v = pair.cotangents[row];
      if (!is_centre) {
        const std::string where = str_cat(purpose, ", cotangent ", row, ", point ", point);
        x = dithered_point(pair, centre, amplitude, where);
        for (std::size_t j = 0; j < v.size() && !pair.kernel.has_fixed_cotangent(); ++j) {
          const RandomSequence numbers = random_sequence(pair.seed, str_cat("output ", j), where);
          v[j] = dithered(v[j], amplitude, numbers);
        }
      }
      try {
        const GradientPair::Both at = pair.at(x, v);
        for (std::size_t k = 0; k < moments.size(); ++k) {
          moments[k].add(at.kernel[k], at.formula[k]);
        }
      } catch (const std::exception&) {
        if (is_centre) throw;  // else outside of the domain of f
      }
    }
    for (std::size_t k = 0; k < moments.size(); ++k) moments[k].append_to(result.values[k]);
  }
  return result;
}

std::vector<Tensor> dithered_point(const GradientPair& pair,
                                   const std::vector<Tensor>& x,
                                   double amplitude,
                                   std::string_view purpose) {
  std::vector<Tensor> result;
  result.reserve(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    const RandomSequence numbers = random_sequence(pair.seed, str_cat("input ", k), purpose);
    result.push_back(dithered(x[k], amplitude, numbers));
  }
  return result;
}

}  // namespace fluidcore::gradcheck
