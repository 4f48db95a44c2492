#include "fluidcore/gradcheck/gradcheck.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/gradcheck_gtest.h"
#include "fluidcore/ops/register_ops.h"
#include "gradcheck/toy_operators.h"
#include "ops/op_runner.h"

namespace fluidcore::gradcheck {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Ints = std::vector<std::int64_t>;

Tensor random(Shape shape, DType dtype = DType::kFloat64, std::uint64_t seed = 1) {
  return random_tensor(std::move(shape), dtype, seed);
}

// Numbers in (low, high), of a rank that every operator takes.
Tensor between(double low, double high, DType dtype) {
  Tensor x = random({1, 3, 2, 2}, dtype);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x.set_float_element(i, (low + high + (high - low) * x.get_float_element(i)) / 2);
  }
  return x;
}

// True for operators of one tensor X and one result Out that take any numbers and need no
// attributes.
bool is_unary(const OpDef& def) {
  const bool is_of_x = def.has_grad() && def.block_traits() == nullptr &&
                       def.inputs().size() == 1 && def.inputs()[0].name == "X" &&
                       !def.inputs()[0].traits.list && !def.inputs()[0].traits.array &&
                       !def.inputs()[0].traits.only_rows && def.outputs()[0].name == "Out" &&
                       !def.outputs()[0].traits.list && !def.has_extents_from_data(OpDesc()) &&
                       def.type() != "increment";
  if (!is_of_x) return false;
  try {
    run_op({def.type(), {{"X", between(-0.9, 0.9, DType::kFloat64)}}, {"Out"}});
  } catch (const Error&) {
    return false;
  }
  return true;
}

