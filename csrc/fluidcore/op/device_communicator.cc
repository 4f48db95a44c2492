#include "fluidcore/op/device_communicator.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fluidcore/base/strings.h"

namespace fluidcore {

namespace {

// Of as many elements in the host's memory.
Communicator::Elements room_on_host(const Communicator::Elements& elements) {
  auto memory = std::make_shared<std::vector<std::byte>>(elements.bytes());
  return {memory->data(), elements.size, elements.dtype, memory};
}

Communicator::Elements whole(const Communicator::Elements& own, void* all, int ranks) {
  return {all, own.size * ranks, own.dtype, own.owner, own.device};
}

// Copies to the host what an operation reads, and back what it has written.
class ThroughHost : public Communicator {
 public:
  explicit ThroughHost(Communicator& host) : Communicator(host.rank(), host.size()), host_(host) {}

  Request iallreduce(const Elements& own, const Elements& sum, const std::string& label) override {
    const Operation made{copied(own), room_on_host(sum), sum};
    return begun(host_.iallreduce(made.own, made.result, label), made);
  }
  Request ireduce_scatter(const Elements& own,
                          const Elements& part,
                          const std::string& label) override {
    const Operation made{copied(own), room_on_host(part), part};
    return begun(host_.ireduce_scatter(made.own, made.result, label), made);
  }
  Request ibroadcast(const Elements& elements, int root, const std::string& label) override {
    const Elements held = copied(elements);
    return begun(host_.ibroadcast(held, root, label), {held, held, elements});
  }
  Request iallgather(const Elements& own, void* all, const std::string& label) override {
    const Elements to = whole(own, all, size());
    const Operation made{copied(own), room_on_host(to), to};
    return begun(host_.iallgather(made.own, made.result.data, label), made);
  }
  void wait(Request request) override {
    host_.wait(request);
    const Operation done = begun_.extract(request).mapped();
    done.to.device->copy_in(done.to.data, done.result.data, done.to.bytes());
  }
  void check() override { host_.check(); }
  void fail(const std::string& why) noexcept override { host_.fail(why); }

 private:
  struct Operation {
    Elements own;     // on the host,
    Elements result;  // there too,
    Elements to;      // and where that is copied
  };

  static Elements copied(const Elements& own) {
    const Elements held = room_on_host(own);
    own.device->copy_out(held.data, own.data, own.bytes());
    return held;
  }
  Request begun(Request request, const Operation& operation) {
    begun_.insert_or_assign(request, operation);
    return request;
  }

  Communicator& host_;
  std::map<Request, Operation> begun_;  // that nobody has waited for
};

// Lets a library do the work, on a stream of its own. On the host the ranks tell each other what
// they begin: so an operation that not all of them begin is an error, which names them.
class BetweenDevices : public Communicator {
 public:
  BetweenDevices(Communicator& host,
                 std::unique_ptr<DeviceContext> stream,
                 std::unique_ptr<DeviceCollectives> collectives)
      : Communicator(host.rank(), host.size()),
        host_(host),
        stream_(std::move(stream)),
        collectives_(std::move(collectives)) {}

  Request iallreduce(const Elements& own, const Elements& sum, const std::string& label) override {
    return begin(Kind::kAllreduce, own, sum, 0, label,
                 [&] { collectives_->all_reduce(own.data, sum.data, own.size, own.dtype); });
  }
  Request ireduce_scatter(const Elements& own,
                          const Elements& part,
                          const std::string& label) override {
    return begin(Kind::kReduceScatter, own, part, 0, label,
                 [&] { collectives_->reduce_scatter(own.data, part.data, part.size, own.dtype); });
  }
  Request ibroadcast(const Elements& elements, int root, const std::string& label) override {
    return begin(Kind::kBroadcast, elements, elements, root, label,
                 [&] { collectives_->broadcast(elements.data, elements.bytes(), root); });
  }
  Request iallgather(const Elements& own, void* all, const std::string& label) override {
    return begin(Kind::kAllgather, own, whole(own, all, size()), 0, label,
                 [&] { collectives_->all_gather(own.data, all, own.bytes()); });
  }

  void wait(Request request) override {
    const Operation& operation = *begun_.at(request);
    or_end_all([&] {
      host_.wait(operation.request);
      require_alike(operation);
      wait_for_device(operation);
    });
    begun_.erase(request);
  }
  void check() override { host_.check(); }
  void fail(const std::string& why) noexcept override { host_.fail(why); }
  std::string transport() const override { return "nccl"; }

