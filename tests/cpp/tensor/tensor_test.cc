#include "fluidcore/tensor/tensor.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore {
namespace {

using ::testing::ThrowsMessage;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

Tensor make(DType dtype, Shape shape = {2, 3}) {
  return Tensor({std::move(shape), dtype});
}

TEST(Tensor, IsAlignedTo64Bytes) {
  for (const std::int64_t size : {0, 1, 3, 63, 64, 65, 1000}) {
    const Tensor tensor = make(DType::kInt16, {size});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.raw()) % 64, 0u);
    EXPECT_EQ(tensor.bytes(), static_cast<std::size_t>(2 * size));
  }
}

TEST(Tensor, HasOneElementAtRankZeroAndNoneWhenEmpty) {
  EXPECT_EQ(make(DType::kFloat32, {}).size(), 1);
  const Tensor empty = make(DType::kFloat32, {3, 0});
  EXPECT_EQ(empty.size(), 0);
  EXPECT_TRUE(empty.is_initialized());
  EXPECT_NE(empty.raw(), nullptr);
}

TEST(Tensor, IsNotInitializedByDefault) {
  const Tensor tensor;
  EXPECT_FALSE(tensor.is_initialized());
  EXPECT_EQ(tensor.size(), 0);
  EXPECT_FALSE(tensor.clone().is_initialized());
  EXPECT_THAT([&] { tensor.get_float_element(0); },
              ThrowsMessage<InvalidArgument>(
                  "tensor: must be initialized before its elements are used; set() it"));
}

TEST(Tensor, RefusesShapesThatCannotExist) {
  EXPECT_THAT([] { make(DType::kFloat32, {2, -1}); },
              ThrowsMessage<InvalidArgument>("tensor: extents must be at least 0, got [2, -1]"));
  EXPECT_THAT([] { make(DType::kFloat32, {kHuge / 2}); },
              ThrowsMessage<InvalidArgument>(
                  "tensor: must fit in memory, got float32 [4611686018427387903]"));
  EXPECT_THAT([] { make(DType::kFloat32, {kHuge / 2, 0}); },
              ThrowsMessage<InvalidArgument>(
                  "tensor: must fit in memory, got float32 [4611686018427387903, 0]"));
  EXPECT_THROW(make(DType::kFloat32, {kHuge, 4}), InvalidArgument);
  EXPECT_THROW(make(DType::kBool, {kHuge}), Error);
}

TEST(Tensor, GivesItsDataOnlyAsItsDtype) {
  const Tensor tensor = make(DType::kFloat32);
  EXPECT_EQ(tensor.data<float>(), tensor.raw());
  EXPECT_THAT([&] { tensor.data<double>(); },
              ThrowsMessage<InvalidArgument>("tensor: holds float32, got a request for float64"));
}

TEST(Tensor, SharesItsMemoryWithCopiesButNotWithClones) {
  const Tensor tensor = make(DType::kInt64);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.data<std::int64_t>()[i] = i;
  const Tensor copy = tensor;  // NOLINT(*-unnecessary-copy-*)
  const Tensor clone = tensor.clone();
  tensor.data<std::int64_t>()[5] = 70;
  EXPECT_EQ(copy.get_float_element(5), 70.0);
  EXPECT_EQ(clone.get_float_element(5), 5.0);
  EXPECT_EQ(clone.spec(), tensor.spec());
}

TEST(Tensor, KeepsTheOwnerOfAViewAlive) {
  auto memory = std::make_shared<std::vector<float>>(6, 1.5f);
  const std::weak_ptr<void> watch = memory;
  {
    float* data = memory->data();
    const Tensor view({{2, 3}, DType::kFloat32}, data, std::move(memory));
    EXPECT_EQ(view.get_float_element(5), 1.5);
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(FloatElement, ComesBackInEveryDtype) {
  for (const DType dtype : {DType::kBool, DType::kInt16, DType::kInt32, DType::kInt64,
                            DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
    Tensor tensor = make(dtype);
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set_float_element(i, i % 2 == 0);
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      EXPECT_EQ(tensor.get_float_element(i), i % 2 == 0) << to_string(dtype);
    }
  }
}

TEST(FloatElement, MustBeInside) {
  Tensor tensor = make(DType::kFloat32);
  EXPECT_THAT([&] { tensor.get_float_element(6); },
              ThrowsMessage<InvalidArgument>(
                  "tensor: index must be in [0, 6) for a tensor of shape [2, 3], got 6"));
  EXPECT_THROW(tensor.get_float_element(-1), InvalidArgument);
  EXPECT_THROW(tensor.set_float_element(6, 0), InvalidArgument);
  EXPECT_THROW(tensor.set_float_element(-1, 0), InvalidArgument);
  EXPECT_THROW(make(DType::kFloat32, {0}).get_float_element(0), InvalidArgument);
}

TEST(FloatElement, IsRoundedToTheDtype) {
  const auto rounded = [](DType dtype, double value) {
    Tensor tensor = make(dtype);
    tensor.set_float_element(1, value);
    return tensor.get_float_element(1);
  };
  EXPECT_EQ(rounded(DType::kFloat64, 0.1), 0.1);
  EXPECT_EQ(rounded(DType::kFloat32, 0.1), static_cast<double>(0.1f));
  EXPECT_EQ(rounded(DType::kFloat16, 0.1), 0x1.998p-4);
  EXPECT_EQ(rounded(DType::kBFloat16, 0.1), 0x1.9ap-4);
  EXPECT_EQ(rounded(DType::kFloat16, 1e6), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(rounded(DType::kFloat16, std::nan(""))));
}

TEST(FloatElement, MustBeAWholeNumberInRangeForAnInteger) {
  Tensor tensor = make(DType::kInt16);
  tensor.set_float_element(0, -32768);
  tensor.set_float_element(1, 32767);
  EXPECT_EQ(tensor.get_float_element(0), -32768);
  EXPECT_THAT([&] { tensor.set_float_element(0, 0.5); },
              ThrowsMessage<InvalidArgument>(
                  "tensor: an element of int16 must be a whole number in its range, got 0.5"));
  EXPECT_THROW(tensor.set_float_element(0, 32768), InvalidArgument);
  EXPECT_THROW(tensor.set_float_element(0, -32769), InvalidArgument);
  EXPECT_THROW(tensor.set_float_element(0, std::nan("")), InvalidArgument);
  EXPECT_THROW(make(DType::kInt64).set_float_element(0, 0x1p63), InvalidArgument);
  EXPECT_THROW(make(DType::kBool).set_float_element(0, 2), InvalidArgument);
  EXPECT_NO_THROW(make(DType::kInt64).set_float_element(0, -0x1p63));
}

TEST(Allocate, RefusesMoreThanThereIs) {
  EXPECT_THROW(allocate(std::numeric_limits<std::size_t>::max()), Error);
  EXPECT_THROW(allocate(std::size_t{1} << 62), Error);
}

}  // namespace
}  // namespace fluidcore
