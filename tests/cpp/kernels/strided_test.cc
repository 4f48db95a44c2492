#include "fluidcore/kernels/cpu/strided.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/dtype.h"

namespace fluidcore::cpu {
namespace {

using Axes = std::vector<StridedAxis>;

// Calls f(to, from) for the positions of every element, one by one.
template <class F>
void for_elements(const Axes& axes, std::int64_t to, std::int64_t from, const F& f) {
  if (axes.empty()) return f(to, from);
  const Axes inner(axes.begin() + 1, axes.end());
  for (std::int64_t i = 0; i < axes[0].extent; ++i) {
    for_elements(inner, to + i * axes[0].to, from + i * axes[0].from, f);
  }
}

template <class Word>
void expect_copied(const Axes& axes, std::int64_t to, std::int64_t from, std::size_t size) {
  std::vector<Word> source(size);
  std::iota(source.begin(), source.end(), Word{1});
  std::vector<Word> got(size, Word{0});
  std::vector<Word> want = got;
  for_elements(axes, to, from, [&](std::int64_t a, std::int64_t b) { want[a] = source[b]; });
  StridedPair(axes, to, from).copy(got.data(), source.data(), sizeof(Word));
  EXPECT_EQ(got, want);
}

TEST(StridedPair, CopiesRowsApartAndTogether) {
  expect_copied<std::uint32_t>({{3, 10, 5}, {5, 1, 1}}, 2, 1, 64);
  expect_copied<std::uint32_t>({{3, 5, 5}, {5, 1, 1}}, 0, 0, 64);
  expect_copied<std::uint32_t>({{2, 30, 32}, {3, 10, 8}, {4, 2, 1}}, 1, 0, 64);
}

TEST(StridedPair, CopiesBackwardsAndOneElementAgainAndAgain) {
  expect_copied<std::uint16_t>({{40, 1, -1}}, 3, 45, 64);
  expect_copied<std::uint16_t>({{4, 10, -10}, {5, 1, -2}}, 0, 39, 64);
  expect_copied<std::uint64_t>({{40, 1, 0}}, 3, 45, 64);
  expect_copied<std::uint64_t>({{4, 6, 0}, {3, 2, 0}, {2, 1, 1}}, 0, 7, 64);
}

TEST(StridedPair, TakesElementsOfEverySizeOneElementAndNone) {
  expect_copied<std::uint8_t>({{2, 20, 9}, {3, 1, 3}}, 0, 0, 64);
  expect_copied<std::uint16_t>({{2, 20, 9}, {3, 1, 3}}, 0, 0, 64);
  expect_copied<std::uint32_t>({{2, 20, 9}, {3, 1, 3}}, 0, 0, 64);
  expect_copied<std::uint64_t>({{2, 20, 9}, {3, 1, 3}}, 0, 0, 64);
  expect_copied<std::uint32_t>({}, 5, 6, 64);
  expect_copied<std::uint32_t>({{3, 1, 1}, {0, 1, 1}}, 5, 6, 64);
}

TEST(StridedPair, CopiesWhatSeveralThreadsShareInTheMiddleOfARow) {
  expect_copied<std::uint32_t>({{30000, 2, 1}}, 0, 0, 60000);
  expect_copied<std::uint8_t>({{7, 9000, 5000}, {4999, 1, 1}}, 11, 1, 64000);
  expect_copied<std::uint16_t>({{3, 20000, -1}, {200, 100, 3}, {33, 3, 0}}, 0, 9, 64000);
}

TEST(StridedPair, RepeatsARunAgainAndAgain) {
  for (const std::int64_t run : {1, 2, 3, 7}) {
    for (const std::int64_t times : {1, 2, 5, 9}) {
      expect_copied<std::uint16_t>({{times, run, 0}, {run, 1, 1}}, 1, 4, 70);
    }
  }
  expect_copied<std::uint32_t>({{100, 800, 3}, {200, 3, 0}, {3, 1, 1}}, 7, 0, 90'000);
  expect_copied<std::uint8_t>({{40'000, 2, 0}, {2, 1, 1}}, 0, 5, 90'000);
}

TEST(StridedPair, ReversedAddsUpWhatWasRepeated) {
  std::vector<float> parts(12);
  std::iota(parts.begin(), parts.end(), 1.0F);
  std::vector<float> totals(3, 0.0F);
  StridedPair({{4, 3, 0}, {3, 1, 1}}, 0, 0).reversed().add(totals.data(), parts.data());
  EXPECT_EQ(totals, (std::vector<float>{22, 26, 30}));
}

TEST(StridedPair, ReversedCopiesBack) {
  const Axes axes = {{3, 10, 7}, {5, 1, -1}};
  std::vector<std::uint32_t> source(64);
  std::iota(source.begin(), source.end(), 1);
  std::vector<std::uint32_t> got(64);
  std::vector<std::uint32_t> want(64);
  for_elements(axes, 0, 10, [&](std::int64_t a, std::int64_t b) { want[b] = source[a]; });
  StridedPair(axes, 0, 10).reversed().copy(got.data(), source.data(), 4);
  EXPECT_EQ(got, want);
}

TEST(StridedPair, AddsUpWhereTheTargetStays) {
  for (const Axes& axes : {Axes{{3, 0, 20}, {4, 5, 1}}, Axes{{4, 5, 1}, {3, 0, 20}},
                           Axes{{2, 0, 8}, {4, 3, 2}, {2, 0, 1}}, Axes{{9, 0, -1}}, Axes{}}) {
    std::vector<double> source(64);
    std::iota(source.begin(), source.end(), 1.0);
    std::vector<double> got(64, 0.5);
    std::vector<double> want = got;
    for_elements(axes, 1, 9, [&](std::int64_t a, std::int64_t b) { want[a] += source[b]; });
    StridedPair(axes, 1, 9).add(got.data(), source.data());
    EXPECT_EQ(got, want);
  }
}

TEST(StridedPair, AddsSixteenBitsInFloat) {
  const std::vector<BFloat16> source(5000, BFloat16(1.0F));  // 256 + 1 is no bfloat16
  float total = 0.0F;
  StridedPair({{5000, 0, 1}}, 0, 0).add(&total, source.data());
  EXPECT_EQ(total, 5000.0F);
}

TEST(StridedPair, AddsNothingUp) {
  float total = 2.0F;
  StridedPair({{0, 0, 1}}, 0, 0).add(&total, &total);
  EXPECT_EQ(total, 2.0F);
}

// The index that each of the indices [begin, end) has, -1 where it has none.
std::vector<std::int64_t> indices(const Segments& segments, std::int64_t count) {
  std::vector<std::int64_t> found(static_cast<std::size_t>(count), -1);
  for (const Segment& s : segments) {
    for (std::int64_t k = 0; k < s.repeats; ++k) {
      for (std::int64_t i = 0; i < s.count; ++i) {
        auto& place = found[static_cast<std::size_t>(s.to + k * s.period + i)];
        EXPECT_EQ(place, -1);
        place = s.from + i * s.step;
      }
    }
  }
  return found;
}

TEST(AddPeriodic, FindsEveryIndexOfTheRangeOnce) {
  for (std::int64_t begin = -9; begin < 9; ++begin) {
    for (std::int64_t end = begin; end < begin + 15; ++end) {
      Segments segments;
      add_periodic(segments, {.to = 0, .from = 0, .count = 3}, 5, begin, end);
      add_periodic(segments, {.to = 3, .from = 8, .count = 2, .step = -1}, 5, begin, end);
      std::vector<std::int64_t> want;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t place = ((i % 5) + 5) % 5;
        want.push_back(place < 3 ? place : 11 - place);
      }
      EXPECT_EQ(indices(segments, end - begin), want) << begin << " " << end;
      EXPECT_LE(segments.size(), 6U);
    }
  }
}

TEST(StridedPairs, MakeATensorOfThePartsOfAnother) {
  // [[2, 1], [5, 4]] of [[0, 1, 2], [3, 4, 5]], backwards, between other elements.
  const std::vector<Segments> segments = {{{.to = 1, .from = 0, .count = 2}},
                                          {{.to = 1, .from = 2, .count = 2, .step = -1}}};
  std::vector<std::uint32_t> x(6);
  std::iota(x.begin(), x.end(), 0);
  std::vector<std::uint32_t> out(16, 9);
  for (const StridedPair& pair : strided_pairs({4, 4}, {2, 3}, segments)) {
    pair.copy(out.data(), x.data(), 4);
  }
  const std::vector<std::uint32_t> want = {9, 9, 9, 9, 9, 2, 1, 9, 9, 5, 4, 9, 9, 9, 9, 9};
  EXPECT_EQ(out, want);
}

TEST(StridedPairs, OfAnAxisWithoutSegmentsAreNone) {
  EXPECT_TRUE(strided_pairs({2, 0}, {2, 3}, {{{.to = 0, .from = 0, .count = 2}}, {}}).empty());
  EXPECT_EQ(strided_pairs({}, {}, {}).size(), 1U);
}

}  // namespace
}  // namespace fluidcore::cpu
