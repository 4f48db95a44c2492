#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "fluidcore/base/division.h"
#include "fluidcore/base/error.h"
#include "fluidcore/tensor/device_context.h"
#include "fluidcore/tensor/tensor.h"

// A device without a GPU, for tests: kernels are loops of this process. As on a GPU, work is done
// later than it is asked for, and the host cannot touch the device's memory: where it does, the
// process ends, unless AddressSanitizer watches every allocation instead.

namespace fluidcore {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kCapacity = std::size_t{4} << 30;

// Memory that can be touched only while work is being done.
class DeviceMemory {
 public:
  std::shared_ptr<void> allocate(std::size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
    return fluidcore::allocate(bytes);
#else
    const std::lock_guard lock(mutex_);
    const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), kPage);
    if (size > kCapacity) throw NoMemory(bytes);
    if (base_ == nullptr) base_ = reserve();
    std::size_t begin = 0;
    for (const auto& [at, used] : used_) {
      if (at - begin >= size) break;
      begin = at + used;
    }
    if (begin + size > kCapacity) throw NoMemory(bytes);
    used_.emplace(begin, size);
    if (workers_ > 0) protect(begin, size, PROT_READ | PROT_WRITE);
    return {base_ + begin, [this, begin](void*) { release(begin); }};
#endif
  }

  void open() {
    const std::lock_guard lock(mutex_);
    if (workers_++ == 0) protect_all(PROT_READ | PROT_WRITE);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (--workers_ == 0) protect_all(PROT_NONE);
  }

 private:
  static std::byte* reserve() {
    void* const base =
        mmap(nullptr, kCapacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) throw Error("cuda: no address space for the emulated device");
    return static_cast<std::byte*>(base);
  }
  void protect(std::size_t begin, std::size_t size, int how) const {
    mprotect(base_ + begin, size, how);
  }
  void protect_all(int how) const {
    if (base_ == nullptr || used_.empty()) return;
    const auto& [at, size] = *used_.rbegin();
    protect(0, at + size, how);
  }
  void release(std::size_t begin) {
    const std::lock_guard lock(mutex_);
    const auto found = used_.find(begin);
    protect(begin, found->second, PROT_READ | PROT_WRITE);
    madvise(base_ + begin, found->second, MADV_DONTNEED);
    if (workers_ == 0) protect(begin, found->second, PROT_NONE);
    used_.erase(found);
  }

  std::mutex mutex_;
  std::byte* base_ = nullptr;
  std::map<std::size_t, std::size_t> used_;
  int workers_ = 0;
};

using Work = std::vector<std::function<void()>>;

class EmulatedContext : public DeviceContext {
 public:
  EmulatedContext(DeviceMemory& memory, EmulatedContext* parent)
      : memory_(memory), parent_(parent) {}
  ~EmulatedContext() override { do_work(); }

  Device device() const override { return {DeviceKind::kCuda, 0}; }
  std::unique_ptr<DeviceContext> fork() override {
    return std::make_unique<EmulatedContext>(memory_, this);
  }
  void begin() override { parent_->do_work(); }
  void end() override { do_work(); }

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    require(captured_ == nullptr, "cuda: nothing may be allocated while work is captured");
    EmulatedContext* const tensors = parent_ == nullptr ? this : parent_;
    std::shared_ptr<void> memory = memory_or_null(bytes);
    if (!memory) {  // what was given back may still wait for work
      tensors->do_work();
      memory = memory_.allocate(bytes);
    }
    void* const data = memory.get();
    // Work that still uses it is done before it is given back.
    return {data, [memory = std::move(memory), tensors](void*) mutable {
              tensors->enqueue([memory = std::move(memory)] {});
            }};
  }
  void copy_in(void* to, const void* from, std::size_t bytes) override {
    const auto* const begin = static_cast<const std::byte*>(from);
    enqueue([to, staged = std::vector<std::byte>(begin, begin + bytes)] {
      if (!staged.empty()) std::memcpy(to, staged.data(), staged.size());
    });
  }
  void copy_out(void* to, const void* from, std::size_t bytes) override {
    require(captured_ == nullptr, "cuda: nothing may wait while work is captured");
    copy(to, from, bytes);
    do_work();
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    enqueue([=] {
      if (bytes > 0) std::memcpy(to, from, bytes);
    });
  }
  void zero(void* to, std::size_t bytes) override {
    enqueue([=] {
      if (bytes > 0) std::memset(to, 0, bytes);
    });
  }
  void wait() override {
    require(captured_ == nullptr, "cuda: nothing may wait while work is captured");
    do_work();
  }

  void wait_for_all() override { wait(); }
  void follow(DeviceContext& other) override { static_cast<EmulatedContext&>(other).do_work(); }
  std::function<bool()> mark() override {
    return [this] {
      do_work();
      return true;
    };
  }

  void begin_capture() override { captured_ = std::make_shared<Work>(); }
  std::unique_ptr<DeviceGraph> end_capture() override {
    return std::make_unique<Graph>(*this, std::exchange(captured_, nullptr));
  }
  void* stream() const override { return nullptr; }
  void enqueue(std::function<void()> work) override {
    const std::lock_guard lock(mutex_);
    (captured_ ? *captured_ : pending_).push_back(std::move(work));
  }
  void check_launch() override {}

 private:
  class Graph : public DeviceGraph {
   public:
    Graph(EmulatedContext& context, std::shared_ptr<const Work> work)
        : context_(context), work_(std::move(work)) {}
    void launch() override {
      context_.enqueue([work = work_] {
        for (const auto& one : *work) one();
      });
    }

   private:
    EmulatedContext& context_;
    std::shared_ptr<const Work> work_;
  };

  std::shared_ptr<void> memory_or_null(std::size_t bytes) {
    try {
      return memory_.allocate(bytes);
    } catch (const NoMemory&) {
      return nullptr;
    }
  }

  void do_work() {
    Work work;
    {
      const std::lock_guard lock(mutex_);
      work.swap(pending_);
    }
    if (work.empty()) return;
    memory_.open();
    for (const auto& one : work) one();
    work.clear();
    memory_.close();
  }

  DeviceMemory& memory_;
  EmulatedContext* parent_;  // null: that of the tensors
  std::mutex mutex_;
  Work pending_;
  std::shared_ptr<Work> captured_;  // null: nothing is captured
};

}  // namespace

int num_cuda_devices() {
  return 1;
}

DeviceContext& cuda_context(int index) {
  require(index == 0, "cuda: the device must be one of 1, which is emulated, got cuda:", index);
  // Never destroyed: tensors may outlive everything that is.
  static auto* const memory = new DeviceMemory();
  static auto* const context = new EmulatedContext(*memory, nullptr);
  return *context;
}

}  // namespace fluidcore
