#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/copy.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;

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

// Of two extents.
std::int64_t checked_sum(const InferContext& context, std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  require(!__builtin_add_overflow(a, b, &sum), context.type(),
          ": extents must have a sum that can be counted, got ", a, " and ", b);
  return sum;
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

// The parts together again, with zeros for those that were not wanted.
std::vector<OpDesc> concat_grad_grad(GradContext& context) {
  const std::vector<std::string> wanted = context.input_grad("Out@GRAD");
  if (wanted.empty() || wanted[0] == kEmptyName) return {};
  if (context.forward().output_arg_names().empty()) return {};
  std::vector<OpDesc> ops;
  std::vector<std::string> parts = output_grads_or_zeros(context, "X@GRAD", "X", ops);
  ops.emplace_back("concat", SlotMap{{"X", std::move(parts)}}, SlotMap{{"Out", wanted}},
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
          .infer([](InferContext& context) { context.set_output("Out", concatenated(context)); })
          .kernels(byte_kernels<concat>())
          .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(OpDef("concat_grad")
                   .doc("X@GRAD = the parts of Out@GRAD that came from X.")
                   .input("X", "inputs of the forward operator", {.list = true, .shape_only = true})
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradients of X, shapes of X", {.list = true})
                   .attr("axis", std::int64_t{0}, doc)
                   .infer([](InferContext& context) {
                     require_spec(context, "Out@GRAD", concatenated(context));
                     infer_grads_like_inputs(context);
                   })
                   .kernels(byte_kernels<concat_grad>())
                   .grad(concat_grad_grad));
}

Kernel split(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const std::size_t axis = axis_of(context, x.shape());
  const auto& sections = context.attr<Ints>("sections");
  const std::size_t count = context.output_count("Out");
  Slabs<Arg<void>> slabs(x.spec(), axis);
  for (std::size_t i = 0; i < count; ++i) {
    TensorSpec part = x.spec();
    part.shape[axis] =
        sections.empty() ? x.shape()[axis] / static_cast<std::int64_t>(count) : sections[i];
    slabs.add(context.has_output("Out", i) ? context.raw_output("Out", i) : Arg<void>(), part,
              axis);
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
  std::int64_t total = 0;
  for (const std::int64_t section : sections) {
    total = valid ? checked_sum(context, total, section) : 0;
  }
  require(valid && compatible(extent, total), "split: sections must add up to the extent of axis ",
          axis, ", got sections ", Shape(sections), ", X ", part.shape);
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

void register_concat_ops(OpRegistry& registry) {
  add_concat(registry);
  add_split(registry);
}

}  // namespace fluidcore