TEST(GradcheckTest, EveryBuiltinOperatorOfOneTensorPasses) {
  const OpRegistry& ops = builtin_ops();
  int count = 0;
  for (const std::string& type : ops.types()) {
    if (!is_unary(ops.get(type))) continue;
    for (const DType dtype :
         {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
      if (!ops.get(type).kernels().contains({DeviceKind::kCpu, dtype})) continue;
      bool passed = false;
      for (const Tensor& x :
           {between(-0.9, 0.9, dtype), between(0.2, 0.9, dtype), between(1.1, 2, dtype)}) {
        const GradCheck found = check_gradients(ops, type, {{"X", {x}}});
        EXPECT_NE(found.verdict, Verdict::kFail) << found.message;
        passed = passed || found.passed;
      }
      EXPECT_TRUE(passed) << type << " " << to_string(dtype);
    }
    ++count;
  }
  EXPECT_GE(count, 50);
}

TEST(GradcheckTest, OperatorsOfSeveralTensorsPass) {
  const OpRegistry& ops = builtin_ops();
  for (const DType dtype : kBoth) {
    EXPECT_GRAD_OK(ops, "matmul",
                   {{"X", {random({3, 4}, dtype)}}, {"Y", {random({4, 2}, dtype, 2)}}});
    EXPECT_GRAD_OK(ops, "elementwise_mul",
                   {{"X", {random({2, 3, 4}, dtype)}}, {"Y", {random({3}, dtype, 2)}}},
                   {{"axis", std::int64_t{1}}});
    EXPECT_GRAD_OK(
        ops, "conv2d",
        {{"Input", {random({1, 2, 5, 5}, dtype)}}, {"Filter", {random({3, 2, 3, 3}, dtype, 2)}}},
        {{"paddings", Ints{1, 1}}});
    EXPECT_GRAD_OK(ops, "concat", {{"X", {random({2, 3}, dtype), random({2, 1}, dtype, 2)}}},
                   {{"axis", std::int64_t{1}}});
    EXPECT_GRAD_OK(ops, "split", {{"X", {random({2, 6}, dtype)}}},
                   {{"num", std::int64_t{3}}, {"axis", std::int64_t{1}}},
                   {.num_outputs = {{"Out", 3}}});
    EXPECT_GRAD_OK(ops, "softmax_with_cross_entropy",
                   {{"Logits", {random({3, 4}, dtype)}},
                    {"Label", {tensor_of({3, 1}, {0, 3, 1}, DType::kInt64)}}});
    EXPECT_GRAD_OK(ops, "increment", {{"X", {random({1}, dtype)}}});
    EXPECT_GRAD_OK(ops, "lookup_table",
                   {{"W", {random({5, 3}, dtype)}},
                    {"Ids", {tensor_of({4, 1}, {0, 3, 3, 1}, DType::kInt64)}}});
  }
}

TEST(GradcheckTest, BatchNormPasses) {
  for (const DType dtype : kBoth) {
    EXPECT_GRAD_OK(builtin_ops(), "batch_norm",
                   {{"X", {random({4, 3, 2}, dtype)}},
                    {"Scale", {random({3}, dtype, 2)}},
                    {"Bias", {random({3}, dtype, 3)}},
                    {"Mean", {random({3}, dtype, 4)}},
                    {"Variance", {tensor_of({3}, {1, 2, 3}, dtype)}}});
  }
}

TEST(GradcheckTest, RandomOperatorsDrawTheSameNumbersInBothDirections) {
  EXPECT_GRAD_OK(builtin_ops(), "dropout", {{"X", {random({20})}}}, {{"dropout_prob", 0.5}},
                 {.seed = 5});
}

TEST(GradcheckTest, ADecompositionIsSummedUp) {
  const OpRegistry& ops = builtin_ops();
  int count = 0;
  for (const std::string& type : ops.types()) {
    const OpDef& def = ops.get(type);
    if (!def.has_decomposition() || !type.ends_with("_grad")) continue;
    const OpDef* forward = ops.find(type.substr(0, type.size() - 5));
    const bool reduces = std::ranges::any_of(
        def.attrs(), [](const OpDef::Attr& attr) { return attr.name == "keep_dim"; });
    if (forward == nullptr || !is_unary(*forward) || reduces) continue;
    SlotTensors inputs;
    std::uint64_t seed = 0;
    for (const OpDef::Slot& slot : def.inputs()) {
      Tensor value = between(0.2, 0.8, DType::kFloat64);
      for (std::int64_t i = 0; i < value.size(); ++i) {
        value.set_float_element(i, value.get_float_element(i) + 0.01 * static_cast<double>(seed));
      }
      ++seed;
      inputs.push_back({slot.name, {value}});
    }
    const GradCheck found = check_gradients(ops, type, inputs);
    EXPECT_EQ(found.verdict, Verdict::kPass) << found.message;
    ++count;
  }
  EXPECT_GE(count, 5);
}

TEST(GradcheckTest, InputsCanBeRoundedToADtype) {
  const Tensor x = random({3, 4});
  const GradCheck found =
      check_gradients(builtin_ops(), "tanh", {{"X", {x}}}, {}, {.dtype = DType::kBFloat16});
  EXPECT_TRUE(found.passed) << found.message;
  EXPECT_EQ(found.inputs[0].spec.dtype, DType::kBFloat16);
  EXPECT_EQ(values_of(x), values_of(random({3, 4}))) << "the caller's own stays as it is";
}

TEST(GradcheckTest, ASlotCanBeLeftOut) {
  const SlotTensors inputs = {{"X", {random({3, 4})}}, {"Y", {random({4, 2})}}};
  const GradCheck found = check_gradients(builtin_ops(), "matmul", inputs, {}, {.no_grad = {"X"}});
  ASSERT_EQ(found.inputs.size(), 1u);
  EXPECT_EQ(found.inputs[0].name, "Y");
}

TEST(GradcheckTest, TheSameSeedGivesTheSameReport) {
  const SlotTensors inputs = {{"X", {random({3, 4}, DType::kFloat32)}}};
  const auto message = [&](std::uint64_t seed, std::int64_t workers) {
    CheckOptions options{.seed = seed};
    options.workers = workers;
    return check_gradients(builtin_ops(), "softmax", inputs, {}, options).message;
  };
  EXPECT_EQ(message(1, 1), message(1, 1));
  EXPECT_EQ(message(1, 1), message(1, 2));
}

// relu has no derivative at 0: whatever lies between the slopes on both sides is right.
TEST(GradcheckTest, AtAKinkASubgradientIsProven) {
  for (const std::vector<double>& x : {std::vector<double>{0, 1, -1}, {0, 0}, {0}}) {
    const auto size = static_cast<std::int64_t>(x.size());
    const GradCheck found = check_gradients(builtin_ops(), "relu", {{"X", {tensor_of({size}, x)}}});
    EXPECT_TRUE(found.passed) << found.message;
    EXPECT_EQ(found.inputs[0].num_unsure, 0);
  }
}

TEST(GradcheckTest, OutsideOfItsDomainAnOperatorCannotBeJudged) {
  const GradCheck found =
      check_gradients(builtin_ops(), "log", {{"X", {tensor_of({2}, {-1, -2})}}});
  EXPECT_EQ(found.verdict, Verdict::kInconclusive);
  EXPECT_EQ(found.inputs[0].reason, "domain");
  EXPECT_THAT(found.message, HasSubstr("log: INCONCLUSIVE\n  X float64 [2]: INCONCLUSIVE (domain), "
                                       "f or its gradient is not finite"));
}

TEST(GradcheckTest, AnInfiniteGradientIsOpenWhereTheDerivativeHasNoEnd) {
  for (const DType dtype : kBoth) {
    for (const std::int64_t full : {std::int64_t{2000}, std::int64_t{1}}) {
      const GradCheck found = check_gradients(
          builtin_ops(), "sqrt", {{"X", {tensor_of({3}, {0, 1, 4}, dtype)}}}, {}, {.full = full});
      EXPECT_EQ(found.verdict, Verdict::kInconclusive) << found.message;
      EXPECT_EQ(found.inputs[0].reason, "domain");
    }
  }
}

TEST(GradcheckTest, AnInfinityIsNotRoundedThroughANarrowerDtype) {
  for (const DType dtype : kBoth) {
    const GradCheck found =
        check_gradients(builtin_ops(), "sqrt", {{"X", {tensor_of({2}, {0, 0}, dtype)}}});
    EXPECT_EQ(found.verdict, Verdict::kInconclusive) << found.message;
  }
}

TEST(GradcheckTest, AGradientThatFloat16CannotHoldIsOpen) {
  const GradCheck found =
      check_gradients(builtin_ops(), "scale", {{"X", {tensor_of({2}, {1e-3, 2e-3})}}},
                      {{"scale", 3e6F}}, {.dtype = DType::kFloat16});
  EXPECT_EQ(found.verdict, Verdict::kInconclusive) << found.message;
  EXPECT_EQ(found.inputs[0].reason, "domain");
}

TEST(GradcheckTest, OfNoElementEachIsRight) {
  const GradCheck found =
      check_gradients(builtin_ops(), "tanh", {{"X", {Tensor({{0}, DType::kFloat64})}}});
  EXPECT_EQ(found.verdict, Verdict::kPass);
  EXPECT_EQ(found.inputs[0].reason, "");
}

struct HalfAtOneElement {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    CubicGrad()(x, dout, dx, extents);
    dx[2] /= 2;
  }
};

