#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/verdict/confirm.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

using Columns = std::vector<std::size_t>;

// What is known so far of the derivatives that are claimed, column by column.
class Evidence {
 public:
  // Where a derivative is.
  struct Interval {
    double low;
    double high;
    double error;
  };

  // All of them outlive the evidence.
  Evidence(const Claim& claim, const Rules& rules, Derivatives& reference);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t at(std::size_t row, std::size_t column) const { return row * columns_ + column; }

  // What the reference does not prove, the worst first: then what it refutes, by how many limits,
  // then the rest.
  const Columns& in_doubt() const { return in_doubt_; }
  // Whether a claim that is off by more than the first reference allows holds for longer error bars
  // alone.
  bool is_only_vaguer(std::size_t column) const;
  // How far a claim may be off as the first reference knows it.
  double first_limit(std::size_t i) const { return first_limit_[i]; }

  double claimed(std::size_t i) const { return claim_.value[i]; }
  double tolerance(std::size_t i) const { return claim_.tolerance[i]; }
  double bars() const { return rules_.bars; }
  double resolution() const { return rules_.resolution; }
  // An error that a PASS must see.
  double visible(std::size_t i) const { return visible_[i]; }
  // The right derivative minus the left one, where both were measured.
  double bend(std::size_t i) const { return bend_[i]; }
  double& bend(std::size_t i) { return bend_[i]; }

  double limit(std::size_t i, double error) const {
    return rules_.bars * error + claim_.tolerance[i] + allowed_[i];
  }
  bool holds(std::size_t i, const Interval& found) const;
  bool is_sharp(std::size_t i, double error) const { return limit(i, error) <= visible_[i]; }
  // Whether column j of `found` tells of `column` what a PASS must be able to see.
  bool is_sharp(const Derivatives& found, std::size_t j, std::size_t column) const;

  Derivatives& reference() { return reference_; }
  const Derivatives& reference() const { return reference_; }
  Interval interval(std::size_t i) const {
    return {reference_.low[i], reference_.high[i], reference_.error[i]};
  }
  bool is_refuted(std::size_t column) const;
  void leave_open(std::size_t column, std::uint8_t flag);

 private:
  const Claim& claim_;
  const Rules& rules_;
  Derivatives& reference_;
  std::size_t rows_;
  std::size_t columns_;
  Columns in_doubt_;
  std::vector<double> visible_;  // [cotangents, elements], as those that follow
  std::vector<double> allowed_;  // relative errors that are right
  std::vector<double> first_limit_;
  std::vector<double> bend_;
};

}  // namespace fluidcore::gradcheck
