#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "fluidcore/gradcheck/difference/rule.h"

namespace fluidcore::gradcheck {

// Extrapolation of difference quotients to step 0 with an error bar, for many outputs at once.
//
// Many slots are divided among the threads that num_threads() allows, which changes no result.
//
// Every output that moves has a slot: a column of the arrays below. A level is one step size:
// kPlus and kMinus are filled with the outputs on both sides, and advance() works on slots
// [begin, end) of one row. On the way it
//   - bounds the rounding error of f: 2u(|y| + |x D|), or the noise that was measured;
//   - extrapolates after Neville, and keeps the entry with the smallest error, for each slot. Steps
//     may shrink unevenly, for what repeats itself at a power of two looks smooth to powers of two;
//   - calls a level rough when the two one-sided quotients do not approach each other as those of a
//     smooth function do, and then starts afresh: a kink that is nearer than the step does that;
//   - calls a level wild when it changes the quotient by more than it does where only the curvature
//     jumps: half of what the level before did, for half of the step, where a smooth function has a
//     quarter. Such steps are too large, and what follows does not build on them: near a pole they
//     may agree by chance;
//   - lets finer levels widen an error bar that two of them in succession contradict, until an
//     estimate is better than that. One alone only asks for another level: it may be chance, and
//     the smaller its step, the larger that is.
class Ladder {
 public:
  static constexpr int kHull = 3;     // levels
  static constexpr int kColumns = 5;  // of the extrapolation

  enum Field : std::uint8_t {
    kMiddle,  // y at the point
    kPlus,    // y on both sides; with one side only, kPlus is the side that there is
    kMinus,
    kFloor,  // rounding error that f has at least
    kBest,
    kError,
    kExcess,      // by how much two finer levels contradict kBest
    kClean,       // smooth levels in succession
    kCalm,        // levels since a wild one
    kChange,      // of the quotient from the level before to the last one
    kBend,        // D+ - D- of the last level
    kBendBefore,  // and of the one before
    kLow,         // hull of the one-sided quotients of the last three levels
    kHigh = kLow + kHull,
    kValues = kHigh + kHull,
    kNoises = kValues + kColumns,
    kFields = kNoises + kColumns,
  };
  // How many levels a row has behind it.
  struct Progress {
    int levels = 0;
    int since = 0;                         // of them since one was dropped because f was not finite
    std::array<double, kColumns> sizes{};  // of the last steps, as asked for, newest first
  };

  // The moves that made kPlus and kMinus: x + plus and x - minus. With one side only `plus` may be
  // negative, and `minus` is not used.
  struct Steps {
    double plus = 0;
    double minus = 0;
    double size = 0;  // as it was asked for, before x + size was rounded
  };

  // What the slots of a row have come to.
  struct Standing {
    bool settled = true;   // enough smooth levels in succession
    bool calm = true;      // enough levels since a wild one to extrapolate
    bool resolved = true;  // no estimate that is 0 with an error
    double largest_error = 0;
    double largest_value = 0;
  };

  explicit Ladder(const LadderRule& rule) : rule_(rule) {}

  std::int64_t slots() const { return slots_; }
  void reserve(std::int64_t slots);  // at least so many; those that are there stay
  double* field(int field) { return data_.get() + field * slots_; }
  const double* field(int field) const { return data_.get() + field * slots_; }

  // Makes slots with kMiddle and kFloor ready for their first level, with nothing moved so far.
  void clear(std::int64_t begin, std::int64_t end);

  // Whether there are two sides, only kPlus because nobody asked for the other, or because f has a
  // domain that ends.
  enum class Sides { kBoth, kOne, kEdge };

  // Takes a level in; `argument` is |x|.
  Progress advance(std::int64_t begin,
                   std::int64_t end,
                   const Progress& progress,
                   const Steps& steps,
                   double argument,
                   Sides sides);
  // A level at which f is not finite: what follows does not build on what was before.
  Progress drop(std::int64_t begin, std::int64_t end, const Progress& progress);

  // Makes of one level alone, of both sides, kBest, kError (rounding), and of the one-sided
  // quotients kLow and kHigh.
  void take_one(std::int64_t begin, std::int64_t end, const Steps& steps, double argument);

  // How much of an output may be rounding, where the largest of its values is `size` and `x` times
  // its derivative is `change`.
  static double rounding_error(const LadderRule& rule, double size, double change, double floor) {
    constexpr double kRoundings = 2;
    const double error = kRoundings * rule.unit * (size + change) + rule.tiny;
    return error < floor ? floor : error;
  }

  Standing standing(std::int64_t begin, std::int64_t end, bool one_sided) const;

  // Smooth levels in succession that make an output smooth. With one side only the first of them
  // says nothing.
  static int settled_levels(bool one_sided) { return one_sided ? 4 : 3; }

 private:
  template <bool kOneSided, int kCount>
  void advance_columns(std::int64_t begin,
                       std::int64_t end,
                       const Progress& progress,  // with this level
                       const Steps& steps,
                       double argument,
                       double flat);

  // What standing() is made from.
  struct Extremes;
  Extremes extremes(std::int64_t begin, std::int64_t end) const;

  LadderRule rule_;
  std::int64_t slots_ = 0;
  std::unique_ptr<double[]> data_;  // [kFields, slots]; what no level has written is not set
};

}  // namespace fluidcore::gradcheck
