#include "fluidcore/ops/selected_rows.h"
#include "fluidcore/ops/elementwise.h"

#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/base/bytes.h"
#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/kernels/cpu/merge_rows.h"
#include "fluidcore/kernels/cpu/streams.h"
#include "fluidcore/kernels/functors.h"

namespace fluidcore {

namespace {

cpu::IndexedRows merged_shape(const TensorSpec& spec) {
  return {1, num_selected(spec), num_selected(spec), row_width(spec)};
}

cpu::StreamFormula sum_of_two(DType dtype) {
  return dtype == DType::kFloat64 ? cpu::stream_formula<double, 2>(Add())
                                  : cpu::stream_formula<float, 2>(Add());
}

}  // namespace

// The scratch memory: numbers and values as in a variable, places, links.
MergedRows::MergedRows(const KernelContext& context, std::string_view slot, std::size_t index)
    : rows_(context.raw_input(slot, index)), scratch_(context.scratch()) {
  const TensorSpec& spec = rows_.spec();
  const std::int64_t numbers = num_selected(spec) + cpu::num_links(merged_shape(spec));
  scratch_->reserve(byte_size(spec) + static_cast<std::size_t>(numbers) * sizeof(std::int64_t));
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
  return [inputs = std::move(inputs), out = context.raw_output("Out")] {
    auto* values = static_cast<std::byte*>(out.data());
    std::int64_t* numbers = row_numbers(out.spec(), out.data());
    for (const Arg<const void>& x : inputs) {
      const TensorSpec& spec = x.spec();
      const std::int64_t bytes =
          num_selected(spec) * row_width(spec) * static_cast<std::int64_t>(size_of(spec.dtype));
      copy_bytes(values, x.data(), bytes);
      copy_bytes(numbers, row_numbers(spec, x.data()),
                 num_selected(spec) * static_cast<std::int64_t>(sizeof(std::int64_t)));
      values += bytes;
      numbers += num_selected(spec);
    }
  };
}

Kernel rows_added_to_out(const KernelContext& context) {
  std::vector<MergedRows> inputs;
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    if (context.raw_input("X", i).has_rows()) inputs.emplace_back(context, "X", i);
  }
  if (inputs.empty()) return nothing_to_do();
  return [inputs = std::move(inputs), out = context.raw_output("Out"), dtype = context.dtype(),
          formula = sum_of_two(context.dtype())] {
    for (const MergedRows& input : inputs) {
      const std::int64_t width = input.width();
      const std::int64_t bytes = width * static_cast<std::int64_t>(size_of(dtype));
      const MergedRows::Rows rows = input.merge();
      const auto* from = static_cast<const std::byte*>(rows.values);
      for (std::int64_t i = 0; i < rows.count; ++i, from += bytes) {
        std::byte* to = static_cast<std::byte*>(out.data()) + rows.numbers[i] * bytes;
        const std::array<const void*, 2> both{to, from};
        cpu::run_streams(formula, dtype, width, to, both.data());
      }
    }
  };
}

}  // namespace fluidcore
