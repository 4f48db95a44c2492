#include "fluidcore/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore {
namespace {

using ::testing::ThrowsMessage;

TEST(Error, JoinsItsParts) {
  EXPECT_STREQ(InvalidArgument("relu: axis ", 3, " of ", 1.5).what(), "relu: axis 3 of 1.5");
}

TEST(Error, CarriesANoteWhenSomebodySetsOne) {
  NotFound error("no variable 'x'");
  EXPECT_EQ(error.note(), "");
  error.set_note("operator 3 of block 0");
  EXPECT_EQ(error.note(), "operator 3 of block 0");
}

TEST(Require, ThrowsOnlyWhenTheConditionFails) {
  EXPECT_NO_THROW(require(true, "never shown"));
  EXPECT_THAT([] { require(false, "size must be at least ", 1, ", got ", 0); },
              ThrowsMessage<InvalidArgument>("size must be at least 1, got 0"));
}

}  // namespace
}  // namespace fluidcore
