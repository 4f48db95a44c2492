#include "fluidcore/kernels/cpu/gather.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/float16.h"
#include "fluidcore/base/threads.h"

namespace fluidcore::cpu {
namespace {

using Indices = std::vector<std::int64_t>;

template <class T>
std::vector<T> remainders(std::int64_t size) {
  std::vector<T> x;
  for (std::int64_t i = 0; i < size; ++i) x.push_back(static_cast<T>(static_cast<float>(i % 13)));
  return x;
}

Indices indices(std::int64_t size, std::int64_t below) {
  Indices index;
  for (std::int64_t i = 0; i < size; ++i) index.push_back(i * i % 31 % below);
  return index;
}

// Where place `i` of `outer` points to, -1 for nothing.
std::int64_t row_of(const IndexedRows& shape,
                    const Indices& index,
                    std::int64_t outer,
                    std::int64_t i) {
  const std::int64_t row = index[shape.own_index ? outer * shape.count + i : i];
  return row < 0 ? -1 : outer * shape.extent + row;
}

template <class T>
void expect_take_and_add(IndexedRows shape) {
  Indices index = indices(shape.count * shape.num_lists(), shape.extent);
  if (index.size() > 2) index[2] = -1;
  const RowIndex rows{index.data(), true};
  const auto table = remainders<T>(shape.outer * shape.extent * shape.width);
  std::vector<T> taken(shape.outer * shape.count * shape.width, T(-1.0F));
  std::vector<double> sums(table.begin(), table.end());
  std::vector<T> expected(taken.size(), T(0.0F));
  const auto terms = remainders<T>(static_cast<std::int64_t>(taken.size()));
  for (std::int64_t outer = 0; outer < shape.outer; ++outer) {
    for (std::int64_t i = 0; i < shape.count; ++i) {
      const std::int64_t row = row_of(shape, index, outer, i);
      for (std::int64_t j = 0; j < shape.width && row >= 0; ++j) {
        const std::int64_t at = (outer * shape.count + i) * shape.width + j;
        expected[at] = table[row * shape.width + j];
        sums[row * shape.width + j] += static_cast<double>(terms[at]);
      }
    }
  }
  Indices links(num_links(shape));
  auto added = table;
  add_rows<T>(shape, rows, links.data(), terms.data(), added.data(), added.data());
  std::vector<T> alone(table.size());
  add_rows<T>(shape, rows, links.data(), terms.data(), nullptr, alone.data());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    ASSERT_EQ(static_cast<float>(added[i]),
              static_cast<float>(static_cast<T>(static_cast<float>(sums[i]))));
    ASSERT_EQ(static_cast<float>(alone[i]), static_cast<float>(static_cast<T>(static_cast<float>(
                                                sums[i] - static_cast<double>(table[i])))));
  }
  shape.width *= static_cast<std::int64_t>(sizeof(T));
  take_rows(shape, rows, table.data(), taken.data());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    ASSERT_EQ(static_cast<float>(taken[i]), static_cast<float>(expected[i]));
  }
}

TEST(GatherTest, TakesAndAddsRowsOfEveryWidth) {
  for (const int threads : {1, 2}) {
    const ThreadCountScope scope(threads);
    for (const std::int64_t width : {0, 1, 3, 8, 700}) {
      for (const bool own_index : {false, true}) {
        for (const std::int64_t outer : {1, 3}) {
          expect_take_and_add<float>({outer, 7, 40, width, own_index});
          expect_take_and_add<double>({outer, 7, 40, width, own_index});
          expect_take_and_add<Float16>({outer, 7, 40, width, own_index});
          expect_take_and_add<BFloat16>({outer, 7, 40, width, own_index});
        }
      }
    }
  }
}

