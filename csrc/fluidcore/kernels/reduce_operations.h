#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/host_device.h"
#include "fluidcore/kernels/functors.h"

namespace fluidcore {

// What a reduction makes of elements. Lane is the type that elements of type T are combined in.
template <class T>
using SumLane = std::conditional_t<std::is_integral_v<T>, std::int64_t, ComputeType<T>>;
struct SumOf {
  template <class T>
  using Lane = SumLane<T>;
};
struct MaxOf {
  template <class T>
  using Lane = SumLane<T>;
};
struct MinOf {
  template <class T>
  using Lane = SumLane<T>;
};
struct ProductOf {  // in float64, so that parts of it have no lesser range than all of it
  template <class T>
  using Lane = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
};
struct AnyOf {
  template <class T>
  using Lane = T;
};
struct AllOf {
  template <class T>
  using Lane = T;
};

// What there is of no elements.
template <class Operation, class T>
FC_HOST_DEVICE constexpr T identity() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<Operation, MaxOf>) {
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  } else if constexpr (std::is_same_v<Operation, MinOf>) {
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  } else {
    return T(std::is_same_v<Operation, ProductOf> || std::is_same_v<Operation, AllOf>);
  }
}

template <class Operation, class T>
FC_HOST_DEVICE T combine(T a, T b) {
  if constexpr (std::is_same_v<Operation, SumOf>) {
    return Add()(a, b);
  } else if constexpr (std::is_same_v<Operation, MaxOf> || std::is_same_v<Operation, MinOf>) {
    // Max and Min, one choice after the other: chains of them are vectorized.
    const bool is_better = std::is_same_v<Operation, MaxOf> ? a > b : a < b;
    const T better = is_better ? a : b;
    return a != a ? a : better;
  } else if constexpr (std::is_same_v<Operation, AnyOf>) {
    return a || b;
  } else if constexpr (std::is_same_v<Operation, AllOf>) {
    return a && b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

// A result; integers are divided toward zero.
template <class Out, class Total>
FC_HOST_DEVICE Out finish(Total total, double divisor) {
  if constexpr (std::is_integral_v<Total>) {
    return static_cast<Out>(divisor == 1.0 ? total : total / static_cast<Total>(divisor));
  } else {
    using C = ComputeType<Out>;
    return static_cast<Out>(static_cast<C>(divisor == 1.0 ? total : total / divisor));
  }
}

}  // namespace fluidcore
