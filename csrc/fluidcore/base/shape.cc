#include "fluidcore/base/shape.h"

#include <algorithm>

#include "fluidcore/base/error.h"

namespace fluidcore {

bool Shape::is_known() const {
  return std::find(extents_.begin(), extents_.end(), -1) == extents_.end();
}

std::int64_t Shape::num_elements() const {
  return product(0, rank());
}

std::int64_t Shape::product(std::size_t first, std::size_t last) const {
  std::int64_t count = 1;
  bool unknown = false;
  for (std::size_t i = first; i < last; ++i) {
    if (extents_[i] == -1) {
      unknown = true;
    } else {
      require(!__builtin_mul_overflow(count, extents_[i], &count), "shape ", *this,
              " has more elements than can be counted");
    }
  }
  return unknown && count != 0 ? -1 : count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::int64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

std::string to_string(const TensorSpec& spec) {
  std::string text = str_cat(spec.dtype, " ", spec.shape);
  if (spec.rows)
    text += *spec.rows < 0 ? " selected rows" : str_cat(", ", *spec.rows, " selected rows");
  return text;
}

Shape held_shape(const TensorSpec& spec) {
  Shape shape = spec.shape;
  if (spec.rows && shape.rank() > 0) shape[0] = *spec.rows;
  return shape;
}

bool is_known(const TensorSpec& spec) {
  return spec.shape.is_known() && spec.rows != -1;
}

bool compatible(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](std::int64_t x, std::int64_t y) { return compatible(x, y); });
}

std::size_t normalize_axis(std::int64_t axis, std::size_t rank, std::string_view who) {
  const auto count = static_cast<std::int64_t>(rank);
  require(axis >= -count && axis < count, who, ": axis must be in [", -count, ", ", count,
          ") for an input of rank ", rank, ", got ", axis);
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

Shape align(const Shape& y, std::int64_t axis, std::size_t x_rank, std::size_t out_rank) {
  const std::size_t start =
      axis == -1 ? out_rank - y.rank() : static_cast<std::size_t>(axis) + (out_rank - x_rank);
  std::vector<std::int64_t> extents(out_rank, 1);
  if (y == Shape{1}) return Shape(std::move(extents));  // fits at any axis, also past the end
  for (std::size_t i = 0; i < y.rank(); ++i) extents[start + i] = y[i];
  return Shape(std::move(extents));
}

Shape broadcast(const Shape& x, const Shape& y, std::int64_t axis, std::string_view who) {
  require(axis >= -1, who, ": axis must be at least -1, got ", axis);
  if (axis >= 0) {
    // A Y of shape [1] broadcasts to everything, wherever it is put.
    if (y == Shape{1}) return x;
    require(static_cast<std::size_t>(axis) + y.rank() <= x.rank(), who,
            ": Y must fit into X from dimension axis on, got X ", x, ", Y ", y, ", axis ", axis);
  }
  const std::size_t rank = std::max(x.rank(), y.rank());
  const Shape left = align(x, -1, rank, rank);
  const Shape right = align(y, axis, x.rank(), rank);
  std::vector<std::int64_t> extents(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    require(compatible(left[i], right[i]) || left[i] == 1 || right[i] == 1, who,
            ": X and Y must have equal extents or 1 in every dimension, got X ", x, ", Y ", y,
            axis == -1 ? "" : str_cat(", axis ", axis));
    if (left[i] == 1) {
      extents[i] = right[i];
    } else {
      extents[i] = left[i] == -1 && right[i] > 1 ? right[i] : left[i];
    }
  }
  return Shape(std::move(extents));
}

}  // namespace fluidcore
