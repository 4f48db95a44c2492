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

// Of f's outputs on short lines, or on wide ones.
enum class Noise { kNear, kFar };

// Measures columns again, and counts.
class Remeasure {
 public:
  using Differences =
      std::function<Derivatives(const Columns& columns, const Steps& steps, const Question& asked)>;

  // The same question, with either noise; where the far one is not known it is the near one. Both
  // outlive this.
  Remeasure(Differences differences, const Question& near, const Question& far)
      : differences_(std::move(differences)),
        near_(near),
        far_(far),
        is_rough_(!far.noise.empty() && far.noise != near.noise) {}

  Derivatives operator()(const Columns& columns, const Steps& steps, Noise noise = Noise::kNear) {
    return (*this)(columns, steps, noise == Noise::kFar ? far_ : near_);
  }
  Derivatives operator()(const Columns& columns, const Steps& steps, const Question& asked) {
    Derivatives found = differences_(columns, steps, asked);
    evaluations += found.evaluations;
    return found;
  }

  // Whether f is noisier on wide lines.
  bool is_rough() const { return is_rough_; }
  // Where f is rough, sides that differ by no more than that are no kink, and points near by no
  // branches.
  Noise worst_noise() const { return is_rough_ ? Noise::kFar : Noise::kNear; }

  std::int64_t evaluations = 0;  // of f

 private:
  Differences differences_;
  const Question& near_;
  const Question& far_;
  bool is_rough_;
};

}  // namespace fluidcore::gradcheck
