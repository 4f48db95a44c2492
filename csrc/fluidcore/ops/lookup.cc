#include <algorithm>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/row_numbers.h"

namespace fluidcore {

namespace {

// The rows of W that Ids name; `element` is the width of one element.
struct Lookup {
  Lookup(const KernelContext& context, std::int64_t element)
      : shape{1, extent(context, 0), context.raw_input("Ids").size(), extent(context, 1) * element},
        ids(context, "Ids", {shape.extent, context.attr<std::int64_t>("padding_idx")}) {}

  cpu::IndexedRows shape;
  RowNumbers ids;

 private:
  static std::int64_t extent(const KernelContext& context, std::size_t axis) {
    return context.raw_input("W").shape()[axis];
  }
};

Kernel lookup_table(const KernelContext& context) {
  const auto w = context.raw_input("W");
  const auto out = context.raw_output("Out");
  const Lookup lookup(context, static_cast<std::int64_t>(size_of(w.spec().dtype)));
  return [=] { cpu::take_rows(lookup.shape, lookup.ids.checked(), w.data(), out.data()); };
}

template <class T>
Kernel lookup_table_grad(const KernelContext& context) {
  const auto dw = context.optional_output<T>("W@GRAD");
  if (!dw) return nothing_to_do();
  const auto dout = context.input<T>("Out@GRAD");
  const Lookup lookup(context, 1);
  return [=, links = Links(context, lookup.shape)] {
    cpu::add_rows<T>(lookup.shape, lookup.ids.checked(), links.data(), dout.data(), nullptr,
                     dw.data());
  };
}

// Checks W and Ids; gives what a lookup gives.
TensorSpec looked_up(const InferContext& context) {
  const TensorSpec& w = context.input("W");
  const TensorSpec& ids = context.input("Ids");
  require(w.shape.rank() == 2, context.type(), ": W must be [rows, width], got ", w.shape);
  require_dtype(context, "Ids", DType::kInt64);
  std::vector<std::int64_t> extents = ids.shape.extents();
  if (!context.type().starts_with("lookup_table_v2")) {
    require(!extents.empty() && compatible(extents.back(), 1), context.type(),
            ": the last extent of Ids must be 1, got ", ids.shape,
            "; lookup_table_v2 and layers.embedding take any shape");
    extents.pop_back();
  }
  extents.push_back(w.shape[1]);
  return {Shape(std::move(extents)), w.dtype};
}

OpDef with_table_attrs(OpDef&& def) {
  return std::move(def)
      .attr("is_sparse", false, "accepted; the gradient is dense either way")
      .attr("padding_idx", std::int64_t{-1}, "an index that gives zeros; -1: none")
      .checks_data();
}

// `type` takes Ids of the shape `ids` and gives them the rows in Out.
void add_lookup_table(OpRegistry& registry, const std::string& type, const std::string& ids) {
  registry.add(
      with_table_attrs(OpDef(type))
          .doc("Out = the rows of W that Ids name.")
          .input("W", "[rows, width], floating")
          .input("Ids", str_cat("int64 ", ids, ", each in [0, rows) or padding_idx"))
          .output("Out", "[..., width], dtype of W")
          .infer([](InferContext& context) { context.set_output("Out", looked_up(context)); })
          .kernels(floating_cpu_kernels([](auto /*tag*/) -> KernelFactory { return lookup_table; }))
          .grad(standard_grad({.inputs = {"W", "Ids"}, .differentiable = {"W"}})));
  registry.add(
      with_table_attrs(OpDef(type + "_grad"))
          .doc("W@GRAD = for each row, the sum of Out@GRAD where Ids name it; 0 for the "
               "row padding_idx.")
          .input("W", "input of the forward operator", {.shape_only = true})
          .input("Ids", "input of the forward operator")
          .input("Out@GRAD", "gradient of Out, shape of Out")
          .output("W@GRAD", "gradient of W, shape of W")
          .infer([](InferContext& context) {
            require_spec(context, "Out@GRAD", looked_up(context));
            infer_grads_like_inputs(context);
          })
          .kernels(floating_cpu_kernels([](auto tag) -> KernelFactory {
            return lookup_table_grad<typename decltype(tag)::type>;
          }))
          .grad(adjoint_grad({.to = "W@GRAD", .type = type, .input = "W", .kept = {"Ids"}})));
}

// The positions of the k greatest of `size` elements, greatest first; of equal elements the first
// ones, and NaN before everything else.
template <class T>
void find_top(const T* row, std::int64_t size, std::int64_t k, std::int64_t* found) {
  const auto precedes = [row](std::int64_t a, std::int64_t b) {
    const T x = row[a];
    const T y = row[b];
    const bool x_is_nan = x != x;
    const bool y_is_nan = y != y;
    if (x_is_nan != y_is_nan) return x_is_nan;
    if (!x_is_nan && x != y) return x > y;
    return a < b;
  };
  // A heap with the least of the best k on top.
  for (std::int64_t i = 0; i < k; ++i) found[i] = i;
  std::make_heap(found, found + k, precedes);
  for (std::int64_t i = k; i < size; ++i) {
    if (!precedes(i, found[0])) continue;
    std::pop_heap(found, found + k, precedes);
    found[k - 1] = i;
    std::push_heap(found, found + k, precedes);
  }
  std::sort_heap(found, found + k, precedes);
}

template <class T>
Kernel top_k(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const auto indices = context.output<std::int64_t>("Indices");
  const std::int64_t k = context.attr<std::int64_t>("k");
  const std::int64_t width = x.shape().back();
  const std::int64_t rows = out.size() / k;
  return [=] {
    parallel_for(rows, 4096 / width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* from = x.data() + row * width;
        std::int64_t* found = indices.data() + row * k;
        find_top(from, width, k, found);
        for (std::int64_t i = 0; i < k; ++i) out.data()[row * k + i] = from[found[i]];
      }
    });
  };
}

