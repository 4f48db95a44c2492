#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include "fluidcore/kernels/cpu/update.h"
#include "fluidcore/kernels/cuda/launch.h"

namespace fluidcore::cuda {

// The rule that `make` makes of the scalars, applied to every element; each thread makes it once.
// Scalars is a tuple of pointers.
template <class Make, class Scalars>
struct UpdateBody {
  Make make;
  Scalars scalars;

  template <class T, class... State>
  FC_HOST_DEVICE void operator()(std::int64_t first,
                                 std::int64_t step,
                                 std::int64_t size,
                                 const T* grad,
                                 State... state) const {
    const auto rule = rule_of_step();
    for (std::int64_t i = first; i < size; i += step) update_element(rule, i, grad[i], state...);
  }

  FC_HOST_DEVICE auto rule_of_step() const {
    return rule_of_step(std::make_index_sequence<std::tuple_size_v<Scalars>>());
  }
  template <class Rule, class T, class... State>
  FC_HOST_DEVICE static void update_element(const Rule& rule,
                                            std::int64_t i,
                                            T grad,
                                            State... state) {
    update(rule, i, grad, std::make_tuple(state...), std::make_tuple(state.from[i]...),
           std::index_sequence_for<State...>());
  }

 private:
  template <std::size_t... k>
  FC_HOST_DEVICE auto rule_of_step(std::index_sequence<k...> /*all*/) const {
    return make(static_cast<double>(*std::get<k>(scalars))...);
  }

  template <class Rule, class T, class Tensors, class Values, std::size_t... k>
  FC_HOST_DEVICE static void update(const Rule& rule,
                                    std::int64_t i,
                                    T grad,
                                    const Tensors& tensors,
                                    Values values,
                                    std::index_sequence<k...> /*all*/) {
    rule(grad, std::get<k>(values)...);
    ((std::get<k>(tensors).to[i] = std::get<k>(values)), ...);
  }
};

// The same for rows whose numbers are not -1; `grad` has theirs.
template <class Make, class Scalars>
struct UpdateRowsBody {
  UpdateBody<Make, Scalars> body;
  const std::int64_t* numbers;
  std::int64_t width;

  template <class T, class... State>
  FC_HOST_DEVICE void operator()(std::int64_t first,
                                 std::int64_t step,
                                 std::int64_t size,
                                 const T* grad,
                                 State... state) const {
    const auto rule = body.rule_of_step();
    for (std::int64_t i = first; i < size; i += step) {
      const std::int64_t row = numbers[i / width];
      if (row >= 0) body.update_element(rule, row * width + i % width, grad[i], state...);
    }
  }
};

template <class Make, class Scalars, class T, class... State>
void update_rows(DeviceContext& device,
                 const Make& make,
                 const Scalars& scalars,
                 const cpu::UpdatedRows& rows,
                 const T* grad,
                 State... state) {
  loop(device, rows.count * rows.width,
       UpdateRowsBody<Make, Scalars>{{make, scalars}, rows.numbers, rows.width}, grad, state...);
}

template <class Make, class Scalars, class T, class... State>
void update(DeviceContext& device,
            const Make& make,
            const Scalars& scalars,
            std::int64_t size,
            const T* grad,
            State... state) {
  loop(device, size, UpdateBody<Make, Scalars>{make, scalars}, grad, state...);
}

}  // namespace fluidcore::cuda
