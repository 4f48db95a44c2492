#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <utility>

#include "fluidcore/op/row_kernel.h"

namespace fluidcore {

// What a kernel factory returns: called once per run, it only calculates. One that works row
// by row says so, and a pass may run it together with its neighbours.
class Kernel {
 public:
  Kernel() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): factories return a function
  Kernel(std::invocable auto run) : run_(std::move(run)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Kernel(RowKernel rows)
      : rows_(std::make_shared<const RowKernel>(std::move(rows))),
        run_([kernel = rows_] { kernel->run(); }) {}

  void operator()() const { run_(); }
  const RowKernel* rows() const { return rows_.get(); }  // null: it does not

 private:
  std::shared_ptr<const RowKernel> rows_;
  std::function<void()> run_;
};

}  // namespace fluidcore
