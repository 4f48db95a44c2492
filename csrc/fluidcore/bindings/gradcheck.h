#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "fluidcore/bindings/calculation.h"
#include "fluidcore/gradcheck/difference/probes.h"
#include "fluidcore/gradcheck/difference/question.h"
#include "fluidcore/gradcheck/function/function.h"

// What the bindings of the gradient checker share.
namespace fluidcore::bindings {

// Calls f() without the GIL; what interrupts it ends the runs of `function`, too.
template <class F>
auto with_interruption(gradcheck::Function& function, const F& f) {
  return calculate([&](Interruption& interruption) {
    const gradcheck::InterruptedBy interrupted(function, interruption);
    return f();
  });
}

// The elements of an array. `what` is named in messages.
std::vector<double> doubles(const pybind11::handle& source, std::string_view what);
std::vector<double> of_size(const pybind11::handle& source,
                            std::string_view what,
                            std::size_t size);
std::optional<std::vector<std::int64_t>> indices(const pybind11::object& source);  // None: nullopt

// The elements of an array, copied only where they are of another dtype or not one after the other.
using Numbers = pybind11::array_t<double, pybind11::array::c_style | pybind11::array::forcecast>;

inline std::span<const double> span_of(const Numbers& numbers) {
  return {numbers.data(), static_cast<std::size_t>(numbers.size())};
}

std::vector<double> noise_or_none(const pybind11::object& noise);
std::size_t number_of_input(std::int64_t input);
gradcheck::Question question_of(const pybind11::iterable& cotangents,
                                const pybind11::object& noise);
// Directions of one input with a cotangent each.
std::vector<gradcheck::Probe> probes_of(const pybind11::iterable& directions,
                                        const pybind11::iterable& cotangents);

pybind11::array_t<double> to_array(const std::vector<double>& numbers);

template <class T>
pybind11::array view(const pybind11::object& owner,
                     const std::vector<T>& numbers,
                     std::vector<pybind11::ssize_t> shape) {
  return pybind11::array(pybind11::dtype::of<T>(), std::move(shape), numbers.data(), owner);
}

}  // namespace fluidcore::bindings
