#include "fluidcore/gradcheck/difference/element.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

Element::Element(Tensor input, std::int64_t rows, double rms, double stretch)
    : input_(std::move(input)),
      rows_(rows),
      width_(input_.size() / rows),
      rms_(rms),
      stretch_(stretch),
      doubles_(input_.dtype() == DType::kFloat64 ? static_cast<double*>(input_.raw()) : nullptr),
      x_(static_cast<std::size_t>(rows)),
      moved_(x_.size()) {
}

void Element::choose(std::int64_t column) {
  column_ = column;
  by_x_ = false;
  for (std::int64_t row = 0; row < rows_; ++row) {
    x_[static_cast<std::size_t>(row)] =
        doubles_ != nullptr ? doubles_[index(row)] : input_.get_float_element(index(row));
  }
}

double Element::scale(std::int64_t row) const {
  const double size = std::abs(at(row));
  if (!std::isfinite(size)) return 0;
  return by_x_ && size > 0 ? size : std::max(size, rms_);
}

double Element::argument(std::int64_t row) const {
  return std::abs(at(row));
}

double Element::step(std::int64_t row, double offset) const {
  return round_to(input_.dtype(), at(row) + stretch_ * offset) - at(row);
}

void Element::set(std::int64_t row, double value) {
  if (doubles_ != nullptr) {
    doubles_[index(row)] = value;
  } else {
    input_.set_float_element(index(row), round_to(input_.dtype(), value));
  }
}

void Element::move(std::int64_t row, double offset) {
  moved_[static_cast<std::size_t>(row)] = 1;
  set(row, at(row) + stretch_ * offset);
}

void Element::restore() noexcept {
  for (std::int64_t row = 0; row < rows_; ++row) {
    if (std::exchange(moved_[static_cast<std::size_t>(row)], std::uint8_t{0}) != 0) {
      set(row, at(row));
    }
  }
}

}  // namespace fluidcore::gradcheck
