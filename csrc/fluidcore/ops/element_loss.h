#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/streams.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/op/op_registry.h"
#include "fluidcore/ops/elementwise.h"

namespace fluidcore {

// Losses of tensors of one shape, element by element. A loss is a type:
//
//   struct Hinge : LossWithoutAttributes {
//     static constexpr LossText kText{"hinge_loss", "...", "..."};
//     static constexpr std::array kInputs{SlotText{"Logits", "..."}, SlotText{"Labels", "..."}};
//     static constexpr std::array kOutputs{SlotText{"Loss", "..."}};    // and what comes with it
//     using Values = Formulas<HingeLoss>;                               // of the outputs
//     using Grads = Formulas<HingeLossGradLogits, HingeLossGradLabels>; // of the inputs
//     static void decompose(Decomposition& d);                          // of the gradient operator
//   };
//   add_element_loss<Hinge>(registry);
//
// A formula that has a member takes the attribute of the name kAttr. Only the first output passes
// gradients; every input has one.

struct LossText {
  const char* type;
  const char* doc;
  const char* grad_doc;
};

struct SlotText {
  const char* name;
  const char* doc;
};

template <class... Formula>
struct Formulas {};

struct LossWithoutAttributes {
  static constexpr const char* kAttr = "";
  static OpDef with_attrs(OpDef def) { return def; }
  static void check(const InferContext& /*context*/) {}
};

using LossSlots = std::vector<SlotText>;

// outputs[k] = formulas[k](inputs...), where that is wanted.
Kernel loss_kernel(const KernelContext& context,
                   const LossSlots& inputs,
                   const LossSlots& outputs,
                   const std::vector<Streams>& formulas);
// The gradient of inputs[k] = formulas[k](inputs..., the gradient of `loss`), likewise.
Kernel loss_grad_kernel(const KernelContext& context,
                        const LossSlots& inputs,
                        const char* loss,
                        const std::vector<Streams>& formulas);

// T is the type to calculate in.
template <class Loss, class T, std::size_t arity, class... Formula>
std::vector<Streams> loss_streams(const KernelContext& context, Formulas<Formula...> /*formulas*/) {
  const auto complete = [&](auto formula) {
    if constexpr (!std::is_empty_v<decltype(formula)>) {
      formula = {context.attr<double>(Loss::kAttr)};
    }
    return streams<T, arity>(context, formula);
  };
  return {complete(Formula{})...};
}

template <class Loss>
LossSlots loss_inputs() {
  return {Loss::kInputs.begin(), Loss::kInputs.end()};
}
template <class Loss>
LossSlots loss_outputs() {
  return {Loss::kOutputs.begin(), Loss::kOutputs.end()};
}

template <class Loss, class T>
Kernel element_loss(const KernelContext& context) {
  return loss_kernel(context, loss_inputs<Loss>(), loss_outputs<Loss>(),
                     loss_streams<Loss, T, Loss::kInputs.size()>(context, typename Loss::Values()));
}

template <class Loss, class T>
Kernel element_loss_grad(const KernelContext& context) {
  return loss_grad_kernel(
      context, loss_inputs<Loss>(), Loss::kOutputs[0].name,
      loss_streams<Loss, T, Loss::kInputs.size() + 1>(context, typename Loss::Grads()));
}

using LossCheck = void (*)(const InferContext&);

// The declarations without attributes and kernels.
OpDef declare_loss(const LossText& text,
                   const LossSlots& inputs,
                   const LossSlots& outputs,
                   LossCheck check);
OpDef declare_loss_grad(const LossText& text,
                        const LossSlots& inputs,
                        const char* loss,
                        LossCheck check);

// Adds the operator and its gradient operator.
template <class Loss>
void add_element_loss(OpRegistry& registry) {
  const LossSlots inputs = loss_inputs<Loss>();
  const LossSlots outputs = loss_outputs<Loss>();
  registry.add(Loss::with_attrs(declare_loss(Loss::kText, inputs, outputs, Loss::check))
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return element_loss<Loss, ComputeType<typename decltype(tag)::type>>;
                   })));
  registry.add(
      Loss::with_attrs(declare_loss_grad(Loss::kText, inputs, outputs[0].name, Loss::check))
          .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
            return element_loss_grad<Loss, ComputeType<typename decltype(tag)::type>>;
          }))
          .decompose(Loss::decompose));
}

}  // namespace fluidcore