// Calls f(x, i) for every element i of Indices, x being the element of X that it names; an element
// of X is given to one thread only. Throws InvalidArgument for an index that names none.
class Chosen {
 public:
  explicit Chosen(const KernelContext& context)
      : type_(context.type()),
        indices_(context.input<std::int64_t>("Indices")),
        k_(context.attr<std::int64_t>("k")),
        width_(context.raw_input("X").shape().back()) {}

  template <class F>
  void each(const F& f) const {
    const std::int64_t* index = indices_.data();
    for (std::int64_t i = 0; i < indices_.size(); ++i) {
      require(index[i] >= 0 && index[i] < width_, type_, ": Indices must be in [0, ", width_,
              "), got ", index[i], " at position ", i);
    }
    parallel_for(indices_.size() / k_, cpu::kGrain / k_ + 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin * k_; i < end * k_; ++i) {
                     f(i / k_ * width_ + index[i], i);
                   }
                 });
  }

 private:
  std::string type_;
  Arg<const std::int64_t> indices_;
  std::int64_t k_;
  std::int64_t width_;
};

template <class T>
Kernel top_k_grad(const KernelContext& context) {
  const auto dout = context.input<T>("Out@GRAD");
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx) return nothing_to_do();
  return [=, chosen = Chosen(context)] {
    T* to = dx.data();
    const T* from = dout.data();
    std::fill_n(to, dx.size(), T(0));
    chosen.each([=](std::int64_t x, std::int64_t i) {
      to[x] = static_cast<T>(
          Add()(static_cast<ComputeType<T>>(to[x]), static_cast<ComputeType<T>>(from[i])));
    });
  };
}

template <class T>
Kernel top_k_grad_grad(const KernelContext& context) {
  const auto ddx = context.input<T>("X@GRAD@GRAD");
  const auto ddout = context.output<T>("Out@GRAD@GRAD");
  return [=, chosen = Chosen(context)] {
    T* to = ddout.data();
    const T* from = ddx.data();
    chosen.each([=](std::int64_t x, std::int64_t i) { to[i] = from[x]; });
  };
}

