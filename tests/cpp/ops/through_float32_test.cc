#include "fluidcore/ops/through_float32.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/ops/register_ops.h"
#include "ops/op_runner.h"
#include "ops/program_runner.h"

namespace fluidcore {
namespace {

using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr DType kHalves[] = {DType::kFloat16, DType::kBFloat16};

Tensor rounded(const Tensor& tensor, DType dtype) {
  return cast_to(cast_to(tensor, DType::kFloat32), dtype);
}

TEST(ThroughFloat32Test, EveryOperatorOfFloat32HasKernelsOf16Bits) {
  for (const std::string& type : builtin_ops().types()) {
    const KernelTable& table = builtin_ops().get(type).kernels();
    if (!table.contains({DeviceKind::kCpu, DType::kFloat32})) continue;
    for (const DType dtype : kHalves) {
      EXPECT_TRUE(table.contains({DeviceKind::kCpu, dtype})) << type << " for " << to_string(dtype);
    }
  }
}

TEST(ThroughFloat32Test, TheResultIsThatOfFloat32RoundedOnce) {
  for (const DType dtype : kHalves) {
    const Tensor x = cast_to(random_tensor({5, 300}, DType::kFloat32, 1), dtype);
    OpCase op{"log_softmax", {{"X", x}}, {"Out"}};
    const Tensor got = run_op(op).at("Out");
    op.inputs["X"] = cast_to(x, DType::kFloat32);
    EXPECT_EQ(got.dtype(), dtype);
    EXPECT_EQ(values_of(got), values_of(rounded(run_op(op).at("Out"), dtype)));
  }
}

TEST(ThroughFloat32Test, AParameterIsUpdatedInItsOwnMemory) {
  for (const DType dtype : kHalves) {
    ProgramRunner runner;
    runner.feed("p", tensor_of({3}, {1, 2, 3}, dtype));
    runner.feed("g", tensor_of({3}, {2, 4, -2}, dtype));
    runner.feed("rate", tensor_of({1}, {0.5}, dtype));
    runner.add(OpDesc("sgd", {{"Param", {"p"}}, {"Grad", {"g"}}, {"LearningRate", {"rate"}}},
                      {{"ParamOut", {"p"}}}));
    EXPECT_THAT(runner.values("p"), ElementsAre(0, 0, 4));
  }
}

TEST(ThroughFloat32Test, AStateOfFloat32StaysInFloat32) {
  const OpCase op{"momentum",
                  {{"Param", tensor_of({1}, {1}, DType::kBFloat16)},
                   {"Grad", tensor_of({1}, {1}, DType::kBFloat16)},
                   {"Velocity", tensor_of({1}, {0x1p-20}, DType::kFloat32)},
                   {"LearningRate", tensor_of({1}, {0.5}, DType::kFloat32)}},
                  {"ParamOut", "VelocityOut"},
                  {{"mu", 1.0}}};
  const auto outputs = run_op(op);
  EXPECT_EQ(outputs.at("VelocityOut").dtype(), DType::kFloat32);
  EXPECT_THAT(values_of(outputs.at("VelocityOut")), Each(DoubleEq(1 + 0x1p-20)));
  EXPECT_EQ(outputs.at("ParamOut").dtype(), DType::kBFloat16);
  EXPECT_THAT(values_of(outputs.at("ParamOut")), ElementsAre(0.5));
}

TEST(ThroughFloat32Test, OnlyFloat32MayStandBeside16Bits) {
  const auto update = [](DType param, DType rate) {
    run_op({"sgd",
            {{"Param", tensor_of({1}, {1}, param)},
             {"Grad", tensor_of({1}, {1}, param)},
             {"LearningRate", tensor_of({1}, {1}, rate)}},
            {"ParamOut"}});
  };
  update(DType::kFloat16, DType::kFloat32);
  EXPECT_THROW(update(DType::kFloat16, DType::kFloat64), InvalidArgument);
  EXPECT_THROW(update(DType::kFloat16, DType::kBFloat16), InvalidArgument);
  EXPECT_THROW(update(DType::kFloat64, DType::kFloat32), InvalidArgument);
}

TEST(ThroughFloat32Test, AKernelWithScratchMemoryOfItsOwnDoesNotTouchTheCopies) {
  // Of a shape for which matmul copies its operands. In bfloat16 it may have a kernel of its own.
  const Tensor x = cast_to(random_tensor({1500, 40}, DType::kFloat32, 1), DType::kFloat16);
  const Tensor y = cast_to(random_tensor({1500, 70}, DType::kFloat32, 2), DType::kFloat16);
  OpCase op{"matmul", {{"X", x}, {"Y", y}}, {"Out"}, {{"transpose_X", true}}};
  const Tensor got = run_op(op).at("Out");
  op.inputs["X"] = cast_to(x, DType::kFloat32);
  op.inputs["Y"] = cast_to(y, DType::kFloat32);
  EXPECT_THAT(values_of(got),
              ElementsAreArray(values_of(rounded(run_op(op).at("Out"), DType::kFloat16))));
}

}  // namespace
}  // namespace fluidcore
