#include "fluidcore/kernels/functors.h"
#include "fluidcore/kernels/piecewise_functors.h"
#include "fluidcore/ops/activation.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/whole_numbers.h"

namespace fluidcore {

namespace {

// Operators that change in jumps only: their gradient is 0.
template <class Formula>
void add_staircase(OpRegistry& registry, const char* type, const char* doc) {
  registry.add(unary_op(type, doc)
                   .kernels(unary_kernels<Formula>())
                   .kernels(whole_kernels<without_attributes<Formula>>())
                   .grad(zero_grad));
}

}  // namespace

void register_rounding_ops(OpRegistry& registry) {
  add_staircase<Ceil>(registry, "ceil", "Out = the least whole number that is at least X.");
  add_staircase<Floor>(registry, "floor", "Out = the greatest whole number that is at most X.");
  add_staircase<Round>(registry, "round",
                       "Out = the whole number nearest to X, of two the even one.");
  add_staircase<Sign>(registry, "sign", "Out = 1 where X > 0, -1 where X < 0, else X.");
}

}  // namespace fluidcore
