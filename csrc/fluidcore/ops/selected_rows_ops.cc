#include <algorithm>
#include <cstdint>
#include <string>

#include "fluidcore/base/bytes.h"
#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/kernels/cuda/copy.h"
#include "fluidcore/kernels/cuda/gather.h"
#include "fluidcore/op/sub_block.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/selected_rows.h"
#include "fluidcore/tensor/tensor_array.h"

namespace fluidcore {

namespace {

const SlotTraits kOnlyRows{.only_rows = true};

std::int64_t held_bytes(const TensorSpec& spec) {
  return held_shape(spec).num_elements() * static_cast<std::int64_t>(size_of(spec.dtype));
}

KernelTable floating_byte_kernels(const KernelFactory& factory) {
  return kernels_everywhere<float, double, Float16, BFloat16>(
      [&](auto /*tag*/) { return factory; });
}

// Of an operator whose Out stands for the same tensor as X.
std::vector<OpDesc> same_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  return {OpDesc("assign", {{"X", context.output_grad("Out")}}, {{"Out", grads}})};
}

Kernel push(const KernelContext& context) {
  return [x = context.raw_input("X"), &array = context.array_output("ArrayOut")] {
    array.push(x.data());
  };
}

Kernel merge(const KernelContext& context) {
  const MergedRows rows(context, "X");
  const auto out = context.raw_output("Out");
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        rows.merge_into_on(device, row_numbers(out.spec(), out.data()), out.data());
      });
    }
  }
  return [=] { rows.merge_into(row_numbers(out.spec(), out.data()), out.data()); };
}

void add_merge_of_rows(OpRegistry& registry) {
  registry.add(OpDef("merge_selected_rows")
                   .doc("Out = X with the values of each row added up: its rows are different and "
                        "in rising order. The room that this leaves holds no rows.")
                   .input("X", "selected rows", kOnlyRows)
                   .output("Out", "selected rows, shape and dtype of X", kOnlyRows)
                   .infer(same_as("X"))
                   .kernels(floating_byte_kernels(merge))
                   .grad(same_grad));
}

template <class T>
Kernel to_dense_kernel(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const TensorSpec& spec = x.spec();
  const cpu::IndexedRows shape{1, spec.shape[0], num_selected(spec), row_width(spec)};
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        const cpu::RowIndex index{row_numbers(x.spec(), static_cast<const void*>(x.data())), true};
        cuda::add_rows(device, shape, index, x.data(), out.data());
      });
    }
  }
  context.scratch()->reserve(static_cast<std::size_t>(cpu::num_links(shape)) *
                             sizeof(std::int64_t));
  return [x, out, shape, scratch = context.scratch()] {
    auto* links = reinterpret_cast<std::int64_t*>(scratch->data());
    const std::int64_t* numbers = row_numbers(x.spec(), static_cast<const void*>(x.data()));
    cpu::add_rows<T>(shape, {numbers, true}, links, x.data(), nullptr, out.data());
  };
}

void add_to_dense(OpRegistry& registry) {
  registry.add(OpDef("selected_rows_to_dense")
                   .doc("Out = the tensor that X stands for: the values of each row added up, 0 in "
                        "the rows that X does not hold.")
                   .input("X", "selected rows", kOnlyRows)
                   .output("Out", "a tensor, shape and dtype of X")
                   .infer([](InferContext& context) {
                     const TensorSpec& x = context.input("X");
                     context.set_output("Out", {x.shape, x.dtype});
                   })
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return to_dense_kernel<typename decltype(tag)::type>;
                   }))
                   .grad(same_grad));
}

Kernel get_tensor(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const auto out = context.raw_output("Out");
  return work_kernel(context, [=, &device = context.device()] {
    device.copy(out.data(), x.data(), static_cast<std::size_t>(held_bytes(x.spec())));
  });
}

