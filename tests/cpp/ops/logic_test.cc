#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/ops/register_ops.h"
#include "ops/op_runner.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;

std::vector<double> run(const std::string& type, const Tensor& x, const Tensor& y) {
  return values_of(run_op({type, {{"X", x}, {"Y", y}}, {"Out"}}).at("Out"));
}

TEST(Comparison, ComparesElementByElement) {
  const Tensor x = tensor_of({4}, {1, 2, 3, NAN});
  const Tensor y = tensor_of({4}, {2, 2, 2, NAN});
  EXPECT_THAT(run("less_than", x, y), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(run("less_equal", x, y), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(run("greater_than", x, y), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(run("greater_equal", x, y), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(run("equal", x, y), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(run("not_equal", x, y), ElementsAre(1, 0, 1, 1));
}

TEST(Logic, CombinesTruths) {
  const Tensor x = tensor_of({4}, {0, 0, 1, 1}, DType::kBool);
  const Tensor y = tensor_of({4}, {0, 1, 0, 1}, DType::kBool);
  EXPECT_THAT(run("logical_and", x, y), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(run("logical_or", x, y), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(run("logical_xor", x, y), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(run("equal", x, y), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(values_of(run_op({"logical_not", {{"X", x}}, {"Out"}}).at("Out")),
              ElementsAre(1, 1, 0, 0));
}

TEST(Logic, TakesNoNumbers) {
  const Tensor x = tensor_of({1}, {1});
  EXPECT_THROW(run("logical_and", x, x), InvalidArgument);
}

TEST(IsEmpty, LooksAtTheNumberOfElements) {
  for (const auto& [shape, expected] :
       {std::pair{Shape{0, 3}, 1.0}, {Shape{2}, 0.0}, {Shape{}, 0.0}}) {
    const Tensor x = random_tensor(shape, DType::kFloat32, 1);
    const Tensor out = run_op({"is_empty", {{"X", x}}, {"Out"}}).at("Out");
    EXPECT_EQ(out.spec(), (TensorSpec{{1}, DType::kBool}));
    EXPECT_THAT(values_of(out), ElementsAre(expected));
  }
}

}  // namespace
}  // namespace fluidcore
