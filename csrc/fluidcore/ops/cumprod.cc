#include "fluidcore/kernels/cpu/cumsum.h"

#include <cstdint>
#include <vector>

#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

template <class Context>
std::size_t axis_of(const Context& context, const Shape& shape) {
  return normalize_axis(context.template attr<std::int64_t>("axis"), shape.rank(), context.type());
}

template <class T>
Kernel cumprod(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const Shape& shape = x.shape();
  const std::size_t axis = axis_of(context, shape);
  const std::int64_t outer = shape.product(0, axis);
  const std::int64_t inner = shape.product(axis + 1, shape.rank());
  const cpu::CumsumOrder order{context.attr<bool>("exclusive"), context.attr<bool>("reverse")};
  return
      [=, count = shape[axis]] { cpu::cumprod(outer, count, inner, order, x.data(), out.data()); };
}

// A recurrence without a summand but for the first element: what it passes back divides by no
// element, so that a 0 does no harm.
void decompose_cumprod(Decomposition& d) {
  const Expr x = d.input("X");
  const std::int64_t axis = d.attr<std::int64_t>("axis");
  const bool reverse = d.attr<bool>("reverse");
  const AttributeMap along{{"axis", axis}, {"reverse", reverse}};
  const Expr is_first =
      is_zero(d.constant("cumsum", {{"X", d.filled_like(x, 1.0)}},
                         {{"axis", axis}, {"exclusive", true}, {"reverse", reverse}}));
  if (!d.attr<bool>("exclusive")) {
    return d.set("Out", d.op("linear_recurrence", {{"X", x}, {"Y", x * is_first}}, along));
  }
  const std::vector<std::int64_t> shift{reverse ? -1 : 1};
  const Expr before =
      d.op("roll", {{"X", x}}, {{"shifts", shift}, {"axis", std::vector<std::int64_t>{axis}}});
  d.set("Out", d.op("linear_recurrence", {{"X", before}, {"Y", is_first}}, along));
}

}  // namespace

void register_cumprod_ops(OpRegistry& registry) {
  registry.add(
      OpDef("cumprod")
          .doc("Out[i] = X[0] X[1] ... X[i] along one dimension. Its gradients, of any order, are "
               "right where elements are 0.")
          .input("X", "any shape of rank 1 or more, floating or int32 or int64")
          .output("Out", "shape and dtype of X")
          .attr("axis", std::int64_t{-1}, "the dimension; counted from the end if negative")
          .attr("exclusive", false, "whether Out[i] is without X[i]: the first product is 1")
          .attr("reverse", false, "whether the product begins at the last element")
          .infer([](InferContext& context) {
            const TensorSpec& x = context.input("X");
            axis_of(context, x.shape);
            context.set_output("Out", x);
          })
          .row_dims([](const InferContext& context, std::string_view /*slot*/) {
            return axis_of(context, context.input("X").shape);
          })
          .in_place("X", "Out")
          .kernels(cpu_kernels<float, double, Float16, BFloat16, std::int32_t, std::int64_t>(
              [](auto tag) -> KernelFactory { return cumprod<typename decltype(tag)::type>; }))
          .decompose(decompose_cumprod));
}

}  // namespace fluidcore
