#include "fluidcore/op/op_registry.h"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

OpRegistry softmax_and_relu() {
  OpRegistry registry;
  registry.add(OpDef("softmax"));
  registry.add(OpDef("relu"));
  return registry;
}

TEST(OpRegistry, FindsWhatWasAdded) {
  const OpRegistry registry = softmax_and_relu();
  EXPECT_EQ(registry.get("relu").type(), "relu");
  EXPECT_EQ(registry.find("relu"), &registry.get("relu"));
  EXPECT_EQ(registry.find("tanh"), nullptr);
  EXPECT_THAT(registry.types(), ElementsAre("relu", "softmax"));
}

TEST(OpRegistry, MergesAllOfAnotherOrNothing) {
  OpRegistry registry;
  registry.add(OpDef("tanh"));
  OpRegistry more;
  more.add(OpDef("mine"));
  OpRegistry taken = more;
  taken.add(OpDef("tanh"));
  EXPECT_THAT([&] { registry.merge(taken); },
              ThrowsMessage<InvalidArgument>("operator 'tanh' is defined twice"));
  EXPECT_EQ(registry.types(), (std::vector<std::string>{"tanh"}));
  registry.merge(more);
  EXPECT_EQ(registry.types(), (std::vector<std::string>{"mine", "tanh"}));
  EXPECT_EQ(registry.revision(), 0U);
}

TEST(OpRegistry, SetsOperatorsToThoseOfAnotherAndKeepsWhatWasGiven) {
  OpRegistry registry;
  registry.add(OpDef("mine").doc("old"));
  const OpRegistry before = registry;
  const OpDef& old = registry.get("mine");
  OpRegistry more;
  more.add(OpDef("mine").doc("new"));
  more.add(OpDef("other"));
  registry.set(more.types(), more);
  EXPECT_EQ(registry.get("mine").doc(), "new");
  EXPECT_EQ(old.doc(), "old");
  EXPECT_EQ(before.get("mine").doc(), "old");
  EXPECT_EQ(registry.revision(), 1U);
  registry.set(more.types(), before);
  EXPECT_EQ(registry.get("mine").doc(), "old");
  EXPECT_EQ(registry.find("other"), nullptr);
  EXPECT_EQ(registry.revision(), 3U);
}

TEST(OpRegistry, IsReadWhileAnotherThreadAdds) {
  OpRegistry registry;
  registry.add(OpDef("first"));
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) registry.add(OpDef("op" + std::to_string(i)));
  });
  for (int i = 0; i < 200; ++i) EXPECT_EQ(registry.get("first").type(), "first");
  writer.join();
  EXPECT_EQ(registry.types().size(), 201U);
}

TEST(OpRegistry, NamesTheNearestOperator) {
  const OpRegistry registry = softmax_and_relu();
  EXPECT_THAT([&] { registry.get("sofmax"); },
              ThrowsMessage<NotFound>("no operator 'sofmax'; did you mean 'softmax'?"));
  EXPECT_THAT([&] { registry.get("convolution"); },
              ThrowsMessage<NotFound>("no operator 'convolution'; op_types() lists them"));
}

TEST(OpRegistry, RefusesASecondDefinition) {
  OpRegistry registry = softmax_and_relu();
  EXPECT_THAT([&] { registry.add(OpDef("relu")); },
              ThrowsMessage<InvalidArgument>("operator 'relu' is defined twice"));
}

}  // namespace
}  // namespace fluidcore
