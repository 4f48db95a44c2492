// Matrix products, convolutions, pooling, normalization, losses and optimizers: values, messages
// and second derivatives.
#include <cmath>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/op/grad_context.h"
#include "fluidcore/ops/register_ops.h"
#include "ops/op_runner.h"

namespace fluidcore {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;
using testing::ThrowsMessage;
using Ints = std::vector<std::int64_t>;

Tensor zeros(Shape shape) {
  Tensor tensor({std::move(shape), DType::kFloat64});
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set_float_element(i, 0);
  return tensor;
}

TEST(ConcatGrad, RefusesMoreGradientsThanInputs) {
  const std::string none(kEmptyName);
  const std::set<std::string> no_grad;
  const OpDesc op("concat_grad", {{"X", {"a"}}, {"Out@GRAD", {"d"}}},
                  {{"X@GRAD", {"da", none, none}}});
  GradContext context(op, no_grad);
  EXPECT_THAT([&] { builtin_ops().grad_ops(context); },
              ThrowsMessage<InvalidArgument>("concat_grad: X@GRAD must hold a variable, or "
                                             "@EMPTY@, for each of X, got 3 for 1"));
}

TEST(Mul, NamesBothShapesWhenTheyDoNotFit) {
  const OpCase op{"mul", {{"X", zeros({32, 784})}, {"Y", zeros({800, 10})}}, {"Out"}};
  EXPECT_THAT([&] { run_op(op); },
              ThrowsMessage<InvalidArgument>(
                  "mul: columns of X must equal rows of Y, got X [32, 784], Y [800, 10]"));
}

TEST(Mul, NamesTheCutThatIsNotInTheShape) {
  const OpCase op{"mul",
                  {{"X", zeros({2, 3})}, {"Y", zeros({3, 2})}},
                  {"Out"},
                  {{"x_num_col_dims", std::int64_t{2}}}};
  EXPECT_THAT([&] { run_op(op); },
              ThrowsMessage<InvalidArgument>(
                  "mul: x_num_col_dims must be at least 1 and less than the rank of X, "
                  "got x_num_col_dims 2, X [2, 3]"));
}

TEST(Matmul, RejectsAScalar) {
  const OpCase op{"matmul", {{"X", zeros({})}, {"Y", zeros({3, 2})}}, {"Out"}};
  EXPECT_THROW(run_op(op), InvalidArgument);
}

TEST(Conv2d, NamesTheRankThatItNeeds) {
  const OpCase op{
      "conv2d", {{"Input", zeros({3, 4, 4})}, {"Filter", zeros({1, 3, 2, 2})}}, {"Output"}};
  EXPECT_THAT(
      [&] { run_op(op); },
      ThrowsMessage<InvalidArgument>("conv2d: Input must have rank 4 [N, C, H, W], got [3, 4, 4]"));
}

TEST(Conv2d, RejectsWhatDoesNotFit) {
  const auto run = [](Shape input, Shape filter, AttributeMap attrs) {
    run_op({"conv2d",
            {{"Input", zeros(input)}, {"Filter", zeros(filter)}},
            {"Output"},
            std::move(attrs)});
  };
  EXPECT_THROW(run({1, 3, 4, 4}, {2, 2, 3, 3}, {}), InvalidArgument);  // channels
  EXPECT_THROW(run({1, 4, 4, 4}, {3, 2, 3, 3}, {{"groups", std::int64_t{2}}}),
               InvalidArgument);                                       // filters
  EXPECT_THROW(run({1, 3, 4, 4}, {2, 3, 5, 3}, {}), InvalidArgument);  // extent
  EXPECT_THROW(run({1, 3, 4, 4}, {2, 3, 3, 3}, {{"strides", Ints{0, 1}}}),
               InvalidArgument);  // stride
  EXPECT_THROW(run({1, 3, 4, 4}, {2, 3, 3, 3}, {{"paddings", Ints{1}}}), InvalidArgument);  // list
  EXPECT_THROW(run({1, 3, 4, 4}, {2, 3, 3, 3}, {{"groups", std::int64_t{0}}}),
               InvalidArgument);  // groups
  EXPECT_THROW(run({1, 3, 4, 4}, {2, 3, 3, 3}, {{"data_format", "NHCW"}}),
               InvalidArgument);                                       // format
  EXPECT_THROW(run({1, 3, 4, 4}, {2, 3, 0, 3}, {}), InvalidArgument);  // no taps
}

TEST(Pool2d, MaximumGivesItsGradientToTheFirstOfEquals) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const OpCase op{"pool2d",
                    {{"X", tensor_of({1, 1, 2, 2}, {3, 3, 3, 1}, dtype)}},
                    {"Out"},
                    {{"pooling_type", "max"}, {"ksize", Ints{2, 2}}}};
    const auto grads = run_grad(op, "Out", tensor_of({1, 1, 1, 1}, {5}, dtype), {"X"});
    EXPECT_THAT(values_of(grads.at("X@GRAD")), ElementsAre(5, 0, 0, 0));
  }
}

