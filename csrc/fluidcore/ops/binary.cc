#include "fluidcore/ops/binary.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/reduce.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

constexpr const char* kSharedAxisDoc =
    "the dimension of X where Y's dimensions begin; -1: the last dimensions of the two meet, and "
    "either may be broadcast";

// What f(X, Y) gives in the dtype of its operands.
TensorSpec broadcast_spec(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const TensorSpec& y = context.input("Y");
  require(x.dtype == y.dtype, context.type(), ": X and Y must have the same dtype, got ", x.dtype,
          " and ", y.dtype, cast_advice("X", x.dtype, "Y", y.dtype));
  return {broadcast(x.shape, y.shape, context.attr<std::int64_t>("axis"), context.type()), x.dtype};
}

}  // namespace

Aligned align_operands(const KernelContext& context, const Shape& x, const Shape& y) {
  const std::int64_t axis = context.attr<std::int64_t>("axis");
  Aligned aligned;
  aligned.out = broadcast(x, y, axis, context.type());
  const std::size_t rank = aligned.out.rank();
  aligned.x = align(x, -1, rank, rank);
  // A Y of shape [1] fits anywhere, so its place does not matter.
  aligned.y = axis >= 0 && y == Shape{1} ? Shape(std::vector<std::int64_t>(rank, 1))
                                         : align(y, axis, x.rank(), rank);
  return aligned;
}

Operands operands_of(const KernelContext& context, const Cell* x, const Cell* y, bool swapped) {
  Aligned shapes = align_operands(context, x->spec.shape, y->spec.shape);
  if (swapped) {
    std::swap(x, y);
    std::swap(shapes.x, shapes.y);
  }
  return {x, y,
          std::make_shared<const cpu::BroadcastNest>(shapes.out, std::vector{shapes.x, shapes.y})};
}

std::vector<bool> repeated_axes(const Shape& out, const Shape& operand) {
  std::vector<bool> repeated(out.rank());
  for (std::size_t i = 0; i < out.rank(); ++i) repeated[i] = operand[i] == 1 && out[i] != 1;
  return repeated;
}

Kernel sum_to_operand(const cpu::StreamFormula& formula,
                      const std::shared_ptr<const cpu::BroadcastNest>& nest,
                      const Shape& out,
                      const Shape& operand,
                      const Cell* grad,
                      const std::vector<const Cell*>& in) {
  const auto sum_in = [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    using Sum = cpu::Reduction<SumOf, C, T>;
    const Tensor terms({out, dtype_of<C>});
    return [=, sum = std::make_shared<Sum>(out, repeated_axes(out, operand))] {
      std::array<const void*, cpu::kMostStreams> data{};
      std::transform(in.begin(), in.end(), data.begin(), [](const Cell* x) { return x->data; });
      cpu::run_broadcast(*nest, formula, terms.raw(), data.data());
      sum->run(static_cast<const C*>(terms.raw()), static_cast<T*>(grad->data));
    };
  };
  switch (grad->spec.dtype) {
    case DType::kFloat64: return sum_in(TypeTag<double>());
    case DType::kBFloat16: return sum_in(TypeTag<BFloat16>());
    default: return sum_in(TypeTag<float>());
  }
}

InferFn infer_binary(std::optional<DType> out_dtype) {
  return [out_dtype](InferContext& context) {
    TensorSpec out = broadcast_spec(context);
    out.dtype = out_dtype.value_or(out.dtype);
    context.set_output("Out", std::move(out));
  };
}

GradMaker operands_grad() {
  return standard_grad({.inputs = {"X", "Y"}, .differentiable = {"X", "Y"}});
}

Expr with_axis(const std::string& type, const Expr& x, const Expr& y) {
  const std::int64_t axis = x.owner().attr<std::int64_t>("axis");
  return x.owner().op(type, {{"X", x}, {"Y", y}}, {{"axis", axis}});
}

void set_operand_grads(Decomposition& d, const Expr& x_terms, const Expr& y_terms) {
  // The gradient of a sum adds up where an operand was repeated.
  const auto add_up = [&d](const Expr& terms, const char* slot) {
    const Decomposition::Inputs inputs{
        {"X", d.input("X")}, {"Y", d.input("Y")}, {"Out@GRAD", terms}};
    d.set(slot, d.op("elementwise_add_grad", inputs, d.attrs(), slot));
  };
  add_up(x_terms, "X@GRAD");
  add_up(y_terms, "Y@GRAD");
}

OpDef binary_op(const std::string& type, const std::string& formula) {
  return OpDef(type)
      .doc("Out = " + formula + ", element by element, Y broadcast to X.")
      .input("X", "any shape")
      .input(
          "Y",
          "a shape that broadcasts with X: equal to X, [1], a run of X's dimensions, or as NumPy")
      .output("Out", "the broadcast shape")
      .attr("axis", std::int64_t{-1}, kSharedAxisDoc)
      .elementwise();
}

OpDef binary_grad_op(const std::string& type,
                     const std::string& formulas,
                     SlotTraits x,
                     SlotTraits y) {
  return OpDef(type + "_grad")
      .doc(formulas + ", each summed over the dimensions that were broadcast.")
      .input("X", "input of the forward operator", std::move(x))
      .input("Y", "input of the forward operator", std::move(y))
      .input("Out@GRAD", "gradient of Out, the broadcast shape")
      .output("X@GRAD", "gradient of X, shape of X")
      .output("Y@GRAD", "gradient of Y, shape of Y")
      .attr("axis", std::int64_t{-1}, kSharedAxisDoc)
      .elementwise()
      .infer([](InferContext& context) {
        require_spec(context, "Out@GRAD", broadcast_spec(context));
        infer_grads_like_inputs(context);
      });
}

}  // namespace fluidcore
