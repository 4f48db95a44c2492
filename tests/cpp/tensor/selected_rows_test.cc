#include "fluidcore/tensor/selected_rows.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore {
namespace {

using ::testing::ElementsAre;

// Rows of a tensor [4, width].
template <class T>
Tensor rows(const std::vector<std::int64_t>& numbers, const std::vector<T>& values) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  const std::int64_t width =
      static_cast<std::int64_t>(values.size()) / std::max(count, std::int64_t{1});
  Tensor tensor({{4, width}, dtype_of<T>, count});
  std::copy(values.begin(), values.end(), tensor.data<T>());
  std::copy(numbers.begin(), numbers.end(), row_numbers(tensor.spec(), tensor.raw()));
  return tensor;
}

template <class T>
std::vector<T> elements(const Tensor& tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.size()};
}

TEST(SelectedRows, TakeTheMemoryOfTheirRowsAlone) {
  const TensorSpec spec{{1'000'000'000, 3}, DType::kFloat32, 5};
  EXPECT_EQ(offset_of_rows(spec), 64u);  // 60, and the numbers are aligned
  EXPECT_EQ(byte_size(spec), 64u + 5 * 8);
  EXPECT_EQ(Tensor(spec).size(), 15);
  EXPECT_EQ(Tensor(spec).bytes(), 104u);
}

TEST(SelectedRows, CannotBeMoreThanMemoryHolds) {
  EXPECT_THROW(byte_size({{7, 0}, DType::kFloat32, std::int64_t{1} << 60}), InvalidArgument);
  EXPECT_THROW(byte_size({{7, 3}, DType::kFloat32, -1}), InvalidArgument);
}

TEST(SelectedRows, StandForTheTensorWithTheirValuesAddedUp) {
  const Tensor dense = to_dense(rows<double>({3, 0, -1, 3}, {1, 2, 3, 4, 0, 0, 5, 6}));
  EXPECT_EQ(dense.spec(), (TensorSpec{{4, 2}, DType::kFloat64}));
  EXPECT_THAT(elements<double>(dense), ElementsAre(3, 4, 0, 0, 0, 0, 6, 8));
}

TEST(SelectedRows, OfATensorThatIsDenseAreIt) {
  const Tensor tensor({{4, 2}, DType::kFloat32});
  EXPECT_EQ(to_dense(tensor).raw(), tensor.raw());
}

TEST(SelectedRows, LoseThoseThatAreNotUsed) {
  const Tensor used = without_unused_rows(rows<float>({-1, 3, -1, 0}, {0, 0, 1, 2, 0, 0, 3, 4}));
  EXPECT_EQ(used.spec(), (TensorSpec{{4, 2}, DType::kFloat32, 2}));
  EXPECT_THAT(elements<float>(used), ElementsAre(1, 2, 3, 4));
  const std::int64_t* numbers = row_numbers(used.spec(), used.raw());
  EXPECT_THAT(std::vector(numbers, numbers + 2), ElementsAre(3, 0));
}

TEST(SelectedRows, AreCopiedWithTheirNumbers) {
  const Tensor copy = rows<float>({2, 1}, {1, 2}).clone();
  const std::int64_t* numbers = row_numbers(copy.spec(), copy.raw());
  EXPECT_THAT(std::vector(numbers, numbers + 2), ElementsAre(2, 1));
}

}  // namespace
}  // namespace fluidcore
