#include "fluidcore/runtime/device_graphs.h"

#include <deque>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "tensor/host_device.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Writes down what it is asked for.
class Recorded : public HostDevice {
 public:
  class Graph : public DeviceGraph {
   public:
    explicit Graph(std::vector<std::string>& log) : log_(log) {}
    void launch() override { log_.emplace_back("launch"); }

   private:
    std::vector<std::string>& log_;
  };

  std::vector<std::string> log;

  void begin_capture() override { log.emplace_back("begin"); }
  std::unique_ptr<DeviceGraph> end_capture() override {
    log.emplace_back("end");
    return std::make_unique<Graph>(log);
  }
};

class DeviceGraphsTest : public ::testing::Test {
 protected:
  DeviceGraphsTest() {
    watch_.device = &device_;
    block_.watch = &watch_;
    cells_.emplace_back();
  }

  void add(const std::string& name) {
    block_.steps.push_back({Kernel([this, name] { device_.log.push_back(name); }), name, "note"});
  }
  void add_enqueued(const std::string& name, std::function<void()> check = nullptr) {
    block_.steps.push_back(
        {Kernel::enqueued([this, name] { device_.log.push_back(name); }, std::move(check)), name,
         "note"});
  }
  // What a run asks for.
  std::vector<std::string> run(DeviceGraphs& graphs) {
    device_.log.clear();
    graphs.run();
    return device_.log;
  }

  Recorded device_;
  Watch watch_;
  PreparedBlock block_;
  std::deque<Cell> cells_;
};

TEST_F(DeviceGraphsTest, TheSecondRunRecordsWhatTheThirdReplays) {
  add_enqueued("a");
  add_enqueued("b");
  DeviceGraphs graphs(block_, cells_);
  EXPECT_THAT(run(graphs), ElementsAre("a", "b"));
  EXPECT_THAT(run(graphs), ElementsAre("begin", "a", "b", "end", "launch"));
  EXPECT_THAT(run(graphs), ElementsAre("launch"));
}

TEST_F(DeviceGraphsTest, WhatIsNotOnlyEnqueuedRunsBetweenTwoGraphs) {
  add_enqueued("a");
  add_enqueued("b");
  add("host");
  add_enqueued("c");
  add("again");
  add_enqueued("d");
  add_enqueued("e");
  DeviceGraphs graphs(block_, cells_);
  run(graphs);
  run(graphs);
  EXPECT_THAT(run(graphs), ElementsAre("launch", "host", "c", "again", "launch"));
}

TEST_F(DeviceGraphsTest, AnotherAddressIsRecordedAndBothAreKept) {
  add_enqueued("a");
  add_enqueued("b");
  DeviceGraphs graphs(block_, cells_);
  int places[2];
  run(graphs);
  for (int round = 0; round < 2; ++round) {
    for (int& place : places) {
      cells_[0].data = &place;
      const std::vector<std::string> log = run(graphs);
      EXPECT_EQ(log.size(), round == 0 ? 5 : 1);
    }
  }
}

TEST_F(DeviceGraphsTest, AViewIsWhereItsVariableIsAlsoWhereItsStepIsReplayed) {
  add_enqueued("a");
  add_enqueued("b");
  cells_.emplace_back().offset = 4;
  block_.steps[1].views.push_back({&cells_[1], &cells_[0]});
  DeviceGraphs graphs(block_, cells_);
  char places[2][8];
  run(graphs);
  for (int round = 0; round < 2; ++round) {
    for (auto& place : places) {
      cells_[0].data = place;
      run(graphs);
      EXPECT_EQ(cells_[1].data, place + 4);
    }
  }
}

TEST_F(DeviceGraphsTest, WhatTheHostMovesBetweenTwoGraphsIsRecordedWhereItIsThen) {
  add_enqueued("a");
  add_enqueued("b");
  int places[2];
  std::size_t next = 0;
  block_.steps.push_back({Kernel([&] { cells_[0].data = &places[next]; }), "host", "note"});
  add_enqueued("c");
  add_enqueued("d");
  DeviceGraphs graphs(block_, cells_);
  run(graphs);
  run(graphs);
  EXPECT_THAT(run(graphs), ElementsAre("launch", "launch"));
  next = 1;
  EXPECT_THAT(run(graphs), ElementsAre("launch", "begin", "c", "d", "end", "launch"));
}

TEST_F(DeviceGraphsTest, AddressesThatAlwaysChangeAreNotRecordedForEver) {
  add_enqueued("a");
  add_enqueued("b");
  DeviceGraphs graphs(block_, cells_);
  int places[50];
  std::vector<std::string> log;
  for (int& place : places) {
    cells_[0].data = &place;
    log = run(graphs);
  }
  EXPECT_THAT(log, ElementsAre("a", "b"));
}

TEST_F(DeviceGraphsTest, ACheckComesBeforeTheWorkInEveryRun) {
  bool is_wrong = false;
  add_enqueued("a");
  add_enqueued("b", [&] { require(!is_wrong, "b: must be right, got wrong"); });
  DeviceGraphs graphs(block_, cells_);
  for (int i = 0; i < 3; ++i) run(graphs);
  is_wrong = true;
  device_.log.clear();
  try {
    graphs.run();
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "b: must be right, got wrong");
    EXPECT_EQ(error.note(), "note");
  }
  EXPECT_THAT(device_.log, IsEmpty());
}

TEST_F(DeviceGraphsTest, OneStepAloneIsNotRecorded) {
  add_enqueued("a");
  DeviceGraphs graphs(block_, cells_);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(run(graphs), ElementsAre("a"));
}

}  // namespace
}  // namespace fluidcore
