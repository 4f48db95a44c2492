#pragma once

#include <cstdint>

#include "fluidcore/kernels/cpu/gated_units.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/kernels/gated_units.h"

namespace fluidcore::cuda {

// An element of the state each; see cpu::Units.

// Where the gates of element i are: the first one here, the others `step` further on each.
struct GatesAt {
  template <class Index>
  FC_HOST_DEVICE GatesAt(Index i, std::int64_t columns, std::int64_t gates)
      : first(i / columns * columns * gates + i % columns), step(columns) {}

  std::int64_t first;
  std::int64_t step;
};

template <class T>
FC_HOST_DEVICE LstmGates<T> load_lstm(const T* x, const GatesAt& at) {
  return {x[at.first], x[at.first + at.step], x[at.first + 2 * at.step], x[at.first + 3 * at.step]};
}
template <class T>
FC_HOST_DEVICE GruGates<T> load_gru(const T* x, const GatesAt& at) {
  return {x[at.first], x[at.first + at.step], x[at.first + 2 * at.step]};
}
template <class T>
FC_HOST_DEVICE void store_gru(T* x, const GatesAt& at, const GruGates<T>& gates) {
  x[at.first] = gates.u;
  x[at.first + at.step] = gates.r;
  x[at.first + 2 * at.step] = gates.c;
}

struct LstmUnits {
  LstmUnit unit;
  std::int64_t columns;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* x, const T* before, T* cell, T* hidden) const {
    const auto state = unit(load_lstm(x, GatesAt(i, columns, 4)), before[i]);
    cell[i] = state.cell;
    hidden[i] = state.hidden;
  }
};

struct LstmUnitsGrad {
  LstmUnit unit;
  std::int64_t columns;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i,
                                 const T* x,
                                 const T* before,
                                 const cpu::LstmUnitGrads<T>& grads) const {
    const GatesAt at(i, columns, 4);
    const auto found = unit.gradient(load_lstm(x, at), before[i],
                                     LstmUnit::State<T>{grads.dcell[i], grads.dhidden[i]});
    if (grads.dx != nullptr) {
      grads.dx[at.first] = found.x.i;
      grads.dx[at.first + at.step] = found.x.f;
      grads.dx[at.first + 2 * at.step] = found.x.o;
      grads.dx[at.first + 3 * at.step] = found.x.j;
    }
    if (grads.dbefore != nullptr) grads.dbefore[i] = found.cell;
  }
};

struct GruCells {
  std::int64_t columns;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(
      Index i, const T* x, const T* recurrent, const T* before, T* hidden) const {
    const GatesAt at(i, columns, 3);
    hidden[i] = GruCell()(load_gru(x, at), load_gru(recurrent, at), before[i]);
  }
};

struct GruCellsGrad {
  std::int64_t columns;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i,
                                 const T* x,
                                 const T* recurrent,
                                 const T* before,
                                 const cpu::GruCellGrads<T>& grads) const {
    const GatesAt at(i, columns, 3);
    const auto found =
        GruCell().gradient(load_gru(x, at), load_gru(recurrent, at), before[i], grads.dhidden[i]);
    if (grads.dx != nullptr) store_gru(grads.dx, at, found.x);
    if (grads.drecurrent != nullptr) store_gru(grads.drecurrent, at, found.recurrent);
    if (grads.dbefore != nullptr) grads.dbefore[i] = found.before;
  }
};

}  // namespace fluidcore::cuda
