#include "fluidcore/ops/element_loss.h"

#include "fluidcore/ops/infer_checks.h"

namespace fluidcore {

namespace {

std::vector<std::string> names_of(const LossSlots& slots) {
  std::vector<std::string> names;
  for (const SlotText& slot : slots) names.emplace_back(slot.name);
  return names;
}

// What the inputs have in common; an extent that one of them knows is known.
TensorSpec common_spec(const InferContext& context, const LossSlots& inputs) {
  TensorSpec spec = context.input(inputs[0].name);
  for (const SlotText& slot : inputs) {
    require_shape(context, slot.name, spec.shape);
    require_dtype(context, slot.name, spec.dtype);
    const Shape& shape = context.input(slot.name).shape;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      if (spec.shape[axis] == -1) spec.shape[axis] = shape[axis];
    }
  }
  return spec;
}

Kernel kernels_of_slots(const KernelContext& context,
                        const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs,
                        const std::vector<Streams>& formulas) {
  std::vector<const Cell*> in;
  in.reserve(inputs.size());
  for (const std::string& slot : inputs) in.push_back(context.raw_input(slot).cell());
  Kernel all = nothing_to_do();
  for (std::size_t k = 0; k < formulas.size(); ++k) {
    if (!context.has_output(outputs[k])) continue;
    all = both(std::move(all), map_kernel(formulas[k], context.raw_output(outputs[k]).cell(), in));
  }
  return all;
}

}  // namespace

Kernel loss_kernel(const KernelContext& context,
                   const LossSlots& inputs,
                   const LossSlots& outputs,
                   const std::vector<Streams>& formulas) {
  return kernels_of_slots(context, names_of(inputs), names_of(outputs), formulas);
}

Kernel loss_grad_kernel(const KernelContext& context,
                        const LossSlots& inputs,
                        const char* loss,
                        const std::vector<Streams>& formulas) {
  std::vector<std::string> read = names_of(inputs);
  std::vector<std::string> grads;
  grads.reserve(read.size());
  for (const std::string& name : read) grads.push_back(grad_name(name));
  read.push_back(grad_name(loss));
  return kernels_of_slots(context, read, grads, formulas);
}

OpDef declare_loss(const LossText& text,
                   const LossSlots& inputs,
                   const LossSlots& outputs,
                   LossCheck check) {
  OpDef def = OpDef(text.type).doc(text.doc);
  // A temporary, because an object must not be moved into itself.
  for (const SlotText& slot : inputs) def = OpDef(std::move(def).input(slot.name, slot.doc));
  for (const SlotText& slot : outputs) {
    const bool is_loss = slot.name == outputs[0].name;
    const SlotTraits traits{.intermediate = !is_loss, .no_gradient = !is_loss};
    def = OpDef(std::move(def).output(slot.name, slot.doc, traits));
  }
  return std::move(def)
      .elementwise()
      .infer([=](InferContext& context) {
        check(context);
        const TensorSpec spec = common_spec(context, inputs);
        for (const SlotText& slot : outputs) context.set_output(slot.name, spec);
      })
      .grad(standard_grad({.inputs = names_of(inputs),
                           .differentiable = names_of(inputs),
                           .cotangents = {outputs[0].name}}));
}

OpDef declare_loss_grad(const LossText& text,
                        const LossSlots& inputs,
                        const char* loss,
                        LossCheck check) {
  const std::string cotangent = grad_name(loss);
  OpDef def = OpDef(str_cat(text.type, "_grad")).doc(text.grad_doc);
  for (const SlotText& slot : inputs) {
    def = OpDef(std::move(def)
                    .input(slot.name, "input of the forward operator")
                    .output(grad_name(slot.name), str_cat("gradient of ", slot.name)));
  }
  return std::move(def)
      .input(cotangent, str_cat("gradient of ", loss))
      .elementwise()
      .infer([=](InferContext& context) {
        check(context);
        require_spec(context, cotangent, common_spec(context, inputs));
        infer_grads_like_inputs(context);
      });
}

}  // namespace fluidcore
