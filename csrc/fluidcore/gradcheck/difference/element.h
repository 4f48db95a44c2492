#pragma once

#include <cstdint>
#include <vector>

#include "fluidcore/gradcheck/difference/coordinates.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// One element in each row of an input, seen as [rows, width].
class Element : public Coordinates {
 public:
  // `rms` is the root mean square of the input: no step is small against it, unless told so. A move
  // goes `stretch` times as far as it is asked for.
  Element(Tensor input, std::int64_t rows, double rms, double stretch = 1);

  void choose(std::int64_t column);  // in [0, width)
  // Whether steps are measured by x alone from now on, unless it is 0, until choose().
  void measure_by_x(bool alone) { by_x_ = alone; }
  std::int64_t index(std::int64_t row) const { return row * width_ + column_; }

  std::int64_t rows() const override { return rows_; }
  double scale(std::int64_t row) const override;
  double argument(std::int64_t row) const override;
  double step(std::int64_t row, double offset) const override;
  void move(std::int64_t row, double offset) override;
  void restore() noexcept override;

 private:
  double at(std::int64_t row) const { return x_[static_cast<std::size_t>(row)]; }
  void set(std::int64_t row, double value);

  Tensor input_;
  std::int64_t rows_;
  std::int64_t width_;
  double rms_;
  double stretch_;
  bool by_x_ = false;
  std::int64_t column_ = 0;
  double* doubles_;                  // the elements of a float64 input; null for other dtypes
  std::vector<double> x_;            // of each row
  std::vector<std::uint8_t> moved_;  // whether each row is
};

}  // namespace fluidcore::gradcheck
