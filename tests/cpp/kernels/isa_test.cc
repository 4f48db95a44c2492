#include "fluidcore/kernels/cpu/isa.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/isas.h"

namespace fluidcore::cpu {
namespace {

TEST(Isa, HasAName) {
  EXPECT_EQ(to_string(Isa::kBaseline), "baseline");
  EXPECT_EQ(to_string(Isa::kAvx2), "avx2");
  EXPECT_EQ(to_string(Isa::kAvx512), "avx512");
}

TEST(Isa, IsTheSameEachTime) {
  EXPECT_EQ(cpu_isa(), cpu_isa());
}

TEST(RunOn, GivesTheSameResultOnEveryInstructionSet) {
  constexpr int kSize = 101;
  std::vector<float> x(kSize);
  std::iota(x.begin(), x.end(), -50.0F);
  for (const Isa isa : available_isas()) {
    std::vector<float> out(kSize);
    run_on(isa, [from = x.data(), to = out.data()] {
      for (int i = 0; i < kSize; ++i) to[i] = 2.0F * from[i];
    });
    for (int i = 0; i < kSize; ++i) EXPECT_EQ(out[i], 2.0F * x[i]) << to_string(isa);
  }
}

}  // namespace
}  // namespace fluidcore::cpu
