#pragma once

#include <cstdint>

#include "fluidcore/kernels/gated_units.h"

namespace fluidcore::cpu {

// Units of recurrent networks for `rows` examples and `columns` elements of a state. A row of gates
// has all elements of the first gate, then those of the second, and so on. T is float or double.
struct Units {
  std::int64_t rows;
  std::int64_t columns;
};

template <class T>
void lstm_unit(const LstmUnit& unit, Units units, const T* x, const T* before, T* cell, T* hidden);

// dx and dbefore may be null.
template <class T>
struct LstmUnitGrads {
  const T* dcell;
  const T* dhidden;
  T* dx;
  T* dbefore;
};
template <class T>
void lstm_unit_grad(
    const LstmUnit& unit, Units units, const T* x, const T* before, const LstmUnitGrads<T>& grads);

template <class T>
void gru_cell(Units units, const T* x, const T* recurrent, const T* before, T* hidden);

// Each but dhidden may be null.
template <class T>
struct GruCellGrads {
  const T* dhidden;
  T* dx;
  T* drecurrent;
  T* dbefore;
};
template <class T>
void gru_cell_grad(
    Units units, const T* x, const T* recurrent, const T* before, const GruCellGrads<T>& grads);

}  // namespace fluidcore::cpu
