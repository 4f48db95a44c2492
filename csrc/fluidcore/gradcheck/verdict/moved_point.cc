#include "fluidcore/gradcheck/verdict/moved_point.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/difference/rule.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

MovedPoint::MovedPoint(Function& function,
                       std::size_t input,
                       const NearPoint& near,
                       std::uint64_t seed)
    : function_(function), input_(function.inputs()[input]), original_(input_.clone()) {
  const RandomSequence random =
      random_sequence(seed, str_cat("input ", input), str_cat("near by ", near.number));
  const auto size = static_cast<std::uint64_t>(input_.size());
  const double rms = root_mean_square(original_);
  for (std::uint64_t k = 0; k < size; ++k) {
    const auto i = static_cast<std::int64_t>(k);
    const double x = original_.get_float_element(i);
    const double unit = x == 0 || near.wide ? std::max(std::abs(x), rms) : std::abs(x);
    const double sign = random.uniform<double>(size + k) < near.up ? 1 : -1;
    const double by = sign * (1 + random.uniform<double>(k)) / 2;
    input_.set_float_element(i, round_to(input_.dtype(), x + by * near.part * unit));
  }
}

MovedPoint::MovedPoint(Function& function,
                       std::size_t input,
                       const std::vector<std::int64_t>& elements,
                       const std::vector<double>& offsets)
    : function_(function), input_(function.inputs()[input]), original_(input_.clone()) {
  for (std::size_t j = 0; j < elements.size(); ++j) {
    const double moved = original_.get_float_element(elements[j]) + offsets[j];
    input_.set_float_element(elements[j], round_to(input_.dtype(), moved));
  }
}

MovedPoint::~MovedPoint() {
  std::memcpy(input_.raw(), original_.raw(), original_.bytes());
}

bool MovedPoint::is_in_domain() const {
  try {
    for (const Tensor& output : function_.run()) {
      for (std::int64_t j = 0; j < output.size(); ++j) {
        if (!std::isfinite(output.get_float_element(j))) return false;
      }
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

double MovedPoint::nearness(DType dtype) {
  const LadderRule rule = rule_of(dtype);
  return std::ldexp(1.0, -rule.first - rule.most / 2);
}

}  // namespace fluidcore::gradcheck