TEST(GradcheckTest, TheMessageNamesTheWorstElement) {
  const OpRegistry ops = toy_registry<Cubic, HalfAtOneElement>();
  const GradCheck found = check_gradients(ops, "toy", {{"X", {tensor_of({2, 2}, {1, 2, 3, 4})}}});
  EXPECT_THAT(found.message,
              ContainsRegex("^toy: FAIL\n  X float64 .2, 2.: FAIL .grad-mismatch., 1 of 4 elements "
                            "wrong\n    worst at .1, 0.: gradient [-.0-9e]+, numerical [-.0-9e]+ "
                            "\\+- [-.0-9e]+, limit of the difference [-.0-9e]+$"));
  EXPECT_NEAR(found.inputs[0].numerical, 2 * found.inputs[0].analytical, 1e-9);
}

// In the float32 kernel alone.
struct WrongAtOneElement {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    CubicGrad()(x, dout, dx, extents);
    dx[2345] += T{0.01};
  }
};

TEST(GradcheckTest, ManyElementsAreLookedAtAlongRandomDirections) {
  const OpRegistry right = toy_registry<Cubic, CubicGrad>();
  const OpRegistry wrong = toy_registry<Cubic, WrongAtOneElement>();
  const OpRegistry wrong_kernel = toy_registry<Cubic, WrongAtOneElement, CubicGrad>();
  for (const DType dtype : kBoth) {
    const SlotTensors inputs = {{"X", {random({50, 60}, dtype)}}};
    GradCheck found = check_gradients(right, "toy", inputs);
    EXPECT_TRUE(found.passed) << found.message;
    EXPECT_EQ(found.inputs[0].directions, 4u);
    EXPECT_THAT(found.message, HasSubstr("would have been seen along 4 random directions"));
    EXPECT_LT(found.inputs[0].resolution, dtype == DType::kFloat64 ? 1e-5 : 1e-3);
    for (const OpRegistry* ops : {&wrong, &wrong_kernel}) {
      found = check_gradients(*ops, "toy", inputs);
      const bool is_right = ops == &wrong_kernel && dtype == DType::kFloat64;
      EXPECT_EQ(found.verdict, is_right ? Verdict::kPass : Verdict::kFail) << found.message;
      if (is_right) continue;
      EXPECT_EQ(found.inputs[0].index, 2345) << found.message;
      EXPECT_THAT(found.message, HasSubstr("1 of 3000 elements wrong\n    worst at [39, 5]: "));
    }
  }
}

