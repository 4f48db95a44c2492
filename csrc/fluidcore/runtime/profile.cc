#include "fluidcore/runtime/profile.h"

#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/runtime/prepared_block.h"
#include "fluidcore/tensor/device_context.h"

namespace fluidcore {

namespace {

std::int64_t nanoseconds(Profile::Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

}  // namespace

void Profile::add(const PreparedStep& step,
                  Clock::time_point begin,
                  Clock::duration taken,
                  Clock::duration inside) {
  const std::lock_guard lock(mutex_);
  const std::string& name = step.name.empty() ? step.type : step.name;
  const auto [known, is_new] =
      known_.try_emplace(str_cat(name, " ", step.note), content_.operators.size());
  if (is_new) content_.operators.push_back({name, step.note});
  const std::size_t thread =
      threads_.try_emplace(std::this_thread::get_id(), threads_.size()).first->second;
  content_.events.push_back({.op = known->second,
                             .thread = thread,
                             .begin = nanoseconds(begin - start_),
                             .duration = nanoseconds(taken),
                             .inside = nanoseconds(inside),
                             .bytes = step.work,
                             .flops = step.flops});
}

void Profile::add_communication(std::string label, Clock::time_point begin, Clock::duration taken) {
  const std::lock_guard lock(mutex_);
  content_.communications.push_back(
      {std::move(label), nanoseconds(begin - start_), nanoseconds(taken)});
}

Profile::Content Profile::content() const {
  const std::lock_guard lock(mutex_);
  return content_;
}

void Recorder::run(const PreparedStep& step, DeviceContext& device) {
  const Profile::Clock::duration before = std::exchange(inside_, {});
  const Profile::Clock::time_point begin = Profile::Clock::now();
  step.kernel();
  device.wait();
  const Profile::Clock::duration taken = Profile::Clock::now() - begin;
  profile_->add(step, begin, taken, inside_);
  inside_ = before + taken;
}

}  // namespace fluidcore
