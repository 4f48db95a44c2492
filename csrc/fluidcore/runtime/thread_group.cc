#include "fluidcore/runtime/thread_group.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>

#include "fluidcore/base/strings.h"

namespace fluidcore {

namespace {

enum class Kind { kAllreduce, kReduceScatter, kBroadcast, kAllgather };

// What one rank brings to an operation.
struct Part {
  Communicator::Elements elements{};
  void* result = nullptr;  // of a sum or a gathering
  bool is_there = false;
};

struct Operation {
  Kind kind;
  std::int64_t size;
  DType dtype;
  int root;
  std::string label;
  std::vector<Part> parts;  // by rank
  int arrived = 0;
  int left = 0;  // ranks that have waited for it

  std::size_t bytes() const { return static_cast<std::size_t>(size) * size_of(dtype); }
  bool is_done() const { return arrived == static_cast<int>(parts.size()); }
};

template <class T>
T sum_at(const std::vector<Part>& parts, std::int64_t i) {
  T total{};
  for (const Part& part : parts) total += static_cast<const T*>(part.elements.data)[i];
  return total;
}

template <class T>
void sum(const std::vector<Part>& parts, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const T total = sum_at<T>(parts, i);
    for (const Part& part : parts) static_cast<T*>(part.result)[i] = total;
  }
}

template <class T>
void sum_by_part(const std::vector<Part>& parts, std::int64_t size) {
  std::int64_t i = 0;
  const std::int64_t own = size / static_cast<std::int64_t>(parts.size());
  for (const Part& part : parts) {
    for (std::int64_t j = 0; j < own; ++j) static_cast<T*>(part.result)[j] = sum_at<T>(parts, i++);
  }
}

// f(tag) of the element type of a sum.
template <class F>
void with_sum_type(DType dtype, const F& f) {
  if (dtype == DType::kFloat32) return f(float{});
  if (dtype == DType::kFloat64) return f(double{});
  return f(std::int64_t{});
}

void finish(const Operation& operation) {
  const std::vector<Part>& parts = operation.parts;
  switch (operation.kind) {
    case Kind::kAllreduce:
      return with_sum_type(operation.dtype,
                           [&](auto tag) { sum<decltype(tag)>(parts, operation.size); });
    case Kind::kReduceScatter:
      return with_sum_type(operation.dtype,
                           [&](auto tag) { sum_by_part<decltype(tag)>(parts, operation.size); });
    case Kind::kBroadcast: {
      const void* from = parts[static_cast<std::size_t>(operation.root)].elements.data;
      for (const Part& part : parts) {
        if (part.elements.data != from) {
          std::memcpy(part.elements.data, from, operation.bytes());
        }
      }
      return;
    }
    case Kind::kAllgather:
      for (const Part& to : parts) {
        auto* all = static_cast<std::byte*>(to.result);
        for (const Part& from : parts) {
          // Of no bytes the pointers may be null, unlike memcpy's.
          all = std::copy_n(static_cast<const std::byte*>(from.elements.data), operation.bytes(),
                            all);
        }
      }
  }
}

// What the ranks share. Whoever comes last does the work of an operation, with the lock.
class Group {
 public:
  Group(int size, std::chrono::duration<double> timeout) : size_(size), timeout_(timeout) {}

  void begin(std::int64_t number,
             Kind kind,
             int rank,
             int root,
             const Part& part,
             const std::string& label) {
    const std::lock_guard lock(mutex_);
    check(label);
    const auto index = static_cast<std::size_t>(number - first_);
    if (index == operations_.size()) {
      operations_.push_back({kind, part.elements.size, part.elements.dtype, root, label,
                             std::vector<Part>(static_cast<std::size_t>(size_))});
    }
    Operation& operation = operations_[index];
    if (operation.kind != kind || operation.size != part.elements.size ||
        operation.dtype != part.elements.dtype || operation.root != root) {
      set_failure(str_cat("all ranks must begin the same operation, got ", label, ", ",
                          part.elements.dtype, " [", part.elements.size, "] in rank ", rank,
                          " and ", operation.label, ", ", operation.dtype, " [", operation.size,
                          "] in another"));
      check(label);
    }
    operation.parts[static_cast<std::size_t>(rank)] = part;
    operation.parts[static_cast<std::size_t>(rank)].is_there = true;
    ++operation.arrived;
    if (operation.is_done()) {
      finish(operation);
      changed_.notify_all();
    }
  }

