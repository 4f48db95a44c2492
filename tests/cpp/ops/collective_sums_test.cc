#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/op/grad_context.h"
#include "ops/op_runner.h"
#include "ops/rank_runner.h"

namespace fluidcore {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void add_up(ProgramRunner& runner,
            const std::vector<std::string>& names,
            const AttributeMap& attrs,
            const std::vector<std::string>& samples = {}) {
  SlotMap inputs{{"X", names}};
  if (!samples.empty()) inputs["Samples"] = samples;
  runner.add(OpDesc("c_allreduce_sum", inputs, {{"Request", {"request"}}}, attrs));
  runner.add(OpDesc("c_wait", {{"Request", {"request"}}, {"Like", names}}, {{"Out", names}}));
}

TEST(CollectiveSumsTest, GradientsBecomeTheirMeansOverTheRanks) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int rank) {
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

TEST(CollectiveSumsTest, WithSamplesEachRankCountsWhatItHas) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int rank) {
    runner.feed("a", tensor_of({1}, {rank == 0 ? 1.0 : 5.0}));
    runner.feed("n", tensor_of({2}, {rank == 0 ? 3.0 : 1.0, 4}, DType::kInt64));
    runner.add("relu", "a", "x");
    add_up(runner, {"x"}, {}, {"n"});
    return "x";
  });
  for (const Tensor& x : ranks.results) EXPECT_THAT(values_of(x), ElementsAre(2));
}

TEST(CollectiveSumsTest, SumsAndParamsAreAttributes) {
  const RankRuns ranks(3, [](ProgramRunner& runner, int rank) {
    runner.feed("a", tensor_of({1}, {1.0 + rank}));
    runner.add("relu", "a", "x");
    add_up(runner, {"x"}, {{"average", false}, {"params", std::vector<std::string>{"w"}}});
    return "x";
  });
  for (const Tensor& x : ranks.results) EXPECT_THAT(values_of(x), ElementsAre(6));
}

TEST(CollectiveSumsTest, SixteenBitsAreAddedUpInFloat32) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int rank) {
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

TEST(CollectiveSumsTest, AnErrorOfOneRankIsThatOfAll) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int rank) {
    runner.feed("ids", tensor_of({1}, {rank == 0 ? 0.0 : 9.0}, DType::kInt64));
    runner.feed("w", tensor_of({2, 1}, {1, 2}));
    runner.add(OpDesc("gather", {{"X", {"w"}}, {"Index", {"ids"}}}, {{"Out", {"x"}}}));
    add_up(runner, {"x"}, {});
    return "x";
  });
  EXPECT_THAT(ranks.errors[0], HasSubstr("c_allreduce_sum of x: rank 1 has failed: gather: "));
  EXPECT_THAT(ranks.errors[1], HasSubstr("gather: "));
}

TEST(CollectiveSumsTest, NeedACommunicator) {
  ProgramRunner runner;
  runner.feed("a", tensor_of({1}, {1}));
  add_up(runner, {"a"}, {});
  EXPECT_THAT([&] { runner.run({"a"}); },
              testing::ThrowsMessage<InvalidArgument>(
                  HasSubstr("c_allreduce_sum: the Executor must have a communicator, got none")));
}

TEST(CollectiveSumsTest, RanksDrawDifferentNumbersAndTheSameInEveryRun) {
  const auto drawn = [] {
    const RankRuns ranks(2, [](ProgramRunner& runner, int /*rank*/) {
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

TEST(CollectiveSumsTest, EachRankGetsItsPartOfASum) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int rank) {
    runner.feed("a", tensor_of({2}, {1, 2}));
    runner.feed("b", tensor_of({1}, {3.0 + rank}));
    runner.feed("part", tensor_of({2}, {0, 0}));
    runner.add(OpDesc("c_reduce_scatter", {{"X", {"a", "b"}}}, {{"Request", {"request"}}}));
    runner.add(OpDesc("c_wait", {{"Request", {"request"}}, {"Like", {"part"}}}, {{"Out", {"x"}}}));
    return "x";
  });
  EXPECT_THAT(ranks.errors, Each(""));
  EXPECT_THAT(values_of(ranks.results[0]), ElementsAre(1, 2));
  EXPECT_THAT(values_of(ranks.results[1]), ElementsAre(3.5, 0));
}

TEST(CollectiveSumsTest, ASumIsNotReadAsMoreThanItIs) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int /*rank*/) {
    runner.feed("a", tensor_of({2}, {1, 2}));
    runner.feed("more", tensor_of({3}, {1, 2, 3}));
    runner.add(OpDesc("c_allreduce_sum", {{"X", {"a"}}}, {{"Request", {"request"}}}));
    runner.add(OpDesc("c_wait", {{"Request", {"request"}}, {"Like", {"more"}}}, {{"Out", {"x"}}}));
    return "x";
  });
  EXPECT_THAT(ranks.errors, Each(HasSubstr("c_wait: Like must have the elements of the sum, got "
                                           "float64 [3] for a sum of float64 [2]")));
}

TEST(CollectiveSumsTest, AMeanOverTheRanksHasAMeanForItsGradient) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int rank) {
    runner.feed("x", tensor_of({1}, {1.0 + 2 * rank}));
    runner.feed("n", tensor_of({2}, {rank == 0 ? 3.0 : 1.0, 4}, DType::kInt64));
    runner.add(OpDesc("c_average", {{"X", {"x"}}, {"Samples", {"n"}}}, {{"Out", {"y"}}}));
    return "y";
  });
  for (const Tensor& y : ranks.results) EXPECT_THAT(values_of(y), ElementsAre(1.5));
  const OpDesc forward("c_average", {{"X", {"x"}}, {"Samples", {"n"}}}, {{"Out", {"y"}}});
  const std::set<std::string> no_grad;
  GradContext context(forward, no_grad);
  const std::vector<OpDesc> grads = builtin_ops().grad_ops(context);
  ASSERT_EQ(grads.size(), 1);
  EXPECT_EQ(grads[0].type(), "c_average");
  EXPECT_THAT(grads[0].input("X"), ElementsAre("y@GRAD"));
  EXPECT_THAT(grads[0].input("Samples"), ElementsAre("n"));
  EXPECT_THAT(grads[0].output("Out"), ElementsAre("x@GRAD"));
}

}  // namespace
}  // namespace fluidcore
