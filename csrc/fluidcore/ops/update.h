#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/copy.h"
#include "fluidcore/kernels/cpu/update.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/selected_rows.h"

namespace fluidcore {

// What the declarations of optimizers have in common. An optimizer is a type:
//
//   struct Adagrad {
//     static constexpr std::array kState{StateSlot{"Moment", "MomentOut"}};
//     static void check(const InferContext& context) { require_not_negative(context, {"epsilon"});
//     } template <class T> static auto rule(const KernelContext& context) {
//       return [rate = Scalar<T>(context, "LearningRate"), e = context.attr<double>("epsilon")] {
//         return AdagradRule{rate.value(), e};
//       };
//     }
//   };
//   registry.add(update_op<Adagrad>("adagrad", "...", {kLearningRate}).attr("epsilon", 1e-6,
//   "..."));
//
// rule() is called when a Plan is built, and what it returns once in each step: the rule is applied
// to Grad, Param and the state in the order of kState. Where Grad is selected rows, the rule is
// applied to these rows only.

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

// An input of one element.
template <class T>
class Scalar {
 public:
  Scalar(const KernelContext& context, std::string_view slot) : arg_(context.input<T>(slot)) {}
  double value() const { return static_cast<double>(*arg_.data()); }  // only while a kernel runs

 private:
  Arg<const T> arg_;
};

// Rows that are not updated are there already where the update is in place.
template <class T>
void copy_not_updated(std::int64_t size, const cpu::Updated<T>& tensor) {
  if (tensor.to == tensor.from) return;
  cpu::copy_bytes(tensor.to, tensor.from, size * static_cast<std::int64_t>(sizeof(T)));
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
  const auto rule = Optimizer::template rule<T>(context);
  const std::int64_t size = param.size();
  if (grad.has_rows()) {
    return [=, grads = MergedRows(context, "Grad")] {
      const MergedRows::Rows rows = grads.merge();
      on_tensors([&](auto... tensors) {
        (copy_not_updated(size, tensors), ...);
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
OpDef update_op(std::string type, std::string doc, const std::vector<ScalarSlot>& scalars) {
  const auto& state = Optimizer::kState;
  return declare_update(std::move(type), std::move(doc), {state.begin(), state.end()}, scalars,
                        Optimizer::check)
      .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
        return update<Optimizer, typename decltype(tag)::type>;
      }));
}

}  // namespace fluidcore
