#include "fluidcore/base/strings.h"

#include <cstdint>
#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>

namespace fluidcore {
namespace {

TEST(StrCat, JoinsPartsOfAnyKind) {
  EXPECT_EQ(str_cat("axis ", 2, ' ', true, " ", std::string("x"), std::int64_t{-7}, 0.5f),
            "axis 2 True x-70.5");
  EXPECT_EQ(str_cat(), "");
}

TEST(ToString, WritesADoubleAsTheShortestTextThatReadsBack) {
  EXPECT_EQ(to_string(0.1), "0.1");
  EXPECT_EQ(to_string(1.0 / 3.0), "0.3333333333333333");
  EXPECT_EQ(to_string(-0.0), "-0.0");
  for (const double value : {1e-300, 123456789.125, 0x1p-1074, -2.5e17}) {
    EXPECT_EQ(std::strtod(to_string(value).c_str(), nullptr), value);
  }
}

TEST(ToString, TellsAWholeDoubleFromAnInteger) {
  EXPECT_EQ(to_string(2.0), "2.0");
  EXPECT_EQ(to_string(2), "2");
  EXPECT_EQ(to_string(1e300), "1e+300");
}

TEST(ToString, NamesInfinityAndNan) {
  EXPECT_EQ(to_string(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(to_string(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(to_string(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(ToString, WritesTruthAsPythonDoes) {
  EXPECT_EQ(to_string(true), "True");
  EXPECT_EQ(to_string(false), "False");
}

TEST(Join, SeparatesByCommasAndNamesTheEmptyList) {
  EXPECT_EQ(join({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(join({"a"}), "a");
  EXPECT_EQ(join({}), "none");
}

TEST(Nearest, FindsALikelyMisspelling) {
  EXPECT_EQ(nearest("sofmax", {"relu", "softmax", "sigmoid"}), "softmax");
  EXPECT_EQ(nearest("factr", {"factor", "bias"}), "factor");
}

TEST(Nearest, DoesNotMindUpperAndLowerCase) {
  EXPECT_EQ(nearest("x", {"Out", "X"}), "X");
}

TEST(Nearest, FindsNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest("convolution", {"relu", "tanh"}), "");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(nearest("", {"relu"}), "");
}

}  // namespace
}  // namespace fluidcore
