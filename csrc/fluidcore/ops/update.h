#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/update.h"
#include "fluidcore/kernels/cuda/update.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/selected_rows.h"

namespace fluidcore {

// What the declarations of optimizers have in common. An optimizer is a type:
//
//   struct Adagrad {
//     static constexpr std::array kState{StateSlot{"Moment", "MomentOut"}};
//     static constexpr std::array kScalars{kLearningRate};
//     static void check(const InferContext& context) { require_not_negative(context, {"epsilon"});
//     } static auto rule(const KernelContext& context) {
//       return WithRate<AdagradRule>{{.rate = 0.0, .epsilon = context.attr<double>("epsilon")}};
//     }
//   };
//   registry.add(update_op<Adagrad>("adagrad", "...").attr("epsilon", 1e-6, "..."));
//
// rule() is called when a Plan is built; what it returns makes the rule of each step from the
// elements of kScalars: the rule is applied to Grad, Param and the state in the order of kState.
// Where Grad is selected rows, the rule is applied to these rows only.

struct StateSlot {
  std::string_view in;
  std::string_view out;
};

struct ScalarSlot {
  std::string_view name;
  std::string_view doc;
};
inline constexpr ScalarSlot kLearningRate{"LearningRate", "[1], dtype of Param or float32"};
inline constexpr ScalarSlot kBeta1Pow{
    "Beta1Pow",
    "[1], dtype of Param or float32: beta1 to the power of the number of this step, from 1"};
inline constexpr ScalarSlot kBeta2Pow{
    "Beta2Pow",
    "[1], dtype of Param or float32: beta2 to the power of the number of this step, from 1"};

// A rule whose learning rate is known in each step.
template <class Rule>
struct WithRate {
  Rule rule;
  FC_HOST_DEVICE Rule operator()(double rate) const {
    Rule made = rule;
    made.rate = rate;
    return made;
  }
};
// A rule that is the same in every step.
template <class Rule>
struct WithoutRate {
  Rule rule;
  FC_HOST_DEVICE Rule operator()() const { return rule; }
};

// Rows that are not updated are there already where the update is in place.
template <class T>
void copy_not_updated(DeviceContext& device, std::int64_t size, const cpu::Updated<T>& tensor) {
  if (tensor.to == tensor.from) return;
  device.copy(tensor.to, tensor.from, static_cast<std::size_t>(size) * sizeof(T));
}

template <class Optimizer, class T>
Kernel update(const KernelContext& context) {
  constexpr std::size_t kCount = Optimizer::kState.size();
  const auto param = context.input<T>("Param");
  const auto grad = context.input<T>("Grad");
  const auto param_out = context.output<T>("ParamOut");
  std::array<std::pair<Arg<const T>, Arg<T>>, kCount> state;
  for (std::size_t i = 0; i < kCount; ++i) {
    state[i] = {context.input<T>(Optimizer::kState[i].in),
                context.output<T>(Optimizer::kState[i].out)};
  }
  // Calls f(Updated<T>...) with the parameter and its state.
  const auto on_tensors = [=](const auto& f) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      f(cpu::Updated<T>{param.data(), param_out.data()},
        cpu::Updated<T>{state[i].first.data(), state[i].second.data()}...);
    }(std::make_index_sequence<kCount>());
  };
  constexpr std::size_t kScalarCount = Optimizer::kScalars.size();
  std::array<Arg<const T>, kScalarCount> scalars;
  for (std::size_t i = 0; i < kScalarCount; ++i) {
    scalars[i] = context.input<T>(Optimizer::kScalars[i].name);
  }
  const auto make = Optimizer::rule(context);
  const auto rule = [=] {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return make(static_cast<double>(*scalars[i].data())...);
    }(std::make_index_sequence<kScalarCount>());
  };
  const std::int64_t size = param.size();
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const auto pointers_to_scalars = [=] {
        return [&]<std::size_t... i>(std::index_sequence<i...>) {
          return std::make_tuple(scalars[i].data()...);
        }(std::make_index_sequence<kScalarCount>());
      };
      if (grad.has_rows()) {
        return Kernel::enqueued(
            [=, &device = context.device(), grads = MergedRows(context, "Grad")] {
              const MergedRows::Rows rows = grads.merge_on(device);
              on_tensors([&](auto... tensors) {
                (copy_not_updated(device, size, tensors), ...);
                cuda::update_rows(device, make, pointers_to_scalars(),
                                  {rows.count, rows.numbers, grads.width()},
                                  static_cast<const T*>(rows.values), tensors...);
              });
            });
      }
      return Kernel::enqueued([=, &device = context.device()] {
        on_tensors([&](auto... tensors) {
          cuda::update(device, make, pointers_to_scalars(), size, grad.data(), tensors...);
        });
      });
    }
  }
  if (grad.has_rows()) {
    return [=, &device = context.device(), grads = MergedRows(context, "Grad")] {
      const MergedRows::Rows rows = grads.merge();
      on_tensors([&](auto... tensors) {
        (copy_not_updated(device, size, tensors), ...);
        cpu::update_rows(rule(), {rows.count, rows.numbers, grads.width()},
                         static_cast<const T*>(rows.values), tensors...);
      });
    };
  }
  return [=] {
    on_tensors([&](auto... tensors) { cpu::update(rule(), size, grad.data(), tensors...); });
  };
}

// Slots and their documentation, inference and in-place pairs; without kernels.
OpDef declare_update(std::string type,
                     std::string doc,
                     const std::vector<StateSlot>& state,
                     const std::vector<ScalarSlot>& scalars,
                     void (*check)(const InferContext&));

// All but the attributes.
template <class Optimizer>
OpDef update_op(std::string type, std::string doc) {
  const auto& state = Optimizer::kState;
  const auto& scalars = Optimizer::kScalars;
  return declare_update(std::move(type), std::move(doc), {state.begin(), state.end()},
                        {scalars.begin(), scalars.end()}, Optimizer::check)
      .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
        return update<Optimizer, typename decltype(tag)::type>;
      }));
}

}  // namespace fluidcore
