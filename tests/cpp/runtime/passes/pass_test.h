#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/runtime/passes/fuse_rows.h"

namespace fluidcore {

// Steps for a pass that puts some of them together.
class PassTest : public testing::Test {
 protected:
  const Cell* add_variable(Shape shape, bool is_temporary) {
    const Cell* cell = &cells_.emplace_back(Cell{{std::move(shape), DType::kFloat32}});
    if (is_temporary) temporaries_.insert(cell);
    return cell;
  }
  void add_step(const std::string& type, Kernel kernel, const Cell* out = nullptr) {
    PreparedStep step;
    step.kernel = std::move(kernel);
    step.type = type;
    step.note = type + " of train.py";
    step.work = 1;
    if (out != nullptr) step.outputs = {{type, out}};
    steps_.push_back(std::move(step));
  }
  // As if all temporaries were of the steps that are asked about.
  LivesWithin lives_within() const {
    return
        [this](const Cell* cell, std::size_t, std::size_t) { return temporaries_.contains(cell); };
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const PreparedStep& step : steps_) {
      names.push_back(step.name.empty() ? step.type : step.name);
    }
    return names;
  }

  std::deque<Cell> cells_;
  std::vector<PreparedStep> steps_;
  std::set<const Cell*> temporaries_;
};

}  // namespace fluidcore
