#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/op/sub_block.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/row_numbers.h"
#include "fluidcore/ops/same_elements.h"
#include "fluidcore/ops/shape_attr.h"
#include "fluidcore/ops/strided_kernels.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;

// `shape` for the elements of `x`: with what is left of them where it has -1, if that is known.
Shape filled(const std::string& who, const char* name, Shape shape, const Shape& x) {
  std::int64_t rest = 1;  // elements of all extents but the -1
  std::size_t unknown = shape.rank();
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    require(shape[i] >= -1, who, ": ", name, " must hold extents and at most one -1, got ", shape);
    if (shape[i] != -1) continue;
    require(unknown == shape.rank(), who, ": ", name, " must hold at most one -1, got ", shape);
    unknown = i;
  }
  require_countable(who, name, shape);
  const bool has_unknown = unknown < shape.rank();
  if (has_unknown) {
    Shape known = shape;
    known[unknown] = 1;
    rest = known.num_elements();
    require(rest != 0, who, ": ", name, " must have no 0 beside a -1, got ", shape);
  }
  const std::int64_t size = x.num_elements();
  if (size != -1) {
    const std::int64_t wanted = has_unknown ? rest : shape.num_elements();
    require(has_unknown ? size % wanted == 0 : size == wanted, who, ": ", name,
            " must have as many elements as X, got X ", x, ", ", name, " ", shape);
    if (has_unknown) shape[unknown] = size / rest;
  }
  return shape;
}

// Out where Shape says the extents that the attribute does not.
TensorSpec reshaped_by_data(const InferContext& context) {
  const Shape declared(context.attr<Ints>("shape"));
  for (const std::int64_t extent : declared) {
    require(extent >= -1, context.type(), ": shape must hold extents, or -1 where Shape says it, ",
            "got ", declared);
  }
  require_row_numbers(context, "Shape");
  require_shape(context, "Shape", {static_cast<std::int64_t>(declared.rank())});
  return {context.extents_from_data().value_or(declared), context.input("X").dtype};
}

TensorSpec reshaped(const InferContext& context) {
  if (context.has_input("Shape")) return reshaped_by_data(context);
  const TensorSpec& x = context.input("X");
  const Shape shape(context.attr<Ints>("shape"));
  return {filled(context.type(), "shape", shape, x.shape), x.dtype};
}

void infer_reshape_grad(InferContext& context) {
  require_spec(context, "Out@GRAD", reshaped(context));
  const Shape& x = context.input("X").shape;
  const Shape& dout = context.input("Out@GRAD").shape;
  require(compatible(x.num_elements(), dout.num_elements()), context.type(),
          ": Out@GRAD must have as many elements as X, got X ", x, ", Out@GRAD ", dout);
  infer_grads_like_inputs(context);
}

Kernel reshape(const KernelContext& context) {
  if (!context.has_input("Shape")) return same_elements(context);
  if (context.is_on_cuda()) return {};  // the host needs to see it
  const auto given = context.raw_input("Shape");
  const Shape declared(context.attr<Ints>("shape"));
  const std::optional<Shape>& expected = context.extents_from_data();
  const Shape x = context.raw_input("X").shape();
  const auto check = [=, who = context.type()] {
    const cpu::RowIndex numbers{given.data(), given.spec().dtype == DType::kInt64};
    Shape shape = declared;
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      shape[d] = numbers.number(static_cast<std::int64_t>(d));
    }
    shape = filled(who, "Shape", std::move(shape), x);
    require(compatible(shape, declared), who, ": Shape must agree with shape ", declared, ", got ",
            shape, "; write -1 for what Shape says");
    if (shape != expected) throw ExtentsChanged(shape);
  };
  return expected ? both(check, same_elements(context)) : Kernel(check);
}

constexpr const char* kShapeInputDoc =
    "int32 or int64 [rank of shape]: the extents of Out, where they are known at run time only";

OpDef with_shape(OpDef&& def, SlotTraits traits) {
  return std::move(def)
      .input("Shape", kShapeInputDoc, std::move(traits))
      .required_attr("shape", Ints{},
                     "extents of Out; one may be -1: what is left of X's elements. With Shape, -1 "
                     "where that says it");
}

void add_reshape(OpRegistry& registry) {
  registry.add(
      with_shape(OpDef("reshape")
                     .doc("Out = the elements of X, in order, in another shape.")
                     .input("X", "any shape")
                     .output("Out", "the shape of the attribute, dtype of X"),
                 {.optional = true, .needs_no_gradient = true})
          .infer([](InferContext& context) { context.set_output("Out", reshaped(context)); })
          .in_place("X", "Out")
          .view("X", "Out")
          .extents_from_data("Shape")
          .kernels(byte_kernels_everywhere(reshape))
          .grad(standard_grad({.inputs = {"X", "Shape"}, .differentiable = {"X"}})));
  registry.add(
      with_shape(declare_adjoint("reshape", "X@GRAD = the elements of Out@GRAD in the shape of X."),
                 {.optional = true, .shape_only = true})
          .infer(infer_reshape_grad)
          .view("Out@GRAD", "X@GRAD")
          .kernels(byte_kernels_everywhere(same_elements_grad))
          .grad(adjoint_grad({.type = "reshape", .kept = {"Shape"}})));
}

TensorSpec flattened(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const std::int64_t axis = context.attr<std::int64_t>("axis");
  const std::size_t rank = x.shape.rank();
  const std::size_t last = std::max<std::size_t>(rank, 1);  // a single number counts as [1]
  require(axis >= 0 && axis <= static_cast<std::int64_t>(last), context.type(),
          ": axis must be in [0, ", last, "], got ", axis);
  const std::size_t first = std::min(static_cast<std::size_t>(axis), rank);
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
                   .kernels(byte_kernels_everywhere(same_elements))
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(declare_adjoint("flatten", "X@GRAD = the elements of Out@GRAD in the shape of X.")
                   .attr("axis", std::int64_t{1}, doc)
                   .infer(infer_as<flattened>)
                   .view("Out@GRAD", "X@GRAD")
                   .kernels(byte_kernels_everywhere(same_elements_grad)));
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

Kernel transpose(const KernelContext& context) {
  const auto x = context.raw_input("X");
  return permute(context, x, context.raw_output("Out"), x.shape(),
                 permutation(context, x.shape().rank()));
}

Kernel transpose_grad(const KernelContext& context) {
  if (!context.has_output("X@GRAD")) return nothing_to_do();
  const auto dout = context.raw_input("Out@GRAD");
  const std::vector<std::size_t> axes = permutation(context, dout.shape().rank());
  std::vector<std::size_t> inverse(axes.size());
  for (std::size_t d = 0; d < axes.size(); ++d) inverse[axes[d]] = d;
  return permute(context, dout, context.raw_output("X@GRAD"), dout.shape(), inverse);
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
                   .kernels(byte_kernels_everywhere(transpose))
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(declare_adjoint("transpose", "X@GRAD = Out@GRAD with its dimensions permuted back.")
                   .required_attr("axis", Ints{}, doc)
                   .infer(infer_as<transposed>)
                   .kernels(byte_kernels_everywhere(transpose_grad)));
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
  return permute(context, x, context.raw_output("Out"), x.shape(),
                 last_two_exchanged(x.shape().rank()));
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
                   .kernels(byte_kernels_everywhere(matrix_transpose))
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
