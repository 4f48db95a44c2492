#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "fluidcore/op/permutation.h"
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

  // A kernel that also does what `permutations` of the variables that it reads and of its result
  // do, by strides. An empty one: it cannot.
  struct Strided {
    std::vector<const Cell*> reads;
    const Cell* result = nullptr;
    std::function<Kernel(const std::vector<Permutation>& permutations)> with;
  };

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

  Kernel(std::function<void()> run, Permutation permutation)
      : permutation_(std::make_shared<const Permutation>(std::move(permutation))),
        run_(std::move(run)) {}
  Kernel(std::function<void()> run, Strided strided)
      : strided_(std::make_shared<const Strided>(std::move(strided))), run_(std::move(run)) {}

  // One that only asks the device of its variables for work, the same in every run as long as their
  // addresses are the same; `check`, if any, does not, and comes before it in every run.
  static Kernel enqueued(std::function<void()> work, std::function<void()> check = nullptr) {
    Kernel kernel;
    kernel.check_ = std::move(check);
    kernel.run_ = std::move(work);
    kernel.is_enqueued_ = true;
    return kernel;
  }

  void operator()() const {
    if (check_) check_();
    run_();
  }
  const std::function<void()>& check() const { return check_; }  // null: there is none
  void work() const { run_(); }                                  // without the check
  bool is_empty() const { return run_ == nullptr; }  // there is nothing to do, or to call
  bool is_enqueued() const { return is_enqueued_ || (rows_ != nullptr && rows_->is_on_device()); }
  const RowKernel* rows() const { return rows_.get(); }                // null: it does not
  const std::function<void()>* first() const { return first_.get(); }  // null: there are only rows
  const Epilogue* epilogue() const { return epilogue_.get(); }         // null: it takes no part
  const Permutation* permutation() const { return permutation_.get(); }  // null: it does more
  const Strided* strided() const { return strided_.get(); }              // null: it takes none

 private:
  std::shared_ptr<const RowKernel> rows_;
  std::shared_ptr<const std::function<void()>> first_;
  std::shared_ptr<const Epilogue> epilogue_;
  std::shared_ptr<const Permutation> permutation_;
  std::shared_ptr<const Strided> strided_;
  std::function<void()> check_;
  std::function<void()> run_;
  bool is_enqueued_ = false;
};

}  // namespace fluidcore
