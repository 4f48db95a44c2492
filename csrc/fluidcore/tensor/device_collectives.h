#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fluidcore/base/device.h"
#include "fluidcore/base/dtype.h"
#include "fluidcore/tensor/device_context.h"

namespace fluidcore {

// Operations of all members of a group, each with a device of its own, on the devices' memory. All
// members ask for the same ones in the same order; none waits.
class DeviceCollectives {
 public:
  virtual ~DeviceCollectives() = default;

  // Sums over the members, of float32, float64 or int64: all of them, or this member's part.
  virtual void all_reduce(const void* own, void* sum, std::int64_t size, DType dtype) = 0;
  virtual void reduce_scatter(const void* own, void* part, std::int64_t part_size, DType dtype) = 0;
  virtual void broadcast(void* data, std::size_t bytes, int root) = 0;
  virtual void all_gather(const void* own, void* all, std::size_t own_bytes) = 0;
  // Throws Error if one of them has failed.
  virtual void check() = 0;
};

// A library that has them.
class CollectiveLibrary {
 public:
  using Group = std::array<std::int64_t, 16>;  // names one

  virtual ~CollectiveLibrary() = default;

  // Tells devices apart, whichever process and host asks.
  virtual std::int64_t name_of(const Device& device) = 0;
  virtual Group new_group() = 0;
  // Member `rank` of `size`; waits for the others. Its operations are asked of `stream`, which
  // outlives it; the end of it is the end of those that have begun.
  virtual std::unique_ptr<DeviceCollectives> join(const Group& group,
                                                  int rank,
                                                  int size,
                                                  DeviceContext& stream) = 0;
};

// NCCL. Null: the build has none, or none was found.
CollectiveLibrary* collective_library();

}  // namespace fluidcore
