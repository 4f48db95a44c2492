#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fluidcore/base/dtype.h"

namespace fluidcore::gradcheck {

// What runs of the same code at the same point differ by. Where all give the same, nothing is
// stored but the first of them.
//
//   Repetition runs(first, 2);
//   while (runs.wants_more()) runs.add(run_again());
class Repetition {
 public:
  // `first` must stay as it is. There are `at_least` runs; more, once one is not as the others.
  explicit Repetition(std::span<const double> first, std::size_t at_least = 2);

  bool wants_more() const { return runs_ < wanted_; }
  // Throws InvalidArgument for another number of values.
  void add(std::span<const double> run);

  std::size_t runs() const { return runs_; }
  bool repeats() const { return mean_.empty(); }
  // Of each value, from run to run: infinite where it is not always finite; empty if all repeat.
  std::vector<double> deviation() const;
  // What error bars must allow for: four deviations of each value; empty if all repeat.
  std::vector<double> margin() const;
  // The largest deviation, and the largest value of the first run.
  double worst() const;
  double size() const;

  // The code is random, not just inexact: no derivative can be told from differences.
  bool is_random() const;
  // What rounding in another order explains in sums of `dtype`, and so in a right gradient.
  bool is_rounding(DType dtype) const;

 private:
  std::span<const double> first_;
  std::size_t wanted_;
  std::size_t runs_ = 1;
  std::vector<double> mean_;     // of differences from the first run
  std::vector<double> squares_;  // the sum of squared deviations
};

}  // namespace fluidcore::gradcheck
