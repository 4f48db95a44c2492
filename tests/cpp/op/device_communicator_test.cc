#include "fluidcore/op/device_communicator.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/on_ranks.h"
#include "tensor/host_device.h"

namespace fluidcore {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What it is asked for is never done.
class StuckDevice : public HostDevice {
 public:
  std::unique_ptr<DeviceContext> fork() override { return std::make_unique<StuckDevice>(); }
  std::function<bool()> mark() override {
    return [] { return false; };
  }
};

// Does the work of a group by another one of threads, whose members are `peers`.
class FakeCollectives : public DeviceCollectives {
 public:
  FakeCollectives(Communicator& peer, std::atomic<int>& ended) : peer_(peer), ended_(ended) {}
  ~FakeCollectives() override { ++ended_; }

  void all_reduce(const void* own, void* sum, std::int64_t size, DType dtype) override {
    peer_.wait(peer_.iallreduce(at(own, size, dtype), at(sum, size, dtype), "sum"));
  }
  void reduce_scatter(const void* own, void* part, std::int64_t size, DType dtype) override {
    const Communicator::Elements all = at(own, size * peer_.size(), dtype);
    peer_.wait(peer_.ireduce_scatter(all, at(part, size, dtype), "part"));
  }
  void broadcast(void* data, std::size_t bytes, int root) override {
    peer_.wait(peer_.ibroadcast(raw(data, bytes), root, "broadcast"));
  }
  void all_gather(const void* own, void* all, std::size_t bytes) override {
    peer_.wait(peer_.iallgather(raw(own, bytes), all, "gathering"));
  }
  void check() override {}

 private:
  static Communicator::Elements at(const void* data, std::int64_t size, DType dtype) {
    return {const_cast<void*>(data), size, dtype};
  }
  static Communicator::Elements raw(const void* data, std::size_t bytes) {
    return at(data, static_cast<std::int64_t>(bytes), DType::kBool);
  }

  Communicator& peer_;
  std::atomic<int>& ended_;
};

class FakeLibrary : public CollectiveLibrary {
 public:
  FakeLibrary(std::int64_t name, std::vector<std::shared_ptr<Communicator>> peers)
      : name_(name), peers_(std::move(peers)) {}

  std::int64_t name_of(const Device& /*device*/) override { return name_; }
  Group new_group() override { return {42}; }
  std::unique_ptr<DeviceCollectives> join(const Group& group,
                                          int rank,
                                          int size,
                                          DeviceContext& /*stream*/) override {
    EXPECT_EQ(group[0], 42);
    EXPECT_EQ(size, static_cast<int>(peers_.size()));
    return std::make_unique<FakeCollectives>(*peers_[static_cast<std::size_t>(rank)], ended);
  }

  std::atomic<int> ended = 0;