TEST(GradcheckTest, HowManyElementsAreManyCanBeSaid) {
  const SlotTensors inputs = {{"X", {random({3, 4})}}, {"Y", {random({4, 2})}}};
  const GradCheck found = check_gradients(builtin_ops(), "mul", inputs, {}, {.full = 4});
  EXPECT_TRUE(found.passed) << found.message;
  EXPECT_EQ(found.inputs[0].directions, 0u);  // rows of X are independent
  EXPECT_EQ(found.inputs[1].directions, 4u);
}

TEST(GradcheckTest, OfIndependentRowsEveryElementIsLookedAt) {
  const SlotTensors inputs = {{"X", {random({30, 4}, DType::kFloat32)}}};
  for (const char* type : {"tanh", "softmax"}) {
    const GradCheck found = check_gradients(builtin_ops(), type, inputs, {}, {.full = 5});
    EXPECT_TRUE(found.passed) << found.message;
    EXPECT_EQ(found.inputs[0].directions, 0u);
  }
  const GradCheck found = check_gradients(builtin_ops(), "softmax", inputs, {}, {.full = 3});
  EXPECT_TRUE(found.passed) << found.message;
  EXPECT_EQ(found.inputs[0].directions, 4u);
}

TEST(GradcheckTest, WithoutADoubleKernelTheDtypeIsCheckedByItself) {
  const KernelKey single = {DeviceKind::kCpu, DType::kFloat32};
  const OpRegistry ops = toy_registry({{single, toy_kernel<Cubic, float>}},
                                      {{single, toy_grad_kernel<CubicGrad, float>}});
  const GradCheck found = check_gradients(ops, "toy", {{"X", {random({3, 3}, DType::kFloat32)}}});
  EXPECT_TRUE(found.passed) << found.message;
  EXPECT_GT(found.inputs[0].resolution, 1e-7);
}

TEST(GradcheckTest, SaysWhatItCannotCheck) {
  const OpRegistry& ops = builtin_ops();
  const Tensor x = random({2});
  EXPECT_THAT([&] { check_gradients(ops, "tanhh", {{"X", {x}}}); },
              ThrowsMessage<NotFound>("no operator 'tanhh'; did you mean 'tanh'?"));
  EXPECT_THAT([&] { check_gradients(ops, "while", {{"X", {x}}}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("check_gradients: while runs a block")));
  EXPECT_THAT([&] { check_gradients(ops, "write_to_array", {{"X", {x}}}); },
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("check_gradients: write_to_array writes a tensor array")));
  EXPECT_THAT([&] { check_gradients(ops, "tanh", {{"X", {Tensor()}}}); },
              ThrowsMessage<InvalidArgument>(
                  "check_gradients: input X must hold a value, got an empty tensor"));
  EXPECT_THAT([&] { check_gradients(ops, "tanh", {{"X", {x}}}, {}, {.no_grad = {"X"}}); },
              ThrowsMessage<InvalidArgument>("check_gradients: tanh must have a gradient by one of "
                                             "its floating inputs, got none"));
  EXPECT_THAT(
      [&] { check_gradients(ops, "tanh", {{"X", {x}}}, {}, {.cotangents = 0}); },
      ThrowsMessage<InvalidArgument>("check_gradients: cotangents must be at least 1, got 0"));
  EXPECT_THAT([&] { check_gradients(ops, "tanh", {{"X", {x}}}, {}, {.probes = 0}); },
              ThrowsMessage<InvalidArgument>("check_gradients: probes must be at least 1, got 0"));
  EXPECT_THAT(
      [&] { check_gradients(ops, "tanh", {{"X", {x}}}, {}, {.tolerance = -1}); },
      ThrowsMessage<InvalidArgument>("check_gradients: tolerance must be 0 or more, got -1.0"));
}

}  // namespace
}  // namespace fluidcore::gradcheck
