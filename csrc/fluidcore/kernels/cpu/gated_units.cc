#include "fluidcore/kernels/cpu/gated_units.h"

#include "fluidcore/kernels/cpu/rows.h"

namespace fluidcore::cpu {

namespace {

template <class T>
LstmGates<T> lstm_gates(const T* x, std::int64_t columns, std::int64_t i) {
  return {x[i], x[columns + i], x[2 * columns + i], x[3 * columns + i]};
}

template <class T>
GruGates<T> gru_gates(const T* x, std::int64_t columns, std::int64_t i) {
  return {x[i], x[columns + i], x[2 * columns + i]};
}

template <class T>
void store(const GruGates<T>& gates, T* to, std::int64_t columns, std::int64_t i) {
  to[i] = gates.u;
  to[columns + i] = gates.r;
  to[2 * columns + i] = gates.c;
}

// Calls f(row, i) for every element of the states.
template <class F>
void for_units(Units units, const F& f) {
  constexpr std::int64_t kWork = 16;  // of an element, in plain ones
  for_rows(units.rows, units.columns * kWork, [=](std::int64_t row) {
#pragma omp simd
    for (std::int64_t i = 0; i < units.columns; ++i) f(row, i);
  });
}

}  // namespace

template <class T>
void lstm_unit(const LstmUnit& unit, Units units, const T* x, const T* before, T* cell, T* hidden) {
  const std::int64_t columns = units.columns;
  for_units(units, [=](std::int64_t row, std::int64_t i) {
    const std::int64_t at = row * columns + i;
    const auto state = unit(lstm_gates(x + row * 4 * columns, columns, i), before[at]);
    cell[at] = state.cell;
    hidden[at] = state.hidden;
  });
}

template <class T>
void lstm_unit_grad(
    const LstmUnit& unit, Units units, const T* x, const T* before, const LstmUnitGrads<T>& grads) {
  const std::int64_t columns = units.columns;
  for_units(units, [=](std::int64_t row, std::int64_t i) {
    const std::int64_t at = row * columns + i;
    const auto grad = unit.gradient(lstm_gates(x + row * 4 * columns, columns, i), before[at],
                                    {grads.dcell[at], grads.dhidden[at]});
    if (grads.dx != nullptr) {
      T* dx = grads.dx + row * 4 * columns;
      dx[i] = grad.x.i;
      dx[columns + i] = grad.x.f;
      dx[2 * columns + i] = grad.x.o;
      dx[3 * columns + i] = grad.x.j;
    }
    if (grads.dbefore != nullptr) grads.dbefore[at] = grad.cell;
  });
}

template <class T>
void gru_cell(Units units, const T* x, const T* recurrent, const T* before, T* hidden) {
  const std::int64_t columns = units.columns;
  for_units(units, [=](std::int64_t row, std::int64_t i) {
    const std::int64_t start = row * 3 * columns;
    const std::int64_t at = row * columns + i;
    hidden[at] = GruCell()(gru_gates(x + start, columns, i),
                           gru_gates(recurrent + start, columns, i), before[at]);
  });
}

template <class T>
void gru_cell_grad(
    Units units, const T* x, const T* recurrent, const T* before, const GruCellGrads<T>& grads) {
  const std::int64_t columns = units.columns;
  for_units(units, [=](std::int64_t row, std::int64_t i) {
    const std::int64_t start = row * 3 * columns;
    const std::int64_t at = row * columns + i;
    const auto grad =
        GruCell().gradient(gru_gates(x + start, columns, i),
                           gru_gates(recurrent + start, columns, i), before[at], grads.dhidden[at]);
    if (grads.dx != nullptr) store(grad.x, grads.dx + start, columns, i);
    if (grads.drecurrent != nullptr) store(grad.recurrent, grads.drecurrent + start, columns, i);
    if (grads.dbefore != nullptr) grads.dbefore[at] = grad.before;
  });
}

template void lstm_unit(const LstmUnit&, Units, const float*, const float*, float*, float*);
template void lstm_unit(const LstmUnit&, Units, const double*, const double*, double*, double*);
template void lstm_unit_grad(
    const LstmUnit&, Units, const float*, const float*, const LstmUnitGrads<float>&);
template void lstm_unit_grad(
    const LstmUnit&, Units, const double*, const double*, const LstmUnitGrads<double>&);
template void gru_cell(Units, const float*, const float*, const float*, float*);
template void gru_cell(Units, const double*, const double*, const double*, double*);
template void gru_cell_grad(
    Units, const float*, const float*, const float*, const GruCellGrads<float>&);
template void gru_cell_grad(
    Units, const double*, const double*, const double*, const GruCellGrads<double>&);

}  // namespace fluidcore::cpu
