#include "fluidcore/gradcheck/function/workers.h"

#include <atomic>
#include <stdexcept>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"
#include "gradcheck/toy_function.h"

namespace fluidcore::gradcheck {
namespace {

using testing::Each;
using testing::ThrowsMessage;

ToyFunction identity() {
  return ToyFunction::elementwise(tensor_of({1}), [](double x) { return x; });
}

// A Function that only one thread can run.
class Alone final : public Function {
 public:
  const std::vector<Tensor>& inputs() const override { return tensors_; }
  const std::vector<Tensor>& run() override { return tensors_; }
  std::unique_ptr<Function> fork(std::optional<std::size_t>) const override { return nullptr; }

 private:
  std::vector<Tensor> tensors_;
};

TEST(Workers, CoverEveryBlockOnce) {
  ToyFunction f = identity();
  const Workers workers(f, 0, 4, 9);
  EXPECT_EQ(workers.size(), 4u);
  std::vector<int> taken(1003);
  workers.run(1003, 16, [&](std::size_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++taken[static_cast<std::size_t>(i)];
  });
  EXPECT_THAT(taken, Each(1));
}

TEST(Workers, HaveMemoryOfTheirOwn) {
  ToyFunction f = identity();
  const Workers workers(f, 0, 2, 9);
  EXPECT_NE(workers.function(0).inputs()[0].raw(), workers.function(1).inputs()[0].raw());
}

TEST(Workers, AreOneWhereTheFunctionCannotBeForked) {
  Alone f;
  const Workers workers(f, std::nullopt, 8, 9);
  EXPECT_EQ(workers.size(), 1u);
  EXPECT_EQ(&workers.function(0), &f);
}

TEST(Workers, UseTheThreadsThatAreLeftOverWithinABlock) {
  ToyFunction f = identity();
  std::atomic<int> allowed = 0;
  const Workers workers(f, 0, 7, 2);
  EXPECT_EQ(workers.size(), 2u);
  workers.run(2, 1, [&](std::size_t, std::int64_t, std::int64_t) { allowed += num_threads(); });
  EXPECT_EQ(allowed, 6);
}

// Notes how many threads a run may use.
class Noting final : public Function {
 public:
  Noting(std::int64_t size, DType dtype, int* threads)
      : tensors_{Tensor({Shape{size}, dtype})}, threads_(threads) {}
  const std::vector<Tensor>& inputs() const override { return tensors_; }
  const std::vector<Tensor>& run() override { return tensors_; }
  std::unique_ptr<Function> fork(std::optional<std::size_t>) const override {
    return std::make_unique<Noting>(tensors_[0].size(), tensors_[0].dtype(), threads_);
  }
  void use_threads(int count) override { *threads_ = count; }

 private:
  std::vector<Tensor> tensors_;
  int* threads_;
};

TEST(Workers, GiveThreadsToALargeFunctionInFloat64) {
  int threads = 1;
  Noting large(100'000, DType::kFloat64, &threads);
  Workers(large, 0, 6, 2);
  EXPECT_EQ(std::exchange(threads, 1), 3);
  Noting small(100, DType::kFloat64, &threads);
  Workers(small, 0, 6, 2);
  EXPECT_EQ(threads, 1);
  Noting narrow(100'000, DType::kFloat32, &threads);
  Workers(narrow, 0, 6, 2);
  EXPECT_EQ(threads, 1);
}

TEST(Workers, ThrowTheFirstExceptionWhenAllHaveEnded) {
  ToyFunction f = identity();
  const Workers workers(f, 0, 1, 9);
  EXPECT_THAT(
      [&] {
        workers.run(100, 10, [](std::size_t, std::int64_t begin, std::int64_t) {
          if (begin >= 30) throw std::runtime_error(std::to_string(begin));
        });
      },
      ThrowsMessage<std::runtime_error>("30"));
}

TEST(Workers, RefuseANumberThatCannotBe) {
  ToyFunction f = identity();
  for (const int count : {0, -1, 100'000}) EXPECT_THROW(Workers(f, 0, count, 9), InvalidArgument);
}

}  // namespace
}  // namespace fluidcore::gradcheck
