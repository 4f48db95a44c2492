#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_runner.h"
#include "ops/rank_runner.h"

namespace fluidcore {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

OpDesc batch_norm(const SlotMap& more, const AttributeMap& attrs = {}) {
  SlotMap inputs{{"X", {"x"}},
                 {"Scale", {"one"}},
                 {"Bias", {"zero"}},
                 {"Mean", {"zero"}},
                 {"Variance", {"one"}}};
  inputs.insert(more.begin(), more.end());
  return {"c_batch_norm",
          inputs,
          {{"Y", {"y"}},
           {"MeanOut", {"running_mean"}},
           {"VarianceOut", {"running_variance"}},
           {"SavedMean", {"mean"}}},
          attrs};
}

void feed_statistics(ProgramRunner& runner) {
  runner.feed("one", tensor_of({1}, {1}));
  runner.feed("zero", tensor_of({1}, {0}));
}

TEST(BatchStatisticsTest, AreThoseOfAllRanks) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int rank) {
    feed_statistics(runner);
    runner.feed("x", rank == 0 ? tensor_of({2, 1}, {1, 3}) : tensor_of({2, 1}, {5, 7}));
    runner.add(batch_norm({}, {{"epsilon", 0.0}}));
    return "y";
  });
  EXPECT_THAT(ranks.errors, Each(""));
  const double std = std::sqrt(5.0);
  EXPECT_THAT(values_of(ranks.results[0]), Pointwise(DoubleNear(1e-12), {-3 / std, -1 / std}));
  EXPECT_THAT(values_of(ranks.results[1]), Pointwise(DoubleNear(1e-12), {1 / std, 3 / std}));
}

TEST(BatchStatisticsTest, CountEachRankBySamples) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int rank) {
    feed_statistics(runner);
    runner.feed("x", rank == 0 ? tensor_of({3, 1}, {1, 3, 5}) : tensor_of({1, 1}, {7}));
    runner.feed("n", tensor_of({2}, {rank == 0 ? 3.0 : 1.0, 4}, DType::kInt64));
    runner.add(batch_norm({{"Samples", {"n"}}}));
    return "mean";
  });
  for (const Tensor& mean : ranks.results) EXPECT_THAT(values_of(mean), ElementsAre(4));
}

// The gradient of x, with the mean 4 and the standard deviation sqrt(5).
std::string add_gradient(ProgramRunner& runner, const std::string& type) {
  feed_statistics(runner);
  runner.feed("mean", tensor_of({1}, {4}));
  runner.feed("inv_std", tensor_of({1}, {1 / std::sqrt(5.0)}));
  runner.add(OpDesc(type,
                    {{"X", {"x"}},
                     {"Scale", {"one"}},
                     {"SavedMean", {"mean"}},
                     {"SavedVariance", {"inv_std"}},
                     {"Y@GRAD", {"dy"}}},
                    {{"X@GRAD", {"dx"}}, {"Scale@GRAD", {"dscale"}}, {"Bias@GRAD", {"dbias"}}}));
  return "dx";
}

TEST(BatchStatisticsTest, HaveTheGradientOfTheWholeBatch) {
  ProgramRunner whole;
  whole.feed("x", tensor_of({4, 1}, {1, 3, 5, 7}));
  whole.feed("dy", tensor_of({4, 1}, {1, 0, 0, 2}));
  const std::vector<double> dx = values_of(whole.run({add_gradient(whole, "batch_norm_grad")})[0]);
  const RankRuns ranks(2, [](ProgramRunner& runner, int rank) {
    runner.feed("x", rank == 0 ? tensor_of({2, 1}, {1, 3}) : tensor_of({2, 1}, {5, 7}));
    runner.feed("dy", rank == 0 ? tensor_of({2, 1}, {1, 0}) : tensor_of({2, 1}, {0, 2}));
    return add_gradient(runner, "c_batch_norm_grad");
  });
  EXPECT_THAT(ranks.errors, Each(""));
  EXPECT_THAT(values_of(ranks.results[0]), Pointwise(DoubleNear(1e-12), {dx[0], dx[1]}));
  EXPECT_THAT(values_of(ranks.results[1]), Pointwise(DoubleNear(1e-12), {dx[2], dx[3]}));
}

TEST(BatchStatisticsTest, NeedElementsOnEveryRank) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int rank) {
    feed_statistics(runner);
    runner.feed("x", rank == 0 ? tensor_of({1, 1}, {1}) : tensor_of({0, 1}, {}));
    runner.add(batch_norm({}));
    return "y";
  });
  EXPECT_THAT(ranks.errors,
              Each(HasSubstr("c_batch_norm: X must have elements on every rank, got [0, 1]")));
}

TEST(BatchStatisticsTest, OfATestNeedNoOtherRank) {
  ProgramRunner runner;
  feed_statistics(runner);
  runner.feed("x", tensor_of({1, 1}, {3}));
  runner.add(batch_norm({}, {{"is_test", true}, {"epsilon", 0.0}}));
  EXPECT_THAT(values_of(runner.run({"y"})[0]), ElementsAre(3));
}

}  // namespace
}  // namespace fluidcore
