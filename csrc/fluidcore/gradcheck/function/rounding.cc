#include "fluidcore/gradcheck/function/rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "fluidcore/gradcheck/function/sums.h"

namespace fluidcore::gradcheck {

namespace {

// The float next to `value` whose last bit tells that something was cut off: rounding it again, to
// fewer bits, gives what rounding `value` would have given.
float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !std::isfinite(nearest)) return nearest;
  if ((std::bit_cast<std::uint32_t>(nearest) & 1u) != 0) return nearest;
  const float infinity = std::numeric_limits<float>::infinity();
  return std::nextafter(nearest, value > nearest ? infinity : -infinity);
}

template <class Get>
double root_mean_square_of(std::int64_t size, const Get& get) {
  double largest = 0;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double value = std::abs(get(i));
    if (!std::isfinite(value)) continue;
    largest = std::max(largest, value);
    ++count;
  }
  if (largest == 0) return 1;
  // Relative to the largest, because the squares of very large and small numbers are no numbers.
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double value = get(i) / largest;
    if (std::isfinite(value)) sum += value * value;
  }
  return std::max(largest * std::sqrt(sum / static_cast<double>(count)),
                  std::numeric_limits<double>::denorm_min());
}

// Where no square was too large or too small to be added.
std::optional<double> plain_root_mean_square(const double* values, std::int64_t size) {
  constexpr double kNormal = 0x1p-900;
  const double squares = sum_of_squares(values, size);
  if (!(squares >= kNormal) || std::isinf(squares)) return std::nullopt;
  return std::sqrt(squares / static_cast<double>(size));
}

[[noreturn]] void refuse(DType dtype) {
  throw InvalidArgument("dtype: must be floating, got ", dtype);
}

}  // namespace

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return 0x1p-53;
    case DType::kFloat32: return 0x1p-24;
    case DType::kFloat16: return 0x1p-11;
    case DType::kBFloat16: return 0x1p-8;
    default: refuse(dtype);
  }
}

double smallest_subnormal(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return 0x1p-1074;
    case DType::kFloat32: return 0x1p-149;
    case DType::kFloat16: return 0x1p-24;
    case DType::kBFloat16: return 0x1p-133;
    default: refuse(dtype);
  }
}

double rounding_dither(DType dtype) {
  return dtype == DType::kFloat64 ? 0x1p-38 : std::sqrt(unit_roundoff(dtype));
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return std::numeric_limits<double>::max();
    case DType::kFloat32: return std::numeric_limits<float>::max();
    case DType::kFloat16: return 65504;
    case DType::kBFloat16: return 0x1.fep+127;
    default: refuse(dtype);
  }
}

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat64: return value;
    case DType::kFloat32: return static_cast<double>(static_cast<float>(value));
    case DType::kFloat16: return static_cast<double>(Float16(round_to_odd(value)));
    case DType::kBFloat16: return static_cast<double>(BFloat16(round_to_odd(value)));
    default: refuse(dtype);
  }
}

double power_of_two_below(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, exponent - 1);
}

double root_mean_square(const Tensor& tensor) {
  return visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* data = static_cast<const T*>(tensor.raw());
    if constexpr (std::is_same_v<T, double>) return root_mean_square(data, tensor.size());
    return root_mean_square_of(tensor.size(),
                               [&](std::int64_t i) { return static_cast<double>(data[i]); });
  });
}

double root_mean_square(const double* values, std::int64_t size) {
  if (const auto plain = plain_root_mean_square(values, size)) return *plain;
  return root_mean_square_of(size, [&](std::int64_t i) { return values[i]; });
}

}  // namespace fluidcore::gradcheck
