#include <cstdint>

#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/same_elements.h"

namespace fluidcore {

namespace {

void require_column(const InferContext& context) {
  const std::int64_t col = context.attr<std::int64_t>("col");
  require(col >= 0, context.type(), ": col must be at least 0, got ", col);
}

Kernel feed(const KernelContext& /*context*/) {
  return nothing_to_do();  // never runs
}

}  // namespace

void register_feed_ops(OpRegistry& registry) {
  registry.add(
      OpDef("feed")
          .doc("Says that Out is fed, as Fluid's saved programs do. A run is given what it "
               "is fed by name, so nothing is done and X is not read.")
          .input("X", "accepted: what Fluid keeps fed values in", {.may_be_unset = true})
          .output("Out", "the variable that is fed, as it is declared")
          .required_attr("col", std::int64_t{0}, "accepted: the place in X")
          .infer([](InferContext& context) {
            require_column(context);
            context.set_output("Out", context.output("Out"));
          })
          .stands_for_feed()
          .kernels(byte_kernels(feed))
          .not_differentiable());
  registry.add(
      OpDef("fetch")
          .doc("Out = X. Fluid's saved programs say with it what is fetched; a run is told "
               "that by name, that of X or of Out.")
          .input("X", "any shape")
          .output("Out", "shape and dtype of X")
          .required_attr("col", std::int64_t{0}, "accepted: the place among the results")
          .infer([](InferContext& context) {
            require_column(context);
            context.set_output("Out", context.input("X"));
          })
          .kernels(byte_kernels(same_elements))
          .not_differentiable());
}

}  // namespace fluidcore
