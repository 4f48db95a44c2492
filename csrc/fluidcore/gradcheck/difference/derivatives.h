#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fluidcore::gradcheck {

// Why an element has no derivative that can be relied on. Several may hold.
enum DerivativeFlag : std::uint8_t {
  // The one-sided derivatives differ: [low, high] holds both.
  kKink = 1,
  // The difference quotients grow as the step shrinks, also if the two sides are alike: no
  // derivative, the error is infinite.
  kJump = 2,
  // f is not finite, or throws, at the point or on both sides of it, or the derivative from the
  // one side where it is finite could not be found: value NaN, low -inf, high inf, error inf, scale
  // 0.
  kDomain = 4,
  // Outputs that never moved, not even when the element moved by eight times its scale, may have
  // absorbed the step; and that makes most of an error bar which is too wide to judge by: wider
  // than the resolution of the dtype times max(|value|, 0.01 max|value|, 0.01 max scale), where the
  // maxima are over the elements of the same cotangent.
  kAbsorbed = 8,
  // [low, high] was measured from both sides, and at points near by where f has several branches:
  // what lies in it is right. Only confirm() sets it.
  kSubgradient = 16,
  // One measurement refutes what is claimed, and another one is too vague to tell: no PASS may hold
  // it. Only confirm() sets it.
  kSuspect = 32,
  kLate = 64,  // there was no time left; only the caller sets it
};

// How a derivative is approached.
struct Approach {
  int side = 0;  // 1 or -1: from there only
  // With steps as small as they can be, though larger ones seem to know the derivative: what these
  // and the smallest agree on is no chance.
  bool to_the_end = false;
  // One central difference of a small step, not extrapolated: the error bar is that of rounding
  // alone, [low, high] holds the one-sided differences. kDomain also where a large step moves what
  // the small one does not, where that reaches across 0, and below float64.
  bool once = false;
  // With steps that are small beside the element itself, however large others are.
  bool by_x = false;
};

// One step size along a direction, projected on the first cotangent v.
struct TracedLevel {
  double step = 0;        // h
  double difference = 0;  // (phi_plus - phi_minus) / 2h
  double noise = 0;       // how much of it may be rounding
  double phi_plus = 0;    // ⟨v, f(x + hd)⟩
  double phi_minus = 0;   // ⟨v, f(x - hd)⟩
  double phi_0 = 0;       // ⟨v, f(x)⟩
};

// The derivatives of ⟨v, f⟩ by `elements` elements for each of `cotangents` vectors v; arrays of
// [cotangents, elements] numbers.
struct Derivatives {
  Derivatives() = default;
  Derivatives(std::int64_t cotangent_count, std::int64_t element_count)
      : cotangents(cotangent_count), elements(element_count) {
    const auto size = static_cast<std::size_t>(cotangents * elements);
    for (auto* array : {&value, &error, &low, &high, &scale}) array->resize(size);
    flags.resize(static_cast<std::size_t>(elements));
  }

  std::int64_t cotangents = 0;
  std::int64_t elements = 0;
  std::vector<double> value;  // G; the middle of [low, high] at a kink
  std::vector<double> error;  // how far the truth may be from G, or outside of [low, high]
  std::vector<double> low;    // equal to G where f is smooth
  std::vector<double> high;
  std::vector<double> scale;           // Σ |v_j G_j|
  std::vector<std::uint8_t> flags;     // [elements], bits of DerivativeFlag
  std::int64_t evaluations = 0;        // of f
  std::optional<std::string> failure;  // text of the first exception at a moved point
  std::vector<TracedLevel> levels;     // coarse to fine; only when asked for
};

// Makes column j of `to` what column i of `from` is; both are of as many cotangents.
void copy_column(const Derivatives& from, std::size_t i, Derivatives& to, std::size_t j);

// These columns, one after the other.
Derivatives picked(const Derivatives& from, const std::vector<std::size_t>& columns);

// Whether column j has a derivative with an error bar, by all cotangents.
bool is_smooth(const Derivatives& found, std::size_t j);

}  // namespace fluidcore::gradcheck
