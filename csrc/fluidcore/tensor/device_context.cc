#include "fluidcore/tensor/device_context.h"

#include <cstdint>

#include "fluidcore/base/bytes.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

class CpuContext : public DeviceContext {
 public:
  Device device() const override { return {}; }
  std::unique_ptr<DeviceContext> fork() override { return std::make_unique<CpuContext>(); }
  void begin() override {}
  void end() override {}
  std::shared_ptr<void> allocate(std::size_t bytes) override { return fluidcore::allocate(bytes); }
  void copy_in(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void copy_out(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    copy_bytes(to, from, static_cast<std::int64_t>(bytes));
  }
  void zero(void* to, std::size_t bytes) override {
    zero_bytes(to, static_cast<std::int64_t>(bytes));
  }
  void wait() override {}
  void wait_for_all() override {}
  void follow(DeviceContext& /*other*/) override {}
  std::function<bool()> mark() override {
    return [] { return true; };
  }
  void begin_capture() override {}
  std::unique_ptr<DeviceGraph> end_capture() override { return nullptr; }
  void* stream() const override { return nullptr; }
  void enqueue(std::function<void()> work) override { work(); }
  void check_launch() override {}
};

}  // namespace

DeviceContext& device_context(const Device& device) {
  static CpuContext cpu;
  return device.is_cpu() ? cpu : cuda_context(device.index);
}

}  // namespace fluidcore
