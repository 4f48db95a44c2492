#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "fluidcore/base/device.h"

namespace fluidcore {

// Work that a DeviceContext was asked for between begin_capture() and end_capture(), to be done
// again, with the same addresses and numbers, at the cost of asking once.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  virtual void launch() = 0;
};

// Memory of a device, and work there that is done in the order in which it was asked for. Whoever
// asks does not wait: only copy_out() and wait() do. Errors of the device, of any work so far, are
// thrown by whatever is asked next.
//
// There is one for the tensors of each device, device_context(), and one for each Plan, so that
// Plans run side by side. What the first was asked for is done before all that another one is asked
// for after begin(), and what that one is asked for until end() before all that the first is asked
// for later. On the CPU all work is done at once.
//
// One thread at a time may use it; the one of a device any number.
class DeviceContext {
 public:
  DeviceContext() = default;
  virtual ~DeviceContext() = default;
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  virtual Device device() const = 0;
  // Another one on the same device.
  virtual std::unique_ptr<DeviceContext> fork() = 0;
  virtual void begin() = 0;
  virtual void end() = 0;

  // New memory, aligned to 64, which is given back, in order, when the last pointer is gone. Throws
  // NoMemory when there is none.
  virtual std::shared_ptr<void> allocate(std::size_t bytes) = 0;
  // `from` is memory of the host that may be changed when this returns.
  virtual void copy_in(void* to, const void* from, std::size_t bytes) = 0;
  // `to` is memory of the host. Waits.
  virtual void copy_out(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void zero(void* to, std::size_t bytes) = 0;
  virtual void wait() = 0;
  virtual void wait_for_all() = 0;  // what anybody in this process was asked for, too

  // What this is asked for later is done after what `other`, of the same device, was asked for.
  virtual void follow(DeviceContext& other) = 0;
  // Tells whether what this was asked for so far is done, without waiting; for as long as this
  // lives.
  virtual std::function<bool()> mark() = 0;

  // Nothing that waits or allocates may be asked for between the two.
  virtual void begin_capture() = 0;
  virtual std::unique_ptr<DeviceGraph> end_capture() = 0;

  // For kernels. The stream of CUDA; null on the CPU and on an emulated device,
  virtual void* stream() const = 0;
  // where `work` does what a kernel would do.
  virtual void enqueue(std::function<void()> work) = 0;
  // Throws what became of the kernel that was launched last.
  virtual void check_launch() = 0;
};

// That of the tensors of a device. Made on first use, then kept. Throws InvalidArgument, with the
// cure, where there is no such device, no driver or too old a one, where the build has no kernels
// for it, and in a process that was forked after the device had been used.
DeviceContext& device_context(const Device& device);

// How many CUDA devices can be used; 0 where none can, for whatever reason.
int num_cuda_devices();

// The CUDA part of both; in builds without it, and where the device is emulated, another one.
DeviceContext& cuda_context(int index);

}  // namespace fluidcore
