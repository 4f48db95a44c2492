#include <memory>
#include <numeric>
#include <utility>

#include "fluidcore/kernels/cpu/transpose.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/same_elements.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;

TensorSpec reshaped(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  Shape shape(context.attr<Ints>("shape"));
  std::int64_t rest = 1;  // elements of all extents but the -1
  std::size_t unknown = shape.rank();
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    require(shape[i] >= -1, context.type(), ": shape must hold extents and at most one -1, got ",
            shape);
    if (shape[i] != -1) continue;
    require(unknown == shape.rank(), context.type(), ": shape must hold at most one -1, got ",
            shape);
    unknown = i;
  }
  const bool has_unknown = unknown < shape.rank();
  if (has_unknown) {
    Shape known = shape;
    known[unknown] = 1;
    rest = known.num_elements();
    require(rest != 0, context.type(), ": shape must have no 0 beside a -1, got ", shape);
  }
  const std::int64_t size = x.shape.num_elements();
  if (size != -1) {
    const std::int64_t wanted = has_unknown ? rest : shape.num_elements();
    require(has_unknown ? size % wanted == 0 : size == wanted, context.type(),
            ": shape must have as many elements as X, got X ", x.shape, ", shape ", shape);
    if (has_unknown) shape[unknown] = size / rest;
  }
  return {std::move(shape), x.dtype};
}

void add_reshape(OpRegistry& registry) {
  const char* doc = "extents of Out; one may be -1: what is left of X's elements";
  registry.add(OpDef("reshape")
                   .doc("Out = the elements of X, in order, in another shape.")
                   .input("X", "any shape")
                   .output("Out", "the shape of the attribute, dtype of X")
                   .required_attr("shape", Ints{}, doc)
                   .infer(infer_as<reshaped>)
                   .in_place("X", "Out")
                   .view("X", "Out")
                   .kernels(byte_kernels<same_elements>())
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(declare_adjoint("reshape", "X@GRAD = the elements of Out@GRAD in the shape of X.")
                   .required_attr("shape", Ints{}, doc)
                   .infer(infer_as<reshaped>)
                   .view("Out@GRAD", "X@GRAD")
                   .kernels(byte_kernels<same_elements_grad>()));
}

TensorSpec flattened(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const std::int64_t axis = context.attr<std::int64_t>("axis");
  const std::size_t rank = x.shape.rank();
  require(axis >= 0 && axis <= static_cast<std::int64_t>(rank), context.type(),
          ": axis must be in [0, ", rank, "], got ", axis);
  const auto first = static_cast<std::size_t>(axis);
  return {{x.shape.product(0, first), x.shape.product(first, rank)}, x.dtype};
}

void add_flatten(OpRegistry& registry) {
  const char* doc = "how many dimensions of X make the rows of Out";
  registry.add(OpDef("flatten")
                   .doc("Out = the elements of X, in order, as a matrix.")
                   .input("X", "any shape")
                   .output("Out", "[the first `axis` extents of X, the others], dtype of X")
                   .attr("axis", std::int64_t{1}, doc)
                   .infer(infer_as<flattened>)
                   .in_place("X", "Out")
                   .view("X", "Out")
                   .kernels(byte_kernels<same_elements>())
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(declare_adjoint("flatten", "X@GRAD = the elements of Out@GRAD in the shape of X.")
                   .attr("axis", std::int64_t{1}, doc)
                   .infer(infer_as<flattened>)
                   .view("Out@GRAD", "X@GRAD")
                   .kernels(byte_kernels<same_elements_grad>()));
}

// Dimension d of the transposed tensor is dimension axes[d] of X. Throws InvalidArgument unless the
// attribute names every dimension once.
template <class Context>
std::vector<std::size_t> permutation(const Context& context, std::size_t rank) {
  const Shape given(context.template attr<Ints>("axis"));
  std::vector<std::size_t> axes;
  std::vector<bool> seen(rank, false);
  for (const std::int64_t axis : given) {
    axes.push_back(normalize_axis(axis, rank, context.type()));
    require(!seen[axes.back()], context.type(), ": axis must name every dimension once, got ",
            given, " for rank ", rank);
    seen[axes.back()] = true;
  }
  require(axes.size() == rank, context.type(), ": axis must name every dimension once, got ", given,
          " for rank ", rank);
  return axes;
}

Kernel permute(Arg<const void> from, Arg<void> to, const std::vector<std::size_t>& axes) {
  const auto permuted =
      std::make_shared<const cpu::Transpose>(from.shape(), axes, size_of(from.spec().dtype));
  return [=] { permuted->run(to.data(), from.data()); };
}

Kernel transpose(const KernelContext& context) {
  const auto x = context.raw_input("X");
  return permute(x, context.raw_output("Out"), permutation(context, x.shape().rank()));
}

Kernel transpose_grad(const KernelContext& context) {
  if (!context.has_output("X@GRAD")) return nothing_to_do();
  const auto dout = context.raw_input("Out@GRAD");
  const std::vector<std::size_t> axes = permutation(context, dout.shape().rank());
  std::vector<std::size_t> inverse(axes.size());
  for (std::size_t d = 0; d < axes.size(); ++d) inverse[axes[d]] = d;
  return permute(dout, context.raw_output("X@GRAD"), inverse);
}

TensorSpec transposed(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  Ints extents;
  for (const std::size_t axis : permutation(context, x.shape.rank())) {
    extents.push_back(x.shape[axis]);
  }
  return {Shape(std::move(extents)), x.dtype};
}

void add_transpose(OpRegistry& registry) {
  const char* doc = "for each dimension of Out, the dimension of X it is";
  registry.add(OpDef("transpose")
                   .doc("Out = X with its dimensions permuted.")
                   .input("X", "any shape")
                   .output("Out", "extents of X, permuted")
                   .required_attr("axis", Ints{}, doc)
                   .infer(infer_as<transposed>)
                   .kernels(byte_kernels<transpose>())
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(declare_adjoint("transpose", "X@GRAD = Out@GRAD with its dimensions permuted back.")
                   .required_attr("axis", Ints{}, doc)
                   .infer(infer_as<transposed>)
                   .kernels(byte_kernels<transpose_grad>()));
}

// The last two dimensions, exchanged.
std::vector<std::size_t> last_two_exchanged(std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::swap(axes[rank - 2], axes[rank - 1]);
  return axes;
}

Kernel matrix_transpose(const KernelContext& context) {
  const auto x = context.raw_input("X");
  return permute(x, context.raw_output("Out"), last_two_exchanged(x.shape().rank()));
}

void add_matrix_transpose(OpRegistry& registry) {
  registry.add(OpDef("matrix_transpose")
                   .doc("Out = the matrices in the last two dimensions of X, transposed.")
                   .input("X", "[..., rows, columns]")
                   .output("Out", "[..., columns, rows], dtype of X")
                   .infer([](InferContext& context) {
                     TensorSpec out = context.input("X");
                     const std::size_t rank = out.shape.rank();
                     require(rank >= 2, context.type(), ": X must have rank 2 or more, got ",
                             out.shape);
                     std::swap(out.shape[rank - 2], out.shape[rank - 1]);
                     context.set_output("Out", out);
                   })
                   .kernels(byte_kernels<matrix_transpose>())
                   .grad(adjoint_grad({.from = "X", .to = "Out", .type = "matrix_transpose"})));
}

}  // namespace

void register_shape_ops(OpRegistry& registry) {
  add_reshape(registry);
  add_flatten(registry);
  add_matrix_transpose(registry);
  add_transpose(registry);
}

}  // namespace fluidcore
