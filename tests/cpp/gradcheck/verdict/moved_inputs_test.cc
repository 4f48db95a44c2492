#include "fluidcore/gradcheck/verdict/moved_inputs.h"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradcheck/toy_function.h"

namespace fluidcore::gradcheck {
namespace {

using testing::ElementsAre;

ToyFunction of_two_dtypes() {
  return {{tensor_of({1, 2}, DType::kFloat16), tensor_of({3}, DType::kFloat32)}, nullptr};
}

double slightly_larger(std::size_t k, std::int64_t i, double x) {
  return x * (1 + 0.1 * static_cast<double>(k) + 0.01 * static_cast<double>(i));
}

TEST(MovedInputs, AreRoundedToTheirDtypesAndPutBack) {
  const ToyFunction f = of_two_dtypes();
  {
    const MovedInputs moved(f, slightly_larger);
    EXPECT_THAT(values_of(f.inputs()[0]), ElementsAre(1, 2.01953125));
    EXPECT_THAT(values_of(f.inputs()[1]), ElementsAre(static_cast<double>(3.3F)));
  }
  EXPECT_THAT(values_of(f.inputs()[0]), ElementsAre(1, 2));
  EXPECT_THAT(values_of(f.inputs()[1]), ElementsAre(3));
}

TEST(MovedInputs, MayBeOneAlone) {
  const ToyFunction f = of_two_dtypes();
  const MovedInputs moved(f, 1, slightly_larger);
  EXPECT_THAT(values_of(f.inputs()[0]), ElementsAre(1, 2));
  EXPECT_THAT(values_of(f.inputs()[1]), ElementsAre(static_cast<double>(3.3F)));
}

TEST(MovedInputs, StayWhereTheyAreIfAMoveThrows) {
  const ToyFunction f = of_two_dtypes();
  const auto move = [](std::size_t k, std::int64_t /*i*/, double x) {
    if (k == 1) throw std::runtime_error("no such place");
    return -x;
  };
  EXPECT_THROW(MovedInputs(f, move), std::runtime_error);
  EXPECT_THAT(values_of(f.inputs()[0]), ElementsAre(1, 2));
}

TEST(MovedElements, AreRoundedAndPutBackAndTheOthersStay) {
  const ToyFunction f = of_two_dtypes();
  {
    const MovedElements moved(f, 0, {1}, {2.02});
    EXPECT_THAT(values_of(f.inputs()[0]), ElementsAre(1, 2.01953125));
  }
  EXPECT_THAT(values_of(f.inputs()[0]), ElementsAre(1, 2));
}

}  // namespace
}  // namespace fluidcore::gradcheck
