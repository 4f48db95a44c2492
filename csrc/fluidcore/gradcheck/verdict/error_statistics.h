#pragma once

#include <cstdint>

namespace fluidcore::gradcheck {

// The largest, the mean and the median of some errors; 0 of none.
struct ErrorSummary {
  double max = 0;
  double mean = 0;
  double median = 0;
};

struct ErrorStatistics {
  ErrorSummary relative;  // |a - n| / max(|a|, |n|, smallest)
  ErrorSummary absolute;  // |a - n|
};

// What sums up how far two arrays of `size` numbers are apart; an error is infinite where one of
// the two numbers is not finite.
ErrorStatistics error_statistics(const double* analytical,
                                 const double* numerical,
                                 std::int64_t size,
                                 double smallest);

}  // namespace fluidcore::gradcheck
