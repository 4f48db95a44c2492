#include "fluidcore/runtime/kernel_on_host.h"

#include <deque>
#include <memory>
#include <utility>

#include "fluidcore/op/op_def.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

// The variables of one operator, on the host.
class HostCells {
 public:
  // One for each variable: what works in place does so here too.
  const Cell* of(const Cell* cell, bool is_read, bool is_written) {
    if (cell == nullptr) return nullptr;
    Copy& copy = find(cell);
    copy.is_read |= is_read;
    copy.is_written |= is_written;
    return &copy.host;
  }

  void allocate() {
    for (Copy& copy : copies_) {
      if (!copy.is_read && !copy.is_written) continue;
      copy.memory = Tensor(copy.host.spec);
      copy.host.data = copy.memory.raw();
    }
  }

  void copy_out(DeviceContext& device) const {
    for (const Copy& copy : copies_) {
      const bool is_set = copy.cell->is_set == nullptr || *copy.cell->is_set;
      if (!copy.is_read || !is_set) continue;
      device.copy_out(copy.memory.raw(), copy.cell->data, copy.memory.bytes());
    }
  }
  void copy_in(DeviceContext& device) const {
    for (const Copy& copy : copies_) {
      if (!copy.is_written) continue;
      device.copy_in(copy.cell->data, copy.memory.raw(), copy.memory.bytes());
    }
  }

 private:
  struct Copy {
    const Cell* cell;
    Cell host;
    Tensor memory;
    bool is_read = false;
    bool is_written = false;
  };

  Copy& find(const Cell* cell) {
    for (Copy& copy : copies_) {
      if (copy.cell == cell) return copy;
    }
    Copy& copy = copies_.emplace_back(Copy{cell, *cell, {}});
    copy.host.is_constant = false;
    copy.host.viewed = nullptr;
    copy.host.device = nullptr;
    return copy;
  }

  std::deque<Copy> copies_;  // their addresses are the kernel's
};

bool can_be_copied(const KernelContext& context) {
  if (context.def().block_traits() != nullptr) return false;
  for (const auto* slots : {&context.inputs(), &context.outputs()}) {
    for (const auto& [slot, cells] : *slots) {
      for (const Cell* cell : cells) {
        if (cell != nullptr && cell->array != nullptr) return false;
      }
    }
  }
  return true;
}

}  // namespace

Kernel kernel_on_host(const KernelContext& context) {
  const OpDef& def = context.def();
  DeviceContext& device = context.device();
  require(can_be_copied(context), def.type(), ": must have a kernel for ", device.device(),
          ", got none, and its blocks and tensor arrays cannot be copied to the cpu");
  const auto cells = std::make_shared<HostCells>();
  KernelContext::Slots inputs = context.inputs();
  for (auto& [slot, all] : inputs) {
    const bool is_read = !def.reads_only_shape(context.op(), *def.find_input(slot));
    for (const Cell*& cell : all) cell = cells->of(cell, is_read, false);
  }
  KernelContext::Slots outputs = context.outputs();
  for (auto& [slot, all] : outputs) {
    for (const Cell*& cell : all) cell = cells->of(cell, false, true);
  }
  cells->allocate();
  const KernelFactory factory = def.kernel(DeviceKind::kCpu, context.dtype());
  return
      [cells, &device, kernel = factory(context.on_host(std::move(inputs), std::move(outputs)))] {
        cells->copy_out(device);
        kernel();
        cells->copy_in(device);
      };
}

}  // namespace fluidcore
