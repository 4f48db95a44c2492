#include "fluidcore/ops/elementwise.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace fluidcore {

KernelTable kernels_of(DeviceKind device,
                       std::initializer_list<std::pair<DType, KernelFactory>> kernels) {
  KernelTable table;
  for (const auto& [dtype, factory] : kernels) table.emplace(KernelKey{device, dtype}, factory);
  return table;
}

RowOperand by_element(const Cell* cell) {
  return {cell, cell->spec.shape.num_elements()};
}

std::byte* at_bytes(const RowSlice& slice, std::int64_t i, std::int64_t bytes) {
  return static_cast<std::byte*>(slice.data) + (i - slice.origin) * bytes;
}

RowPart broadcast_rows(const cpu::BroadcastNest& nest,
                       const Cell* out,
                       std::initializer_list<const Cell*> in) {
  RowPart part{.out = by_element(out)};
  part.in.reserve(in.size());
  for (const Cell* cell : in) part.in.push_back({cell, nest.rows(part.in.size())});
  return part;
}

RowForm form_of_sum(const cpu::BroadcastNest& nest, const Cell* second) {
  // The second operand is full or, repeated along all dimensions but the last ones, a row.
  const std::int64_t addends = nest.is_full(1) ? nest.size() : nest.row();
  const bool begins_again = nest.streams(1) && second->spec.shape.num_elements() == addends;
  return nest.is_full(0) && begins_again ? RowForm::kSum : RowForm::kOther;
}

Kernel stream_kernel(const KernelContext& context,
                     const Streams& streams,
                     const std::vector<std::string>& inputs,
                     const std::string& output,
                     RowForm form) {
  if (!context.has_output(output)) return nothing_to_do();
  const auto bytes_of_element = static_cast<std::int64_t>(size_of(context.dtype()));
  RowPart part{.out = by_element(context.raw_output(output).cell())};
  part.form = form;
  for (const std::string& slot : inputs)
    part.in.push_back(by_element(context.raw_input(slot).cell()));
  part.launch = streams.on_cuda;
  part.run = [formula = streams.on_cpu, dtype = context.dtype(), bytes = bytes_of_element](
                 std::int64_t begin, std::int64_t size, const RowSlice& out, const RowSlice* in) {
    std::array<const void*, cpu::kMostStreams> data{};
    for (std::size_t k = 0; k < formula.arity; ++k) data[k] = at_bytes(in[k], begin, bytes);
    cpu::run_stream_part(formula, dtype, size, at_bytes(out, begin, bytes), data.data());
  };
  return RowKernel(std::move(part));
}

Kernel both(Kernel first, Kernel second) {
  const auto has_only_rows = [](const Kernel& kernel) {
    return kernel.rows() != nullptr && kernel.first() == nullptr;
  };
  if (has_only_rows(first) && has_only_rows(second)) {
    std::vector<RowPart> parts = first.rows()->parts();
    const std::vector<RowPart>& others = second.rows()->parts();
    parts.insert(parts.end(), others.begin(), others.end());
    CommonRows rows;
    if (parts.empty() || rows.add(parts)) return RowKernel(std::move(parts), rows.count());
  }
  const bool is_enqueued = (first.is_enqueued() || first.rows() != nullptr) &&
                           (second.is_enqueued() || second.rows() != nullptr);
  if (!is_enqueued) {
    return [first = std::move(first), second = std::move(second)] {
      first();
      second();
    };
  }
  std::function<void()> check;
  if (first.check() || second.check()) {
    check = [one = first.check(), other = second.check()] {
      if (one) one();
      if (other) other();
    };
  }
  return Kernel::enqueued(
      [first = std::move(first), second = std::move(second)] {
        first.work();
        second.work();
      },
      std::move(check));
}

}  // namespace fluidcore
