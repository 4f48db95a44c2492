#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/slabs.h"

namespace fluidcore {

namespace {

// What the parts are parts of.
const char* whole(std::string_view type) {
  return type.starts_with("stack") ? "Y" : "Out";
}

Kernel concat(const KernelContext& context) {
  const auto out = context.raw_output(whole(context.type()));
  const std::size_t axis = axis_of(context, out.shape());
  Slabs<Arg<const void>> slabs(out.spec(), axis);
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    const auto x = context.raw_input("X", i);
    slabs.add(x, x.spec(), axis);
  }
  return join(context.device(), std::move(slabs), out);
}

Kernel concat_grad(const KernelContext& context) {
  const auto dout = context.raw_input(grad_name(whole(context.type())));
  const std::size_t axis = axis_of(context, dout.shape());
  Slabs<Arg<void>> slabs(dout.spec(), axis);
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    const bool is_wanted = context.has_output("X@GRAD", i);
    slabs.add(is_wanted ? context.raw_output("X@GRAD", i) : Arg<void>(),
              context.raw_input("X", i).spec(), axis);
  }
  return cut(context.device(), std::move(slabs), dout);
}

TensorSpec concatenated(const InferContext& context) {
  require(context.input_count("X") > 0, context.type(),
          ": X must hold at least one variable, got none");
  TensorSpec out = context.input("X");
  const std::size_t axis = axis_of(context, out.shape);
  for (std::size_t i = 1; i < context.input_count("X"); ++i) {
    const TensorSpec& x = context.input("X", i);
    bool fits = x.dtype == out.dtype && x.shape.rank() == out.shape.rank();
    for (std::size_t d = 0; fits && d < out.shape.rank(); ++d) {
      fits = d == axis || compatible(x.shape[d], out.shape[d]);
    }
    require(fits, context.type(),
            ": all of X must be alike in dtype and in every extent but that of axis ", axis,
            ", got ", context.input("X"), " and, at position ", i, ", ", x);
    for (std::size_t d = 0; d < out.shape.rank(); ++d) {
      if (d == axis) {
        const bool known = out.shape[d] != -1 && x.shape[d] != -1;
        out.shape[d] = known ? checked_sum(context, out.shape[d], x.shape[d]) : -1;
      } else if (out.shape[d] == -1) {
        out.shape[d] = x.shape[d];
      }
    }
  }
  return out;
}

TensorSpec stacked(const InferContext& context) {
  require(context.input_count("X") > 0, context.type(),
          ": X must hold at least one variable, got none");
  TensorSpec x = context.input("X");
  for (std::size_t i = 1; i < context.input_count("X"); ++i) {
    const TensorSpec& other = context.input("X", i);
    require(other.dtype == x.dtype && compatible(other.shape, x.shape), context.type(),
            ": all of X must be alike in dtype and shape, got ", context.input("X"),
            " and, at position ", i, ", ", other);
    for (std::size_t d = 0; d < x.shape.rank(); ++d) {
      if (x.shape[d] == -1) x.shape[d] = other.shape[d];
    }
  }
  std::vector<std::int64_t> extents = x.shape.extents();
  extents.push_back(static_cast<std::int64_t>(context.input_count("X")));
  const Shape out(std::move(extents));
  extents = x.shape.extents();
  extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(axis_of(context, out)), out.back());
  return {Shape(std::move(extents)), x.dtype};
}

// The gradients of X are parts of the gradient of the whole.
std::optional<std::int64_t> begin_of_grad(const InferContext& context, std::size_t index) {
  const Shape& dout = context.input(grad_name(whole(context.type()))).shape;
  const std::size_t axis = axis_of(context, dout);
  std::int64_t before = 0;
  for (std::size_t i = 0; i < index; ++i) {
    const Shape& x = context.input("X", i).shape;
    before += x.rank() == dout.rank() ? x[axis] : 1;
  }
  return begin_of_part(dout, axis, before);
}

// The parts together again, with zeros for those that were not wanted.
std::vector<OpDesc> concat_grad_grad(GradContext& context) {
  const std::string& type = context.forward().type();
  const std::string forward = type.substr(0, type.find('_'));
  const std::vector<std::string> wanted = context.input_grad(grad_name(whole(type)));
  if (wanted.empty() || wanted[0] == kEmptyName) return {};
  if (context.forward().output_arg_names().empty()) return {};
  std::vector<OpDesc> ops;
  std::vector<std::string> parts = output_grads_or_zeros(context, "X@GRAD", "X", ops);
  ops.emplace_back(forward, SlotMap{{"X", std::move(parts)}}, SlotMap{{whole(type), wanted}},
                   context.forward().attrs());
  return ops;
}

void add_concat(OpRegistry& registry) {
  const char* doc = "the dimension along which X are put together; from the end if negative";
  registry.add(
      OpDef("concat")
          .doc("Out = all X, one after the other along dimension axis.")
          .input("X", "one or more tensors, alike in all other dimensions", {.list = true})
          .output("Out", "extent of axis: the sum of those of X")
          .attr("axis", std::int64_t{0}, doc)
          .dims_attr("axis")
          .infer([](InferContext& context) { context.set_output("Out", concatenated(context)); })
          .kernels(byte_kernels_everywhere(concat))
          .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(OpDef("concat_grad")
                   .doc("X@GRAD = the parts of Out@GRAD that came from X.")
                   .input("X", "inputs of the forward operator", {.list = true, .shape_only = true})
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradients of X, shapes of X", {.list = true})
                   .attr("axis", std::int64_t{0}, doc)
                   .dims_attr("axis")
                   .infer([](InferContext& context) {
                     require_spec(context, "Out@GRAD", concatenated(context));
                     infer_grads_like_inputs(context);
                   })
                   .kernels(byte_kernels_everywhere(concat_grad))
                   .view("Out@GRAD", "X@GRAD", begin_of_grad)
                   .grad(concat_grad_grad));
}

void add_stack(OpRegistry& registry) {
  const char* doc = "the dimension of Y that numbers X; from the end if negative";
  registry.add(
      OpDef("stack")
          .doc("Y = all X, one after the other along a new dimension.")
          .input("X", "one or more tensors of one shape", {.list = true})
          .output("Y", "extents of X, and at axis their number")
          .attr("axis", std::int64_t{0}, doc)
          .infer([](InferContext& context) { context.set_output("Y", stacked(context)); })
          .kernels(byte_kernels_everywhere(concat))
          .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}, .cotangents = {"Y"}})));
  registry.add(OpDef("stack_grad")
                   .doc("X@GRAD = the parts of Y@GRAD that came from X.")
                   .input("X", "inputs of the forward operator", {.list = true, .shape_only = true})
                   .input("Y@GRAD", "gradient of Y, shape of Y")
                   .output("X@GRAD", "gradients of X, shapes of X", {.list = true})
                   .attr("axis", std::int64_t{0}, doc)
                   .infer([](InferContext& context) {
                     require_spec(context, "Y@GRAD", stacked(context));
                     infer_grads_like_inputs(context);
                   })
                   .kernels(byte_kernels_everywhere(concat_grad))
                   .view("Y@GRAD", "X@GRAD", begin_of_grad)
                   .grad(concat_grad_grad));
}

}  // namespace

void register_concat_ops(OpRegistry& registry) {
  add_concat(registry);
  add_stack(registry);
}

}  // namespace fluidcore
