#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "fluidcore/base/dtype.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

inline constexpr std::size_t kMostStreams = 4;

// A formula without its type, so that what surrounds its loop is compiled once for all formulas.
struct StreamFormula {
  using Loop =
      void (*)(Isa isa, const void* formula, std::int64_t size, void* out, const void* const* in);

  Loop loop;                                     // out[i] = formula(in[0][i], ...)
  std::size_t arity;                             // the number of inputs
  alignas(8) std::array<std::byte, 16> formula;  // its members
};

// `formula` for inputs and a result of type T, and a T or 16-bit floats in memory.
template <class T, std::size_t arity, class Formula>
StreamFormula stream_formula(const Formula& formula) {
  static_assert(std::is_trivially_copyable_v<Formula> && arity <= kMostStreams);
  StreamFormula made{
      [](Isa isa, const void* members, std::int64_t size, void* out, const void* const* in) {
        Formula own;
        std::memcpy(&own, members, sizeof own);
        [&]<std::size_t... i>(std::index_sequence<i...>) {
          calculate(isa, own, size, static_cast<T*>(out), static_cast<const T*>(in[i])...);
        }(std::make_index_sequence<arity>());
      },
      arity,
      {}};
  static_assert(sizeof formula <= sizeof made.formula);
  std::memcpy(made.formula.data(), &formula, sizeof formula);
  return made;
}

// out[i] = formula(in[0][i], ...) for i in [0, size), all of one dtype. 16-bit floats are
// calculated in float. `out` may be one of the inputs.
void run_stream_part(
    const StreamFormula& formula, DType dtype, std::int64_t size, void* out, const void* const* in);
// The same on several threads, if there is enough to do.
void run_streams(
    const StreamFormula& formula, DType dtype, std::int64_t size, void* out, const void* const* in);

}  // namespace fluidcore::cpu
