#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <utility>

#include "fluidcore/op/elementwise_kernel.h"

namespace fluidcore {

// What a kernel factory returns: called once per run, it only calculates. One that maps elements
// says so, and a pass may run it together with its neighbours.
class Kernel {
 public:
  Kernel() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): factories return a function
  Kernel(std::invocable auto run) : run_(std::move(run)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Kernel(ElementwiseKernel elementwise)
      : elementwise_(std::make_shared<const ElementwiseKernel>(std::move(elementwise))),
        run_([kernel = elementwise_] { kernel->run(); }) {}

  void operator()() const { run_(); }
  const ElementwiseKernel* elementwise() const { return elementwise_.get(); }  // null: it is not

 private:
  std::shared_ptr<const ElementwiseKernel> elementwise_;
  std::function<void()> run_;
};

}  // namespace fluidcore
