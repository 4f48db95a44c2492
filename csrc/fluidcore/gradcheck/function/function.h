#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "fluidcore/runtime/interruption.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// What is called again and again, and can be told to end.
class Interruptible {
 public:
  Interruptible() = default;
  virtual ~Interruptible() = default;
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  // What ends the runs, and whoever calls them again and again; null: nothing.
  Interruption* interruption() const { return interruption_; }
  void set_interruption(Interruption* interruption) { interruption_ = interruption; }

 private:
  Interruption* interruption_ = nullptr;
};

// While it lives, an Interruption ends what runs.
class InterruptedBy {
 public:
  InterruptedBy(Interruptible& what, Interruption& interruption) : what_(what) {
    what_.set_interruption(&interruption);
  }
  ~InterruptedBy() { what_.set_interruption(nullptr); }
  InterruptedBy(const InterruptedBy&) = delete;
  InterruptedBy& operator=(const InterruptedBy&) = delete;

 private:
  Interruptible& what_;
};

// y = f(x), what is differentiated. One thread uses a Function at a time.
class Function : public Interruptible {
 public:
  // The point x: floating tensors in memory of this Function. Whoever changes an element of them
  // puts the old value back.
  virtual const std::vector<Tensor>& inputs() const = 0;

  // The outputs at the inputs as they are now, floating; valid until the next run. The same inputs
  // give the same outputs, as far as it lies with the Function: random operators draw the same
  // numbers in every run. Throws what f throws.
  virtual const std::vector<Tensor>& run() = 0;

  // The same function with memory of its own, for another thread; null when only one thread can
  // run it. With `only`, no other input will change: what does not depend on it need not run again.
  virtual std::unique_ptr<Function> fork(std::optional<std::size_t> only) const = 0;

  // A run may use so many threads from now on; they change no result. At first it is one.
  virtual void use_threads(int /*count*/) {}
};

}  // namespace fluidcore::gradcheck
