#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "fluidcore/runtime/interruption.h"

namespace fluidcore {

// Decides when a run looks at its Interruption: not by a clock, whose reading takes longer than a
// small operator, but after so much work that a look costs nothing beside it. Work is counted in
// bytes that operators read and write.
class Lookout {
 public:
  // A run begins; null: nobody interrupts it.
  void begin(Interruption* interruption) {
    interruption_ = interruption;
    work_ = 0;
    left_ = interruption != nullptr && interruption->is_urgent() ? 0 : kInterval;
  }

  // An operator is done that has read and written so many bytes.
  void add(std::int64_t work) {
    work = std::max(work, kLeastWork);
    work_ += work;
    left_ -= work;
  }
  std::int64_t work() const { return work_; }  // of this run so far
  bool is_due() const { return left_ <= 0; }
  // Throws what Interruption::check() throws.
  void look(std::string_view next) {
    left_ = kInterval;
    if (interruption_ != nullptr) interruption_->check(next);
  }

 private:
  static constexpr std::int64_t kLeastWork = 64;
  static constexpr std::int64_t kInterval = 1 << 14;

  Interruption* interruption_ = nullptr;
  std::int64_t work_ = 0;
  std::int64_t left_ = kInterval;
};

}  // namespace fluidcore