TEST(Pool2d, AverageDoesNotCountThePadding) {
  const OpCase op{"pool2d",
                  {{"X", tensor_of({1, 1, 2, 2}, {1, 2, 3, 6})}},
                  {"Out"},
                  {{"pooling_type", "avg"},
                   {"ksize", Ints{2, 2}},
                   {"strides", Ints{2, 2}},
                   {"paddings", Ints{1, 1}}}};
  EXPECT_THAT(values_of(run_op(op).at("Out")), ElementsAre(1, 2, 3, 6));
}

TEST(Pool2d, RejectsPaddingAsWideAsTheWindow) {
  const OpCase op{"pool2d",
                  {{"X", zeros({1, 1, 4, 4})}},
                  {"Out"},
                  {{"pooling_type", "max"}, {"ksize", Ints{2, 2}}, {"paddings", Ints{2, 0}}}};
  EXPECT_THAT(
      [&] { run_op(op); },
      ThrowsMessage<InvalidArgument>(
          "pool2d: paddings must be smaller than ksize, got paddings [2, 0], ksize [2, 2]"));
}

TEST(BatchNorm, NormalizesWithTheBatchAndUpdatesTheRunningStatistics) {
  const OpCase op{"batch_norm",
                  {{"X", tensor_of({2, 2}, {1, 10, 3, 30})},
                   {"Scale", tensor_of({2}, {1, 2})},
                   {"Bias", tensor_of({2}, {0, 5})},
                   {"Mean", tensor_of({2}, {4, 4})},
                   {"Variance", tensor_of({2}, {1, 1})}},
                  {"Y", "MeanOut", "VarianceOut", "SavedMean", "SavedVariance"},
                  {{"momentum", 0.5}, {"epsilon", 0.0}}};
  const auto out = run_op(op);
  EXPECT_THAT(values_of(out.at("Y")), ElementsAre(-1, 3, 1, 7));
  EXPECT_THAT(values_of(out.at("MeanOut")), ElementsAre(3, 12));
  EXPECT_THAT(values_of(out.at("VarianceOut")), ElementsAre(1, 50.5));
  EXPECT_THAT(values_of(out.at("SavedMean")), ElementsAre(2, 20));
  EXPECT_THAT(values_of(out.at("SavedVariance")), ElementsAre(1, 0.1));
}

TEST(Softmax, DoesNotOverflow) {
  const OpCase op{
      "softmax", {{"X", tensor_of({1, 3}, {1e4, 1e4, -1e4}, DType::kFloat32)}}, {"Out"}};
  EXPECT_THAT(values_of(run_op(op).at("Out")), ElementsAre(0.5, 0.5, 0));
}

TEST(CrossEntropy, NamesTheLabelThatIsNoClass) {
  for (const char* type : {"cross_entropy", "softmax_with_cross_entropy"}) {
    const bool with_softmax = std::string(type) != "cross_entropy";
    const OpCase op{type,
                    {{with_softmax ? "Logits" : "X", tensor_of({2, 2}, {0.5, 0.5, 0.5, 0.5})},
                     {"Label", tensor_of({2, 1}, {1, 2}, DType::kInt64)}},
                    {with_softmax ? "Loss" : "Y"}};
    EXPECT_THAT([&] { run_op(op); },
                ThrowsMessage<InvalidArgument>(str_cat(
                    type, ": labels must be in [0, 2) or ignore_index -100, got 2 in row 1")));
  }
}

TEST(CrossEntropy, OfAnImpossibleClassIsLargeButFinite) {
  const OpCase op{
      "cross_entropy",
      {{"X", tensor_of({1, 2}, {0, 1})}, {"Label", tensor_of({1, 1}, {0}, DType::kInt64)}},
      {"Y"}};
  EXPECT_THAT(values_of(run_op(op).at("Y")), ElementsAre(1e20));
}

TEST(SoftmaxWithCrossEntropy, IsExactWhereTheProbabilityIsRoundedToZero) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const OpCase op{"softmax_with_cross_entropy",
                    {{"Logits", tensor_of({1, 2}, {0, 2000}, dtype)},
                     {"Label", tensor_of({1, 1}, {0}, DType::kInt64)}},
                    {"Loss"}};
    EXPECT_THAT(values_of(run_op(op).at("Loss")), ElementsAre(2000));
  }
}

Tensor two(double first, double second) {
  return tensor_of({2}, {first, second});
}

TEST(Sgd, StepsAgainstTheGradient) {
  const OpCase op{
      "sgd",
      {{"Param", two(1, 2)}, {"Grad", two(4, -8)}, {"LearningRate", tensor_of({1}, {0.25})}},
      {"ParamOut"}};
  EXPECT_THAT(values_of(run_op(op).at("ParamOut")), ElementsAre(0, 4));
}

