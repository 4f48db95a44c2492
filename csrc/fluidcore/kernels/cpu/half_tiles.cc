#include "fluidcore/kernels/cpu/half_tiles.h"

#include <algorithm>
#include <cstddef>

#include "fluidcore/kernels/cpu/elementwise.h"

namespace fluidcore::cpu {

namespace {

template <class T>
void calculate_tiles(std::int64_t size,
                     T* out,
                     const std::vector<const void*>& in,
                     const FloatFormula& formula) {
  const Isa isa = cpu_isa();
  parallel_for(size, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> values((in.size() + 1) * static_cast<std::size_t>(kTile));
    std::vector<const float*> tiles;
    for (std::size_t i = 0; i < in.size(); ++i) {
      tiles.push_back(values.data() + i * static_cast<std::size_t>(kTile));
    }
    float* const result = values.data() + in.size() * static_cast<std::size_t>(kTile);
    for (; begin < end; begin += kTile) {
      const std::int64_t count = std::min(kTile, end - begin);
      for (std::size_t i = 0; i < in.size(); ++i) {
        convert_row(isa, count, values.data() + i * static_cast<std::size_t>(kTile),
                    static_cast<const T*>(in[i]) + begin);
      }
      formula(count, result, tiles);
      convert_row(isa, count, out + begin, static_cast<const float*>(result));
    }
  });
}

}  // namespace

void calculate_in_tiles(DType dtype,
                        std::int64_t size,
                        void* out,
                        const std::vector<const void*>& in,
                        const FloatFormula& formula) {
  if (dtype == DType::kFloat16) {
    calculate_tiles(size, static_cast<Float16*>(out), in, formula);
  } else {
    calculate_tiles(size, static_cast<BFloat16*>(out), in, formula);
  }
}

}  // namespace fluidcore::cpu
