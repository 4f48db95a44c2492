#include "fluidcore/ops/through_float32.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/cuda/map.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/op/op_def.h"
#include "fluidcore/tensor/selected_rows.h"

namespace fluidcore {

namespace {

template <class To, class From>
void convert_all(DeviceContext* device, std::int64_t size, void* to, const void* from) {
  if constexpr (kHasCuda) {
    if (device != nullptr) {
      return cuda::map(*device, Identity(), size, static_cast<To*>(to),
                       static_cast<const From*>(from));
    }
  }
  const cpu::Isa isa = cpu::cpu_isa();
  parallel_for(size, cpu::kGrain, [=](std::int64_t begin, std::int64_t end) {
    cpu::convert_row(isa, end - begin, static_cast<To*>(to) + begin,
                     static_cast<const From*>(from) + begin);
  });
}

bool is_16_bit(DType dtype) {
  return is_floating(dtype) && size_of(dtype) == 2;
}
bool is_int16(DType dtype) {
  return dtype == DType::kInt16;
}
bool is_below_int64(DType dtype) {
  return dtype == DType::kInt16 || dtype == DType::kInt32;
}

// `from` narrow, `to` wide.
void widen_elements(const Cell& from, const Cell& to, std::int64_t size) {
  switch (from.spec.dtype) {
    case DType::kFloat16: return convert_all<float, Float16>(to.device, size, to.data, from.data);
    case DType::kBFloat16: return convert_all<float, BFloat16>(to.device, size, to.data, from.data);
    case DType::kInt32:
      return convert_all<std::int64_t, std::int32_t>(to.device, size, to.data, from.data);
    default:
      if (to.spec.dtype == DType::kInt32) {
        return convert_all<std::int32_t, std::int16_t>(to.device, size, to.data, from.data);
      }
      return convert_all<std::int64_t, std::int16_t>(to.device, size, to.data, from.data);
  }
}
void narrow_elements(const Cell& from, const Cell& to, std::int64_t size) {
  switch (to.spec.dtype) {
    case DType::kFloat16: return convert_all<Float16, float>(to.device, size, to.data, from.data);
    case DType::kBFloat16: return convert_all<BFloat16, float>(to.device, size, to.data, from.data);
    case DType::kInt32:
      return convert_all<std::int32_t, std::int64_t>(to.device, size, to.data, from.data);
    default:
      if (from.spec.dtype == DType::kInt32) {
        return convert_all<std::int16_t, std::int32_t>(to.device, size, to.data, from.data);
      }
      return convert_all<std::int16_t, std::int64_t>(to.device, size, to.data, from.data);
  }
}

// Selected rows have theirs behind the values.
void copy_row_numbers(const Cell& from, const Cell& to) {
  const std::int64_t count = from.spec.rows.value_or(0);
  if (count == 0) return;
  DeviceContext& device = to.device == nullptr ? device_context({}) : *to.device;
  device.copy(row_numbers(to.spec, to.data),
              row_numbers(from.spec, static_cast<const void*>(from.data)),
              static_cast<std::size_t>(count) * sizeof(std::int64_t));
}

// The wide copies of an operator's narrow variables.
class Copies {
 public:
  Copies(ScratchPtr scratch, DType wide, bool (*is_narrow)(DType))
      : scratch_(std::move(scratch)), wide_(wide), is_narrow_(is_narrow) {}

  // The copy of `cell`, one for each cell; `cell` itself where it is not narrow. What is read is
  // widened before a run of the kernel, what is written rounded after it.
  const Cell* of(const Cell* cell, bool is_read, bool is_written) {
    if (cell == nullptr || cell->array != nullptr || !is_narrow_(cell->spec.dtype)) return cell;
    Copy& copy = find(cell);
    copy.is_read |= is_read;
    copy.is_written |= is_written;
    return &copy.wide;
  }

  // Places the copies; what follows them is for the kernel.
  ScratchPtr place() {
    constexpr std::size_t kAlignment = 64;
    std::size_t end = 0;
    for (Copy& copy : copies_) {
      copy.offset = end;
      if (!copy.is_read && !copy.is_written) continue;
      end += round_up(byte_size(copy.wide.spec), kAlignment);
    }
    scratch_->reserve(end);
    return std::make_shared<Scratch>(scratch_, end);
  }

  void widen() {
    std::byte* const base = scratch_->data();
    for (Copy& copy : copies_) {
      copy.wide.data = base + copy.offset;
      const bool is_set = copy.narrow->is_set == nullptr || *copy.narrow->is_set;
      if (!copy.is_read || !is_set) continue;
      widen_elements(*copy.narrow, copy.wide, copy.size());
      copy_row_numbers(*copy.narrow, copy.wide);
    }
  }

  void narrow() {
    for (const Copy& copy : copies_) {
      if (!copy.is_written) continue;
      narrow_elements(copy.wide, *copy.narrow, copy.size());
      copy_row_numbers(copy.wide, *copy.narrow);
    }
  }

 private:
  struct Copy {
    const Cell* narrow;
    Cell wide;
    std::size_t offset = 0;
    bool is_read = false;
    bool is_written = false;

    std::int64_t size() const { return held_shape(wide.spec).num_elements(); }
  };

  Copy& find(const Cell* cell) {
    for (Copy& copy : copies_) {
      if (copy.narrow == cell) return copy;
    }
    Copy& copy = copies_.emplace_back(Copy{cell, *cell});
    copy.wide.spec.dtype = wide_;
    copy.wide.viewed = nullptr;
    return copy;
  }

  ScratchPtr scratch_;
  DType wide_;
  bool (*is_narrow_)(DType);
  std::deque<Copy> copies_;  // their addresses are the kernel's
};

Kernel through(DType wide, bool (*is_narrow)(DType), const KernelContext& context) {
  const OpDef& def = context.def();
  auto copies = std::make_shared<Copies>(context.scratch(), wide, is_narrow);
  KernelContext::Slots inputs = context.inputs();
  for (auto& [slot, cells] : inputs) {
    const bool is_read = !def.reads_only_shape(context.op(), *def.find_input(slot));
    for (const Cell*& cell : cells) cell = copies->of(cell, is_read, false);
  }
  KernelContext::Slots outputs = context.outputs();
  for (auto& [slot, cells] : outputs) {
    for (const Cell*& cell : cells) cell = copies->of(cell, false, true);
  }
  const ScratchPtr rest = copies->place();
  const KernelFactory factory = def.kernel(context.device().device().kind, wide);
  Kernel kernel = factory(context.with(wide, std::move(inputs), std::move(outputs), rest));
  if (kernel.is_empty()) return kernel;
  const bool is_enqueued = kernel.is_enqueued();
  std::function<void()> check = kernel.check();
  const auto run = [copies, kernel = std::move(kernel)] {
    copies->widen();
    kernel.work();
    copies->narrow();
  };
  if (is_enqueued) return Kernel::enqueued(run, std::move(check));
  if (!check) return run;
  return [check = std::move(check), run] {
    check();
    run();
  };
}

}  // namespace

Kernel through_float32(const KernelContext& context) {
  return through(DType::kFloat32, is_16_bit, context);
}

Kernel through_int32(const KernelContext& context) {
  return through(DType::kInt32, is_int16, context);
}

Kernel through_int64(const KernelContext& context) {
  return through(DType::kInt64, is_below_int64, context);
}

}  // namespace fluidcore
