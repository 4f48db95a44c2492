#pragma once

#include "fluidcore/base/host_device.h"
#include "fluidcore/kernels/math.h"

namespace fluidcore {

// One element of what recurrent networks do in a step, and its gradient. Compiled for every device;
// T is float or double.

// input, forget, output, candidate: before their activations.
template <class T>
struct LstmGates {
  T i;
  T f;
  T o;
  T j;
};

// S. Hochreiter, J. Schmidhuber: Long short-term memory (1997), with the forget gate of F. Gers et
// al. (2000).
struct LstmUnit {
  double forget_bias = 0;

  template <class T>
  struct State {
    T cell;
    T hidden;
  };
  template <class T>
  struct Grads {
    LstmGates<T> x;
    T cell;
  };

  template <class T>
  FC_HOST_DEVICE LstmGates<T> activate(const LstmGates<T>& x) const {
    return {math::sigmoid(x.i), math::sigmoid(x.f + static_cast<T>(forget_bias)),
            math::sigmoid(x.o), math::tanh(x.j)};
  }

  template <class T>
  FC_HOST_DEVICE State<T> operator()(const LstmGates<T>& x, T before) const {
    const LstmGates<T> gates = activate(x);
    const T cell = before * gates.f + gates.i * gates.j;
    return {cell, gates.o * math::tanh(cell)};
  }

  // `grad` is the gradient of what operator() gives.
  template <class T>
  FC_HOST_DEVICE Grads<T> gradient(const LstmGates<T>& x, T before, const State<T>& grad) const {
    const LstmGates<T> gates = activate(x);
    const T squashed = math::tanh(before * gates.f + gates.i * gates.j);
    const T cell = grad.cell + grad.hidden * gates.o * (T(1) - squashed * squashed);
    return {
        {cell * gates.j * gates.i * (T(1) - gates.i), cell * before * gates.f * (T(1) - gates.f),
         grad.hidden * squashed * gates.o * (T(1) - gates.o),
         cell * gates.i * (T(1) - gates.j * gates.j)},
        cell * gates.f};
  }
};

// update, reset, candidate: before their activations.
template <class T>
struct GruGates {
  T u;
  T r;
  T c;
};

// K. Cho et al.: Learning phrase representations using RNN encoder-decoder (2014), where the reset
// gate is applied to the product with the recurrent weight.
struct GruCell {
  template <class T>
  struct Grads {
    GruGates<T> x;
    GruGates<T> recurrent;
    T before;
  };

  template <class T>
  FC_HOST_DEVICE static GruGates<T> activate(const GruGates<T>& x, const GruGates<T>& recurrent) {
    const T r = math::sigmoid(x.r + recurrent.r);
    return {math::sigmoid(x.u + recurrent.u), r, math::tanh(x.c + r * recurrent.c)};
  }

  template <class T>
  FC_HOST_DEVICE T operator()(const GruGates<T>& x, const GruGates<T>& recurrent, T before) const {
    const GruGates<T> gates = activate(x, recurrent);
    return (T(1) - gates.u) * before + gates.u * gates.c;
  }

  template <class T>
  FC_HOST_DEVICE Grads<T> gradient(const GruGates<T>& x,
                                   const GruGates<T>& recurrent,
                                   T before,
                                   T grad) const {
    const GruGates<T> gates = activate(x, recurrent);
    const T u = grad * (gates.c - before) * gates.u * (T(1) - gates.u);
    const T c = grad * gates.u * (T(1) - gates.c * gates.c);
    const T r = c * recurrent.c * gates.r * (T(1) - gates.r);
    return {{u, r, c}, {u, r, c * gates.r}, grad * (T(1) - gates.u)};
  }
};

}  // namespace fluidcore
