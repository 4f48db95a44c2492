#pragma once

#include <array>
#include <cstdint>
#include <random>

namespace fluidcore::gradcheck {

// The values of one output at points along a line, and what their divided differences tell of its
// rounding noise (Moré and Wild, Estimating computational noise, 2011).
class DividedDifferences {
 public:
  static constexpr int kPoints = 14;
  static constexpr int kOrder = 6;

  using Places = std::array<double, kPoints>;  // of the points, in steps from x
  // Uneven, for roundings inside of f must not repeat from point to point: a grid of them, as that
  // of sin(x) + 1000, may be in step with even points, which then show nothing. `bits` are the
  // binary digits by which a place may be off.
  static Places random_places(std::mt19937_64& random, int bits);

  // The lengths of the weights of the differences that end at a point, by order: their standard
  // deviations for independent numbers.
  using Lengths = std::array<double, kOrder + 1>;
  static Lengths lengths(const Places& places, int end);

  // Takes in the value at the next point.
  void add(double value, int point, const Places& places, const Lengths& lengths);

  // One standard deviation; 0 where it is less than the rounding of the differences themselves.
  double noise(double unit) const;
  // Whether differences of order 4, 5 and 6 change their sign and tell the same noise, up to a
  // factor of 4, that is small beside the values: then it is no change of f itself.
  bool is_level() const;
  // Whether it may be f itself: more than half of the digits, or not level though error bars do not
  // allow for it anyway.
  bool is_doubtful(double unit) const;
  // Whether most values are the one before. Roundings of a value that hardly changes have something
  // in common.
  bool is_still() const { return 2 * moves_ <= kPoints; }
  bool is_telling() const;

 private:
  static constexpr int kLowest = 4;

  struct OfOrder {
    double squares = 0;  // in units of their lengths
    double least = 0;
    double greatest = 0;

    double noise(int order) const;
  };

  std::array<double, kOrder + 1> last_{};  // of order 0, 1, …
  std::array<OfOrder, kOrder - kLowest + 1> orders_{};
  double largest_ = 0;
  int moves_ = 0;  // points whose value is not that of the point before
};

// Error bars allow for so many standard deviations of a noise,
constexpr double kDeviations = 3;
// and for that anyway, as the rounding of an output of that size.
bool is_rounding(double noise, double size, double unit);

}  // namespace fluidcore::gradcheck
