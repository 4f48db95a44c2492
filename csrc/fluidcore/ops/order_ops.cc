#include <functional>
#include <string>
#include <utility>

#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/kernels/cpu/order.h"
#include "fluidcore/kernels/cpu/sort.h"
#include "fluidcore/kernels/cuda/gather.h"
#include "fluidcore/kernels/cuda/sort.h"
#include "fluidcore/ops/axis.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore {

namespace {

// Of Out = the elements of X that Indices name along an axis.
std::vector<OpDesc> taken_grad(GradContext& context, std::int64_t axis) {
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  return {OpDesc("take_along_axis_grad",
                 {{"X", context.input("X")},
                  {"Index", context.output("Indices")},
                  {"Out@GRAD", context.output_grad("Out")}},
                 {{"X@GRAD", grads}}, {{"axis", axis}})};
}

cpu::OrderedKey* keys_in(const ScratchPtr& scratch) {
  return reinterpret_cast<cpu::OrderedKey*>(scratch->data());
}

void reserve_keys(const ScratchPtr& scratch, std::int64_t count) {
  scratch->reserve(static_cast<std::size_t>(count) * sizeof(cpu::OrderedKey));
}

// The first k elements along `dim`, and where they are in x, on a device.
[[maybe_unused]] Kernel sorted_on_cuda(const KernelContext& context,
                                       const cpu::OrderedDim& dim,
                                       std::int64_t k,
                                       Arg<const void> x,
                                       Arg<void> out,
                                       const std::function<std::int64_t*()>& indices) {
  const ScratchPtr& scratch = context.scratch();
  reserve_keys(scratch, cuda::keys_to_sort(dim));
  const cpu::IndexedRows elements{dim.outer, dim.count * dim.inner, k * dim.inner,
                                  static_cast<std::int64_t>(size_of(x.spec().dtype)), true};
  return Kernel::enqueued([=, &device = context.device(), scratch = scratch] {
    const DType dtype = x.spec().dtype;
    cuda::sort_indices(device, dim, k, dtype, x.data(), keys_in(scratch), indices());
    if (!out) return;
    const cpu::RowIndex index{indices(), true, -1, dim.inner};
    cuda::take_rows(device, elements, index, size_of(dtype), x.data(), out.data());
  });
}

Kernel top_k(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const auto out = context.raw_output("Out");
  const auto indices = context.output<std::int64_t>("Indices");
  const std::int64_t k = context.attr<std::int64_t>("k");
  const std::int64_t width = x.shape().rank() == 0 ? 1 : x.shape().back();
  const std::int64_t rows = out.shape().num_elements() / k;
  const ScratchPtr& scratch = context.scratch();
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return sorted_on_cuda(context, {rows, width, 1, true}, k, x, out,
                            [=] { return indices.data(); });
    }
  }
  reserve_keys(scratch, cpu::top_keys(rows, k));
  const cpu::IndexedRows elements{rows, width, k,
                                  static_cast<std::int64_t>(size_of(x.spec().dtype)), true};
  return [=, scratch = scratch, dtype = x.spec().dtype] {
    cpu::find_greatest(rows, width, k, dtype, x.data(), keys_in(scratch), indices.data());
    cpu::take_rows(elements, {indices.data(), true, -1, 1}, x.data(), out.data());
  };
}

// The shape of Out and Indices.
Shape chosen_shape(const InferContext& context) {
  Shape out = context.input("X").shape;
  const std::int64_t k = context.attr<std::int64_t>("k");
  const std::int64_t width = out.rank() == 0 ? 1 : out.back();
  require(k >= 1 && (width == -1 || k <= width), context.type(),
          ": k must be in [1, last extent of X], got k ", k, ", X ", out);
  if (out.rank() > 0) out[out.rank() - 1] = k;
  return out;
}

void infer_top_k(InferContext& context) {
  const Shape out = chosen_shape(context);
  context.set_output("Out", {out, context.input("X").dtype});
  context.set_output("Indices", {out, DType::kInt64});
}

void add_top_k(OpRegistry& registry) {
  registry.add(
      OpDef("top_k")
          .doc("The k greatest elements along the last dimension, greatest first; of equal ones "
               "the first.")
          .input("X", "[..., width]; a single number counts as [1]")
          .output("Out", "[..., k], dtype of X: the elements; [] of a single number")
          .output("Indices", "int64 [..., k]: where they are in the last dimension")
          .attr("k", std::int64_t{1}, "how many, at most width")
          .row_dims(all_but_last_dim)
          .infer(infer_top_k)
          .kernels(kernels_everywhere<float, double, BFloat16, std::int32_t, std::int64_t>(
              [](auto /*tag*/) -> KernelFactory { return top_k; }))
          .grad([](GradContext& context) { return taken_grad(context, -1); }));
}

