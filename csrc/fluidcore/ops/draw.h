#pragma once

#include <cstdint>

#include "fluidcore/base/philox.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/op/random_stream.h"

namespace fluidcore {

// What operators that draw random numbers have in common.

inline constexpr const char* kSeedDoc =
    "of these numbers, the same in every run; 0: the seed of the program, other numbers in every "
    "run";

// The numbers of this run.
inline RandomSequence sequence(const RandomStream& stream) {
  return {stream.key(), stream.offset()};
}

// out[i] = draw(numbers, i): the same numbers for any number of threads.
template <class T, class Draw>
void draw_on_cpu(const RandomSequence& numbers, std::int64_t size, T* out, const Draw& draw) {
  constexpr std::int64_t kDrawGrain = 4096;
  const cpu::Isa isa = cpu::cpu_isa();
  parallel_for(size, kDrawGrain, [&](std::int64_t begin, std::int64_t end) {
    cpu::run_on(isa, [=] {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) {
        out[i] = static_cast<T>(draw(numbers, static_cast<std::uint64_t>(i)));
      }
    });
  });
}

template <class Draw>
struct DrawEach {
  RandomSequence numbers;
  Draw draw;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, T* out) const {
    out[i] = static_cast<T>(draw(numbers, static_cast<std::uint64_t>(i)));
  }
};

// The same on every device: `draw` is a functor for them.
template <class T, class Draw>
void draw_all(DeviceContext& device,
              const RandomSequence& numbers,
              std::int64_t size,
              T* out,
              const Draw& draw) {
  if constexpr (kHasCuda) {
    if (!device.device().is_cpu()) {
      return cuda::for_each(device, size, DrawEach<Draw>{numbers, draw}, out);
    }
  }
  draw_on_cpu(numbers, size, out, draw);
}

// Number i, a whole number in [0, limit): each is equally likely but for limit / 2^64.
FC_HOST_DEVICE inline std::uint64_t draw_below(const RandomSequence& numbers,
                                               std::uint64_t i,
                                               std::uint64_t limit) {
  __extension__ using Wide = unsigned __int128;
  const Philox::Counter words = numbers.bits(i);
  const std::uint64_t word = (std::uint64_t{words[0]} << 32) | words[1];
  return static_cast<std::uint64_t>((static_cast<Wide>(word) * limit) >> 64);
}

}  // namespace fluidcore
