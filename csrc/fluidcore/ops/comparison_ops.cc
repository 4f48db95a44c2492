#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/binary.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

void register_comparison_ops(OpRegistry& registry) {
  registry.add(integer_arithmetic<Max>("elementwise_max", "max(X, Y), NaN where one of them is"));
  registry.add(arithmetic_grad<MaxGradX, MaxGradY>(
      "elementwise_max", "X@GRAD = Out@GRAD where X > Y, Y@GRAD = Out@GRAD where X <= Y"));

  registry.add(integer_arithmetic<Min>("elementwise_min", "min(X, Y), NaN where one of them is"));
  registry.add(arithmetic_grad<MinGradX, MinGradY>(
      "elementwise_min", "X@GRAD = Out@GRAD where X < Y, Y@GRAD = Out@GRAD where X >= Y"));

  registry.add(
      binary_op("less_than", "X < Y")
          .infer(infer_binary(DType::kBool))
          .kernels(cpu_kernels<std::int32_t, std::int64_t, float, double, Float16, BFloat16>(
              [](auto tag) -> KernelFactory {
                return binary<Less, typename decltype(tag)::type, bool>;
              }))
          .not_differentiable());
}

}  // namespace fluidcore