TEST(GatherTest, ManyRowsAreSharedByThreads) {
  const ThreadCountScope scope(2);
  expect_take_and_add<float>({1, 20, 300'007, 1});
  expect_take_and_add<float>({40'007, 3, 2, 1, true});
}

TEST(GatherTest, NothingNamedLeavesZerosOrTheBase) {
  const IndexedRows shape{1, 3, 0, 2};
  Indices links(num_links(shape));
  std::vector<float> table{1, 2, 3, 4, 5, 6};
  const RowIndex none{nullptr, true};
  add_rows<float>(shape, none, links.data(), nullptr, table.data(), table.data());
  EXPECT_EQ(table, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  add_rows<float>(shape, none, links.data(), nullptr, nullptr, table.data());
  EXPECT_EQ(table, std::vector<float>(6));
}

TEST(GatherTest, TheLastPlaceThatNamesARowReplacesIt) {
  const Indices index{2, 0, 2, 2, 1, 0};
  const IndexedRows own{2, 3, 3, 2, true};
  Indices last(6);
  find_last_places(own, {index.data(), true}, last.data());
  EXPECT_EQ(last, (Indices{1, -1, 2, 2, 1, 0}));

  const std::vector<char> rows{1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};
  std::vector<char> table(12);
  replace_rows(own, {last.data(), true}, rows.data(), table.data());
  EXPECT_EQ(table, (std::vector<char>{3, 4, 0, 0, 5, 6, 15, 16, 13, 14, 11, 12}));

  const IndexedRows shared{2, 3, 3, 2};
  std::vector<char> both(12);
  replace_rows(shared, {last.data(), true}, rows.data(), both.data());
  EXPECT_EQ(both, (std::vector<char>{3, 4, 0, 0, 5, 6, 13, 14, 0, 0, 15, 16}));
}

TEST(GatherTest, WholeNumbersAreAddedAndWrapAround) {
  const Indices index{1, 1};
  const std::vector<std::int32_t> rows{2'147'483'647, 1};
  std::vector<std::int32_t> table{5, 0};
  const IndexedRows shape{1, 2, 2, 1};
  Indices links(num_links(shape));
  add_rows<std::int32_t>(shape, {index.data(), true}, links.data(), rows.data(), table.data(),
                         table.data());
  EXPECT_EQ(table, (std::vector<std::int32_t>{5, -2'147'483'647 - 1}));
}

TEST(GatherTest, SixteenBitFloatsAreAddedInFloat) {
  const Indices index(4096);  // all name row 0
  const std::vector<BFloat16> ones(index.size(), static_cast<BFloat16>(1.0F));
  const IndexedRows shape{1, 1, static_cast<std::int64_t>(index.size()), 1};
  Indices links(num_links(shape));
  BFloat16 sum{};
  add_rows<BFloat16>(shape, {index.data(), true}, links.data(), ones.data(), nullptr, &sum);
  EXPECT_EQ(static_cast<float>(sum), 4096.0F);
}

TEST(GatherTest, NumbersMayBeNarrowHaveColumnsAndOneThatMeansNone) {
  const std::vector<std::int32_t> data{2, 0, 1, 2};
  const RowIndex narrow{data.data(), false};
  EXPECT_EQ(narrow[0], 2);
  const RowIndex padded{data.data(), false, 2};
  EXPECT_EQ(padded[0], -1);
  EXPECT_EQ(padded[2], 1);
  const RowIndex columns{data.data(), false, -1, 2};
  EXPECT_EQ(columns[0], 4);
  EXPECT_EQ(columns[3], 5);
}

TEST(FindOutside, GivesTheFirstNumberThatIsNoRow) {
  std::vector<std::int64_t> numbers(2000, 3);
  const RowIndex index{numbers.data(), true};
  EXPECT_EQ(find_outside(index, 2000, 4, std::nullopt), -1);
  EXPECT_EQ(find_outside(index, 2000, 3, std::nullopt), 0);
  EXPECT_EQ(find_outside(index, 2000, 3, 3), -1);
  numbers[1999] = -1;
  EXPECT_EQ(find_outside(index, 2000, 4, std::nullopt), 1999);
  EXPECT_EQ(find_outside(index, 2000, 4, -1), -1);
  numbers[700] = 4;
  EXPECT_EQ(find_outside(index, 2000, 4, -1), 700);
  EXPECT_EQ(find_outside(index, 0, 0, std::nullopt), -1);
}

}  // namespace
}  // namespace fluidcore::cpu
