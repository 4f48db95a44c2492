#include <cuda_runtime_api.h>
#include <nccl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"
#include "fluidcore/kernels/cuda/library.h"
#include "fluidcore/tensor/device_collectives.h"

namespace fluidcore {

namespace {

// The functions that are used.
class Nccl {
  cuda::Library library_{"libnccl.so.2", "nvidia-nccl-cu13"};

  template <class Function>
  Function* find(const char* name) {
    return library_.symbol<Function>(name);
  }

 public:
  decltype(ncclGetUniqueId)* get_unique_id = find<decltype(ncclGetUniqueId)>("ncclGetUniqueId");
  decltype(ncclCommInitRank)* init_rank = find<decltype(ncclCommInitRank)>("ncclCommInitRank");
  decltype(ncclCommAbort)* abort = find<decltype(ncclCommAbort)>("ncclCommAbort");
  decltype(ncclCommGetAsyncError)* async_error =
      find<decltype(ncclCommGetAsyncError)>("ncclCommGetAsyncError");
  decltype(ncclGetErrorString)* error_string =
      find<decltype(ncclGetErrorString)>("ncclGetErrorString");
  decltype(ncclAllReduce)* all_reduce = find<decltype(ncclAllReduce)>("ncclAllReduce");
  decltype(ncclReduceScatter)* reduce_scatter =
      find<decltype(ncclReduceScatter)>("ncclReduceScatter");
  decltype(ncclBroadcast)* broadcast = find<decltype(ncclBroadcast)>("ncclBroadcast");
  decltype(ncclAllGather)* all_gather = find<decltype(ncclAllGather)>("ncclAllGather");

  void check(ncclResult_t result, const char* what) const {
    if (result == ncclSuccess) return;
    throw Error("cuda: ", what, " must succeed, got of NCCL: ", error_string(result),
                "; NCCL_DEBUG=WARN says more");
  }
};

ncclDataType_t type_of(DType dtype) {
  if (dtype == DType::kFloat32) return ncclFloat32;
  if (dtype == DType::kFloat64) return ncclFloat64;
  return ncclInt64;
}

class NcclCollectives : public DeviceCollectives {
 public:
  NcclCollectives(
      const Nccl& nccl, const ncclUniqueId& group, int rank, int size, cudaStream_t stream)
      : nccl_(nccl), stream_(stream) {
    nccl_.check(nccl_.init_rank(&comm_, size, group, rank), "joining the GPUs of all ranks");
  }
  // Unlike ncclCommDestroy it waits for nobody.
  ~NcclCollectives() override { nccl_.abort(comm_); }
  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;

  void all_reduce(const void* own, void* sum, std::int64_t size, DType dtype) override {
    nccl_.check(nccl_.all_reduce(own, sum, static_cast<std::size_t>(size), type_of(dtype), ncclSum,
                                 comm_, stream_),
                "a sum over the ranks");
  }
  void reduce_scatter(const void* own, void* part, std::int64_t part_size, DType dtype) override {
    nccl_.check(nccl_.reduce_scatter(own, part, static_cast<std::size_t>(part_size), type_of(dtype),
                                     ncclSum, comm_, stream_),
                "a sum over the ranks");
  }
  void broadcast(void* data, std::size_t bytes, int root) override {
    nccl_.check(nccl_.broadcast(data, data, bytes, ncclUint8, root, comm_, stream_),
                "giving all ranks the values of one");
  }
  void all_gather(const void* own, void* all, std::size_t own_bytes) override {
    nccl_.check(nccl_.all_gather(own, all, own_bytes, ncclUint8, comm_, stream_),
                "gathering the values of all ranks");
  }
  void check() override {
    ncclResult_t result = ncclSuccess;
    nccl_.check(nccl_.async_error(comm_, &result), "asking for errors");
    if (result != ncclInProgress) nccl_.check(result, "an operation of all ranks");
  }

 private:
  const Nccl& nccl_;
  cudaStream_t stream_;
  ncclComm_t comm_ = nullptr;
};

// FNV-1a, 64 bits.
std::uint64_t hash(std::string_view text) {
  std::uint64_t state = 0xcbf29ce484222325ull;
  for (const char c : text) {
    state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  }
  return state;
}

class NcclLibrary : public CollectiveLibrary {
 public:
  std::int64_t name_of(const Device& device) override {
    constexpr std::size_t kMost = 256;
    std::array<char, kMost> host{};
    std::array<char, kMost> bus{};
    gethostname(host.data(), host.size() - 1);
    const cudaError_t status =
        cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device.index);
    if (status != cudaSuccess) {
      cudaGetLastError();
      return 0;
    }
    return static_cast<std::int64_t>(hash(str_cat(host.data(), " ", bus.data())) | 1);
  }

  Group new_group() override {
    ncclUniqueId id{};
    nccl_.check(nccl_.get_unique_id(&id), "naming the GPUs of all ranks");
    Group group{};
    static_assert(sizeof group == sizeof id);
    std::memcpy(group.data(), &id, sizeof id);
    return group;
  }

  std::unique_ptr<DeviceCollectives> join(const Group& group,
                                          int rank,
                                          int size,
                                          DeviceContext& stream) override {
    ncclUniqueId id{};
    std::memcpy(&id, group.data(), sizeof id);
    return std::make_unique<NcclCollectives>(nccl_, id, rank, size,
                                             static_cast<cudaStream_t>(stream.stream()));
  }

 private:
  Nccl nccl_;
};

}  // namespace

CollectiveLibrary* collective_library() {
  static std::mutex mutex;
  static CollectiveLibrary* found = nullptr;  // never destroyed: communicators may outlive all
  const std::lock_guard lock(mutex);
  if (found != nullptr) return found;
  try {
    found = std::make_unique<NcclLibrary>().release();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the library may be loaded later
  }
  return found;
}

}  // namespace fluidcore