  void wait(std::int64_t number) {
    std::unique_lock lock(mutex_);
    const auto is_over = [&] { return !failure_.empty() || at(number).is_done(); };
    if (!changed_.wait_for(lock, timeout_, is_over)) {
      set_failure(str_cat("rank ", missing(at(number)), " must begin it within ", timeout_.count(),
                          " s, got nothing from it"));
    }
    if (!at(number).is_done()) check(at(number).label);
    ++at(number).left;
    while (!operations_.empty() && operations_.front().left == size_) {
      operations_.pop_front();
      ++first_;
    }
  }

  void fail(const std::string& why) {
    const std::lock_guard lock(mutex_);
    set_failure(why);
  }

  void check_failure(const std::string& label) {
    const std::lock_guard lock(mutex_);
    check(label);
  }

 private:
  Operation& at(std::int64_t number) {
    return operations_[static_cast<std::size_t>(number - first_)];
  }

  static std::string missing(const Operation& operation) {
    std::vector<std::string> ranks;
    for (std::size_t i = 0; i < operation.parts.size(); ++i) {
      if (!operation.parts[i].is_there) ranks.push_back(str_cat(i));
    }
    return join(ranks);
  }

  void set_failure(const std::string& why) {
    if (failure_.empty()) failure_ = why;
    changed_.notify_all();
  }

  void check(const std::string& label) const {
    if (!failure_.empty()) throw RankFailed(label, ": ", failure_);
  }

  const int size_;
  const std::chrono::duration<double> timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Operation> operations_;  // that not all have waited for
  std::int64_t first_ = 0;            // the number of the first of them
  std::string failure_;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(int rank, int size, std::shared_ptr<Group> group)
      : Communicator(rank, size), group_(std::move(group)) {}

  Request iallreduce(const Elements& own, const Elements& sum, const std::string& label) override {
    return begin(Kind::kAllreduce, {own, sum.data}, 0, label);
  }
  Request ireduce_scatter(const Elements& own,
                          const Elements& part,
                          const std::string& label) override {
    return begin(Kind::kReduceScatter, {own, part.data}, 0, label);
  }
  Request ibroadcast(const Elements& elements, int root, const std::string& label) override {
    return begin(Kind::kBroadcast, {elements}, root, label);
  }
  Request iallgather(const Elements& own, void* all, const std::string& label) override {
    return begin(Kind::kAllgather, {own, all}, 0, label);
  }
  void wait(Request request) override { group_->wait(request); }
  void check() override { group_->check_failure(str_cat("rank ", rank())); }
  void fail(const std::string& why) noexcept override {
    group_->fail(str_cat("rank ", rank(), " has failed: ", why));
  }

 private:
  Request begin(Kind kind, const Part& part, int root, const std::string& label) {
    group_->begin(begun_, kind, rank(), root, part, label);
    return begun_++;
  }

  std::shared_ptr<Group> group_;
  Request begun_ = 0;  // so many
};

}  // namespace

std::vector<std::shared_ptr<Communicator>> thread_group(int size,
                                                        std::chrono::duration<double> timeout) {
  require(size >= 1, "thread_group: size must be at least 1, got ", size);
  const auto group = std::make_shared<Group>(size, timeout);
  std::vector<std::shared_ptr<Communicator>> ranks;
  ranks.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(std::make_shared<ThreadCommunicator>(rank, size, group));
  }
  return ranks;
}

}  // namespace fluidcore