 private:
  std::int64_t name_;
  std::vector<std::shared_ptr<Communicator>> peers_;
};

Communicator::Elements on(DeviceContext& device, std::vector<double>& values) {
  Communicator::Elements made = elements(values);
  made.device = &device;
  return made;
}

// Every operation, with two ranks.
void exchange_all(Communicator& ranks, DeviceContext& device) {
  const double rank = ranks.rank();
  std::vector<double> own{1 + rank, 2, 3, 4};
  std::vector<double> sum(4);
  std::vector<double> part(2);
  std::vector<double> all(8);
  std::vector<double> given{rank, rank};
  const auto first = ranks.iallreduce(on(device, own), on(device, sum), "the sum");
  const auto second = ranks.ireduce_scatter(on(device, own), on(device, part), "the part");
  const auto third = ranks.iallgather(on(device, own), all.data(), "all");
  ranks.wait(third);
  ranks.wait(ranks.ibroadcast(on(device, given), 1, "those of rank 1"));
  ranks.wait(first);
  ranks.wait(second);
  EXPECT_THAT(sum, ElementsAre(3, 4, 6, 8));
  EXPECT_EQ(part, (rank == 0 ? std::vector<double>{3, 4} : std::vector<double>{6, 8}));
  EXPECT_THAT(all, ElementsAre(1, 2, 3, 4, 2, 2, 3, 4));
  EXPECT_THAT(given, ElementsAre(1, 1));
}

TEST(DeviceCommunicatorTest, WithoutALibraryItGoesThroughTheHost) {
  const auto errors = on_ranks(2, [](Communicator& host) {
    HostDevice device;
    const auto ranks = device_communicator(host, device, nullptr);
    EXPECT_EQ(ranks->transport(), "host");
    EXPECT_EQ(ranks->rank(), host.rank());
    exchange_all(*ranks, device);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(DeviceCommunicatorTest, ALibraryDoesTheWorkOfRanksWithDevicesOfTheirOwn) {
  const auto peers = thread_group(2);
  const auto errors = on_ranks(2, [&](Communicator& host) {
    HostDevice device;
    FakeLibrary library(host.rank() + 1, peers);
    {
      const auto ranks = device_communicator(host, device, &library);
      EXPECT_EQ(ranks->transport(), "nccl");
      exchange_all(*ranks, device);
      EXPECT_EQ(library.ended, 0);
    }
    EXPECT_EQ(library.ended, 1);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(DeviceCommunicatorTest, RanksThatShareADeviceGoThroughTheHost) {
  const auto peers = thread_group(2);
  const auto errors = on_ranks(2, [&](Communicator& host) {
    HostDevice device;
    FakeLibrary library(7, peers);
    EXPECT_EQ(device_communicator(host, device, &library)->transport(), "host");
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(DeviceCommunicatorTest, ARankWithoutTheLibraryIsEnoughToGoThroughTheHost) {
  const auto peers = thread_group(2);
  const auto errors = on_ranks(2, [&](Communicator& host) {
    HostDevice device;
    FakeLibrary library(7, peers);
    CollectiveLibrary* const own = host.rank() == 0 ? &library : nullptr;
    EXPECT_EQ(device_communicator(host, device, own)->transport(), "host");
  });
  EXPECT_THAT(errors, Each(""));
}

// Collectives that say they have worked.
class IdleCollectives : public DeviceCollectives {
 public:
  explicit IdleCollectives(std::atomic<int>& ended) : ended_(ended) {}
  ~IdleCollectives() override { ++ended_; }
  void all_reduce(const void* /*own*/, void* /*sum*/, std::int64_t, DType) override {}
  void reduce_scatter(const void* /*own*/, void* /*part*/, std::int64_t, DType) override {}
  void broadcast(void* /*data*/, std::size_t, int) override {}
  void all_gather(const void* /*own*/, void* /*all*/, std::size_t) override {}
  void check() override {}

 private:
  std::atomic<int>& ended_;
};

class IdleLibrary : public FakeLibrary {
 public:
  using FakeLibrary::FakeLibrary;
  std::unique_ptr<DeviceCollectives> join(const Group&, int, int, DeviceContext&) override {
    return std::make_unique<IdleCollectives>(ended);
  }
};

TEST(DeviceCommunicatorTest, RanksThatBeginDifferentOperationsAreToldSo) {
  const auto errors = on_ranks(2, [&](Communicator& host) {
    HostDevice device;
    IdleLibrary library(host.rank() + 1, {});
    const auto ranks = device_communicator(host, device, &library);
    std::vector<double> values(host.rank() == 0 ? 3 : 4);
    ranks->wait(ranks->iallreduce(on(device, values), on(device, values), "sum of w"));
  });
  EXPECT_THAT(errors[0], HasSubstr("sum of w: all ranks must begin the same operation, got float64 "
                                   "[3] here and float64 [4] in rank 1"));
  EXPECT_THAT(errors[1], HasSubstr("float64 [4] here and float64 [3] in rank 0"));
}

TEST(DeviceCommunicatorTest, ARankThatFailsEndsWhatTheDevicesOfOthersWaitFor) {
  std::atomic<int> ended = 0;
  std::atomic<bool> has_begun = false;
  const auto errors = on_ranks(2, [&](Communicator& host) {
    StuckDevice device;
    IdleLibrary library(host.rank() + 1, {});
    const auto ranks = device_communicator(host, device, &library);
    std::vector<double> values(3);
    const auto request = ranks->iallreduce(on(device, values), on(device, values), "sum of w");
    if (host.rank() == 1) {
      while (!has_begun) std::this_thread::yield();
      throw Error("no memory");
    }
    has_begun = true;
    try {
      ranks->wait(request);
    } catch (...) {
      ended += library.ended;
      EXPECT_THROW(ranks->iallreduce(on(device, values), on(device, values), "sum of b"),
                   RankFailed);
      throw;
    }
  });
  EXPECT_EQ(ended, 1);
  EXPECT_THAT(errors[0], HasSubstr("rank 1 has failed: no memory"));
}

}  // namespace
}  // namespace fluidcore
