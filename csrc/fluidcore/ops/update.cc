#include "fluidcore/ops/update.h"

#include "fluidcore/ops/infer_checks.h"

namespace fluidcore {

OpDef declare_update(std::string type,
                     std::string doc,
                     const std::vector<StateSlot>& state,
                     const std::vector<ScalarSlot>& scalars,
                     void (*check)(const InferContext&)) {
  const SlotTraits may_be_float32{.may_be_float32 = true};
  OpDef def =
      OpDef(std::move(type))
          .doc(std::move(doc))
          .input("Param", "the parameter, any shape, floating")
          .input("Grad",
                 "gradient of the loss, shape of Param; of selected rows, the other rows of "
                 "the parameter and of its state stay as they are",
                 {.rows = true});
  // A temporary, because an object must not be moved into itself.
  for (const ScalarSlot& slot : scalars) {
    def =
        OpDef(std::move(def).input(std::string(slot.name), std::string(slot.doc), may_be_float32));
  }
  def = OpDef(std::move(def)
                  .output("ParamOut", "the updated parameter, usually the same variable as Param")
                  .in_place("Param", "ParamOut"));
  for (const StateSlot& slot : state) {
    const std::string in(slot.in);
    const std::string out(slot.out);
    def = OpDef(std::move(def)
                    .input(in, "shape of Param, its dtype or float32; zeros before the first step",
                           may_be_float32)
                    .output(out, str_cat("the updated state, usually the same variable as ", in))
                    .in_place(in, out));
  }
  return std::move(def)
      .infer([=](InferContext& context) {
        const TensorSpec param = context.input("Param");
        require_shape(context, "Grad", param.shape);
        for (const ScalarSlot& slot : scalars) {
          const Shape& shape = context.input(slot.name).shape;
          require(compatible(shape.num_elements(), 1), context.type(), ": ", slot.name,
                  " must have one element, got shape ", shape);
        }
        check(context);
        context.set_output("ParamOut", param);
        for (const StateSlot& slot : state) {
          require_shape(context, slot.in, param.shape);
          context.set_output(slot.out, context.input(slot.in));
        }
      })
      .not_differentiable();
}

}  // namespace fluidcore
