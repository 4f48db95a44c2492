#pragma once

#include <cstdint>

namespace fluidcore::gradcheck {

// What is moved: one number x per row, and each row of the outputs depends on the x of its row
// only. With one row that is no claim at all. Several threads may use different rows at a time.
class Coordinates {
 public:
  Coordinates() = default;
  virtual ~Coordinates() = default;
  Coordinates(const Coordinates&) = delete;
  Coordinates& operator=(const Coordinates&) = delete;

  virtual std::int64_t rows() const = 0;
  // The size that a step is compared with: positive and finite; 0 where x is not finite.
  virtual double scale(std::int64_t row) const = 0;
  // |x|: f is as inexact as if x were wrong by a unit roundoff of it.
  virtual double argument(std::int64_t row) const = 0;
  // How far a move by `offset` really goes, in the dtype of x; 0 if rounding undoes it.
  virtual double step(std::int64_t row, double offset) const = 0;
  virtual void move(std::int64_t row, double offset) = 0;
  virtual void restore() noexcept = 0;  // every row, bit for bit
};

// Puts everything back at the end of a block, also when an exception ends it.
class RestoreAtEnd {
 public:
  explicit RestoreAtEnd(Coordinates& coordinates) : coordinates_(coordinates) {}
  ~RestoreAtEnd() { coordinates_.restore(); }
  RestoreAtEnd(const RestoreAtEnd&) = delete;
  RestoreAtEnd& operator=(const RestoreAtEnd&) = delete;

 private:
  Coordinates& coordinates_;
};

}  // namespace fluidcore::gradcheck
