#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "fluidcore/kernels/cpu/copy.h"
#include "fluidcore/kernels/cpu/transpose.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

constexpr SlotTraits kShapeOnly{.shape_only = true};

using Ints = std::vector<std::int64_t>;

// The same kernel for every dtype: it moves bytes.
template <KernelFactory factory>
KernelTable byte_kernels() {
  return all_cpu_kernels([](auto /*tag*/) -> KernelFactory { return factory; });
}

Kernel copy(Arg<const void> from, Arg<void> to) {
  const auto bytes = static_cast<std::int64_t>(size_of(to.spec().dtype)) * to.size();
  return [=] { cpu::copy_bytes(to.data(), from.data(), bytes); };
}

Kernel reshape(const KernelContext& context) {
  return copy(context.raw_input("X"), context.raw_output("Out"));
}

Kernel reshape_grad(const KernelContext& context) {
  if (!context.has_output("X@GRAD")) return nothing_to_do();
  return copy(context.raw_input("Out@GRAD"), context.raw_output("X@GRAD"));
}

void infer_reshape(InferContext& context) {
  const TensorSpec& x = context.input("X");
  Shape shape(context.attr<Ints>("shape"));
  std::int64_t rest = 1;  // elements of all extents but the -1
  std::size_t unknown = shape.rank();
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    require(shape[i] >= -1, "reshape: shape must hold extents and at most one -1, got ", shape);
    if (shape[i] != -1) continue;
    require(unknown == shape.rank(), "reshape: shape must hold at most one -1, got ", shape);
    unknown = i;
  }
  const bool has_unknown = unknown < shape.rank();
  if (has_unknown) {
    Shape known = shape;
    known[unknown] = 1;
    rest = known.num_elements();
    require(rest != 0, "reshape: shape must have no 0 beside a -1, got ", shape);
  }
  const std::int64_t size = x.shape.num_elements();
  if (size != -1) {
    const std::int64_t wanted = has_unknown ? rest : shape.num_elements();
    require(has_unknown ? size % wanted == 0 : size == wanted,
            "reshape: shape must have as many elements as X, got X ", x.shape, ", shape ", shape);
    if (has_unknown) shape[unknown] = size / rest;
  }
  context.set_output("Out", {std::move(shape), x.dtype});
}

