#include <cstddef>
#include <string_view>
#include <utility>

#include "fluidcore/base/bytes.h"
#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/kernels/cuda/gather.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/row_numbers.h"
#include "fluidcore/tensor/selected_rows.h"

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
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return checked(
          lookup.ids.input(), [ids = lookup.ids] { ids.check(); },
          [=, &device = context.device(), bytes = size_of(w.spec().dtype)] {
            cuda::take_rows(device, lookup.shape, lookup.ids.index(), bytes, w.data(), out.data());
          });
    }
  }
  return [=] { cpu::take_rows(lookup.shape, lookup.ids.checked(), w.data(), out.data()); };
}

// W@GRAD as selected rows: those that were read.
Kernel lookup_table_rows(const KernelContext& context) {
  const auto dout = context.raw_input("Out@GRAD");
  const auto dw = context.raw_output("W@GRAD");
  const std::size_t element = size_of(dout.spec().dtype);
  const Lookup lookup(context, static_cast<std::int64_t>(element));
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return checked(
          lookup.ids.input(), [ids = lookup.ids] { ids.check(); },
          [=, &device = context.device()] {
            cuda::select_rows(device, lookup.ids.index(), lookup.shape.count, row_width(dw.spec()),
                              element, dout.data(), dw.data(), row_numbers(dw.spec(), dw.data()));
          });
    }
  }
  return [=] {
    const cpu::RowIndex index = lookup.ids.checked();
    const std::int64_t width = lookup.shape.width;
    auto* values = static_cast<std::byte*>(dw.data());
    std::int64_t* numbers = row_numbers(dw.spec(), dw.data());
    copy_bytes(values, dout.data(), lookup.shape.count * width);
    for (std::int64_t i = 0; i < lookup.shape.count; ++i) {
      numbers[i] = index[i];
      if (numbers[i] < 0) zero_bytes(values + i * width, width);
    }
  };
}

template <class T>
Kernel lookup_table_grad(const KernelContext& context) {
  const auto dw = context.optional_output<T>("W@GRAD");
  if (!dw) return nothing_to_do();
  if (dw.has_rows()) return lookup_table_rows(context);
  const auto dout = context.input<T>("Out@GRAD");
  const Lookup lookup(context, 1);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return checked(
          lookup.ids.input(), [ids = lookup.ids] { ids.check(); },
          [=, &device = context.device()] {
            cuda::add_rows(device, lookup.shape, lookup.ids.index(), dout.data(), dw.data());
          });
    }
  }
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
  require_row_numbers(context, "Ids");
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

// Each of Ids is a row.
std::size_t dims_of_ids(const InferContext& context, std::string_view slot) {
  if (slot == "W") return 0;
  const std::size_t rank = context.input("Ids").shape.rank();
  return context.type() == "lookup_table_v2" || rank == 0 ? rank : rank - 1;
}

OpDef with_table_attrs(OpDef&& def) {
  return std::move(def)
      .attr("is_sparse", false,
            "whether the gradient of W is selected rows, those that Ids name: an optimizer then "
            "reads and writes only these")
      .attr("padding_idx", std::int64_t{-1}, "an index that gives zeros; -1: none")
      .checks_data();
}

// `type` takes Ids of the shape `ids` and gives them the rows in Out.
void add_lookup_table(OpRegistry& registry, const std::string& type, const std::string& ids) {
  registry.add(
      with_table_attrs(OpDef(type))
          .doc("Out = the rows of W that Ids name.")
          .input("W", "[rows, width], floating")
          .input("Ids", str_cat("int32 or int64 ", ids, ", each in [0, rows) or padding_idx"))
          .output("Out", "[..., width], dtype of W")
          .infer([](InferContext& context) { context.set_output("Out", looked_up(context)); })
          .kernels(kernels_everywhere<float, double, Float16, BFloat16>(
              [](auto /*tag*/) -> KernelFactory { return lookup_table; }))
          .row_dims(dims_of_ids)
          .grad(standard_grad({.inputs = {"W", "Ids"}, .differentiable = {"W"}})));
  registry.add(
      with_table_attrs(OpDef(type + "_grad"))
          .doc("W@GRAD = for each row, the sum of Out@GRAD where Ids name it; 0 for the "
               "row padding_idx.")
          .input("W", "input of the forward operator", {.shape_only = true})
          .input("Ids", "input of the forward operator")
          .input("Out@GRAD", "gradient of Out, shape of Out")
          .output("W@GRAD", "gradient of W, shape of W; with is_sparse, selected rows",
                  {.rows = true})
          .infer([](InferContext& context) {
            require_spec(context, "Out@GRAD", looked_up(context));
            TensorSpec dw = context.input("W");
            if (context.attr<bool>("is_sparse")) {
              dw.rows = context.input("Ids").shape.num_elements();
            }
            context.set_output("W@GRAD", std::move(dw));
          })
          .kernels(kernels_everywhere<float, double, BFloat16>([](auto tag) -> KernelFactory {
            return lookup_table_grad<typename decltype(tag)::type>;
          }))
          .grad(adjoint_grad({.to = "W@GRAD", .type = type, .input = "W", .kept = {"Ids"}})));
}

}  // namespace

void register_lookup_ops(OpRegistry& registry) {
  add_lookup_table(registry, "lookup_table", "[..., 1]");
  add_lookup_table(registry, "lookup_table_v2", "[...]");
}

}  // namespace fluidcore