cpu::OrderedDim ordered_dim(const KernelContext& context, bool descending) {
  const Shape& x = context.raw_input("X").shape();
  const SequencesOf all(x, axis_of_sequences(context, x));
  return {all.outer, all.count, all.inner, descending};
}

std::size_t dims_before_axis(const InferContext& context, std::string_view slot) {
  return dims_before_sequences(context, context.input(slot).shape);
}

constexpr const char* kAxisDoc = "the dimension; from the end if negative";

template <bool greatest>
Kernel find(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const auto out = context.output<std::int64_t>("Out");
  const cpu::OrderedDim dim = ordered_dim(context, greatest);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return visit_dtype(x.spec().dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        return Kernel::enqueued([=, &device = context.device()] {
          cuda::for_each(device, out.size(), cuda::FindFirst{dim}, static_cast<const T*>(x.data()),
                         out.data());
        });
      });
    }
  }
  return [=, dtype = x.spec().dtype] { cpu::find_first(dim, dtype, x.data(), out.data()); };
}

void infer_find(InferContext& context) {
  const Shape& x = context.input("X").shape;
  const std::size_t axis = axis_of_sequences(context, x);
  std::vector<std::int64_t> extents(x.extents());
  require(extents.empty() || extents[axis] != 0, context.type(),
          ": X must have an element along axis ", axis, ", got ", x);
  if (context.attr<bool>("keepdims")) {
    if (!extents.empty()) extents[axis] = 1;
  } else if (!extents.empty()) {
    extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  context.set_output("Out", {Shape(std::move(extents)), DType::kInt64});
}

void add_find(OpRegistry& registry, const char* type, const char* doc, KernelTable kernels) {
  registry.add(OpDef(type)
                   .doc(doc)
                   .input("X", "any shape")
                   .output("Out", "int64, X without the dimension axis")
                   .attr("axis", std::int64_t{-1}, kAxisDoc)
                   .attr("keepdims", false, "whether Out keeps the dimension, with extent 1")
                   .row_dims(dims_before_axis)
                   .infer(infer_find)
                   .kernels(std::move(kernels))
                   .not_differentiable());
}

Kernel argsort(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const auto out = optional_raw_output(context, "Out");
  const auto dim = ordered_dim(context, context.attr<bool>("descending"));
  const OutputOrScratch<std::int64_t> indices(context, "Indices", x.size());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return sorted_on_cuda(context, dim, dim.count, x, out, [=] { return indices.data(); });
    }
  }
  const ScratchPtr& scratch = context.scratch();
  reserve_keys(scratch, cpu::sort_keys(dim));
  const cpu::IndexedRows elements{dim.outer, dim.count * dim.inner, dim.count * dim.inner,
                                  static_cast<std::int64_t>(size_of(x.spec().dtype)), true};
  return [=, scratch = scratch, dtype = x.spec().dtype] {
    cpu::sort_indices(dim, dtype, x.data(), keys_in(scratch), indices.data());
    const cpu::RowIndex index{indices.data(), true, -1, dim.inner};
    if (out) cpu::take_rows(elements, index, x.data(), out.data());
  };
}

void add_argsort(OpRegistry& registry) {
  registry.add(
      OpDef("argsort")
          .doc("Out = X sorted along one dimension; equal elements stay in their order, and NaN "
               "counts as greater than everything else.")
          .input("X", "any shape")
          .output("Out", "shape and dtype of X: the elements")
          .output("Indices", "int64, shape of X: where they are in that dimension")
          .attr("axis", std::int64_t{-1}, kAxisDoc)
          .attr("descending", false, "whether the greatest comes first")
          .row_dims(dims_before_axis)
          .infer([](InferContext& context) {
            const TensorSpec& x = context.input("X");
            axis_of_sequences(context, x.shape);  // checks it
            context.set_output("Out", x);
            context.set_output("Indices", {x.shape, DType::kInt64});
          })
          .kernels(byte_kernels_everywhere(argsort))
          .grad([](GradContext& context) {
            return taken_grad(context, std::get<std::int64_t>(context.forward().attr("axis")));
          }));
}

}  // namespace

void register_order_ops(OpRegistry& registry) {
  add_top_k(registry);
  const std::string of_equal = "; of equal ones the first, and NaN before everything else.";
  add_find(registry, "argmax",
           ("Out = where the greatest element along axis is" + of_equal).c_str(),
           byte_kernels_everywhere(find<true>));
  add_find(registry, "argmin", ("Out = where the least element along axis is" + of_equal).c_str(),
           byte_kernels_everywhere(find<false>));
  add_argsort(registry);
}

}  // namespace fluidcore
