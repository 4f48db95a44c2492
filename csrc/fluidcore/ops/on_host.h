#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "fluidcore/op/contexts.h"
#include "fluidcore/op/kernel.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

// The elements of an input for checks on the host, wherever it is: where a run was fed it from, or
// a copy.
class OnHost {
 public:
  explicit OnHost(Arg<const void> input)
      : input_(input), copy_(std::make_shared<std::vector<std::byte>>()) {}

  // Waits for the device where the input is neither on the host nor fed from there.
  const void* data() const {
    const Cell& cell = *input_.cell();
    if (cell.device == nullptr) return cell.data;
    if (cell.fed_from != nullptr) return cell.fed_from;
    copy_->resize(byte_size(cell.spec));
    cell.device->copy_out(copy_->data(), cell.data, copy_->size());
    return copy_->data();
  }

 private:
  Arg<const void> input_;
  std::shared_ptr<std::vector<std::byte>> copy_;
};

// One element, copied from where it is, or there.
template <class T>
T read_element(Arg<const T> input) {
  DeviceContext* const device = input.cell()->device;
  if (device == nullptr) return *input.data();
  T element = {};
  device->copy_out(&element, input.data(), sizeof element);
  return element;
}
template <class T>
void write_element(Arg<T> output, T element) {
  DeviceContext* const device = output.cell()->device;
  if (device == nullptr) {
    *output.data() = element;
  } else {
    device->copy_in(output.data(), &element, sizeof element);
  }
}

// A kernel on a device whose work needs a check of `input` first, which throws.
inline Kernel checked(Arg<const void> input,
                      std::function<void()> check,
                      std::function<void()> work) {
  if (input.cell()->is_fed) return Kernel::enqueued(std::move(work), std::move(check));
  return [check = std::move(check), work = std::move(work)] {
    check();
    work();
  };
}

}  // namespace fluidcore