// The shape of Out and Indices.
Shape chosen_shape(const InferContext& context) {
  Shape out = context.input("X").shape;
  const std::int64_t k = context.attr<std::int64_t>("k");
  require(out.rank() > 0, context.type(), ": X must have a last dimension, got a scalar");
  const std::int64_t width = out.back();
  require(k >= 1 && (width == -1 || k <= width), context.type(),
          ": k must be in [1, last extent of X], got k ", k, ", X ", out);
  out[out.rank() - 1] = k;
  return out;
}

void infer_top_k(InferContext& context) {
  const Shape out = chosen_shape(context);
  context.set_output("Out", {out, context.input("X").dtype});
  context.set_output("Indices", {out, DType::kInt64});
}

// Checks Indices, and gives the spec of what they name.
TensorSpec chosen_spec(const InferContext& context) {
  const Shape shape = chosen_shape(context);
  require_spec(context, "Indices", {shape, DType::kInt64});
  return {shape, context.input("X").dtype};
}

OpDef with_k(OpDef&& def) {
  return std::move(def).attr("k", std::int64_t{1}, "how many, at most width");
}

void add_top_k_gradients(OpRegistry& registry) {
  registry.add(with_k(OpDef("top_k_grad"))
                   .doc("X@GRAD = the sum of Out@GRAD where Indices name the element, else 0.")
                   .input("X", "input of the forward operator", {.shape_only = true})
                   .input("Indices", "output of the forward operator")
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .infer([](InferContext& context) {
                     require_spec(context, "Out@GRAD", chosen_spec(context));
                     infer_grads_like_inputs(context);
                   })
                   .kernels(floating_cpu_kernels([](auto tag) -> KernelFactory {
                     return top_k_grad<typename decltype(tag)::type>;
                   }))
                   .checks_data()
                   .grad(adjoint_grad({.type = "top_k_grad_grad",
                                       .input = "X@GRAD@GRAD",
                                       .output = "Out@GRAD@GRAD",
                                       .kept = {"X", "Indices"}})));
  registry.add(with_k(OpDef("top_k_grad_grad"))
                   .doc("Out@GRAD@GRAD = the elements of X@GRAD@GRAD that Indices name.")
                   .input("X", "input of top_k", {.shape_only = true})
                   .input("Indices", "output of top_k")
                   .input("X@GRAD@GRAD", "gradient of X@GRAD, shape of X")
                   .output("Out@GRAD@GRAD", "gradient of Out@GRAD, shape of Out")
                   .infer([](InferContext& context) {
                     require_spec(context, "X@GRAD@GRAD", context.input("X"));
                     context.set_output("Out@GRAD@GRAD", chosen_spec(context));
                   })
                   .kernels(floating_cpu_kernels([](auto tag) -> KernelFactory {
                     return top_k_grad_grad<typename decltype(tag)::type>;
                   }))
                   .checks_data()
                   .grad(adjoint_grad({.from = "X@GRAD@GRAD",
                                       .to = "Out@GRAD@GRAD",
                                       .type = "top_k_grad",
                                       .input = "Out@GRAD",
                                       .output = "X@GRAD",
                                       .kept = {"X", "Indices"}})));
}

void add_top_k(OpRegistry& registry) {
  registry.add(
      with_k(OpDef("top_k"))
          .doc("The k greatest elements along the last dimension, greatest first; of equal ones "
               "the first.")
          .input("X", "[..., width]")
          .output("Out", "[..., k], dtype of X: the elements")
          .output("Indices", "int64 [..., k]: where they are in the last dimension")
          .row_dims(all_but_last_dim)
          .infer(infer_top_k)
          .kernels(cpu_kernels<float, double, Float16, BFloat16, std::int32_t, std::int64_t>(
              [](auto tag) -> KernelFactory { return top_k<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X"}, .outputs = {"Indices"}, .differentiable = {"X"}})));
  add_top_k_gradients(registry);
}

}  // namespace

void register_lookup_ops(OpRegistry& registry) {
  add_lookup_table(registry, "lookup_table", "[..., 1]");
  add_lookup_table(registry, "lookup_table_v2", "[...]");
  add_top_k(registry);
}

}  // namespace fluidcore
