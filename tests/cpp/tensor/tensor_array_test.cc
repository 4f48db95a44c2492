#include "fluidcore/tensor/tensor_array.h"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"

namespace fluidcore {
namespace {

using ::testing::ThrowsMessage;

TensorArray array_of(Shape shape, DType dtype = DType::kInt32) {
  TensorArray array;
  array.reset({std::move(shape), dtype});
  return array;
}

std::int32_t value_at(const TensorArray& array, std::int64_t index) {
  return *static_cast<const std::int32_t*>(array.find(index));
}

std::int32_t pop(TensorArray& array) {
  std::int32_t value = 0;
  array.pop(&value);
  return value;
}

TEST(TensorArray, PushesZerosForNull) {
  TensorArray array = array_of({1});
  const std::int32_t value = 7;
  array.push(&value);
  pop(array);
  array.push(nullptr);  // where the 7 was
  EXPECT_EQ(pop(array), 0);
}

TEST(TensorArray, GivesBackInReverseWhatWasPushed) {
  TensorArray array = array_of({1});
  constexpr std::int32_t kCount = 50'000;  // more than one block of memory
  for (std::int32_t i = 0; i < kCount; ++i) array.push(&i);
  EXPECT_EQ(array.size(), kCount);
  for (std::int32_t i = kCount; i > 0; --i) ASSERT_EQ(pop(array), i - 1);
  EXPECT_EQ(array.size(), 0);
}

TEST(TensorArray, PushesWhatIsAlreadyInTheNextElement) {
  TensorArray array = array_of({1});
  constexpr std::int32_t kCount = 50'000;
  for (std::int32_t i = 0; i < kCount; ++i) {
    void* const next = array.next();
    ASSERT_EQ(array.size(), i);  // it is none yet
    *static_cast<std::int32_t*>(next) = i;
    array.push(next);
    ASSERT_EQ(array.find(i), next);
  }
  for (std::int32_t i = kCount; i > 0; --i) ASSERT_EQ(pop(array), i - 1);
}

TEST(TensorArray, KeepsARemovedElementUntilItChangesAgain) {
  TensorArray array = array_of({100'000});  // each in a block of its own
  const std::vector<std::int32_t> ones(100'000, 1);
  const std::vector<std::int32_t> twos(100'000, 2);
  array.push(ones.data());
  array.push(twos.data());
  array.drop();
  EXPECT_EQ(*static_cast<const std::int32_t*>(array.removed()), 2);
  EXPECT_EQ(value_at(array, 0), 1);
  array.drop();
  EXPECT_EQ(*static_cast<const std::int32_t*>(array.removed()), 1);
}

TEST(TensorArray, RefusesToPopFromAnEmptyArray) {
  TensorArray array = array_of({1});
  EXPECT_THAT([&] { pop(array); },
              ThrowsMessage<InvalidArgument>(
                  "tensor array: must hold an element to be popped, got an empty array"));
  EXPECT_THROW(array.drop(), InvalidArgument);
}

TEST(TensorArray, LeavesOutWhatWasNotWritten) {
  TensorArray array = array_of({});
  const std::int32_t value = 7;
  array.write(40'000, &value);
  EXPECT_EQ(array.size(), 40'001);
  EXPECT_EQ(value_at(array, 40'000), 7);
  for (const std::int64_t index : {-1, 0, 39'999, 40'001, 1'000'000}) {
    EXPECT_EQ(array.find(index), nullptr) << index;
  }
}

TEST(TensorArray, OverwritesAnElement) {
  TensorArray array = array_of({});
  for (const std::int32_t value : {1, 2, 3}) array.write(0, &value);
  EXPECT_EQ(array.size(), 1);
  EXPECT_EQ(value_at(array, 0), 3);
}

TEST(TensorArray, ForgetsAnElementThatIsCleared) {
  TensorArray array = array_of({});
  for (const std::int32_t value : {5, 6}) array.push(&value);
  array.clear(0);
  array.clear(0);
  array.clear(99);
  EXPECT_EQ(array.find(0), nullptr);
  EXPECT_EQ(value_at(array, 1), 6);
  EXPECT_EQ(array.size(), 2);
  EXPECT_EQ(pop(array), 6);
  EXPECT_THROW(pop(array), InvalidArgument);
}

TEST(TensorArray, BeginsAnewWithElementsOfAnotherKind) {
  TensorArray array = array_of({});
  const std::int32_t value = 1;
  array.push(&value);
  array.reset({{2}, DType::kFloat64});
  EXPECT_EQ(array.size(), 0);
  EXPECT_EQ(array.find(0), nullptr);
  EXPECT_EQ(array.element(), (TensorSpec{{2}, DType::kFloat64}));
  const std::vector<double> pair = {0.5, 1.5};
  array.push(pair.data());
  EXPECT_EQ(static_cast<const double*>(array.find(0))[1], 1.5);
}

TEST(TensorArray, HoldsElementsThatAreLargerThanABlock) {
  TensorArray array = array_of({100'000});
  std::vector<std::int32_t> value(100'000, 3);
  array.push(value.data());
  value.back() = 4;
  array.push(value.data());
  EXPECT_EQ(static_cast<const std::int32_t*>(array.find(0))[99'999], 3);
  EXPECT_EQ(static_cast<const std::int32_t*>(array.find(1))[99'999], 4);
}

TEST(TensorArray, HoldsElementsOfNoSize) {
  TensorArray array = array_of({0, 3});
  for (int i = 0; i < 3; ++i) array.push(nullptr);
  EXPECT_EQ(array.size(), 3);
  EXPECT_NE(array.find(2), nullptr);
  array.pop(nullptr);
  EXPECT_EQ(array.size(), 2);
}

TEST(TensorArray, RefusesIndicesThatMakeNoSense) {
  TensorArray array = array_of({});
  const std::int32_t value = 1;
  EXPECT_THAT([&] { array.write(-1, &value); },
              ThrowsMessage<InvalidArgument>("tensor array: an index must be at least 0, got -1"));
  EXPECT_THROW(array.write(std::int64_t{1} << 62, &value), InvalidArgument);
  EXPECT_EQ(array.size(), 0);
}

TEST(TensorArray, PushesAndPopsAtTheEdgeOfABlock) {
  TensorArray array = array_of({});
  for (std::int32_t i = 0; i < 16'384; ++i) array.push(&i);
  const std::int32_t value = -1;
  const void* place = nullptr;
  for (int i = 0; i < 3; ++i) {
    array.push(&value);
    if (place == nullptr) place = array.find(16'384);
    EXPECT_EQ(array.find(16'384), place) << "the same memory again";
    EXPECT_EQ(pop(array), -1);
  }
}

}  // namespace
}  // namespace fluidcore
