#pragma once

#include <cstdint>
#include <type_traits>

#include "fluidcore/kernels/cpu/isa.h"

// Vectors of float32 for loops that are written in them.
namespace fluidcore::cpu {

template <int kBytes>
struct FloatVector {
  using Type [[gnu::vector_size(kBytes), gnu::may_alias]] = float;
  using Unaligned [[gnu::vector_size(kBytes), gnu::aligned(alignof(float)), gnu::may_alias]] =
      float;
  static constexpr int kLanes = kBytes / static_cast<int>(sizeof(float));
};

// Reads a vector, from any place, into a register, where it stays: GCC would read it again from
// memory wherever it is used, which for one across two cache lines takes twice as long as its use.
template <class Vector>
[[gnu::always_inline]] inline void load_once(const float* from, Vector& to) {
  Vector vector =
      *reinterpret_cast<const typename FloatVector<static_cast<int>(sizeof(Vector))>::Unaligned*>(
          from);
  asm("" : "+v"(vector));
  to = vector;
}

// How many numbers a vector of `isa` has.
constexpr std::int64_t lanes_of(Isa isa) {
  return isa == Isa::kAvx512 ? 16 : isa == Isa::kAvx2 ? 8 : 4;
}

// f(constant), the bytes of a vector of `isa`, compiled for it.
template <class F>
void on_vectors(Isa isa, const F& f) {
  switch (isa) {
    case Isa::kAvx512: return run_avx512([&] { f(std::integral_constant<int, 64>()); });
    case Isa::kAvx2: return run_avx2([&] { f(std::integral_constant<int, 32>()); });
    case Isa::kBaseline: return run_baseline([&] { f(std::integral_constant<int, 16>()); });
  }
}

}  // namespace fluidcore::cpu
