#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fluidcore/op/op_def.h"
#include "fluidcore/ops/infer_checks.h"

namespace fluidcore {

// The gradient maker of an operator whose output `to` is linear in its input `from` and, but for
// jumps, does not depend on its other inputs: operator `type` takes the gradient of `to` to that of
// `from`.
struct Adjoint {
  std::string from = "Out@GRAD";
  std::string to = "X@GRAD";
  std::string type;
  std::string input = "X";             // slots of `type`
  std::string output = "Out";          // likewise
  std::vector<std::string> kept = {};  // inputs that `type` reads too
};
GradMaker adjoint_grad(Adjoint adjoint);

// As adjoint_grad, for a gradient operator of `type` that is its own adjoint: it multiplies
// Out@GRAD element by element with something that it makes of the slot `kept`.
GradMaker self_adjoint_grad(std::string type, std::string kept);

inline const SlotTraits kShapeOnly{.shape_only = true};

// The gradient operator `<type>_grad` of an operator whose Out is linear in X, and is made of the
// elements of X alone: X, Out@GRAD and X@GRAD, and a gradient; without attributes.
OpDef declare_adjoint(const std::string& type, std::string doc);

// Inference of Out, or of X@GRAD where the operator is the gradient of one whose Out has the spec
// that `forward` gives.
template <TensorSpec (*forward)(const InferContext&)>
void infer_as(InferContext& context) {
  if (!context.has_input("Out@GRAD")) return context.set_output("Out", forward(context));
  require_spec(context, "Out@GRAD", forward(context));
  infer_grads_like_inputs(context);
}

// In the gradient of a gradient operator: what comes back for the outputs of slot `grads`, one for
// each of the inputs in slot `like`; zeros of their shapes, made by operators that are added to
// `ops`, for those that were not wanted.
std::vector<std::string> output_grads_or_zeros(GradContext& context,
                                               std::string_view grads,
                                               std::string_view like,
                                               std::vector<OpDesc>& ops);

}  // namespace fluidcore
