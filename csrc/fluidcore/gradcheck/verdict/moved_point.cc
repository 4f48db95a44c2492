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
                       const std::vector<std::int64_t>& held,
                       std::uint64_t seed)
    : function_(function), input_(function.inputs()[input]), original_(input_.clone()) {
  constexpr double kHeld = 0x1p-4;
  const RandomSequence random =
      random_sequence(seed, str_cat("input ", input), str_cat("near by ", near.number));
  const auto size = static_cast<std::uint64_t>(input_.size());
  const double rms = root_mean_square(original_);
  const auto move = [&](std::int64_t i, double by) {
    const double x = original_.get_float_element(i);
    const double unit = x == 0 || near.wide ? std::max(std::abs(x), rms) : std::abs(x);
    input_.set_float_element(i, round_to(input_.dtype(), x + by * near.part * unit));
  };
  for (std::uint64_t i = 0; i < size; ++i) {
    const double sign = random.uniform<double>(size + i) < near.up ? 1 : -1;
    move(static_cast<std::int64_t>(i), sign * (1 + random.uniform<double>(i)) / 2);
  }
  for (const std::int64_t i : held) {
    move(i, kHeld * (2 * random.uniform<double>(static_cast<std::uint64_t>(i)) - 1));
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