 private:
  enum class Kind : std::int64_t { kAllreduce, kReduceScatter, kBroadcast, kAllgather };
  using What = std::array<std::int64_t, 4>;  // kind, elements, dtype, root

  struct Operation {
    std::string label;
    Elements own;
    Elements result;
    What what;
    std::vector<What> of_all;  // what each rank begins, by rank
    Request request = 0;       // of the host
    std::function<bool()> is_done;
  };

  template <class Ask>
  Request begin(Kind kind,
                const Elements& own,
                const Elements& result,
                int root,
                const std::string& label,
                const Ask& ask) {
    if (!collectives_) throw RankFailed(label, ": an operation before has failed");
    auto made = std::make_unique<Operation>();
    made->label = label;
    made->own = own;
    made->result = result;
    made->what = {static_cast<std::int64_t>(kind), own.size, static_cast<std::int64_t>(own.dtype),
                  root};
    made->of_all.resize(static_cast<std::size_t>(size()));
    const Elements told{made->what.data(), static_cast<std::int64_t>(made->what.size()),
                        DType::kInt64};
    Operation& operation = *begun_.insert_or_assign(next_, std::move(made)).first->second;
    or_end_all([&] {
      operation.request = host_.iallgather(told, operation.of_all.data(), label);
      stream_->follow(*own.device);
      ask();
      operation.is_done = stream_->mark();
    });
    return next_++;
  }

  // What f throws ends all that the device would wait for in vain.
  template <class F>
  void or_end_all(const F& f) {
    try {
      f();
    } catch (...) {
      collectives_.reset();
      throw;
    }
  }

  static void require_alike(const Operation& operation) {
    for (std::size_t rank = 0; rank < operation.of_all.size(); ++rank) {
      const What& other = operation.of_all[rank];
      if (other == operation.what) continue;
      throw RankFailed(operation.label, ": all ranks must begin the same operation, got ",
                       operation.own.dtype, " [", operation.own.size, "] here and ",
                       static_cast<DType>(other[2]), " [", other[1], "] in rank ", rank,
                       other[0] == operation.what[0] ? "" : " of another one");
    }
  }

  // Of what all ranks have begun. Looks often at first: most operations are short.
  void wait_for_device(const Operation& operation) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::microseconds kBusy{200};
    constexpr std::chrono::microseconds kNap{20};
    constexpr std::chrono::milliseconds kBetweenChecks{10};
    const Clock::time_point start = Clock::now();
    Clock::time_point checked = start;
    while (!operation.is_done()) {
      const Clock::time_point now = Clock::now();
      if (now - start > kBusy) std::this_thread::sleep_for(kNap);
      if (now - checked < kBetweenChecks) continue;
      checked = now;
      collectives_->check();
      host_.check();
    }
    collectives_->check();
  }

  Communicator& host_;
  std::unique_ptr<DeviceContext> stream_;
  std::map<Request, std::unique_ptr<Operation>> begun_;  // that nobody has waited for
  Request next_ = 0;
  std::unique_ptr<DeviceCollectives> collectives_;  // null once one has failed
};

// Whether no two ranks have one device; `own` 0: this rank cannot take part.
bool have_devices_of_their_own(Communicator& host, std::int64_t own, const std::string& label) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(host.size()));
  host.wait(host.iallgather({&own, 1, DType::kInt64}, all.data(), label));
  const bool all_can = std::find(all.begin(), all.end(), 0) == all.end();
  return all_can && std::set<std::int64_t>(all.begin(), all.end()).size() == all.size();
}

}  // namespace

std::unique_ptr<Communicator> device_communicator(Communicator& host,
                                                  DeviceContext& device,
                                                  CollectiveLibrary* library) {
  const std::string label = str_cat("ranks on ", device.device());
  const std::int64_t own = library == nullptr ? 0 : library->name_of(device.device());
  if (!have_devices_of_their_own(host, own, label)) return std::make_unique<ThroughHost>(host);
  CollectiveLibrary::Group group{};
  if (host.rank() == 0) group = library->new_group();
  const Communicator::Elements name{group.data(), static_cast<std::int64_t>(group.size()),
                                    DType::kInt64};
  host.wait(host.ibroadcast(name, 0, label));
  std::unique_ptr<DeviceContext> stream = device.fork();
  stream->begin();
  auto collectives = library->join(group, host.rank(), host.size(), *stream);
  return std::make_unique<BetweenDevices>(host, std::move(stream), std::move(collectives));
}

}  // namespace fluidcore
