#include "fluidcore/kernels/cpu/gated_units.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/numbers.h"

namespace fluidcore::cpu {
namespace {

using Doubles = std::vector<double>;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

constexpr Units kUnits{5, 19};
constexpr std::size_t kStates = 5 * 19;

TEST(GatedUnits, ALstmUnitHasItsGatesOneAfterTheOther) {
  const Doubles x = sines(4 * kStates);
  const Doubles before = sines(kStates);
  Doubles cell(kStates);
  Doubles hidden(kStates);
  lstm_unit({.forget_bias = 0.5}, kUnits, x.data(), before.data(), cell.data(), hidden.data());
  const std::size_t at = 2 * 19 + 7;
  const double* gates = &x[2 * 4 * 19 + 7];
  const double expected =
      before[at] * sigmoid(gates[19] + 0.5) + sigmoid(gates[0]) * std::tanh(gates[3 * 19]);
  EXPECT_NEAR(cell[at], expected, 1e-15);
  EXPECT_NEAR(hidden[at], sigmoid(gates[2 * 19]) * std::tanh(expected), 1e-15);
}

TEST(GatedUnits, GradientsThatAreNotWantedChangeNoOther) {
  const Doubles x = sines(4 * kStates);
  const Doubles before = sines(kStates);
  const Doubles dcell = sines(kStates);
  Doubles dx(4 * kStates);
  Doubles alone(4 * kStates);
  Doubles dbefore(kStates);
  const LstmUnit unit;
  lstm_unit_grad(unit, kUnits, x.data(), before.data(),
                 {dcell.data(), dcell.data(), dx.data(), dbefore.data()});
  lstm_unit_grad(unit, kUnits, x.data(), before.data(),
                 {dcell.data(), dcell.data(), alone.data(), nullptr});
  EXPECT_EQ(dx, alone);
  Doubles drecurrent(3 * kStates);
  gru_cell_grad(kUnits, x.data(), x.data(), before.data(),
                {dcell.data(), nullptr, drecurrent.data(), nullptr});
  Doubles all(3 * kStates);
  gru_cell_grad(kUnits, x.data(), x.data(), before.data(),
                {dcell.data(), dx.data(), all.data(), dbefore.data()});
  EXPECT_EQ(drecurrent, all);
}

TEST(GatedUnits, AGruCellMovesFromTheStateBeforeToTheCandidate) {
  const Doubles x = {100, 0, 1, -100, 0, 1};  // two examples of one element
  const Doubles none(6);
  const Doubles before = {0.25, 0.25};
  Doubles hidden(2);
  gru_cell({2, 1}, x.data(), none.data(), before.data(), hidden.data());
  EXPECT_DOUBLE_EQ(hidden[0], std::tanh(1));
  EXPECT_DOUBLE_EQ(hidden[1], 0.25);
}

}  // namespace
}  // namespace fluidcore::cpu
