#include "fluidcore/gradcheck/difference/probes.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/difference/along.h"
#include "gradcheck/toy_function.h"

namespace fluidcore::gradcheck {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

// y = [sum(sin(a) b), sum(a b)].
ToyFunction two_sums() {
  return ToyFunction({tensor_of({0.3, -1.2, 2.5}), tensor_of({1.5, 0.7, -0.4})},
                     [](const std::vector<Tensor>& inputs) {
                       const std::vector<double> a = values_of(inputs[0]);
                       const std::vector<double> b = values_of(inputs[1]);
                       std::vector<double> y(2);
                       for (std::size_t i = 0; i < a.size(); ++i) {
                         y[0] += std::sin(a[i]) * b[i];
                         y[1] += a[i] * b[i];
                       }
                       return std::vector{tensor_of(y)};
                     });
}

TEST(Probes, GiveTheBitsOfOneDirectionAfterTheOtherOnAnyNumberOfThreads) {
  ToyFunction f = two_sums();
  const std::vector<Probe> probes = {
      {{1, 0.5, -2}, {1, -3}, true}, {{-1, 2, 0.25}, {0.5, 2}}, {{0, 1, 0}, {1, 1}}};
  for (const std::int64_t workers : {1, 2, 5}) {
    const auto found = differentiate_probes(f, 0, probes, {.noise = {}, .workers = workers});
    ASSERT_THAT(found, SizeIs(3));
    for (std::size_t i = 0; i < probes.size(); ++i) {
      const Derivatives alone =
          differentiate_along(f, {probes[i].direction, std::nullopt}, {{probes[i].cotangent}, {}});
      EXPECT_EQ(found[i].value, alone.value);
      EXPECT_EQ(found[i].error, alone.error);
      EXPECT_EQ(found[i].scale, alone.scale);
      EXPECT_EQ(found[i].levels.empty(), !probes[i].traces);
    }
  }
}

TEST(Probes, NeedAnInputThatIsThereAndDirectionsOfItsSize) {
  ToyFunction f = two_sums();
  EXPECT_THAT(differentiate_probes(f, 0, {}), IsEmpty());
  EXPECT_THAT([&] { differentiate_probes(f, 2, {}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must be one of the 2")));
  EXPECT_THAT([&] { differentiate_probes(f, 0, {{{1.0}, {1, 1}}}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("direction 0 must have the 3 elements")));
}

}  // namespace
}  // namespace fluidcore::gradcheck