void add_get_tensor(OpRegistry& registry) {
  registry.add(OpDef("get_tensor_from_selected_rows")
                   .doc("Out = the values of X as they are held, 0 where no row is held. See "
                        "selected_rows_to_dense for the tensor that X stands for.")
                   .input("X", "selected rows", kOnlyRows)
                   .output("Out", "a tensor [number of rows, ...], dtype of X")
                   .infer([](InferContext& context) {
                     const TensorSpec& x = context.input("X");
                     context.set_output("Out", {held_shape(x), x.dtype});
                   })
                   .kernels(floating_byte_kernels(get_tensor)));
}

Kernel lookup(const KernelContext& context) {
  const auto w = context.raw_input("W");
  const auto rows = context.raw_input("Rows");
  const auto out = context.raw_output("Out");
  const TensorSpec& spec = rows.spec();
  const cpu::IndexedRows shape{
      1, spec.shape[0], num_selected(spec),
      row_width(spec) * static_cast<std::int64_t>(size_of(w.spec().dtype))};
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device(), element = size_of(w.spec().dtype)] {
        const cpu::RowIndex index{row_numbers(rows.spec(), rows.data()), true};
        cuda::take_rows(device, shape, index, element, w.data(), out.data());
      });
    }
  }
  return [=] {
    cpu::take_rows(shape, {row_numbers(rows.spec(), rows.data()), true}, w.data(), out.data());
  };
}

void add_lookup(OpRegistry& registry) {
  registry.add(OpDef("lookup_selected_rows")
                   .doc("Out = the rows of W that Rows holds, in its order; 0 where none is held.")
                   .input("W", "a tensor, shape and dtype of Rows")
                   .input("Rows", "selected rows, whose values are not read", kOnlyRows)
                   .output("Out", "a tensor [number of rows, ...], dtype of W")
                   .infer([](InferContext& context) {
                     const TensorSpec& rows = context.input("Rows");
                     require_spec(context, "W", rows);
                     context.set_output("Out", {held_shape(rows), rows.dtype});
                   })
                   .kernels(floating_byte_kernels(lookup)));
}

Kernel pack(const KernelContext& context) {
  const auto rows = context.raw_input("Rows");
  const auto values = context.raw_input("Values");
  const auto out = context.raw_output("Out");
  const std::int64_t count = num_selected(out.spec());
  const std::int64_t bytes = count == 0 ? 0 : held_bytes(out.spec()) / count;
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::select_rows(device, {row_numbers(rows.spec(), rows.data()), true}, count,
                          row_width(out.spec()), size_of(out.spec().dtype), values.data(),
                          out.data(), row_numbers(out.spec(), out.data()));
      });
    }
  }
  return [=] {
    const std::int64_t* from = row_numbers(rows.spec(), rows.data());
    std::int64_t* to = row_numbers(out.spec(), out.data());
    copy_bytes(out.data(), values.data(), count * bytes);
    copy_bytes(to, from, count * static_cast<std::int64_t>(sizeof(std::int64_t)));
    for (std::int64_t i = 0; i < count; ++i) {
      if (to[i] < 0) zero_bytes(static_cast<std::byte*>(out.data()) + i * bytes, bytes);
    }
  };
}

void add_pack(OpRegistry& registry) {
  registry.add(OpDef("pack_selected_rows")
                   .doc("Out = the rows that Rows holds, with other values.")
                   .input("Rows", "selected rows, whose values are not read", kOnlyRows)
                   .input("Values",
                          "a tensor [number of rows, ...], dtype of Rows; not read where "
                          "no row is held")
                   .output("Out", "selected rows, shape and dtype of Rows", kOnlyRows)
                   .infer([](InferContext& context) {
                     const TensorSpec& rows = context.input("Rows");
                     require_shape(context, "Values", held_shape(rows));
                     context.set_output("Out", rows);
                   })
                   .kernels(floating_byte_kernels(pack)));
}

const SlotTraits kArrayOfRows{.array = true, .rows = true};

// Where the one gradient of all elements of an array is.
OpDesc index_of_gradient(const std::string& name) {
  return OpDesc("fill_constant", {}, {{"Out", {name}}},
                {{"shape", std::vector<std::int64_t>{1}},
                 {"dtype", static_cast<std::int64_t>(DType::kInt64)},
                 {"value", 0.0}});
}

