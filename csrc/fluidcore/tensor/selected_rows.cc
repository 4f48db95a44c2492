#include "fluidcore/tensor/selected_rows.h"
#include "fluidcore/base/division.h"

#include <algorithm>
#include <cstring>

namespace fluidcore {

std::int64_t row_width(const TensorSpec& spec) {
  return spec.shape.product(1, spec.shape.rank());
}

std::size_t offset_of_rows(const TensorSpec& spec) {
  constexpr std::size_t kAlignment = sizeof(std::int64_t);
  const auto values =
      static_cast<std::size_t>(num_selected(spec) * row_width(spec)) * size_of(spec.dtype);
  return round_up(values, kAlignment);
}

Tensor to_dense(const Tensor& tensor) {
  const TensorSpec& spec = tensor.spec();
  if (!spec.rows) return tensor;
  Tensor dense({spec.shape, spec.dtype});
  if (dense.bytes() > 0) std::memset(dense.raw(), 0, dense.bytes());
  const std::int64_t* numbers = row_numbers(spec, tensor.raw());
  visit_dtype(spec.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::int64_t width = row_width(spec);
    for (std::int64_t i = 0; i < num_selected(spec); ++i) {
      if (numbers[i] < 0) continue;
      T* to = static_cast<T*>(dense.raw()) + numbers[i] * width;
      const T* from = static_cast<const T*>(tensor.raw()) + i * width;
      std::transform(to, to + width, from, to, [](T x, T y) {
        return static_cast<T>(static_cast<ComputeType<T>>(x) + static_cast<ComputeType<T>>(y));
      });
    }
  });
  return dense;
}

Tensor without_unused_rows(const Tensor& selected) {
  TensorSpec spec = selected.spec();
  const std::int64_t* numbers = row_numbers(spec, selected.raw());
  const std::int64_t* end = numbers + num_selected(spec);
  const auto bytes = static_cast<std::size_t>(row_width(spec)) * size_of(spec.dtype);
  spec.rows = num_selected(spec) - std::count(numbers, end, -1);
  Tensor used(spec);
  const auto* from = static_cast<const std::byte*>(selected.raw());
  auto* to = static_cast<std::byte*>(used.raw());
  std::int64_t* to_numbers = row_numbers(spec, used.raw());
  for (; numbers != end; ++numbers, from += bytes) {
    if (*numbers < 0) continue;
    if (bytes > 0) std::memcpy(to, from, bytes);
    to += bytes;
    *to_numbers++ = *numbers;
  }
  return used;
}

}  // namespace fluidcore
