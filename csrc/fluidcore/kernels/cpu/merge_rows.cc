#include "fluidcore/kernels/cpu/merge_rows.h"

#include <algorithm>

namespace fluidcore::cpu {

std::int64_t find_distinct(std::int64_t count,
                           const std::int64_t* numbers,
                           std::int64_t* places,
                           std::int64_t* distinct) {
  std::copy_n(numbers, count, places);
  std::copy_n(numbers, count, distinct);
  std::sort(distinct, distinct + count);
  std::int64_t* const first =
      std::find_if(distinct, distinct + count, [](std::int64_t number) { return number >= 0; });
  std::int64_t* const end = std::unique(first, distinct + count);
  std::int64_t* const last = std::move(first, end, distinct);
  std::fill(last, distinct + count, -1);
  for (std::int64_t i = 0; i < count; ++i) {
    if (places[i] >= 0) places[i] = std::lower_bound(distinct, last, places[i]) - distinct;
  }
  return last - distinct;
}

}  // namespace fluidcore::cpu
