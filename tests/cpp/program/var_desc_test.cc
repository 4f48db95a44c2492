#include "fluidcore/program/var_desc.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"

namespace fluidcore {
namespace {

TEST(VarDesc, PrintsWhatIsKnownOfIt) {
  VarDesc var("fc_0.w_0");
  var.set_shape({64, 10});
  EXPECT_EQ(to_string(var), "fc_0.w_0: float32 [64, 10]");
  var.set_persistable(true);
  EXPECT_EQ(to_string(var), "fc_0.w_0: float32 [64, 10] persistable");
  var.set_is_parameter(true);
  EXPECT_EQ(to_string(var), "fc_0.w_0: float32 [64, 10] parameter");
  var.set_trainable(false);
  var.set_stop_gradient(true);
  EXPECT_EQ(to_string(var), "fc_0.w_0: float32 [64, 10] parameter, not trainable, stop_gradient");
}

TEST(VarDesc, PrintsFedVariablesAsData) {
  VarDesc var("img");
  var.set_shape({-1, 784});
  var.set_dtype(DType::kFloat64);
  var.set_is_data(true);
  var.set_stop_gradient(true);
  EXPECT_EQ(to_string(var), "img: float64 [-1, 784] data");
}

TEST(VarDesc, PrintsAnArrayOfTensorsAsSuch) {
  VarDesc var("a");
  var.set_shape({-1, 4});
  var.set_type(VarType::kTensorArray);
  EXPECT_EQ(to_string(var), "a: float32 [-1, 4] array");
}

TEST(VarDesc, PrintsTheBoundsOfItsGradient) {
  VarDesc var("h");
  var.set_shape({3});
  var.set_error_clip(ErrorClip{-0.5, 2});
  EXPECT_EQ(to_string(var), "h: float32 [3], error_clip [-0.5, 2.0]");
  var.set_error_clip(std::nullopt);
  EXPECT_EQ(to_string(var), "h: float32 [3]");
}

TEST(VarDesc, RefusesBoundsWithNothingBetweenThem) {
  VarDesc var("h");
  var.set_error_clip(ErrorClip{-1, 1});
  EXPECT_THAT([&] { var.set_error_clip(ErrorClip{2, 1}); },
              ::testing::ThrowsMessage<InvalidArgument>(
                  "variable 'h': min of error_clip must be at most max, got min 2.0, max 1.0"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(var.set_error_clip(ErrorClip{nan, 1}), InvalidArgument);
  EXPECT_THROW(var.set_error_clip(ErrorClip{0, nan}), InvalidArgument);
  EXPECT_EQ(var.error_clip(), (ErrorClip{-1, 1}));
}

TEST(VarDesc, KnowsItsTypesByTheirNames) {
  for (const VarType type : {VarType::kTensor, VarType::kTensorArray, VarType::kSelectedRows}) {
    EXPECT_EQ(var_type_from_name(to_string(type)), type);
  }
  EXPECT_THAT([] { var_type_from_name("step_scopes"); },
              ::testing::ThrowsMessage<InvalidArgument>(
                  "variable type must be lod_tensor, lod_tensor_array or selected_rows, got "
                  "'step_scopes'"));
}

TEST(VarDesc, SaysInItsSpecThatItHoldsSelectedRows) {
  VarDesc var("w@GRAD");
  var.set_shape({7, 3});
  var.set_type(VarType::kSelectedRows);
  EXPECT_EQ(var.spec().rows, -1);
  EXPECT_EQ(to_string(var), "w@GRAD: float32 [7, 3] selected rows");
  var.set_type(VarType::kTensor);
  EXPECT_EQ(var.spec().rows, std::nullopt);
}

TEST(VarDesc, CountsEveryChangeInTheRevisionItIsLinkedTo) {
  const auto revision = std::make_shared<std::uint64_t>(0);
  VarDesc var("x");
  var.link(revision);
  var.set_shape({1});
  var.set_dtype(DType::kInt64);
  var.set_lod_level(1);
  var.set_persistable(true);
  var.set_stop_gradient(true);
  var.set_is_data(true);
  var.set_is_parameter(true);
  var.set_trainable(false);
  var.set_type(VarType::kTensorArray);
  var.set_error_clip(ErrorClip{-1, 1});
  EXPECT_EQ(*revision, 10u);
}

}  // namespace
}  // namespace fluidcore
