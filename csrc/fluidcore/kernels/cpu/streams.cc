#include "fluidcore/kernels/cpu/streams.h"

#include <algorithm>

#include "fluidcore/base/threads.h"

namespace fluidcore::cpu {

namespace {

template <class T>
void run_part(Isa isa,
              const StreamFormula& formula,
              std::int64_t begin,
              std::int64_t end,
              T* out,
              const void* const* in) {
  std::array<const void*, kMostStreams> from{};
  if constexpr (kIsHalf<T>) {
    alignas(64) std::array<std::array<float, kTile>, kMostStreams> tiles;
    for (; begin < end; begin += kTile) {
      const std::int64_t count = std::min(kTile, end - begin);
      for (std::size_t i = 0; i < formula.arity; ++i) {
        convert_row(isa, count, tiles[i].data(), static_cast<const T*>(in[i]) + begin);
        from[i] = tiles[i].data();
      }
      formula.loop(isa, formula.formula.data(), count, tiles[0].data(), from.data());
      convert_row(isa, count, out + begin, tiles[0].data());
    }
  } else {
    for (std::size_t i = 0; i < formula.arity; ++i) from[i] = static_cast<const T*>(in[i]) + begin;
    formula.loop(isa, formula.formula.data(), end - begin, out + begin, from.data());
  }
}

}  // namespace

void run_stream_part(const StreamFormula& formula,
                     DType dtype,
                     std::int64_t size,
                     void* out,
                     const void* const* in) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    run_part(cpu_isa(), formula, 0, size, static_cast<T*>(out), in);
  });
}

void run_streams(const StreamFormula& formula,
                 DType dtype,
                 std::int64_t size,
                 void* out,
                 const void* const* in) {
  const Isa isa = cpu_isa();
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(size, kGrain, [&](std::int64_t begin, std::int64_t end) {
      run_part(isa, formula, begin, end, static_cast<T*>(out), in);
    });
  });
}

}  // namespace fluidcore::cpu
