#include "fluidcore/gradcheck/difference/direction.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "fluidcore/base/threads.h"
#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

namespace {

// round_to(), of which float64 makes nothing: the compiler then sees a loop that it can vectorize.
template <class T>
double rounded(double value) {
  using Element = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Element, double>) {
    return value;
  } else {
    return round_to(dtype_of<Element>, value);
  }
}

constexpr std::int64_t kElementsPerThread = 16384;  // fewer are not worth one

// Calls f(element, i) for the elements of `few`, or for all if it is empty, on several threads.
template <class F>
void for_each_element(const Tensor& tensor, const std::vector<std::int64_t>& few, const F& f) {
  visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* data = static_cast<T*>(tensor.raw());
    for (const std::int64_t i : few) f(data[i], static_cast<std::size_t>(i));
    if (!few.empty()) return;
    parallel_for(tensor.size(), kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) f(data[i], static_cast<std::size_t>(i));
    });
  });
}

// Whether f(element, i) holds for all of the same elements.
template <class F>
bool all_of_elements(const Tensor& tensor, const std::vector<std::int64_t>& few, const F& f) {
  return visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* data = static_cast<const T*>(tensor.raw());
    if (!few.empty()) {
      return std::all_of(few.begin(), few.end(), [&](std::int64_t i) {
        return static_cast<bool>(f(data[i], static_cast<std::size_t>(i)));
      });
    }
    std::atomic<bool> all = true;
    parallel_for(tensor.size(), kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
      bool part = true;
      for (std::int64_t i = begin; i < end; ++i) part &= f(data[i], static_cast<std::size_t>(i));
      if (!part) all = false;
    });
    return all.load();
  });
}

// The elements that are not 0; none if they are more than a part of all.
std::vector<std::int64_t> few_of(const std::vector<double>& direction) {
  constexpr std::int64_t kPart = 16;
  const auto size = static_cast<std::int64_t>(direction.size());
  const auto zeros = std::count(direction.begin(), direction.end(), 0.0);
  std::vector<std::int64_t> few;
  if (kPart * (size - zeros) > size) return few;
  for (std::int64_t i = 0; i < size; ++i) {
    if (direction[static_cast<std::size_t>(i)] != 0) few.push_back(i);
  }
  return few;
}

}  // namespace

Direction::Direction(std::vector<Tensor> inputs,
                     std::vector<std::optional<std::vector<double>>> directions) {
  scale_ = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    auto& given = directions[k];
    if (!given) continue;
    std::vector<double>& direction = *given;
    if (std::all_of(direction.begin(), direction.end(), [](double d) { return d == 0; })) continue;
    const double ratio =
        root_mean_square(inputs[k]) /
        root_mean_square(direction.data(), static_cast<std::int64_t>(direction.size()));
    scale_ = std::min(scale_, ratio);
    // A dtype with few digits rounds every element of x + hd, by as much as a unit roundoff of it.
    const double astray = inputs[k].dtype() == DType::kFloat64 ? 1 : 4;
    argument_ = std::max(argument_, ratio * astray);
    std::vector<std::int64_t> few = few_of(direction);
    moving_.push_back({inputs[k], inputs[k].clone(), std::move(direction), std::move(few)});
  }
}

double Direction::scale(std::int64_t /*row*/) const {
  return std::isfinite(scale_) ? scale_ : 0;
}

double Direction::argument(std::int64_t /*row*/) const {
  return argument_;
}

double Direction::step(std::int64_t /*row*/, double offset) const {
  for (const Step& known : steps_) {
    if (known.offset == offset) return known.taken;
  }
  if (steps_.size() == kKnownSteps) steps_.erase(steps_.begin());
  steps_.push_back({offset, is_exact(offset) ? offset : rounded_step(offset)});
  return steps_.back().taken;
}

bool Direction::is_exact(double offset) const {
  return std::all_of(moving_.begin(), moving_.end(), [&](const Moving& moving) {
    const double* const d = moving.direction.data();
    return all_of_elements(moving.original, moving.few, [&](const auto& element, std::size_t i) {
      const auto x = static_cast<double>(element);
      const double taken = rounded<decltype(element)>(x + offset * d[i]) - x;
      return (taken == offset * d[i]) | (d[i] == 0);
    });
  });
}

double Direction::rounded_step(double offset) const {
  double along = 0;
  double length = 0;
  for (const Moving& moving : moving_) {
    const ThreadCountScope one(1);  // a sum has an order
    for_each_element(moving.original, moving.few, [&](auto& element, std::size_t i) {
      const auto x = static_cast<double>(element);
      const double d = moving.direction[i];
      if (d == 0) return;
      along += d * (rounded<decltype(element)>(x + offset * d) - x);
      length += d * d;
    });
  }
  return along / length;
}

void Direction::move(std::int64_t /*row*/, double offset) {
  moved_ = true;
  for (Moving& moving : moving_) {
    const double* const d = moving.direction.data();
    for_each_element(moving.input, moving.few, [&](auto& element, std::size_t i) {
      using T = std::remove_reference_t<decltype(element)>;
      const T x = static_cast<const T*>(moving.original.raw())[i];
      const double value = rounded<T>(static_cast<double>(x) + offset * d[i]);
      element = d[i] == 0 ? x : static_cast<T>(static_cast<ComputeType<T>>(value));
    });
  }
}

void Direction::restore() noexcept {
  if (!moved_) return;
  for (const Moving& moving : moving_) {
    auto* const to = static_cast<std::byte*>(moving.input.raw());
    const auto* const from = static_cast<const std::byte*>(moving.original.raw());
    const auto size = static_cast<std::int64_t>(size_of(moving.input.dtype()));
    for (const std::int64_t i : moving.few) {
      std::memcpy(to + i * size, from + i * size, static_cast<std::size_t>(size));
    }
    if (!moving.few.empty()) continue;
    parallel_for(moving.input.size(), kElementsPerThread,
                 [&](std::int64_t begin, std::int64_t end) {
                   std::memcpy(to + begin * size, from + begin * size,
                               static_cast<std::size_t>((end - begin) * size));
                 });
  }
  moved_ = false;
}

std::vector<double> round_direction(std::vector<double> direction) {
  for (double& d : direction) {
    int exponent = 0;
    const double fraction = std::frexp(d, &exponent);
    d = std::ldexp(std::nearbyint(std::ldexp(fraction, 10)), exponent - 10);
  }
  return direction;
}

}  // namespace fluidcore::gradcheck