void add_reshape(OpRegistry& registry) {
  const char* doc = "extents of Out; one may be -1: what is left of X's elements";
  registry.add(OpDef("reshape")
                   .doc("Out = the elements of X, in order, in another shape.")
                   .input("X", "any shape")
                   .output("Out", "the shape of the attribute, dtype of X")
                   .required_attr("shape", Ints{}, doc)
                   .infer(infer_reshape)
                   .in_place("X", "Out")
                   .kernels(byte_kernels<reshape>())
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(OpDef("reshape_grad")
                   .doc("X@GRAD = the elements of Out@GRAD in the shape of X.")
                   .input("X", "input of the forward operator", kShapeOnly)
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .required_attr("shape", Ints{}, doc)
                   .infer(infer_grads_like_inputs)
                   .kernels(byte_kernels<reshape_grad>()));
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
  const auto permuted = std::make_shared<const cpu::Transpose>(from.shape(), axes,
                                                               size_of(from.spec().dtype));
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

void add_transpose(OpRegistry& registry) {
  const char* doc = "for each dimension of Out, the dimension of X it is";
  registry.add(OpDef("transpose")
                   .doc("Out = X with its dimensions permuted.")
                   .input("X", "any shape")
                   .output("Out", "extents of X, permuted")
                   .required_attr("axis", Ints{}, doc)
                   .infer([](InferContext& context) {
                     const TensorSpec& x = context.input("X");
                     Ints extents;
                     for (std::size_t axis : permutation(context, x.shape.rank())) {
                       extents.push_back(x.shape[axis]);
                     }
                     context.set_output("Out", {Shape(std::move(extents)), x.dtype});
                   })
                   .kernels(byte_kernels<transpose>())
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(OpDef("transpose_grad")
                   .doc("X@GRAD = Out@GRAD with its dimensions permuted back.")
                   .input("X", "input of the forward operator", kShapeOnly)
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .required_attr("axis", Ints{}, doc)
                   .infer(infer_grads_like_inputs)
                   .kernels(byte_kernels<transpose_grad>()));
}

// One part of a tensor that is cut along an axis: rows of `row_bytes` bytes, `offset` bytes after
// the rows of the whole tensor, which are `whole_row_bytes` long.
template <class Part>
struct Slab {
  Part part;
  std::int64_t offset;
  std::int64_t row_bytes;
};
template <class Part>
struct Slabs {
  std::vector<Slab<Part>> parts;
  std::int64_t rows = 0;
  std::int64_t whole_row_bytes = 0;

  // `axis` counted from 0; parts that are not wanted are empty handles of the shape given.
  Slabs(const TensorSpec& whole, std::size_t axis)
      : rows(whole.shape.product(0, axis)),
        whole_row_bytes(whole.shape.product(axis, whole.shape.rank()) *
                        static_cast<std::int64_t>(size_of(whole.dtype))) {}

  void add(Part part, const TensorSpec& spec, std::size_t axis) {
    const std::int64_t bytes = spec.shape.product(axis, spec.shape.rank()) *
                               static_cast<std::int64_t>(size_of(spec.dtype));
    if (part && bytes > 0) parts.push_back({part, end_, bytes});
    end_ += bytes;
  }

 private:
  std::int64_t end_ = 0;
};

Kernel join(Slabs<Arg<const void>> slabs, Arg<void> whole) {
  return [slabs = std::move(slabs), whole] {
    for (const auto& slab : slabs.parts) {
      cpu::copy_rows(static_cast<char*>(whole.data()) + slab.offset, slabs.whole_row_bytes,
                     slab.part.data(), slab.row_bytes, slabs.rows, slab.row_bytes);
    }
  };
}

Kernel cut(Slabs<Arg<void>> slabs, Arg<const void> whole) {
  return [slabs = std::move(slabs), whole] {
    for (const auto& slab : slabs.parts) {
      cpu::copy_rows(slab.part.data(), slab.row_bytes,
                     static_cast<const char*>(whole.data()) + slab.offset, slabs.whole_row_bytes,
                     slabs.rows, slab.row_bytes);
    }
  };
}

template <class Context>
std::size_t axis_of(const Context& context, const Shape& x) {
  return normalize_axis(context.template attr<std::int64_t>("axis"), x.rank(), context.type());
}

Kernel concat(const KernelContext& context) {
  const auto out = context.raw_output("Out");
  const std::size_t axis = axis_of(context, out.shape());
  Slabs<Arg<const void>> slabs(out.spec(), axis);
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    const auto x = context.raw_input("X", i);
    slabs.add(x, x.spec(), axis);
  }
  return join(std::move(slabs), out);
}

Kernel concat_grad(const KernelContext& context) {
  const auto dout = context.raw_input("Out@GRAD");
  const std::size_t axis = axis_of(context, dout.shape());
  Slabs<Arg<void>> slabs(dout.spec(), axis);
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    const bool is_wanted = context.has_output("X@GRAD", i);
    slabs.add(is_wanted ? context.raw_output("X@GRAD", i) : Arg<void>(),
              context.raw_input("X", i).spec(), axis);
  }
  return cut(std::move(slabs), dout);
}

void infer_concat(InferContext& context) {
  require(context.input_count("X") > 0, "concat: X must hold at least one variable, got none");
  TensorSpec out = context.input("X");
  const std::size_t axis = axis_of(context, out.shape);
  for (std::size_t i = 1; i < context.input_count("X"); ++i) {
    const TensorSpec& x = context.input("X", i);
    bool fits = x.dtype == out.dtype && x.shape.rank() == out.shape.rank();
    for (std::size_t d = 0; fits && d < out.shape.rank(); ++d) {
      fits = d == axis || compatible(x.shape[d], out.shape[d]);
    }
    require(fits, "concat: all of X must be alike in dtype and in every extent but that of axis ",
            axis, ", got ", context.input("X"), " and, at position ", i, ", ", x);
    for (std::size_t d = 0; d < out.shape.rank(); ++d) {
      if (d == axis) {
        const bool known = out.shape[d] != -1 && x.shape[d] != -1;
        out.shape[d] = known ? out.shape[d] + x.shape[d] : -1;
      } else if (out.shape[d] == -1) {
        out.shape[d] = x.shape[d];
      }
    }
  }
  context.set_output("Out", out);
}

void add_concat(OpRegistry& registry) {
  const char* doc = "the dimension along which X are put together; from the end if negative";
  registry.add(OpDef("concat")
                   .doc("Out = all X, one after the other along dimension axis.")
                   .input("X", "one or more tensors, alike in all other dimensions", {.list = true})
                   .output("Out", "extent of axis: the sum of those of X")
                   .attr("axis", std::int64_t{0}, doc)
                   .infer(infer_concat)
                   .kernels(byte_kernels<concat>())
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(OpDef("concat_grad")
                   .doc("X@GRAD = the parts of Out@GRAD that came from X.")
                   .input("X", "inputs of the forward operator", {.list = true, .shape_only = true})
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradients of X, shapes of X", {.list = true})
                   .attr("axis", std::int64_t{0}, doc)
                   .infer(infer_grads_like_inputs)
                   .kernels(byte_kernels<concat_grad>()));
}

Kernel split(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const std::size_t axis = axis_of(context, x.shape());
  const auto& sections = context.attr<Ints>("sections");
  const std::size_t count = context.output_count("Out");
  Slabs<Arg<void>> slabs(x.spec(), axis);
  for (std::size_t i = 0; i < count; ++i) {
    TensorSpec part = x.spec();
    part.shape[axis] = sections.empty() ? x.shape()[axis] / static_cast<std::int64_t>(count)
                                        : sections[i];
    slabs.add(context.has_output("Out", i) ? context.raw_output("Out", i) : Arg<void>(), part, axis);
  }
  return cut(std::move(slabs), x);
}

void infer_split(InferContext& context) {
  TensorSpec part = context.input("X");
  const std::size_t axis = axis_of(context, part.shape);
  const std::int64_t extent = part.shape[axis];
  const auto count = static_cast<std::int64_t>(context.output_count("Out"));
  const auto& sections = context.attr<Ints>("sections");
  if (sections.empty()) {
    const std::int64_t num = context.attr<std::int64_t>("num");
    require(num > 0, "split: sections must be given or num be at least 1, got num ", num);
    require(num == count, "split: Out must hold num variables, got num ", num, ", ", count,
            " variables");
    require(extent == -1 || extent % num == 0, "split: num must divide the extent of axis ", axis,
            ", got num ", num, ", X ", part.shape);
    if (extent != -1) part.shape[axis] = extent / num;
    for (std::size_t i = 0; i < context.output_count("Out"); ++i) {
      context.set_output("Out", part, i);
    }
    return;
  }
  require(static_cast<std::int64_t>(sections.size()) == count,
          "split: Out must hold a variable for each of sections, got sections ", Shape(sections),
          ", ", count, " variables");
  const bool valid = std::all_of(sections.begin(), sections.end(),
                                 [](std::int64_t section) { return section >= 0; });
  require(valid && (extent == -1 ||
                    std::accumulate(sections.begin(), sections.end(), std::int64_t{0}) == extent),
          "split: sections must add up to the extent of axis ", axis, ", got sections ",
          Shape(sections), ", X ", part.shape);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    part.shape[axis] = sections[i];
    context.set_output("Out", part, i);
  }
}

void add_split(OpRegistry& registry) {
  registry.add(
      OpDef("split")
          .doc("Out = the parts that X falls into when it is cut along dimension axis.")
          .input("X", "any shape of rank 1 or more")
          .output("Out", "the parts, in order", {.list = true})
          .attr("sections", Ints{}, "extents of the parts; empty: equal parts")
          .attr("num", std::int64_t{0}, "number of equal parts, without sections")
          .attr("axis", std::int64_t{0}, "the dimension that is cut; from the end if negative")
          .infer(infer_split)
          .kernels(byte_kernels<split>())
          .grad([](GradContext& context) -> std::vector<OpDesc> {
            const std::vector<std::string> grads = context.input_grad("X");
            if (grads[0] == kEmptyName) return {};
            return {OpDesc("concat", {{"X", context.output_grad("Out")}}, {{"Out", grads}},
                           {{"axis", context.forward().attr("axis")}})};
          }));
}

}  // namespace

void register_shape_ops(OpRegistry& registry) {
  add_reshape(registry);
  add_transpose(registry);
  add_concat(registry);
  add_split(registry);
}

}  // namespace fluidcore
