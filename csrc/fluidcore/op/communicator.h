#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/error.h"

namespace fluidcore {

class DeviceContext;

// Another rank has ended, or was not heard of in time. Python: ConnectionError.
class RankFailed : public Error {
 public:
  using Error::Error;
};

// A member of a group of processes, or threads, that run the same programs side by side, each on
// its part of the data. Members are called ranks, numbered from 0.
//
// Every rank begins the same operations in the same order. The memory of an operation is not to be
// touched until it was waited for. `label` says in messages what it is for. All functions throw
// RankFailed once a rank has failed, in every rank; nothing is written to memory after that.
class Communicator {
 public:
  using Request = std::int64_t;  // names an operation that has begun

  struct Elements {
    void* data;
    std::int64_t size;
    DType dtype;
    // Keeps the memory until the operation has ended, however the run ends. Null: it lives until
    // wait() has returned or thrown.
    std::shared_ptr<const void> owner = nullptr;
    // Whose memory it is, and by what it is written before the operation; null: the host's.
    DeviceContext* device = nullptr;

    std::size_t bytes() const { return static_cast<std::size_t>(size) * size_of(dtype); }
  };

  // Throws InvalidArgument unless 0 <= rank < size.
  Communicator(int rank, int size) : rank_(rank), size_(size) {
    require(size >= 1 && rank >= 0 && rank < size,
            "communicator: rank must be at least 0 and less than size, got rank ", rank,
            " and size ", size);
  }
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Every element of `sum` becomes the sum of those of `own` over the ranks: float32, float64 or
  // int64.
  virtual Request iallreduce(const Elements& own,
                             const Elements& sum,
                             const std::string& label) = 0;
  // `part`, which has size() times fewer elements than `own`, becomes this rank's part of such
  // sums: rank 0 has the first one.
  virtual Request ireduce_scatter(const Elements& own,
                                  const Elements& part,
                                  const std::string& label) = 0;
  // The elements become those of rank `root`.
  virtual Request ibroadcast(const Elements& elements, int root, const std::string& label) = 0;
  // `all`, which has size() times as many, becomes those of rank 0, then of rank 1, and so on.
  virtual Request iallgather(const Elements& own, void* all, const std::string& label) = 0;
  virtual void wait(Request request) = 0;
  // For whoever waits for something else that needs all ranks: throws RankFailed if one has failed.
  virtual void check() = 0;

  // The one of the same ranks for memory of `device`, this one for that of the CPU; it is made when
  // it is first asked for, by all ranks at the same place in their programs. GPUs exchange by NCCL
  // where all ranks have it, and a GPU of their own; else through the memory of the host.
  Communicator& on(const DeviceContext& device);
  // How it exchanges: "host", or "nccl".
  virtual std::string transport() const { return "host"; }

  // iallreduce(), or ireduce_scatter() where `sum` is smaller; and wait() for it, which gives the
  // sums.
  Request begin_sum(const Elements& own, Elements sum, const std::string& label) {
    const Request request =
        sum.size == own.size ? iallreduce(own, sum, label) : ireduce_scatter(own, sum, label);
    sums_.insert_or_assign(request, std::move(sum));
    return request;
  }
  Elements end_sum(Request request) {
    const auto begun = sums_.extract(request);
    require(!begun.empty(), "communicator: there must be a sum that has begun, got request ",
            request);
    wait(request);
    return begun.mapped();
  }
  // Tells the other ranks that this one will begin nothing any more, and why. The first one counts.
  virtual void fail(const std::string& why) noexcept = 0;

 private:
  int rank_;
  int size_;
  std::map<Request, Elements> sums_;  // that nobody has waited for
  std::map<int, std::unique_ptr<Communicator>> on_devices_;
};

}  // namespace fluidcore
