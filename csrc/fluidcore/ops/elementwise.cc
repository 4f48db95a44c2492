#include "fluidcore/ops/elementwise.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace fluidcore {

void add_kernel(KernelTable& table, DeviceKind device, DType dtype, KernelFactory factory) {
  table.emplace(KernelKey{device, dtype}, std::move(factory));
}

RowOperand by_element(const Cell* cell) {
  return {cell, cell->spec.shape.num_elements()};
}

std::byte* at_bytes(const RowSlice& slice, std::int64_t i, std::int64_t bytes) {
  return static_cast<std::byte*>(slice.data) + (i - slice.origin) * bytes;
}

namespace {

// The form of the rows of a sum of two operands.
RowForm form_of_sum(const cpu::BroadcastNest& nest, const Cell* second) {
  // The second operand is full or, repeated along all dimensions but the last ones, a row.
  const std::int64_t addends = nest.is_full(1) ? nest.size() : nest.row();
  const bool begins_again = nest.streams(1) && second->spec.shape.num_elements() == addends;
  return nest.is_full(0) && begins_again ? RowForm::kSum : RowForm::kOther;
}

}  // namespace

Kernel broadcast_kernel(const std::shared_ptr<const cpu::BroadcastNest>& nest,
                        const Streams& formula,
                        const Cell* out,
                        const std::vector<const Cell*>& in,
                        bool is_sum) {
  RowPart part{.out = by_element(out)};
  for (const Cell* cell : in) part.in.push_back({cell, nest->rows(part.in.size())});
  part.launch = formula.on_cuda;
  if (is_sum) part.form = form_of_sum(*nest, in[1]);
  part.run = [nest, formula = formula.on_cpu](std::int64_t begin, std::int64_t size,
                                              const RowSlice& to, const RowSlice* from) {
    std::array<cpu::BroadcastOperand, cpu::kMostStreams> operands{};
    for (std::size_t k = 0; k < formula.arity; ++k) operands[k] = {from[k].data, from[k].origin};
    cpu::broadcast_part(*nest, formula, begin, size, at_bytes(to, begin, formula.out->bytes),
                        operands.data());
  };
  return RowKernel(std::move(part));
}

Kernel map_kernel(const Streams& formula,
                  const Cell* out,
                  const std::vector<const Cell*>& in,
                  RowForm form) {
  RowPart part{.out = by_element(out)};
  for (const Cell* cell : in) part.in.push_back(by_element(cell));
  part.launch = formula.on_cuda;
  part.form = form;
  part.run = [formula = formula.on_cpu](std::int64_t begin, std::int64_t size, const RowSlice& to,
                                        const RowSlice* from) {
    std::array<cpu::Stream, cpu::kMostStreams> streams{};
    for (std::size_t k = 0; k < formula.arity; ++k) {
      streams[k].data = at_bytes(from[k], begin, formula.in[k]->bytes);
    }
    cpu::calculate_row(cpu::cpu_isa(), formula, size, at_bytes(to, begin, formula.out->bytes),
                       streams.data());
  };
  return RowKernel(std::move(part));
}

Kernel stream_kernel(const KernelContext& context,
                     const Streams& formula,
                     std::initializer_list<std::string_view> inputs,
                     std::string_view output,
                     RowForm form) {
  if (!context.has_output(output)) return nothing_to_do();
  std::vector<const Cell*> in;
  in.reserve(inputs.size());
  for (const std::string_view slot : inputs) in.push_back(context.raw_input(slot).cell());
  return map_kernel(formula, context.raw_output(output).cell(), in, form);
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
