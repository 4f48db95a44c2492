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

// A tile of numbers of any type.
using TileMemory = std::array<std::byte, kTile * sizeof(double)>;

// How numbers are kept in memory: as they are calculated, or as 16-bit floats.
struct Storage {
  std::int64_t bytes;  // of one
  void (*load)(Isa isa, std::int64_t size, float* to, const void* from) = nullptr;
  void (*store)(Isa isa, std::int64_t size, void* to, const float* from) = nullptr;
};
const Storage& storage_of(DType dtype);

template <class T>
const Storage& storage_of() {
  if constexpr (kIsHalf<T>) {
    return storage_of(dtype_of<T>);
  } else {
    static constexpr Storage kStorage{sizeof(T)};
    return kStorage;
  }
}

// A formula without its types, so that what surrounds its loop is compiled once for all formulas.
struct StreamFormula {
  using Loop =
      void (*)(Isa isa, const void* formula, std::int64_t size, void* out, const void* const* in);

  // The same for inputs and results in memory that all have `dtype`, which is calculated in the
  // types of the loop.
  StreamFormula stored_as(DType dtype) const;

  Loop loop;                                    // out[i] = formula(in[0][i], ...)
  std::size_t arity;                            // the number of inputs
  const Storage* out;                           // of the results
  std::array<const Storage*, kMostStreams> in;  // of the inputs
  alignas(8) std::array<std::byte, 16> members{};
};

template <class Formula, class Out, class... In>
void run_loop(Isa isa, const void* members, std::int64_t size, void* out, const void* const* in) {
  Formula formula;
  std::memcpy(&formula, members, sizeof formula);
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    calculate(isa, formula, size, static_cast<Out*>(out), static_cast<const In*>(in[i])...);
  }(std::index_sequence_for<In...>());
}

// `formula` for inputs in memory of the types In, and results of type Out.
template <class Out, class... In, class Formula>
StreamFormula stream_formula(const Formula& formula) {
  static_assert(std::is_trivially_copyable_v<Formula> && sizeof...(In) <= kMostStreams);
  StreamFormula made{run_loop<Formula, ComputeType<Out>, ComputeType<In>...>,
                     sizeof...(In),
                     &storage_of<Out>(),
                     {&storage_of<In>()...}};
  static_assert(sizeof formula <= sizeof made.members);
  std::memcpy(made.members.data(), &formula, sizeof formula);
  return made;
}

// What a row reads: one element for each index, or the same for all.
struct Stream {
  const void* data;
  bool repeats = false;
};

// out[i] = formula(in[0][i], ...) for one row of `size` elements. `out` may be the memory of an
// input that does not repeat.
void calculate_row(
    Isa isa, const StreamFormula& formula, std::int64_t size, void* out, const Stream* in);

// The same for i in [0, size), on several threads if there is enough to do.
void run_streams(const StreamFormula& formula, std::int64_t size, void* out, const void* const* in);

template <class Formula, class Out, class... In>
void elementwise(const Formula& formula, std::int64_t size, Out* out, const In*... in) {
  const std::array<const void*, sizeof...(In)> data{in...};
  run_streams(stream_formula<Out, In...>(formula), size, out, data.data());
}

}  // namespace fluidcore::cpu
