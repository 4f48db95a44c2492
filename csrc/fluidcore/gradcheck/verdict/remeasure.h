#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/difference/question.h"
#include "fluidcore/gradcheck/verdict/evidence.h"

namespace fluidcore::gradcheck {

// How steps are taken. The stretches have few bits, and are no powers of two apart.
struct Steps {
  double stretch = 1;
  Approach approach = {};
};
constexpr Steps kCentral = {101.0 / 128, {0, true}};
constexpr Steps kRight = {79.0 / 128, {1, true}};
constexpr Steps kLeft = {165.0 / 128, {-1, true}};
constexpr Steps kNearBy = {};
constexpr Steps kByX = {101.0 / 128, {0, true, false, true}};

// Measures columns again, and counts.
class Remeasure {
 public:
  using Differences =
      std::function<Derivatives(const Columns& columns, const Steps& steps, const Question& asked)>;

  // The same question, with the noise of f's outputs on short lines, or on wide ones; where the
  // latter is not known it is the former. Both outlive this.
  Remeasure(Differences differences, const Question& near, const Question& far)
      : differences_(std::move(differences)), near_(near), far_(far.noise.empty() ? near : far) {}

  // Where f is rough, sides that differ by no more than that are no kink, and points near by no
  // branches.
  const Question& far() const { return far_; }

  Derivatives operator()(const Columns& columns, const Steps& steps) {
    return (*this)(columns, steps, near_);
  }
  Derivatives operator()(const Columns& columns, const Steps& steps, const Question& asked) {
    Derivatives found = differences_(columns, steps, asked);
    evaluations += found.evaluations;
    return found;
  }

  std::int64_t evaluations = 0;  // of f

 private:
  Differences differences_;
  const Question& near_;
  const Question& far_;
};

}  // namespace fluidcore::gradcheck
