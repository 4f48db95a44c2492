#include "fluidcore/gradcheck/verdict/bias.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kFewestInMean = 5;  // points; the others were outside of the domain of f

// The differences of a series of pairs of arrays: their mean, by Welford (1962), and what they are
// in proportion to.
class Moments {
 public:
  Moments(std::int64_t size, const Elements& kept)
      : kept_(kept), sums_(kept ? kept->size() : static_cast<std::size_t>(size)) {}

  // Takes in `kernel - formula` where `formula` is finite.
  void add(const Tensor& kernel, const Tensor& formula) {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const std::int64_t element = kept_ ? (*kept_)[i] : static_cast<std::int64_t>(i);
      const double exact = formula.get_float_element(element);
      if (!std::isfinite(exact)) continue;
      Sums& sums = sums_[i];
      const double value = kernel.get_float_element(element) - exact;
      ++sums.count;
      const double step = value - sums.mean;
      sums.mean += step / sums.count;
      sums.squares += step * (value - sums.mean);
      sums.formula += exact * exact;
      sums.product += exact * value;
      if (sums.count == 1) sums.is_negative = exact < 0;
    }
  }

  void append_to(std::vector<Bias::Element>& values, std::size_t rows) const {
    values.reserve(rows * sums_.size());
    for (const Sums& sums : sums_) values.push_back(sums.element());
  }

 private:
  struct Sums {
    int count = 0;
    bool is_negative = false;  // the first of the formula
    double mean = 0;
    double squares = 0;  // of the distances from it
    double formula = 0;  // squares
    double product = 0;  // of difference and formula

    Bias::Element element() const {
      constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
      if (count < kFewestInMean) return {kNaN, 0, kNaN};
      const double part = product / formula;
      const double left = std::max(squares + count * mean * mean - part * product, 0.0);
      const bool is_part = left < squares;
      const double size = std::copysign(std::sqrt(formula / count), is_negative ? -1 : 1);
      return {is_part ? part * size : mean, std::sqrt((is_part ? left : squares) / (count - 1)),
              part};
    }
  };

  const Elements& kept_;
  std::vector<Sums> sums_;
};

}  // namespace

const Bias::Element& Bias::at(std::size_t k,
                              const std::vector<std::int64_t>& elements,
                              std::size_t i) const {
  const std::vector<Element>& all = values[k];
  if (kept[k]) return all[i];
  const std::size_t row = i / elements.size() * (all.size() / cotangents);
  return all[row + static_cast<std::size_t>(elements[i % elements.size()])];
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
    moments.reserve(centre.size());
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
    for (std::size_t k = 0; k < moments.size(); ++k)
      moments[k].append_to(result.values[k], result.cotangents);
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
