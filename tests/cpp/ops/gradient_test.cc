// Matrix products, convolutions, pooling, normalization and losses: gradients in float64 (plain
// kernels) against central differences, and float32 (oneDNN in builds that have it) against
// float64.
#include <cstddef>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_runner.h"

namespace fluidcore {
namespace {

using Ints = std::vector<std::int64_t>;

struct GradCase {
  std::string name;
  OpCase op;
  std::string output;
  std::vector<std::string> wanted;
};

void PrintTo(const GradCase& test, std::ostream* out) {
  *out << test.name;
}

Tensor random(Shape shape, std::uint64_t seed) {
  return random_tensor(std::move(shape), DType::kFloat64, seed);
}

Tensor positive(Shape shape, std::uint64_t seed) {
  Tensor tensor = random(std::move(shape), seed);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_float_element(i, 0.6 + 0.4 * tensor.get_float_element(i));
  }
  return tensor;
}

Tensor labels(Shape shape, const std::vector<double>& values) {
  return tensor_of(std::move(shape), values, DType::kInt64);
}

GradCase product(std::string name, std::string type, Shape x, Shape y, AttributeMap attrs = {}) {
  return {std::move(name),
          {std::move(type),
           {{"X", random(std::move(x), 1)}, {"Y", random(std::move(y), 2)}},
           {"Out"},
           std::move(attrs)},
          "Out",
          {"X", "Y"}};
}

GradCase convolution(
    std::string name, Shape input, Shape filter, AttributeMap attrs, std::string type = "conv2d") {
  return {std::move(name),
          {std::move(type),
           {{"Input", random(std::move(input), 1)}, {"Filter", random(std::move(filter), 2)}},
           {"Output"},
           std::move(attrs)},
          "Output",
          {"Input", "Filter"}};
}

GradCase pooling(std::string name, Shape x, AttributeMap attrs) {
  return {std::move(name),
          {x.rank() == 4 ? "pool2d" : "pool3d",
           {{"X", random(std::move(x), 1)}},
           {"Out"},
           std::move(attrs)},
          "Out",
          {"X"}};
}

GradCase normalization(std::string name, Shape x, std::int64_t channels, AttributeMap attrs) {
  return {std::move(name),
          {"batch_norm",
           {{"X", random(std::move(x), 1)},
            {"Scale", random({channels}, 2)},
            {"Bias", random({channels}, 3)},
            {"Mean", random({channels}, 4)},
            {"Variance", positive({channels}, 5)}},
           {"Y", "MeanOut", "VarianceOut", "SavedMean", "SavedVariance"},
           std::move(attrs)},
          "Y",
          {"X", "Scale", "Bias"}};
}

std::vector<GradCase> cases() {
  return {
      product("mul", "mul", {5, 7}, {7, 3}),
      product("mul_of_higher_rank", "mul", {2, 3, 4}, {2, 2, 3},
              {{"x_num_col_dims", std::int64_t{2}}, {"y_num_col_dims", std::int64_t{2}}}),
      product("mul_with_one_column", "mul", {6, 5}, {5, 1}),
      product("mul_without_inner_dimension", "mul", {3, 0}, {0, 2}),
      product("mul_of_an_empty_batch", "mul", {0, 3}, {3, 2}),
      product("matmul", "matmul", {3, 4}, {4, 5}),
      product("matmul_transposed", "matmul", {4, 3}, {5, 4},
              {{"transpose_X", true}, {"transpose_Y", true}}),
      product("matmul_batched", "matmul", {2, 3, 4}, {2, 4, 5}),
      product("matmul_of_a_batch_and_a_matrix", "matmul", {2, 3, 4}, {4, 5}),
      product("matmul_of_a_transposed_batch_and_a_matrix", "matmul", {2, 4, 3}, {4, 5},
              {{"transpose_X", true}}),
      product("matmul_of_a_matrix_and_a_batch", "matmul", {3, 4}, {2, 4, 5}),
      product("matmul_broadcast", "matmul", {2, 1, 3, 4}, {3, 4, 2}),
      product("matmul_of_vectors", "matmul", {4}, {4}),
      product("matmul_outer", "matmul", {3}, {4}, {{"transpose_X", true}, {"transpose_Y", true}}),
      product("matmul_of_a_vector_and_a_batch", "matmul", {4}, {2, 4, 3}),
      product("matmul_of_a_batch_and_a_vector", "matmul", {2, 3, 4}, {4}),
      product("matmul_of_no_matrices", "matmul", {0, 3, 4}, {4, 2}),
      convolution("conv2d", {2, 3, 6, 5}, {4, 3, 3, 3}, {{"paddings", Ints{1, 1}}}),
      convolution("conv2d_with_everything", {2, 4, 9, 11}, {6, 2, 3, 2},
                  {{"strides", Ints{2, 3}},
                   {"paddings", Ints{1, 2}},
                   {"dilations", Ints{2, 1}},
                   {"groups", std::int64_t{2}}}),
      convolution("conv2d_depthwise", {1, 4, 5, 5}, {4, 1, 3, 3}, {{"groups", std::int64_t{4}}}),
      convolution("conv2d_of_an_empty_batch", {0, 2, 4, 4}, {3, 2, 3, 3}, {}),
      convolution("depthwise_conv2d", {1, 4, 5, 5}, {8, 1, 3, 3}, {{"groups", std::int64_t{4}}},
                  "depthwise_conv2d"),
      convolution("conv2d_transpose", {2, 4, 3, 4}, {4, 3, 3, 2},
                  {{"strides", Ints{2, 1}}, {"paddings", Ints{1, 0}}, {"groups", std::int64_t{2}}},
                  "conv2d_transpose"),
      convolution("conv3d_transpose", {1, 2, 2, 3, 2}, {2, 3, 2, 2, 3},
                  {{"strides", Ints{1, 2, 2}}, {"dilations", Ints{2, 1, 1}}}, "conv3d_transpose"),
      convolution("conv1d", {2, 4, 9}, {6, 2, 3},
                  {{"strides", Ints{2}}, {"paddings", Ints{1}}, {"groups", std::int64_t{2}}},
                  "conv1d"),
      convolution("conv3d", {2, 4, 4, 5, 3}, {6, 2, 2, 3, 2},
                  {{"strides", Ints{2, 1, 2}},
                   {"paddings", Ints{1, 0, 1}},
                   {"dilations", Ints{1, 2, 1}},
                   {"groups", std::int64_t{2}}},
                  "conv3d"),
      pooling("max_pool_of_volumes", {1, 2, 4, 4, 5},
              {{"pooling_type", "max"}, {"ksize", Ints{2, 3, 2}}, {"strides", Ints{2, 1, 2}}}),
      pooling("average_pool_of_volumes", {1, 2, 3, 4, 3},
              {{"pooling_type", "avg"}, {"ksize", Ints{2, 2, 2}}, {"paddings", Ints{1, 0, 1}}}),
      pooling("max_pool", {2, 3, 6, 6},
              {{"pooling_type", "max"}, {"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}}),
      pooling("max_pool_overlapping", {2, 2, 7, 5},
              {{"pooling_type", "max"},
               {"ksize", Ints{3, 2}},
               {"strides", Ints{2, 1}},
               {"paddings", Ints{1, 1}}}),
      pooling("average_pool", {2, 2, 7, 5},
              {{"pooling_type", "avg"},
               {"ksize", Ints{3, 2}},
               {"strides", Ints{2, 2}},
               {"paddings", Ints{1, 1}}}),
      pooling("average_pool_ceil", {1, 2, 6, 7},
              {{"pooling_type", "avg"},
               {"ksize", Ints{3, 3}},
               {"strides", Ints{2, 4}},
               {"ceil_mode", true}}),
      pooling("max_pool_ceil", {1, 2, 6, 7},
              {{"pooling_type", "max"},
               {"ksize", Ints{3, 3}},
               {"strides", Ints{2, 4}},
               {"ceil_mode", true}}),
      pooling("global_pool", {2, 2, 4, 3},
              {{"pooling_type", "avg"}, {"ksize", Ints{1, 1}}, {"global_pooling", true}}),
      pooling("wide_max_pool", {1, 1, 2, 150}, {{"pooling_type", "max"}, {"ksize", Ints{2, 3}}}),
      normalization("batch_norm", {4, 3, 2, 5}, 3, {}),
      normalization("batch_norm_nhwc", {3, 2, 5, 4}, 4, {{"data_layout", "NHWC"}}),
      normalization("batch_norm_of_rank_2", {6, 3}, 3, {}),
      normalization("batch_norm_is_test", {4, 3, 5}, 3, {{"is_test", true}}),
      {"softmax", {"softmax", {{"X", random({3, 4, 5}, 1)}}, {"Out"}}, "Out", {"X"}},
      {"softmax_of_rank_1", {"softmax", {{"X", random({7}, 1)}}, {"Out"}}, "Out", {"X"}},
      {"cross_entropy",
       {"cross_entropy",
        {{"X", positive({3, 4}, 1)}, {"Label", labels({3, 1}, {1, -100, 3})}},
        {"Y"}},
       "Y",
       {"X"}},
      {"soft_cross_entropy",
       {"cross_entropy",
        {{"X", positive({3, 4}, 1)}, {"Label", positive({3, 4}, 2)}},
        {"Y"},
        {{"soft_label", true}}},
       "Y",
       {"X", "Label"}},
      {"softmax_with_cross_entropy",
       {"softmax_with_cross_entropy",
        {{"Logits", random({3, 4}, 1)}, {"Label", labels({3, 1}, {1, -100, 3})}},
        {"Softmax", "Loss"}},
       "Loss",
       {"Logits"}},
      {"softmax_with_soft_cross_entropy",
       {"softmax_with_cross_entropy",
        {{"Logits", random({3, 4}, 1)}, {"Label", positive({3, 4}, 2)}},
        {"Softmax", "Loss"},
        {{"soft_label", true}}},
       "Loss",
       {"Logits", "Label"}},
      {"top_k",
       {"top_k", {{"X", random({3, 7}, 1)}}, {"Out", "Indices"}, {{"k", std::int64_t{3}}}},
       "Out",
       {"X"}},
  };
}

Tensor cotangent_for(const OpCase& op, const std::string& output) {
  return random(run_op(op).at(output).shape(), 9);
}

OpCase in_float32(OpCase op) {
  for (auto& [slot, tensor] : op.inputs) {
    if (tensor.dtype() == DType::kFloat64) tensor = cast_to(tensor, DType::kFloat32);
  }
  return op;
}

void expect_near(const std::vector<double>& actual,
                 const std::vector<double>& expected,
                 double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

class GradientTest : public testing::TestWithParam<GradCase> {};

TEST_P(GradientTest, EqualsCentralDifferences) {
  const auto& [name, op, output, wanted] = GetParam();
  const Tensor cotangent = cotangent_for(op, output);
  const auto grads = run_grad(op, output, cotangent, wanted);
  for (const std::string& slot : wanted) {
    SCOPED_TRACE(slot);
    expect_near(values_of(grads.at(grad_name(slot))), numerical_grad(op, output, cotangent, slot),
                1e-7);
  }
}

TEST_P(GradientTest, IsTheSameWhenOnlyOneIsWanted) {
  const auto& [name, op, output, wanted] = GetParam();
  const Tensor cotangent = cotangent_for(op, output);
  const auto all = run_grad(op, output, cotangent, wanted);
  for (const std::string& slot : wanted) {
    const auto one = run_grad(op, output, cotangent, {slot});
    EXPECT_EQ(values_of(one.at(grad_name(slot))), values_of(all.at(grad_name(slot))));
  }
}

TEST_P(GradientTest, AndOutputsAgreeInFloat32AndForTwoThreads) {
  const auto& [name, op, output, wanted] = GetParam();
  const auto outputs = run_op(op);
  const OpCase op32 = in_float32(op);
  const Tensor cotangent = cotangent_for(op, output);
  const auto grads = run_grad(op, output, cotangent, wanted);
  for (const int threads : {1, 2}) {
    for (const auto& [slot, tensor] : run_op(op32, threads)) {
      SCOPED_TRACE(slot);
      expect_near(values_of(tensor), values_of(outputs.at(slot)), 2e-5);
    }
    const auto grads32 =
        run_grad(op32, output, cast_to(cotangent, DType::kFloat32), wanted, threads);
    for (const auto& [slot, tensor] : grads32) {
      SCOPED_TRACE(slot);
      expect_near(values_of(tensor), values_of(grads.at(slot)), 2e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, GradientTest, testing::ValuesIn(cases()), [](const auto& info) {
  return info.param.name;
});

}  // namespace
}  // namespace fluidcore
