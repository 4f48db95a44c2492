#include "fluidcore/gradcheck/random_values.h"

#include "fluidcore/gradcheck/rounding.h"

namespace fluidcore::gradcheck {

namespace {

// FNV-1a, from `hash` on.
std::uint64_t hash_of(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

// A tensor of `dtype` and the shape of x with the elements f(index), rounded.
template <class F>
Tensor filled(const Shape& shape, DType dtype, const F& f) {
  Tensor result({shape, dtype});
  for (std::int64_t i = 0; i < result.size(); ++i) {
    result.set_float_element(i, round_to(dtype, f(i)));
  }
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
  return filled(x.shape(), x.dtype(), [&](std::int64_t i) {
    const double uniform = 2 * numbers.uniform<double>(static_cast<std::uint64_t>(i)) - 1;
    return x.get_float_element(i) * (1 + amplitude * uniform);
  });
}

Tensor converted(const Tensor& x, DType dtype) {
  if (!is_floating(x.dtype()) || x.dtype() == dtype) return x.clone();
  return filled(x.shape(), dtype, [&](std::int64_t i) { return x.get_float_element(i); });
}

std::vector<Tensor> in_float64(const std::vector<Tensor>& values) {
  std::vector<Tensor> result;
  result.reserve(values.size());
  for (const Tensor& value : values) result.push_back(converted(value, DType::kFloat64));
  return result;
}

}  // namespace fluidcore::gradcheck
