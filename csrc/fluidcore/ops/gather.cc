#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/kernels/cuda/gather.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/row_numbers.h"

namespace fluidcore {

namespace {

// The dimension of X that Index counts; `gather` has no attribute for it.
template <class Context>
std::size_t indexed_axis(const Context& context, const Shape& x) {
  if (context.type().starts_with("gather")) return 0;
  return normalize_axis(context.template attr<std::int64_t>("axis"), x.rank(), context.type());
}

// The rows of X that Index names: what it takes and where.
struct Gather {
  // `element`: the width of one element.
  Gather(const KernelContext& context, std::int64_t element)
      : shape(rows(context, element)), index(context, "Index", {shape.extent}) {}

  cpu::IndexedRows shape;
  RowNumbers index;

 private:
  static cpu::IndexedRows rows(const KernelContext& context, std::int64_t element) {
    const Shape& x = context.raw_input("X").shape();
    const std::size_t axis = indexed_axis(context, x);
    return {x.product(0, axis), x[axis], context.raw_input("Index").shape().num_elements(),
            x.product(axis + 1, x.rank()) * element};
  }
};

Kernel gather(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const auto out = context.raw_output("Out");
  const std::size_t element = size_of(x.spec().dtype);
  const Gather taken(context, static_cast<std::int64_t>(element));
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return checked(
          taken.index.input(), [=] { taken.index.check(); },
          [=, &device = context.device()] {
            cuda::take_rows(device, taken.shape, taken.index.index(), element, x.data(),
                            out.data());
          });
    }
  }
  return [=] { cpu::take_rows(taken.shape, taken.index.checked(), x.data(), out.data()); };
}

template <class T>
Kernel gather_grad(const KernelContext& context) {
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx) return nothing_to_do();
  const auto dout = context.input<T>("Out@GRAD");
  const Gather taken(context, 1);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return checked(
          taken.index.input(), [=] { taken.index.check(); },
          [=, &device = context.device()] {
            cuda::add_rows(device, taken.shape, taken.index.index(), dout.data(), dx.data());
          });
    }
  }
  return [=, links = Links(context, taken.shape)] {
    cpu::add_rows<T>(taken.shape, taken.index.checked(), links.data(), dout.data(), nullptr,
                     dx.data());
  };
}

// Checks X and Index; gives what they make.
TensorSpec gathered(const InferContext& context) {
  TensorSpec out = context.input("X");
  require(out.shape.rank() > 0, context.type(), ": X must have rank 1 or more, got ", out.shape);
  const std::size_t axis = indexed_axis(context, out.shape);
  if (context.input("Index").shape.rank() > 0) {
    out.shape[axis] = count_row_numbers(context, "Index");
    return out;
  }
  require_row_numbers(context, "Index");
  std::vector<std::int64_t> extents(out.shape.extents());
  extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(axis));
  return {Shape(std::move(extents)), out.dtype};
}

struct Texts {
  const char* doc;
  const char* index;
  const char* out;
  const char* axis;  // null: there is no attribute
};

OpDef with_axis_attr(OpDef&& def, const Texts& texts) {
  if (texts.axis == nullptr) return std::move(def).checks_data();
  return std::move(def).checks_data().attr("axis", std::int64_t{0}, texts.axis).dims_attr("axis");
}

// The dimensions before the axis.
std::size_t dims_before_index(const InferContext& context, std::string_view slot) {
  return slot == "Index" ? 0 : indexed_axis(context, context.input("X").shape);
}

void add_gather(OpRegistry& registry, const std::string& type, const Texts& texts) {
  registry.add(
      with_axis_attr(OpDef(type), texts)
          .doc(texts.doc)
          .input("X", "rank 1 or more")
          .input("Index", texts.index)
          .output("Out", texts.out)
          .row_dims(dims_before_index)
          .infer([](InferContext& context) { context.set_output("Out", gathered(context)); })
          .kernels(byte_kernels_everywhere(gather))
          .grad(standard_grad({.inputs = {"X", "Index"}, .differentiable = {"X"}})));
  registry.add(with_axis_attr(OpDef(type + "_grad"), texts)
                   .doc("X@GRAD = the sum of Out@GRAD where Index names the element, else 0.")
                   .input("X", "input of the forward operator", {.shape_only = true})
                   .input("Index", "input of the forward operator")
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .row_dims(dims_before_index)
                   .infer([](InferContext& context) {
                     require_spec(context, "Out@GRAD", gathered(context));
                     infer_grads_like_inputs(context);
                   })
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return gather_grad<typename decltype(tag)::type>;
                   }))
                   .grad(adjoint_grad({.to = "X@GRAD", .type = type, .kept = {"Index"}})));
}

}  // namespace

void register_gather_ops(OpRegistry& registry) {
  const char* numbers = "int32 or int64, [N], [N, 1] or [], each in [0, extent)";
  add_gather(registry, "gather",
             {"Out = the rows of X that Index names.", numbers,
              "[N, ...], or [...] for an Index []; dtype of X", nullptr});
  add_gather(registry, "index_select",
             {"Out = what Index names along one dimension of X.", numbers,
              "X with the extent N along axis, or without axis for an Index []",
              "the dimension; from the end if negative"});
}

}  // namespace fluidcore
