#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "fluidcore/op/random_stream.h"
#include "fluidcore/op/sub_block.h"
#include "fluidcore/runtime/prepared_block.h"

namespace fluidcore {

// The block of an operator in a Plan. It is filled while the Plan is built and does not move
// afterwards: kernels hold its address.
class SubBlockRunner : public SubBlock {
 public:
  // `type` is that of the operator; `plan_state` belongs to the whole run of the Plan.
  SubBlockRunner(std::string type, std::int64_t block_idx, const RunState& plan_state)
      : type_(std::move(type)), block_idx_(block_idx), plan_state_(plan_state) {}

  void run() override;
  Cell& given(const std::string& name) override;
  const Cell& result(const std::string& name) override;
  Place place_of(const std::string& name) override;
  bool is_enqueued() const override;

  std::int64_t block_idx() const { return block_idx_; }
  PreparedBlock& block() { return block_; }
  const RunState& state() const { return state_; }  // of the block's own operators
  void add_given(const std::string& name, Cell* cell) { given_[name] = cell; }
  void add_result(const std::string& name, const Cell* cell) { results_[name] = cell; }
  void add_place(const std::string& name, Place place) { places_[name] = std::move(place); }
  // Called after each run: throws where a result has no value.
  void add_check(std::function<void()> check);

  // A run of the Plan begins: the random numbers start again.
  void restart() { runs_ = 0; }

 private:
  std::string type_;
  std::int64_t block_idx_;
  const RunState& plan_state_;
  RunState state_;
  std::uint64_t runs_ = 0;  // in this run of the Plan
  PreparedBlock block_;
  std::map<std::string, Cell*, std::less<>> given_;
  std::map<std::string, const Cell*, std::less<>> results_;
  std::map<std::string, Place, std::less<>> places_;  // of results
  std::vector<std::function<void()>> checks_;
};

}  // namespace fluidcore
