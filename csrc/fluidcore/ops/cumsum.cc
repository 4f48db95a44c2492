#include "fluidcore/kernels/cpu/cumsum.h"

#include <utility>

#include "fluidcore/kernels/cuda/sequences.h"
#include "fluidcore/ops/axis.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

template <class T>
Kernel cumsum(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const SequencesOf all(x.shape(), axis_of_sequences(context, x.shape()));
  const cpu::CumsumOrder order{context.attr<bool>("exclusive"), context.attr<bool>("reverse")};
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const cuda::Cumulate sums{
          {all.outer, all.count, all.inner, order.reverse}, false, order.exclusive};
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each(device, all.outer * all.inner, sums, x.data(), out.data());
      });
    }
  }
  return [=] { cpu::cumsum(all.outer, all.count, all.inner, order, x.data(), out.data()); };
}

void infer_cumsum(InferContext& context) {
  const TensorSpec& x = context.input("X");
  axis_of_sequences(context, x.shape);
  context.set_output("Out", x);
}

// Each element counts in the sums from itself on.
std::vector<OpDesc> cumsum_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  AttributeMap attrs = context.forward().attrs();
  attrs["reverse"] = !std::get<bool>(attrs["reverse"]);
  return {
      OpDesc("cumsum", {{"X", context.output_grad("Out")}}, {{"Out", grads}}, std::move(attrs))};
}

}  // namespace

void register_cumsum_ops(OpRegistry& registry) {
  registry.add(
      OpDef("cumsum")
          .doc("Out[i] = X[0] + ... + X[i] along one dimension.")
          .input("X", "any shape, floating or int32 or int64")
          .output("Out", "shape and dtype of X")
          .attr("axis", std::int64_t{-1}, "the dimension; counted from the end if negative")
          .attr("exclusive", false, "whether Out[i] is without X[i]: the first sum is 0")
          .attr("reverse", false, "whether the sum begins at the last element")
          .infer(infer_cumsum)
          .row_dims([](const InferContext& context, std::string_view /*slot*/) {
            return dims_before_sequences(context, context.input("X").shape);
          })
          .in_place("X", "Out")
          .kernels(kernels_everywhere<float, double, BFloat16, std::int32_t, std::int64_t>(
              [](auto tag) -> KernelFactory { return cumsum<typename decltype(tag)::type>; }))
          .grad(cumsum_grad));
}

}  // namespace fluidcore
