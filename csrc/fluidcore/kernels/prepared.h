#pragma once

#include <cstdint>
#include <functional>

namespace fluidcore {

// Mathematics in its two stages: a function `prepare_...(problem)` decides everything that sizes
// and layouts decide, and returns what calculates, given only the memory of one run:
//
//   const Prepared2<float> product = cpu::prepare_matmul<float>(problem);
//   product(a, b, c);
//
// Prepared for as many threads as num_threads() says then. Its scratch memory is its own, or that
// of a Plan: two threads must not call one at the same time.
template <class T>
using Prepared1 = std::function<void(const T* in, T* out)>;
template <class T, class Out = T>
using Prepared2 = std::function<void(const T* first, const T* second, Out* out)>;

// The second operand are weights: what the function makes of them for itself is made again when the
// version is another one than in the last call, or 0.
template <class T>
using PreparedWeights =
    std::function<void(const T* in, const T* weights, std::uint64_t version, T* out)>;

}  // namespace fluidcore
