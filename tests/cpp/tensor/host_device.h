#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "fluidcore/tensor/device_context.h"

namespace fluidcore {

// A GPU whose memory is the host's, where everything is done at once.
class HostDevice : public DeviceContext {
 public:
  Device device() const override { return {DeviceKind::kCuda, 0}; }
  std::unique_ptr<DeviceContext> fork() override { return std::make_unique<HostDevice>(); }
  void begin() override {}
  void end() override {}
  std::shared_ptr<void> allocate(std::size_t bytes) override { return host_.allocate(bytes); }
  void copy_in(void* to, const void* from, std::size_t bytes) override {
    host_.copy(to, from, bytes);
  }
  void copy_out(void* to, const void* from, std::size_t bytes) override {
    host_.copy(to, from, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) override { host_.copy(to, from, bytes); }
  void zero(void* to, std::size_t bytes) override { host_.zero(to, bytes); }
  void wait() override {}
  void wait_for_all() override {}
  void follow(DeviceContext& /*other*/) override {}
  std::function<bool()> mark() override { return host_.mark(); }
  void begin_capture() override {}
  std::unique_ptr<DeviceGraph> end_capture() override { return nullptr; }
  void* stream() const override { return nullptr; }
  void enqueue(std::function<void()> work) override { work(); }
  void check_launch() override {}

 private:
  DeviceContext& host_ = device_context({});
};

}  // namespace fluidcore
