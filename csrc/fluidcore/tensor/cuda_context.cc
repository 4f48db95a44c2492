#include <cuda_runtime_api.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/tensor/device_context.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

// Errors that no later call forgets: the device is lost to this process.
bool is_sticky(cudaError_t status) {
  return status == cudaErrorIllegalAddress || status == cudaErrorLaunchFailure ||
         status == cudaErrorAssert || status == cudaErrorECCUncorrectable ||
         status == cudaErrorMisalignedAddress || status == cudaErrorIllegalInstruction;
}

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the next call does not report it again
  throw Error("cuda: ", what, " must succeed, got ", cudaGetErrorString(status),
              is_sticky(status) ? "; the error may be an earlier operator's: FLUIDCORE_CUDA_SYNC=1 "
                                  "names it; no GPU can be used in this process any more"
                                : "");
}

// The driver that this build's runtime needs, "13.0".
std::string version_text(int version) {
  return str_cat(version / 1000, ".", version % 1000 / 10);
}

[[noreturn]] void report_unusable(cudaError_t status) {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  if (driver == 0) {
    throw InvalidArgument("cuda: there must be an NVIDIA driver, got none; install one, or use ",
                          "CPUPlace()");
  }
  require(driver >= CUDART_VERSION, "cuda: the driver must be for CUDA ",
          version_text(CUDART_VERSION), " or newer, got one for ", version_text(driver),
          "; install a newer one");
  throw InvalidArgument("cuda: there must be a GPU, got: ", cudaGetErrorString(status));
}

// Orders what one stream is asked for before what another one is asked for later.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) const {
    check(cudaEventRecord(event_, stream), "recording an event");
  }
  void order(cudaStream_t before, cudaStream_t after) const {
    record(before);
    check(cudaStreamWaitEvent(after, event_, 0), "waiting for an event");
  }
  bool is_over() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
      cudaGetLastError();  // else it is what became of the next kernel
      return false;
    }
    check(status, "work on the device");
    return true;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaGraph : public DeviceGraph {
 public:
  CudaGraph(cudaGraph_t graph, cudaStream_t stream) : stream_(stream) {
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "preparing a graph");
  }
  ~CudaGraph() override { cudaGraphExecDestroy(executable_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void launch() override { check(cudaGraphLaunch(executable_, stream_), "launching a graph"); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

class CudaContext : public DeviceContext {
 public:
  CudaContext(int index, CudaContext* parent) : index_(used(index)), parent_(parent) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  }
  ~CudaContext() override {
    if (pid_ != getpid()) return;
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  Device device() const override { return {DeviceKind::kCuda, index_}; }
  std::unique_ptr<DeviceContext> fork() override {
    return std::make_unique<CudaContext>(index_, this);
  }
  void begin() override {
    activate();
    const std::uint64_t asked = parent_->asked_;
    if (asked == seen_) return;  // since it was last waited for
    event_.order(parent_->stream_, stream_);
    seen_ = asked;
  }
  void end() override {
    event_.order(stream_, parent_->stream_);
    ++parent_->asked_;
  }

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    if (parent_ != nullptr) {
      std::shared_ptr<void> memory = parent_->allocate(bytes);
      begin();
      return memory;
    }
    activate();
    ++asked_;
    void* memory = nullptr;
    const std::size_t size = bytes == 0 ? 1 : bytes;
    const cudaError_t status = cudaMallocAsync(&memory, size, stream_);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw NoMemory(bytes);
    }
    check(status, "allocating memory");
    return {memory, [this](void* of) {
              if (pid_ != getpid()) return;
              ++asked_;
              cudaFreeAsync(of, stream_);
            }};
  }

  // Pageable memory is staged before these return.
  void copy_in(void* to, const void* from, std::size_t bytes) override {
    copy_kind(to, from, bytes, cudaMemcpyHostToDevice);
  }
  void copy_out(void* to, const void* from, std::size_t bytes) override {
    copy_kind(to, from, bytes, cudaMemcpyDeviceToHost);
    wait();
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    copy_kind(to, from, bytes, cudaMemcpyDeviceToDevice);
  }
  void zero(void* to, std::size_t bytes) override {
    if (bytes == 0) return;
    activate();
    ++asked_;
    check(cudaMemsetAsync(to, 0, bytes, stream_), "writing zeros");
  }
  void wait() override {
    activate();
    check(cudaStreamSynchronize(stream_), "work on the device");
  }
  void wait_for_all() override {
    activate();
    check(cudaDeviceSynchronize(), "work on the device");
  }
  void follow(DeviceContext& other) override {
    activate();
    event_.order(static_cast<CudaContext&>(other).stream_, stream_);
  }
  std::function<bool()> mark() override {
    activate();
    const auto event = std::make_shared<const Event>();
    event->record(stream_);
    return [event] { return event->is_over(); };
  }

  void begin_capture() override {
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capturing work");
  }
  std::unique_ptr<DeviceGraph> end_capture() override {
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_, &graph), "capturing work");
    return std::make_unique<CudaGraph>(graph, stream_);
  }

  void* stream() const override { return stream_; }
  void enqueue(std::function<void()> /*work*/) override {
    throw Error("cuda: kernels must be compiled for the device, got one for the host");
  }
  void check_launch() override { check(cudaPeekAtLastError(), "launching a kernel"); }

  // Of this thread: the calls that follow are for this device.
  void activate() const {
    require(pid_ == getpid(), "cuda: a process that was forked after the GPU had been used cannot ",
            "use it; start it by 'spawn'");
    used(index_);
  }

 private:
  static int used(int index) {
    check(cudaSetDevice(index), "using the device");
    return index;
  }

  void copy_kind(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    activate();
    ++asked_;
    check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "copying memory");
  }

  int index_;
  CudaContext* parent_;  // null: that of the tensors
  pid_t pid_ = getpid();
  Event event_;
  cudaStream_t stream_ = nullptr;
  std::atomic<std::uint64_t> asked_ = 1;  // how often for work
  std::uint64_t seen_ = 0;                // of the parent, when it was last waited for
};

// Memory that was given back stays with the process, for the next one who asks.
void keep_memory(int index) {
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, index), "asking for the memory pool");
  std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all),
        "setting up the memory pool");
}

}  // namespace

int num_cuda_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

DeviceContext& cuda_context(int index) {
  static std::mutex mutex;
  static auto* const contexts = new std::map<int, std::unique_ptr<CudaContext>>();
  const std::lock_guard lock(mutex);
  const auto found = contexts->find(index);
  if (found != contexts->end()) {
    found->second->activate();
    return *found->second;
  }
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) report_unusable(status);
  require(index >= 0 && index < count, "cuda: the device must be one of ", count,
          ", the first is cuda:0, got cuda:", index);
  auto made = std::make_unique<CudaContext>(index, nullptr);
  keep_memory(index);
  return *contexts->emplace(index, std::move(made)).first->second;
}

}  // namespace fluidcore
