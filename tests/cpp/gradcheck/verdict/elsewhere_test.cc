#include "fluidcore/gradcheck/verdict/elsewhere.h"

#include <cmath>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "gradcheck/toy_function.h"

namespace fluidcore::gradcheck {
namespace {

using testing::ElementsAre;
using testing::Optional;

const std::vector<double> kHere = {4, 6.5, 9};
constexpr auto kOther = [](std::size_t, std::int64_t, double x) { return -x; };

ToyFunction throwing(std::function<void()> f) {
  return ToyFunction({tensor_of(kHere)}, [f = std::move(f)](const auto& inputs) {
    if (inputs[0].get_float_element(0) != kHere[0]) f();
    return std::vector<Tensor>{inputs[0].clone()};
  });
}

TEST(OutputsElsewhere, AreThoseOfAllOutputsThereAndThePointStaysWhereItIs) {
  ToyFunction f({tensor_of(kHere), tensor_of({2})}, [](const std::vector<Tensor>& inputs) {
    return std::vector<Tensor>{inputs[0].clone(), inputs[1].clone()};
  });
  EXPECT_THAT(outputs_elsewhere(f, kOther, 4), Optional(ElementsAre(-4, -6.5, -9, -2)));
  EXPECT_EQ(values_of(f.inputs()[0]), kHere);
  EXPECT_THAT(values_of(f.inputs()[1]), ElementsAre(2));
}

TEST(OutputsElsewhere, KeepWhatIsNotFinite) {
  ToyFunction f = ToyFunction::elementwise(tensor_of({4}), [](double x) { return std::sqrt(x); });
  const auto found = outputs_elsewhere(f, kOther, 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(std::isnan(found->front()));
}

TEST(OutputsElsewhere, AreNoneWhereFThrowsAndThePointIsPutBack) {
  ToyFunction f = throwing([] { throw InvalidArgument("out of the domain"); });
  EXPECT_EQ(outputs_elsewhere(f, kOther, kHere.size()), std::nullopt);
  EXPECT_EQ(values_of(f.inputs()[0]), kHere);
}

TEST(OutputsElsewhere, AreNoneOfAnotherKindOrSize) {
  ToyFunction kind =
      throwing([] { throw Unrecoverable::because(InvalidArgument("outputs of other shapes")); });
  EXPECT_EQ(outputs_elsewhere(kind, kOther, kHere.size()), std::nullopt);
  ToyFunction f = throwing([] {});
  EXPECT_TRUE(outputs_elsewhere(f, kOther, kHere.size()).has_value());
  EXPECT_EQ(outputs_elsewhere(f, kOther, kHere.size() + 1), std::nullopt);
}

TEST(OutputsElsewhere, EndWithWhatTheUserInterruptsAndThePointIsPutBack) {
  Interruption interruption;
  ToyFunction f = throwing([&] {
    interruption.request();
    throw InvalidArgument("ended");
  });
  f.set_interruption(&interruption);
  EXPECT_THROW(outputs_elsewhere(f, kOther, kHere.size()), Unrecoverable);
  EXPECT_EQ(values_of(f.inputs()[0]), kHere);
}

}  // namespace
}  // namespace fluidcore::gradcheck
