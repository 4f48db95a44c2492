#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/difference/coordinates.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// x + t d for all inputs together; t is what is moved, from 0. Only the elements that move cost
// time.
//
// In float64 a d of few significant bits (round_direction) makes the moved inputs exact. In a dtype
// with fewer digits, or with another d, every element is rounded by itself: the step is then the
// length of what was really moved along d, and argument() grows to cover what went astray.
class Direction : public Coordinates {
 public:
  // For each input a direction of its size, or nullopt for an input that stays.
  Direction(std::vector<Tensor> inputs, std::vector<std::optional<std::vector<double>>> directions);

  bool is_zero() const { return moving_.empty(); }

  std::int64_t rows() const override { return 1; }
  double scale(std::int64_t row) const override;
  double argument(std::int64_t row) const override;
  double step(std::int64_t row, double offset) const override;
  // From the point, wherever the last move led.
  void move(std::int64_t row, double offset) override;
  void restore() noexcept override;

 private:
  struct Moving {
    Tensor input;
    Tensor original;
    std::vector<double> direction;
    std::vector<std::int64_t> few;  // the elements that move, if they are few; else none
  };

  // A move by `offset`, and how far it went.
  struct Step {
    double offset;
    double taken;
  };
  static constexpr std::size_t kKnownSteps = 4;  // those of a level are asked for again

  bool is_exact(double offset) const;
  double rounded_step(double offset) const;

  std::vector<Moving> moving_;
  mutable std::vector<Step> steps_;  // the last ones
  double scale_ = 0;                 // the smallest ratio of an input to its direction
  double argument_ = 0;              // the largest
  bool moved_ = false;
};

// `direction` with every element rounded to 10 significant bits.
std::vector<double> round_direction(std::vector<double> direction);

}  // namespace fluidcore::gradcheck
