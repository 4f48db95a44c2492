#include "fluidcore/base/dtype.h"

#include <array>
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"

namespace fluidcore {
namespace {

using ::testing::ThrowsMessage;

constexpr std::array kAll = {DType::kBool,    DType::kInt16,   DType::kInt32,   DType::kInt64,
                             DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kBFloat16};

TEST(DType, ComesBackFromItsNameAndNumber) {
  for (const DType dtype : kAll) {
    EXPECT_EQ(dtype_from_name(to_string(dtype)), dtype);
    EXPECT_EQ(dtype_from_number(static_cast<std::int64_t>(dtype)), dtype);
  }
}

TEST(DType, KnowsTheSizeOfItsElements) {
  EXPECT_EQ(size_of(DType::kBool), 1u);
  EXPECT_EQ(size_of(DType::kInt16), 2u);
  EXPECT_EQ(size_of(DType::kInt32), 4u);
  EXPECT_EQ(size_of(DType::kInt64), 8u);
  EXPECT_EQ(size_of(DType::kFloat16), 2u);
  EXPECT_EQ(size_of(DType::kBFloat16), 2u);
  EXPECT_EQ(size_of(DType::kFloat32), 4u);
  EXPECT_EQ(size_of(DType::kFloat64), 8u);
}

TEST(DType, TellsFloatingTypesFromOthers) {
  for (const DType dtype : kAll) {
    EXPECT_EQ(is_floating(dtype), to_string(dtype).find("float") != std::string_view::npos);
  }
}

TEST(DType, VisitsTheCxxTypeThatBelongsToIt) {
  for (const DType dtype : kAll) {
    visit_dtype(dtype, [&](auto tag) { EXPECT_EQ(dtype_of<typename decltype(tag)::type>, dtype); });
  }
}

TEST(DType, CalculatesWith16BitTypesInFloat) {
  EXPECT_TRUE((std::is_same_v<ComputeType<Float16>, float>));
  EXPECT_TRUE((std::is_same_v<ComputeType<BFloat16>, float>));
  EXPECT_TRUE((std::is_same_v<ComputeType<double>, double>));
}

TEST(DType, RefusesAnUnknownNameOrNumberAndListsTheKnown) {
  EXPECT_THAT([] { dtype_from_name("float31"); },
              ThrowsMessage<InvalidArgument>(
                  "dtype must be one of bool, int16, int32, int64, float16, float32, float64, "
                  "bfloat16, got 'float31'"));
  EXPECT_THAT([] { dtype_from_number(7); },
              ThrowsMessage<InvalidArgument>(
                  "dtype must be one of 0 (bool), 1 (int16), 2 (int32), 3 (int64), 4 (float16), "
                  "5 (float32), 6 (float64), 22 (bfloat16), got 7"));
  EXPECT_THAT([] { size_of(static_cast<DType>(99)); },
              ThrowsMessage<InvalidArgument>("dtype 99 is unknown"));
}

}  // namespace
}  // namespace fluidcore
