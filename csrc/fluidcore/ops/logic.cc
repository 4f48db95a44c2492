#include "fluidcore/kernels/functors.h"
#include "fluidcore/kernels/piecewise_functors.h"
#include "fluidcore/ops/binary.h"
#include "fluidcore/ops/on_host.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

template <class Formula>
OpDef binary_logic(const std::string& type, const std::string& formula) {
  return binary_op(type, formula)
      .infer(infer_binary())
      .kernels(binary_kernels<Formula, bool>())
      .in_place("X", "Out")
      .in_place("Y", "Out")
      .not_differentiable();
}

template <class Formula, class T>
Kernel number_test(const KernelContext& context) {
  return map_kernel(Formula(), context.output<bool>("Out"), context.input<T>("X"));
}

template <class Formula>
OpDef number_test(const std::string& type, const std::string& question) {
  return OpDef(type)
      .doc("Out = whether X is " + question + ", element by element.")
      .input("X", "any shape, floating")
      .output("Out", "shape of X, bool")
      .elementwise()
      .infer([](InferContext& context) {
        context.set_output("Out", {context.input("X").shape, DType::kBool});
      })
      .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
        return number_test<Formula, typename decltype(tag)::type>;
      }))
      .not_differentiable();
}

Kernel is_empty(const KernelContext& context) {
  const auto out = context.output<bool>("Out");
  return [out, empty = context.raw_input("X").size() == 0] { write_element(out, empty); };
}

}  // namespace

void register_logic_ops(OpRegistry& registry) {
  registry.add(binary_logic<LogicalAnd>("logical_and", "whether X and Y are both true"));
  registry.add(binary_logic<LogicalOr>("logical_or", "whether X or Y is true, or both"));
  registry.add(binary_logic<LogicalXor>("logical_xor", "whether one of X and Y is true, not both"));
  registry.add(OpDef("logical_not")
                   .doc("Out = whether X is false, element by element.")
                   .input("X", "any shape, bool")
                   .output("Out", "shape and dtype of X")
                   .infer(same_as("X"))
                   .kernels(kernels_everywhere<bool>([](auto /*tag*/) -> KernelFactory {
                     return cpu_unary<LogicalNot, bool, without_attributes<LogicalNot>>;
                   }))
                   .in_place("X", "Out")
                   .not_differentiable());
  registry.add(number_test<IsNan>("isnan", "NaN"));
  registry.add(number_test<IsInf>("isinf", "infinite, of either sign"));
  registry.add(number_test<IsFinite>("isfinite", "neither NaN nor infinite"));
  registry.add(
      OpDef("is_empty")
          .doc("Out = whether X has no elements.")
          .input("X", "any shape", {.shape_only = true})
          .output("Out", "bool [1]")
          .infer([](InferContext& context) { context.set_output("Out", {{1}, DType::kBool}); })
          .kernels(byte_kernels_everywhere(is_empty))
          .not_differentiable());
}

}  // namespace fluidcore