TEST(Momentum, LooksAheadWithNesterov) {
  OpCase op{"momentum",
            {{"Param", two(1, 2)},
             {"Grad", two(4, -8)},
             {"Velocity", two(2, 4)},
             {"LearningRate", tensor_of({1}, {0.5})}},
            {"ParamOut", "VelocityOut"},
            {{"mu", 0.5}}};
  EXPECT_THAT(values_of(run_op(op).at("ParamOut")), ElementsAre(-1.5, 5));
  EXPECT_THAT(values_of(run_op(op).at("VelocityOut")), ElementsAre(5, -6));
  op.attrs["use_nesterov"] = true;
  EXPECT_THAT(values_of(run_op(op).at("ParamOut")),
              ElementsAre(1 - 0.5 * (4 + 2.5), 2 - 0.5 * (-8 - 3)));
}

TEST(Adam, FollowsItsFormula) {
  const OpCase op{"adam",
                  {{"Param", two(1, 2)},
                   {"Grad", two(4, -8)},
                   {"LearningRate", tensor_of({1}, {0.5})},
                   {"Moment1", two(1, 1)},
                   {"Moment2", two(2, 3)},
                   {"Beta1Pow", tensor_of({1}, {0.5})},
                   {"Beta2Pow", tensor_of({1}, {0.75})}},
                  {"ParamOut", "Moment1Out", "Moment2Out"},
                  {{"beta1", 0.5}, {"beta2", 0.75}, {"epsilon", 0.125}}};
  const auto out = run_op(op);
  EXPECT_THAT(values_of(out.at("Moment1Out")), ElementsAre(2.5, -3.5));
  EXPECT_THAT(values_of(out.at("Moment2Out")), ElementsAre(5.5, 18.25));
  const double rate = 0.5 * std::sqrt(0.25) / 0.5;
  EXPECT_THAT(values_of(out.at("ParamOut")),
              Pointwise(DoubleNear(1e-15), {1 - rate * 2.5 / (std::sqrt(5.5) + 0.125),
                                            2 + rate * 3.5 / (std::sqrt(18.25) + 0.125)}));
}

TEST(Adam, NeedsStateOfTheShapeOfTheParameter) {
  const OpCase op{"momentum",
                  {{"Param", two(1, 2)},
                   {"Grad", two(1, 2)},
                   {"Velocity", zeros({3})},
                   {"LearningRate", tensor_of({1}, {0.5})}},
                  {"ParamOut", "VelocityOut"},
                  {{"mu", 0.5}}};
  EXPECT_THAT([&] { run_op(op); },
              ThrowsMessage<InvalidArgument>("momentum: Velocity must have shape [2], got [3]"));
}

// The gradient of a product is an operator with gradients of its own. Each is checked as an
// operator with the outputs X@GRAD and Y@GRAD.
class SecondDerivative : public testing::TestWithParam<OpCase> {};

TEST_P(SecondDerivative, EqualsCentralDifferences) {
  OpCase op = GetParam();
  for (const std::string& output : op.outputs) {
    for (const auto& [input, tensor] : op.inputs) {
      // Linear in each input: the gradient by X does not depend on X.
      if (grad_name(input) == output) continue;
      SCOPED_TRACE(str_cat("d ", output, " / d ", input));
      OpCase one = op;
      one.outputs = {output};
      one.unwanted = {output == op.outputs[0] ? op.outputs[1] : op.outputs[0]};
      const Tensor cotangent = random_tensor(run_op(one).at(output).shape(), DType::kFloat64, 9);
      const auto grads = run_grad(one, output, cotangent, {input});
      EXPECT_THAT(values_of(grads.at(grad_name(input))),
                  Pointwise(DoubleNear(1e-7), numerical_grad(one, output, cotangent, input)));
    }
  }
}

Tensor any(Shape shape, std::uint64_t seed) {
  return random_tensor(std::move(shape), DType::kFloat64, seed);
}

INSTANTIATE_TEST_SUITE_P(
    OfProducts,
    SecondDerivative,
    testing::Values(
        OpCase{"mul_grad",
               {{"X", any({3, 4}, 1)}, {"Y", any({4, 2}, 2)}, {"Out@GRAD", any({3, 2}, 3)}},
               {"X@GRAD", "Y@GRAD"}},
        OpCase{"matmul_grad",
               {{"X", any({2, 3, 4}, 1)}, {"Y", any({4, 2}, 2)}, {"Out@GRAD", any({2, 3, 2}, 3)}},
               {"X@GRAD", "Y@GRAD"}},
        OpCase{"conv2d_grad",
               {{"Input", any({2, 2, 4, 4}, 1)},
                {"Filter", any({3, 2, 3, 3}, 2)},
                {"Output@GRAD", any({2, 3, 4, 4}, 3)}},
               {"Input@GRAD", "Filter@GRAD"},
               {{"paddings", Ints{1, 1}}}}),
    [](const auto& info) { return info.param.type; });

}  // namespace
}  // namespace fluidcore
