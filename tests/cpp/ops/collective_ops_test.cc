#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/op/communicator.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/scope.h"
#include "fluidcore/runtime/thread_group.h"
#include "fluidcore/tensor/selected_rows.h"
#include "ops/op_runner.h"
#include "ops/program_runner.h"

namespace fluidcore {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Runs a program that each rank builds for itself on as many threads; results, or errors, by rank.
struct Ranks {
  using Build = std::function<std::string(ProgramRunner&, int rank)>;  // gives what is fetched

  explicit Ranks(int size, const Build& build) : results(Count(size)), errors(Count(size)) {
    const auto ranks = thread_group(size, std::chrono::seconds(20));
    std::vector<std::thread> threads;
    for (const auto& communicator : ranks) {
      threads.emplace_back([&, communicator] {
        const auto rank = Count(communicator->rank());
        try {
          ProgramRunner runner;
          const std::string wanted = build(runner, communicator->rank());
          Executor executor(builtin_ops());
          Executor::Options options;
          options.communicator = communicator.get();
          results[rank] =
              executor.run(runner.program(), runner.feeds(), {wanted}, Scope::create(), options)[0];
        } catch (const Error& error) {
          errors[rank] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  static std::size_t Count(int number) { return static_cast<std::size_t>(number); }

  std::vector<Tensor> results;
  std::vector<std::string> errors;
};

void add_up(ProgramRunner& runner,
            const std::vector<std::string>& names,
            const AttributeMap& attrs,
            const std::vector<std::string>& samples = {}) {
  SlotMap inputs{{"X", names}};
  if (!samples.empty()) inputs["Samples"] = samples;
  runner.add(OpDesc("c_allreduce_sum", inputs, {{"Request", {"request"}}}, attrs));
  runner.add(OpDesc("c_wait", {{"Request", {"request"}}, {"Like", names}}, {{"Out", names}}));
}

TEST(CollectiveOpsTest, GradientsBecomeTheirMeansOverTheRanks) {
  const Ranks ranks(2, [](ProgramRunner& runner, int rank) {
    runner.feed("a", tensor_of({2}, {1.0 + rank, 2}));
    runner.feed("b", tensor_of({1, 2}, {10.0 * rank, 1}));
    runner.add("relu", "a", "x");
    runner.add("relu", "b", "y");
    add_up(runner, {"x", "y"}, {});
    runner.add("relu", "y", "z");
    return "z";
  });
  EXPECT_THAT(ranks.errors, Each(""));
  for (const Tensor& z : ranks.results) EXPECT_THAT(values_of(z), ElementsAre(5, 1));
}

TEST(CollectiveOpsTest, WithSamplesEachRankCountsWhatItHas) {
  const Ranks ranks(2, [](ProgramRunner& runner, int rank) {
    runner.feed("a", tensor_of({1}, {rank == 0 ? 1.0 : 5.0}));
    runner.feed("n", tensor_of({2}, {rank == 0 ? 3.0 : 1.0, 4}, DType::kInt64));
    runner.add("relu", "a", "x");
    add_up(runner, {"x"}, {}, {"n"});
    return "x";
  });
  for (const Tensor& x : ranks.results) EXPECT_THAT(values_of(x), ElementsAre(2));
}

TEST(CollectiveOpsTest, SumsAndParamsAreAttributes) {
  const Ranks ranks(3, [](ProgramRunner& runner, int rank) {
    runner.feed("a", tensor_of({1}, {1.0 + rank}));
    runner.add("relu", "a", "x");
    add_up(runner, {"x"}, {{"average", false}, {"params", std::vector<std::string>{"w"}}});
    return "x";
  });
  for (const Tensor& x : ranks.results) EXPECT_THAT(values_of(x), ElementsAre(6));
}

TEST(CollectiveOpsTest, SixteenBitsAreAddedUpInFloat32) {
  const Ranks ranks(2, [](ProgramRunner& runner, int rank) {
    // 1 + 1/256 is no bfloat16: 1 and 258/256 have the sum 514/256, which is one.
    runner.feed("a", tensor_of({1}, {rank == 0 ? 1.0 : 1.0078125}, DType::kBFloat16));
    runner.add("relu", "a", "x");
    add_up(runner, {"x"}, {{"average", false}});
    return "x";
  });
  for (const Tensor& x : ranks.results) {
    EXPECT_EQ(x.spec().dtype, DType::kBFloat16);
    EXPECT_THAT(values_of(x), ElementsAre(2));  // to even
  }
}

TEST(CollectiveOpsTest, ABroadcastGivesTheValuesOfItsRoot) {
  const Ranks ranks(3, [](ProgramRunner& runner, int rank) {
    runner.feed("a", tensor_of({2}, {1.0 * rank, -1.0 * rank}));
    runner.add(
        OpDesc("c_broadcast", {{"X", {"a"}}}, {{"Out", {"x"}}}, {{"root", std::int64_t{1}}}));
    return "x";
  });
  for (const Tensor& x : ranks.results) EXPECT_THAT(values_of(x), ElementsAre(1, -1));
}

TEST(CollectiveOpsTest, SelectedRowsAreThoseOfAllRanks) {
  const Ranks ranks(2, [](ProgramRunner& runner, int rank) {
    runner.feed("w", tensor_of({4, 1}, {0, 0, 0, 0}));
    runner.feed("ids", tensor_of({2}, {1.0 + rank, 0}, DType::kInt64));
    runner.feed("values", tensor_of({2, 1}, {2, 4}));
    runner.add(OpDesc("lookup_table_v2_grad",
                      {{"W", {"w"}}, {"Ids", {"ids"}}, {"Out@GRAD", {"values"}}},
                      {{"W@GRAD", {"g"}}}, {{"is_sparse", true}}));
    runner.add(
        OpDesc("c_allgather_rows", {{"X", {"g"}}}, {{"Out", {"g"}}}, {{"ranks", std::int64_t{2}}}));
    runner.add("selected_rows_to_dense", "g", "dense");
    return "dense";
  });
  EXPECT_THAT(ranks.errors, Each(""));
  for (const Tensor& dense : ranks.results) EXPECT_THAT(values_of(dense), ElementsAre(4, 1, 1, 0));
}

TEST(CollectiveOpsTest, AnErrorOfOneRankIsThatOfAll) {
  const Ranks ranks(2, [](ProgramRunner& runner, int rank) {
    runner.feed("ids", tensor_of({1}, {rank == 0 ? 0.0 : 9.0}, DType::kInt64));
    runner.feed("w", tensor_of({2, 1}, {1, 2}));
    runner.add(OpDesc("gather", {{"X", {"w"}}, {"Index", {"ids"}}}, {{"Out", {"x"}}}));
    add_up(runner, {"x"}, {});
    return "x";
  });
  EXPECT_THAT(ranks.errors[0], HasSubstr("c_allreduce_sum of x: rank 1 has failed: gather: "));
  EXPECT_THAT(ranks.errors[1], HasSubstr("gather: "));
}

TEST(CollectiveOpsTest, NeedACommunicator) {
  ProgramRunner runner;
  runner.feed("a", tensor_of({1}, {1}));
  add_up(runner, {"a"}, {});
  EXPECT_THAT([&] { runner.run({"a"}); },
              testing::ThrowsMessage<InvalidArgument>(
                  HasSubstr("c_allreduce_sum: the Executor must have a communicator, got none")));
}

TEST(CollectiveOpsTest, RanksDrawDifferentNumbersAndTheSameInEveryRun) {
  const auto drawn = [] {
    const Ranks ranks(2, [](ProgramRunner& runner, int /*rank*/) {
      runner.program().set_random_seed(5);
      runner.add(OpDesc("uniform_random", {}, {{"Out", {"x"}}},
                        {{"shape", std::vector<std::int64_t>{3}}, {"dtype", std::int64_t{5}}}));
      return "x";
    });
    return std::pair(values_of(ranks.results[0]), values_of(ranks.results[1]));
  };
  const auto first = drawn();
  EXPECT_NE(first.first, first.second);
  EXPECT_EQ(first, drawn());
}

}  // namespace
}  // namespace fluidcore
