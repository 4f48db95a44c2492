#include "fluidcore/runtime/prepared_block.h"

#include <algorithm>

#include "fluidcore/base/error.h"
#include "fluidcore/op/sub_block.h"
#include "fluidcore/runtime/plan.h"
#include "fluidcore/tensor/device_context.h"
#include "fluidcore/tensor/tensor_array.h"

namespace fluidcore {

namespace {

bool has_nan(const Cell& cell, DeviceContext& device) {
  if (cell.array != nullptr || !is_floating(cell.spec.dtype)) return false;
  const void* held = cell.data;
  std::vector<std::byte> copy;
  if (!device.device().is_cpu()) {
    copy.resize(byte_size(cell.spec));
    device.copy_out(copy.data(), held, copy.size());
    held = copy.data();
  }
  return visit_dtype(cell.spec.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* data = static_cast<const T*>(held);
    return std::any_of(data, data + held_shape(cell.spec).num_elements(), [](T value) {
      const auto number = static_cast<ComputeType<T>>(value);
      return number != number;
    });
  });
}

void check_for_nan(const PreparedStep& step, DeviceContext& device) {
  for (const auto& [name, cell] : step.outputs) {
    if (!has_nan(*cell, device)) continue;
    InvalidArgument error(step.type, ": output '", name,
                          "' must be free of NaN, got at least one, the first in this run");
    error.set_note(step.note);
    throw error;
  }
}

}  // namespace

void PreparedBlock::start() {
  for (Cell* cell : arrays) cell->array->reset(cell->spec, cell->device);
  for (bool* is_set : unset) *is_set = false;
  for (const NextElement& next : nexts) next.place.set(next.array->array->next());
}

void PreparedBlock::check(std::size_t i) {
  const std::function<void()>& check = steps[i].kernel.check();
  if (!check) return;
  try {
    check();
  } catch (Error& error) {
    if (error.note().empty()) error.set_note(steps[i].note);
    throw;
  }
}

void PreparedBlock::run(std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    PreparedStep& step = steps[i];
    try {
      if (watch->lookout.is_due() && i <= last_look) [[unlikely]]
        watch->lookout.look(step.type);
      if (watch->recorder.is_on()) [[unlikely]] {
        watch->recorder.run(step, *watch->device);
      } else {
        step.kernel();
      }
      if (watch->waits) [[unlikely]]
        watch->device->wait();
      watch->lookout.add(step.work);
    } catch (const ExtentsChanged& changed) {
      throw OtherExtents({step.block, step.index}, changed.extents(), step.type, step.note);
    } catch (Error& error) {
      if (error.note().empty()) error.set_note(step.note);
      throw;
    }
    if (watch->check_nan) check_for_nan(step, *watch->device);
  }
}

}  // namespace fluidcore
