#pragma once

#include <cstdint>

namespace fluidcore::cpu {

// The different ones of `count` numbers of rows, -1 left out, in rising order: `distinct` gets them
// and then -1, `places[i]` which of them numbers[i] is, -1 if it is -1. Returns how many there are.
// `distinct` may be `numbers`.
std::int64_t find_distinct(std::int64_t count,
                           const std::int64_t* numbers,
                           std::int64_t* places,
                           std::int64_t* distinct);

}  // namespace fluidcore::cpu
