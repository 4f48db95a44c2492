#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/base/dtype.h"

namespace fluidcore {

// The extents of a tensor, outermost first. -1 stands for "known only at run time".
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : extents_(extents) {}
  explicit Shape(std::vector<std::int64_t> extents) : extents_(std::move(extents)) {}

  std::size_t rank() const { return extents_.size(); }
  std::int64_t operator[](std::size_t axis) const { return extents_[axis]; }
  std::int64_t& operator[](std::size_t axis) { return extents_[axis]; }
  std::int64_t back() const { return extents_.back(); }

  bool is_known() const;              // no extent is -1
  std::int64_t num_elements() const;  // 1 for rank 0; -1 if an extent is unknown and none is 0

  // The product of the extents [first, last); -1 if one of them is unknown and none is 0.
  std::int64_t product(std::size_t first, std::size_t last) const;

  const std::vector<std::int64_t>& extents() const { return extents_; }
  auto begin() const { return extents_.begin(); }
  auto end() const { return extents_.end(); }
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::int64_t> extents_;
};

std::string to_string(const Shape& shape);  // [2, 3]

// True when the two can be the same at run time: -1 agrees with everything.
bool compatible(const Shape& a, const Shape& b);
inline bool compatible(std::int64_t a, std::int64_t b) {
  return a == b || a == -1 || b == -1;
}

// `axis` counted from the end if negative. Throws InvalidArgument, starting with `who`, unless
// -rank <= axis < rank.
std::size_t normalize_axis(std::int64_t axis, std::size_t rank, std::string_view who);

// The common shape of `x` and `y` for an elementwise operator. `axis` is the dimension of x where
// y's dimensions begin; -1 aligns the last dimensions as NumPy does, and then either of the two
// may be broadcast. Throws InvalidArgument, starting with `who`.
Shape broadcast(const Shape& x, const Shape& y, std::int64_t axis, std::string_view who);

// `y` with extents of 1 added in front and behind, so that it has rank(out) dimensions and
// begins at dimension `axis` (-1: at the end) of a shape of rank `x_rank`.
Shape align(const Shape& y, std::int64_t axis, std::size_t x_rank, std::size_t out_rank);

// What is known of a tensor, or of selected rows of one, without looking at its elements.
//
// Selected rows stand for a tensor that is 0 in most of its rows. They hold the numbers of rows, in
// any order, and their values; the values of a number that is there twice add up, and the number -1
// is of no row.
struct TensorSpec {
  Shape shape;  // of selected rows: of the tensor that they stand for
  DType dtype = DType::kFloat32;
  // How many rows are held, -1 if that is only known at run time. None: this is a tensor.
  std::optional<std::int64_t> rows = {};

  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// "float32 [2, 3]"; "float32 [2, 3] selected rows"; where it is known how many they are,
// "float32 [2, 3], 5 selected rows"
std::string to_string(const TensorSpec& spec);

// The shape of what is held: that of the tensor, or [rows, ...].
Shape held_shape(const TensorSpec& spec);

// True where nothing is left for run time: no extent, and not the number of rows.
bool is_known(const TensorSpec& spec);

}  // namespace fluidcore
