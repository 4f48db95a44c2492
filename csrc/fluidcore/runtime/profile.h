#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace fluidcore {

class DeviceContext;
struct PreparedStep;

// Which operators ran, and how long each took. Any number of runs, of several threads, fill one.
class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  // Operators of one type that were added at one line, with one place in their programs, are one.
  struct Operator {
    std::string type;  // or types, "elementwise_add + relu", of a step that does several
    std::string note;  // names it, or the first one, in messages
  };
  // Times are in nanoseconds, from the making of the profile on.
  struct Event {
    std::size_t op = 0;      // in operators
    std::size_t thread = 0;  // 0, 1, ... as they came
    std::int64_t begin = 0;
    std::int64_t duration = 0;
    std::int64_t inside = 0;  // of the duration: in the operators of its block
    std::int64_t bytes = 0;   // read and written, those of its block not counted
    std::int64_t flops = 0;   // 0 where they are not known
  };
  // What ran beside the operators, on behalf of one: a sum over ranks.
  struct Communication {
    std::string label;
    std::int64_t begin = 0;
    std::int64_t duration = 0;
  };
  struct Content {
    std::vector<Operator> operators;
    std::vector<Event> events;                  // those of a block before the operator that runs it
    std::vector<Communication> communications;  // as they ended
  };

  void add(const PreparedStep& step,
           Clock::time_point begin,
           Clock::duration taken,
           Clock::duration inside);
  void add_communication(std::string label, Clock::time_point begin, Clock::duration taken);
  Content content() const;

 private:
  const Clock::time_point start_ = Clock::now();
  mutable std::mutex mutex_;
  Content content_;
  std::unordered_map<std::string, std::size_t> known_;  // by type and note
  std::map<std::thread::id, std::size_t> threads_;
};

// What one run adds to a Profile.
class Recorder {
 public:
  // A run begins; null: nothing is recorded.
  void begin(Profile* profile) {
    profile_ = profile;
    inside_ = {};
  }
  bool is_on() const { return profile_ != nullptr; }

  // Runs the kernel of the step, and waits until the device is done with it.
  void run(const PreparedStep& step, DeviceContext& device);

 private:
  Profile* profile_ = nullptr;
  Profile::Clock::duration inside_ = {};  // what the operators of the open block have taken so far
};

}  // namespace fluidcore