std::vector<OpDesc> push_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  const std::string index = grads[0] + "@INDEX";
  return {index_of_gradient(index),
          OpDesc("read_from_array", {{"X", context.output_grad("ArrayOut")}, {"I", {index}}},
                 {{"Out", grads}}, {{"unset_is_zero", true}})};
}

void add_push(OpRegistry& registry) {
  registry.add(
      OpDef("push_selected_rows")
          .doc("Adds X to the end of the array.")
          .input("X", "selected rows, as many as those that are in the array", kOnlyRows)
          .input("Array", "the array", kArrayOfRows)
          .output("ArrayOut", "the same variable, changed in place", kArrayOfRows)
          .infer([](InferContext& context) { context.set_output("ArrayOut", context.input("X")); })
          .kernels(floating_byte_kernels(push))
          .grad(push_grad)
          .mixed_dtypes()
          .checks_data());  // there may be no memory
}

void fill_with_no_row(DeviceContext& device, std::int64_t* numbers, std::int64_t count) {
  if constexpr (kHasCuda) {
    if (!device.device().is_cpu()) {
      return cuda::for_each(device, count, cuda::SetAll<std::int64_t>{-1}, numbers);
    }
  }
  std::fill_n(numbers, count, -1);
}

Kernel join(const KernelContext& context) {
  const TensorSpec& element = context.raw_input("X").spec();
  require(element.rows.has_value(), "join_selected_rows: the elements of X must be selected rows, ",
          "got ", element);
  const std::int64_t each = num_selected(element);
  const std::int64_t bytes = held_bytes(element);
  return [=, out = context.raw_output("Out"), &array = context.array_input("X"),
          &device = context.device()] {
    const std::int64_t room = num_selected(out.spec());
    const std::int64_t count = array.size() * each;
    const bool is_far_too_much = room > kFarTooMuchRoom * room_for(std::max(count, each));
    if (room < count || is_far_too_much) throw ExtentsChanged({room_for(count)});
    auto* values = static_cast<std::byte*>(out.data());
    std::int64_t* numbers = row_numbers(out.spec(), out.data());
    for (std::int64_t i = 0; i < array.size(); ++i) {
      const void* rows = array.find(i);
      device.copy(values + i * bytes, rows, static_cast<std::size_t>(bytes));
      device.copy(numbers + i * each, row_numbers(element, rows),
                  static_cast<std::size_t>(each) * sizeof(std::int64_t));
    }
    fill_with_no_row(device, numbers + count, room - count);
    device.zero(values + array.size() * bytes,
                static_cast<std::size_t>(held_bytes(out.spec()) - array.size() * bytes));
  };
}

std::vector<OpDesc> join_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  const std::string index = grads[0] + "@INDEX";
  return {index_of_gradient(index),
          OpDesc("write_to_array", {{"X", context.output_grad("Out")}, {"I", {index}}},
                 {{"Out", grads}})};
}

void add_join(OpRegistry& registry) {
  registry.add(OpDef("join_selected_rows")
                   .doc("Out = the rows of all elements of X, one after the other. There is room "
                        "for more, which holds no rows.")
                   .input("X", "an array of selected rows", kArrayOfRows)
                   .output("Out", "selected rows, shape and dtype of the elements", kOnlyRows)
                   .infer([](InferContext& context) {
                     TensorSpec out = context.input("X");
                     out.rows = context.extents_from_data().value_or(Shape{-1})[0];
                     context.set_output("Out", out);
                   })
                   .kernels(floating_byte_kernels(join))
                   .grad(join_grad)
                   .extents_from_data());
}

}  // namespace

void register_selected_rows_ops(OpRegistry& registry) {
  add_merge_of_rows(registry);
  add_to_dense(registry);
  add_get_tensor(registry);
  add_lookup(registry);
  add_pack(registry);
  add_push(registry);
  add_join(registry);
}

}  // namespace fluidcore
