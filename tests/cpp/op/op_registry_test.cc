#include "fluidcore/op/op_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

OpRegistry toy_ops() {
  OpRegistry registry;
  registry.add(OpDef("softmax"));
  registry.add(OpDef("relu"));
  return registry;
}

TEST(OpRegistry, FindsWhatWasAdded) {
  const OpRegistry registry = toy_ops();
  EXPECT_EQ(registry.get("relu").type(), "relu");
  EXPECT_EQ(registry.find("relu"), &registry.get("relu"));
  EXPECT_EQ(registry.find("tanh"), nullptr);
  EXPECT_THAT(registry.types(), ElementsAre("relu", "softmax"));
}

TEST(OpRegistry, NamesTheNearestOperator) {
  const OpRegistry registry = toy_ops();
  EXPECT_THAT([&] { registry.get("sofmax"); },
              ThrowsMessage<NotFound>("no operator 'sofmax'; did you mean 'softmax'?"));
  EXPECT_THAT([&] { registry.get("convolution"); },
              ThrowsMessage<NotFound>("no operator 'convolution'; op_types() lists them"));
}

TEST(OpRegistry, RefusesASecondDefinition) {
  OpRegistry registry = toy_ops();
  EXPECT_THAT([&] { registry.add(OpDef("relu")); },
              ThrowsMessage<InvalidArgument>("operator 'relu' is defined twice"));
}

}  // namespace
}  // namespace fluidcore
