#pragma once

#include <cstdint>
#include <utility>

#include "fluidcore/op/op_registry.h"

namespace fluidcore::gradcheck {

// The dtypes with toy kernels.
inline constexpr DType kBoth[] = {DType::kFloat32, DType::kFloat64};

// A matrix that a formula of a toy operator works on.
struct Extents {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t size() const { return rows * columns; }
};

// `Formula` is a class with the formula for every dtype:
//   template <class T> void operator()(const T* x, T* out, Extents extents)
template <class Formula, class T>
Kernel toy_kernel(const KernelContext& context) {
  const auto x = context.input<T>("X");
  return [formula = Formula(), x, out = context.output<T>("Out"),
          extents = Extents{x.shape()[0], x.shape()[1]}]() mutable {
    formula(x.data(), out.data(), extents);
  };
}

//   template <class T> void operator()(const T* x, const T* dout, T* dx, Extents extents)
template <class Formula, class T>
Kernel toy_grad_kernel(const KernelContext& context) {
  const auto x = context.input<T>("X");
  return
      [formula = Formula(), x, dout = context.input<T>("Out@GRAD"),
       dx = context.output<T>("X@GRAD"), extents = Extents{x.shape()[0], x.shape()[1]}]() mutable {
        formula(x.data(), dout.data(), dx.data(), extents);
      };
}

// Kernels for float32 and float64.
inline KernelTable kernels_of(KernelFactory single_precision, KernelFactory double_precision) {
  return {{{DeviceKind::kCpu, DType::kFloat32}, single_precision},
          {{DeviceKind::kCpu, DType::kFloat64}, double_precision}};
}

// The operator "toy": Out, of the shape of X, is a formula of the matrix X.
inline OpRegistry toy_registry(KernelTable forward, KernelTable grad) {
  OpRegistry registry;
  registry.add(OpDef("toy")
                   .input("X", "a matrix")
                   .output("Out", "shape of X")
                   .infer(same_as("X"))
                   .kernels(std::move(forward))
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(OpDef("toy_grad")
                   .input("X", "a matrix")
                   .input("Out@GRAD", "shape of X")
                   .output("X@GRAD", "shape of X")
                   .infer(infer_grads_like_inputs)
                   .kernels(std::move(grad)));
  return registry;
}
template <class Formula, class FloatGrad, class DoubleGrad = FloatGrad>
OpRegistry toy_registry() {
  return toy_registry(
      kernels_of(toy_kernel<Formula, float>, toy_kernel<Formula, double>),
      kernels_of(toy_grad_kernel<FloatGrad, float>, toy_grad_kernel<DoubleGrad, double>));
}

// Out = X^3 + X, element by element.
struct Cubic {
  template <class T>
  void operator()(const T* x, T* out, Extents extents) const {
    for (std::int64_t i = 0; i < extents.size(); ++i) out[i] = x[i] * x[i] * x[i] + x[i];
  }
};
struct CubicGrad {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    for (std::int64_t i = 0; i < extents.size(); ++i) dx[i] = dout[i] * (3 * x[i] * x[i] + 1);
  }
};

// Out[r, c] = X[r, c] times the sum of row r.
struct RowSum {
  template <class T>
  void operator()(const T* x, T* out, Extents extents) const {
    for (std::int64_t r = 0; r < extents.rows; ++r, x += extents.columns, out += extents.columns) {
      T sum = 0;
      for (std::int64_t c = 0; c < extents.columns; ++c) sum += x[c];
      for (std::int64_t c = 0; c < extents.columns; ++c) out[c] = x[c] * sum;
    }
  }
};
struct RowSumGrad {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    for (std::int64_t r = 0; r < extents.rows; ++r) {
      const std::int64_t row = r * extents.columns;
      T sum = 0;
      T dsum = 0;
      for (std::int64_t c = 0; c < extents.columns; ++c) sum += x[row + c];
      for (std::int64_t c = 0; c < extents.columns; ++c) dsum += dout[row + c] * x[row + c];
      for (std::int64_t c = 0; c < extents.columns; ++c) dx[row + c] = dout[row + c] * sum + dsum;
    }
  }
};

}  // namespace fluidcore::gradcheck
