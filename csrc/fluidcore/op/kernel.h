#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "fluidcore/op/row_kernel.h"

namespace fluidcore {

// What a kernel factory returns: called once per run, it only calculates. One that works row
// by row, at least in the end, says so, and a pass may run that together with its neighbours.
class Kernel {
 public:
  // A kernel that also does, before it stores its results, what the first `count` of the parts do,
  // each of which works on what the one before it made, the first one on the results. Nobody else
  // reads what lies between. No part: the kernel can do none of them, and there is none.
  using Epilogue =
      std::function<std::pair<Kernel, std::size_t>(const std::vector<const RowPart*>& parts)>;

  Kernel() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): factories return a function
  Kernel(std::invocable auto run) : run_(std::move(run)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Kernel(RowKernel rows)
      : rows_(std::make_shared<const RowKernel>(std::move(rows))),
        run_([kernel = rows_] { kernel->run(); }) {}
  // `first`, which uses nothing that the rows write, is done before them.
  Kernel(std::function<void()> first, RowKernel rows)
      : rows_(std::make_shared<const RowKernel>(std::move(rows))),
        first_(std::make_shared<const std::function<void()>>(std::move(first))),
        run_([before = first_, kernel = rows_] {
          (*before)();
          kernel->run();
        }) {}
  Kernel(std::function<void()> run, Epilogue epilogue)
      : epilogue_(std::make_shared<const Epilogue>(std::move(epilogue))), run_(std::move(run)) {}

  void operator()() const { run_(); }
  bool is_empty() const { return run_ == nullptr; }      // there is nothing to do, or to call
  const RowKernel* rows() const { return rows_.get(); }  // null: it does not
  const std::function<void()>* first() const { return first_.get(); }  // null: there are only rows
  const Epilogue* epilogue() const { return epilogue_.get(); }         // null: it takes no part

 private:
  std::shared_ptr<const RowKernel> rows_;
  std::shared_ptr<const std::function<void()>> first_;
  std::shared_ptr<const Epilogue> epilogue_;
  std::function<void()> run_;
};

}  // namespace fluidcore
