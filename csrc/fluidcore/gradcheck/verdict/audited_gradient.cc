#include "fluidcore/gradcheck/verdict/audited_gradient.h"

#include <cmath>
#include <cstddef>
#include <cstring>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/verdict/linearity.h"

namespace fluidcore::gradcheck {

namespace {

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.spec() == b.spec() && (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

}  // namespace

AuditedGradient audited(Gradient& gradient,
                        const std::vector<std::vector<Tensor>>& cotangents,
                        std::uint64_t seed) {
  const std::vector<Tensor>& x = gradient.inputs();
  const DType dtype = x.front().dtype();
  const double amplitude = std::sqrt(std::sqrt(unit_roundoff(dtype)));
  std::vector<Tensor> elsewhere;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const RandomSequence numbers = random_sequence(seed, str_cat("input ", i), "elsewhere");
    elsewhere.push_back(dithered(x[i], amplitude, numbers));
  }
  AuditedGradient result;
  result.values.resize(x.size());
  result.faults.resize(x.size());
  result.is_linear.assign(x.size(), true);
  for (const std::vector<Tensor>& cotangent : cotangents) {
    std::vector<Tensor> v = converted(cotangent, dtype);
    std::vector<Tensor> other;
    other.reserve(v.size());
    for (const Tensor& part : v) other.push_back(dithered(part, 0.5, {.key = seed}));
    gradient.at(elsewhere, other);
    std::vector<Tensor> first;
    for (const Tensor& part : gradient.at(x, v)) first.push_back(part.clone());
    const std::vector<Tensor>& second = gradient.at(x, v);
    for (std::size_t k = 0; k < first.size(); ++k) {
      if (!(first[k].spec() == x[k].spec())) {
        result.faults[k] = "wrong-shape";
      } else if (!same_bits(first[k], second[k])) {
        result.faults[k] = "not-repeatable";
      }
      append(result.values[k], first[k]);
    }
    for (Tensor& part : v) part = scaled_exactly(part);
    const std::vector<Tensor>& third = gradient.at(x, v);
    for (std::size_t k = 0; k < first.size(); ++k) {
      result.is_linear[k] = result.is_linear[k] && is_scaled_exactly(third[k], first[k]);
    }
  }
  return result;
}

void append(std::vector<double>& to, const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) to.push_back(tensor.get_float_element(i));
}

}  // namespace fluidcore::gradcheck
