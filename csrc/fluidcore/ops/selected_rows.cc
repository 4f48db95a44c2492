#include "fluidcore/ops/selected_rows.h"

#include <array>
#include <bit>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/base/division.h"
#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/kernels/cpu/merge_rows.h"
#include "fluidcore/kernels/cpu/streams.h"
#include "fluidcore/kernels/cuda/gather.h"
#include "fluidcore/kernels/cuda/merge_rows.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/elementwise.h"

namespace fluidcore {

namespace {

cpu::IndexedRows merged_shape(const TensorSpec& spec) {
  return {1, num_selected(spec), num_selected(spec), row_width(spec)};
}

// On a device: behind the merged rows, in the scratch memory.
std::size_t offset_of_keys(const TensorSpec& spec) {
  constexpr std::size_t kAlignment = 64;
  return round_up(byte_size(spec), kAlignment);
}

cpu::StreamFormula sum_of_two(DType dtype) {
  return dtype == DType::kFloat64
             ? cpu::stream_formula<double, double, double>(Add())
             : cpu::stream_formula<float, float, float>(Add()).stored_as(dtype);
}

// What rows_added_to_out() is on a device: without merging the rows first.
[[maybe_unused]] Kernel rows_added_on_cuda(const KernelContext& context) {
  std::vector<Arg<const void>> inputs;
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    if (context.raw_input("X", i).has_rows()) inputs.push_back(context.raw_input("X", i));
  }
  if (inputs.empty()) return nothing_to_do();
  return Kernel::enqueued(
      [inputs = std::move(inputs), out = context.raw_output("Out"), &device = context.device()] {
        for (const Arg<const void>& x : inputs) {
          const TensorSpec& spec = x.spec();
          const cpu::IndexedRows shape{1, spec.shape[0], num_selected(spec), row_width(spec)};
          visit_dtype(spec.dtype, [&](auto tag) {
            using T = typename decltype(tag)::type;
            if constexpr (!std::is_integral_v<T>) {
              cuda::add_rows_to(device, shape, {row_numbers(spec, x.data()), true},
                                static_cast<const T*>(x.data()), static_cast<T*>(out.data()));
            }
          });
        }
      });
}

}  // namespace

std::int64_t room_for(std::int64_t count) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
}

// The scratch memory: numbers and values as in a variable, places, links; or keys on a device.
MergedRows::MergedRows(const KernelContext& context, std::string_view slot, std::size_t index)
    : rows_(context.raw_input(slot, index)), scratch_(context.scratch()) {
  const TensorSpec& spec = rows_.spec();
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const auto keys = static_cast<std::size_t>(cuda::merge_keys(num_selected(spec)));
      scratch_->reserve(offset_of_keys(spec) + keys * sizeof(cpu::OrderedKey));
      return;
    }
  }
  const std::int64_t numbers = num_selected(spec) + cpu::num_links(merged_shape(spec));
  scratch_->reserve(byte_size(spec) + static_cast<std::size_t>(numbers) * sizeof(std::int64_t));
}

MergedRows::Rows MergedRows::merge_on(DeviceContext& device) const {
  std::byte* const memory = scratch_->data();
  std::int64_t* const numbers = row_numbers(rows_.spec(), static_cast<void*>(memory));
  merge_into_on(device, numbers, memory);
  return {num_selected(rows_.spec()), numbers, memory};
}

void MergedRows::merge_into_on(DeviceContext& device, std::int64_t* numbers, void* values) const {
  const TensorSpec& spec = rows_.spec();
  auto* const keys = reinterpret_cast<cpu::OrderedKey*>(scratch_->data() + offset_of_keys(spec));
  visit_dtype(spec.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_integral_v<T>) {
      cuda::merge_rows(device, num_selected(spec), row_width(spec), row_numbers(spec, rows_.data()),
                       static_cast<const T*>(rows_.data()), keys, numbers, static_cast<T*>(values));
    }
  });
}

MergedRows::Rows MergedRows::merge() const {
  std::byte* memory = scratch_->data();
  std::int64_t* numbers = row_numbers(rows_.spec(), static_cast<void*>(memory));
  return {merge_into(numbers, memory), numbers, memory};
}

std::int64_t MergedRows::merge_into(std::int64_t* numbers, void* values) const {
  const TensorSpec& spec = rows_.spec();
  auto* places = reinterpret_cast<std::int64_t*>(scratch_->data() + byte_size(spec));
  std::int64_t* links = places + num_selected(spec);
  const std::int64_t count =
      cpu::find_distinct(num_selected(spec), row_numbers(spec, rows_.data()), places, numbers);
  visit_dtype(spec.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_integral_v<T>) {
      cpu::add_rows<T>(merged_shape(spec), {places, true}, links,
                       static_cast<const T*>(rows_.data()), nullptr, static_cast<T*>(values));
    }
  });
  return count;
}

Kernel joined_rows(const KernelContext& context) {
  std::vector<Arg<const void>> inputs;
  inputs.reserve(context.input_count("X"));
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    inputs.push_back(context.raw_input("X", i));
  }
  return work_kernel(context, [inputs = std::move(inputs), out = context.raw_output("Out"),
                               &device = context.device()] {
    auto* values = static_cast<std::byte*>(out.data());
    std::int64_t* numbers = row_numbers(out.spec(), out.data());
    for (const Arg<const void>& x : inputs) {
      const TensorSpec& spec = x.spec();
      const auto count = static_cast<std::size_t>(num_selected(spec));
      const std::size_t bytes =
          count * static_cast<std::size_t>(row_width(spec)) * size_of(spec.dtype);
      device.copy(values, x.data(), bytes);
      device.copy(numbers, row_numbers(spec, x.data()), count * sizeof(std::int64_t));
      values += bytes;
      numbers += count;
    }
  });
}

Kernel rows_added_to_out(const KernelContext& context) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) return rows_added_on_cuda(context);
  }
  std::vector<MergedRows> inputs;
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    if (context.raw_input("X", i).has_rows()) inputs.emplace_back(context, "X", i);
  }
  if (inputs.empty()) return nothing_to_do();
  return [inputs = std::move(inputs), out = context.raw_output("Out"),
          formula = sum_of_two(context.dtype())] {
    for (const MergedRows& input : inputs) {
      const std::int64_t width = input.width();
      const std::int64_t bytes = width * formula.out->bytes;
      const MergedRows::Rows rows = input.merge();
      const auto* from = static_cast<const std::byte*>(rows.values);
      for (std::int64_t i = 0; i < rows.count; ++i, from += bytes) {
        std::byte* to = static_cast<std::byte*>(out.data()) + rows.numbers[i] * bytes;
        const std::array<const void*, 2> both{to, from};
        cpu::run_streams(formula, width, to, both.data());
      }
    }
  };
}

}  // namespace fluidcore
