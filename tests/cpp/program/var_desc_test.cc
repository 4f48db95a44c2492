#include "fluidcore/program/var_desc.h"

#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

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
  EXPECT_EQ(*revision, 8u);
}

}  // namespace
}  // namespace fluidcore
