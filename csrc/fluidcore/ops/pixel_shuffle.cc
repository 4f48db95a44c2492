#include <cstdint>

#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/strided_kernels.h"

namespace fluidcore {

namespace {

TensorSpec shuffled(const InferContext& context) {
  require_rank(context, "X", 4, "[N, C, H, W]");
  const TensorSpec& x = context.input("X");
  const std::int64_t factor = context.attr<std::int64_t>("upscale_factor");
  constexpr std::int64_t kMostOfFactor = std::int64_t{1} << 15;
  require(factor >= 1 && factor <= kMostOfFactor, context.type(),
          ": upscale_factor must be at least 1 and at most ", kMostOfFactor, ", got ", factor);
  require(x.shape[1] == -1 || x.shape[1] % (factor * factor) == 0, context.type(),
          ": the channels of X must be a multiple of upscale_factor^2, got X ", x.shape,
          ", upscale_factor ", factor);
  const auto times = [&](std::int64_t extent) {
    std::int64_t product = -1;
    require(extent == -1 || !__builtin_mul_overflow(extent, factor, &product), context.type(),
            ": Out must have extents that can be counted, got X ", x.shape, ", upscale_factor ",
            factor);
    return product;
  };
  const std::int64_t channels = x.shape[1] == -1 ? -1 : x.shape[1] / (factor * factor);
  return {{x.shape[0], channels, times(x.shape[2]), times(x.shape[3])}, x.dtype};
}

Kernel pixel_shuffle(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const auto out = context.raw_output("Out");
  const std::int64_t factor = context.attr<std::int64_t>("upscale_factor");
  return permute(context, x, out,
                 {out.shape()[0], out.shape()[1], factor, factor, x.shape()[2], x.shape()[3]},
                 {0, 1, 4, 2, 5, 3});
}

Kernel pixel_shuffle_grad(const KernelContext& context) {
  if (!context.has_output("X@GRAD")) return nothing_to_do();
  const auto dout = context.raw_input("Out@GRAD");
  const auto dx = context.raw_output("X@GRAD");
  const std::int64_t factor = context.attr<std::int64_t>("upscale_factor");
  return permute(context, dout, dx,
                 {dout.shape()[0], dout.shape()[1], dx.shape()[2], factor, dx.shape()[3], factor},
                 {0, 1, 3, 5, 2, 4});
}

OpDef with_pixel_shuffle_attrs(OpDef def) {
  return std::move(def).required_attr("upscale_factor", std::int64_t{1},
                                      "r, by which height and width grow");
}

}  // namespace

void register_pixel_shuffle_ops(OpRegistry& registry) {
  registry.add(
      with_pixel_shuffle_attrs(OpDef("pixel_shuffle"))
          .doc("Out[n, c, r h + i, r w + j] = X[n, (c r + i) r + j, h, w]: channels become "
               "pixels (Shi et al. 2016).")
          .input("X", "[N, C r^2, H, W]")
          .output("Out", "[N, C, H r, W r], dtype of X")
          .infer(infer_as<shuffled>)
          .kernels(byte_kernels_everywhere(pixel_shuffle))
          .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(
      with_pixel_shuffle_attrs(
          declare_adjoint("pixel_shuffle", "X@GRAD = the elements of Out@GRAD where X had them."))
          .infer(infer_as<shuffled>)
          .kernels(byte_kernels_everywhere(pixel_shuffle_grad)));
}

}  // namespace fluidcore
