#include "fluidcore/ops/linear.h"

#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"

namespace fluidcore {

GradMaker adjoint_grad(Adjoint adjoint) {
  return [adjoint = std::move(adjoint)](GradContext& context) -> std::vector<OpDesc> {
    const std::vector<std::string> incoming = context.output_grad(adjoint.to);
    const std::vector<std::string> wanted = context.input_grad(adjoint.from);
    if (incoming.empty() || incoming[0] == kEmptyName) return {};
    if (wanted.empty() || wanted[0] == kEmptyName) return {};
    SlotMap inputs{{adjoint.input, incoming}};
    for (const std::string& slot : adjoint.kept) inputs.emplace(slot, context.input(slot));
    return {OpDesc(adjoint.type, std::move(inputs), {{adjoint.output, wanted}},
                   context.forward().attrs())};
  };
}

GradMaker self_adjoint_grad(std::string type, std::string kept) {
  return adjoint_grad({.type = std::move(type),
                       .input = "Out@GRAD",
                       .output = "X@GRAD",
                       .kept = {std::move(kept)}});
}

OpDef declare_adjoint(const std::string& type, std::string doc) {
  return OpDef(type + "_grad")
      .doc(std::move(doc))
      .input("X", "input of the forward operator", kShapeOnly)
      .input("Out@GRAD", "gradient of Out, shape of Out")
      .output("X@GRAD", "gradient of X, shape of X")
      .grad(adjoint_grad({.type = type}));
}

std::vector<std::string> output_grads_or_zeros(GradContext& context,
                                               std::string_view grads,
                                               std::string_view like,
                                               std::vector<OpDesc>& ops) {
  std::vector<std::string> names = context.output_grad(grads);
  const std::vector<std::string>& inputs = context.input(like);
  require(names.size() == inputs.size(), context.forward().type(), ": ", grads,
          " must hold a variable, or ", kEmptyName, ", for each of ", like, ", got ", names.size(),
          " for ", inputs.size());
  const std::vector<std::string> written = context.forward().output_arg_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != kEmptyName) continue;
    names[i] = str_cat(written.at(0), "@ZEROS@", like, std::to_string(i));
    ops.emplace_back("fill_zeros_like", SlotMap{{"X", {inputs[i]}}}, SlotMap{{"Out", {names[i]}}});
  }
  return names;
}

}  // namespace fluidcore
