#include "fluidcore/gradcheck/function/random_values.h"

#include <cmath>

#include "fluidcore/base/threads.h"
#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

namespace {

// FNV-1a, from `hash` on.
std::uint64_t hash_of(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

constexpr std::int64_t kNumbersPerThread = 8192;  // fewer are not worth one

// A tensor of `dtype` and the shape of x with the elements f(index), rounded.
template <class F>
Tensor filled(const Shape& shape, DType dtype, const F& f) {
  Tensor result({shape, dtype});
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* const out = static_cast<T*>(result.raw());
    parallel_for(result.size(), kNumbersPerThread, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        out[i] = static_cast<T>(static_cast<ComputeType<T>>(round_to(dtype, f(i))));
      }
    });
  });
  return result;
}

}  // namespace

RandomSequence random_sequence(std::uint64_t seed,
                               std::string_view name,
                               std::string_view purpose) {
  const std::uint64_t hash = hash_of(name, 0xcbf29ce484222325ull);
  return {.key = seed, .offset = hash_of(purpose, hash_of("/", hash))};
}

Tensor gaussian(const TensorSpec& spec, const RandomSequence& numbers) {
  return filled(spec.shape, spec.dtype, [&](std::int64_t i) {
    return numbers.normal<double>(static_cast<std::uint64_t>(i));
  });
}

Tensor dithered(const Tensor& x, double amplitude, const RandomSequence& numbers) {
  if (!is_floating(x.dtype())) return x.clone();
  const auto random = [&](std::int64_t i) {
    return amplitude * (2 * numbers.uniform<double>(static_cast<std::uint64_t>(i)) - 1);
  };
  std::int64_t zeros = 0;
  while (zeros < x.size() && x.get_float_element(zeros) == 0) ++zeros;
  if (zeros == x.size()) {
    return filled(x.shape(), x.dtype(), [&](std::int64_t i) { return std::abs(random(i)); });
  }
  return filled(x.shape(), x.dtype(),
                [&](std::int64_t i) { return x.get_float_element(i) * (1 + random(i)); });
}

Tensor converted(const Tensor& x, DType dtype) {
  if (!is_floating(x.dtype()) || x.dtype() == dtype) return x.clone();
  return filled(x.shape(), dtype, [&](std::int64_t i) { return x.get_float_element(i); });
}

std::vector<Tensor> converted(const std::vector<Tensor>& values, DType dtype) {
  std::vector<Tensor> result;
  result.reserve(values.size());
  for (const Tensor& value : values) result.push_back(converted(value, dtype));
  return result;
}

}  // namespace fluidcore::gradcheck
