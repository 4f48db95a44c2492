#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "fluidcore/base/error.h"
#include "fluidcore/base/float16.h"

namespace fluidcore {

// Element types. The numbers are those of Fluid's `dtype` attributes and of saved programs.
enum class DType : std::int64_t {
  kBool = 0,
  kInt16 = 1,
  kInt32 = 2,
  kInt64 = 3,
  kFloat16 = 4,
  kFloat32 = 5,
  kFloat64 = 6,
  kBFloat16 = 22,
};

std::string_view to_string(DType dtype);  // "float32"
std::size_t size_of(DType dtype);         // bytes of one element
bool is_floating(DType dtype);
DType dtype_from_number(std::int64_t number);  // throws InvalidArgument
DType dtype_from_name(std::string_view name);  // throws InvalidArgument, naming the nearest

// C++ type -> DType. Undefined for types without one.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<bool> : std::integral_constant<DType, DType::kBool> {};
template <>
struct DTypeOf<std::int16_t> : std::integral_constant<DType, DType::kInt16> {};
template <>
struct DTypeOf<std::int32_t> : std::integral_constant<DType, DType::kInt32> {};
template <>
struct DTypeOf<std::int64_t> : std::integral_constant<DType, DType::kInt64> {};
template <>
struct DTypeOf<Float16> : std::integral_constant<DType, DType::kFloat16> {};
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::kFloat32> {};
template <>
struct DTypeOf<double> : std::integral_constant<DType, DType::kFloat64> {};
template <>
struct DTypeOf<BFloat16> : std::integral_constant<DType, DType::kBFloat16> {};

template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// The type to calculate in: 16-bit floats calculate in float.
template <class T>
using ComputeType =
    std::conditional_t<std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>, float, T>;

template <class T>
struct TypeTag {
  using type = T;
};

// Turns a DType into a C++ type: visit_dtype(dtype, [&](auto tag) { using T = decltype(tag)::type;
// }).
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool: return f(TypeTag<bool>{});
    case DType::kInt16: return f(TypeTag<std::int16_t>{});
    case DType::kInt32: return f(TypeTag<std::int32_t>{});
    case DType::kInt64: return f(TypeTag<std::int64_t>{});
    case DType::kFloat16: return f(TypeTag<Float16>{});
    case DType::kFloat32: return f(TypeTag<float>{});
    case DType::kFloat64: return f(TypeTag<double>{});
    case DType::kBFloat16: return f(TypeTag<BFloat16>{});
  }
  throw InvalidArgument("dtype ", static_cast<std::int64_t>(dtype), " is unknown");
}

}  // namespace fluidcore
