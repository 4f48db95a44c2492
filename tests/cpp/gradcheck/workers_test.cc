#include "fluidcore/gradcheck/workers.h"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const Workers workers(f, 0, 4);
  EXPECT_EQ(workers.size(), 4u);
  std::vector<int> taken(1003);
  workers.run(1003, 16, [&](std::size_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++taken[static_cast<std::size_t>(i)];
  });
  EXPECT_THAT(taken, Each(1));
}

TEST(Workers, HaveMemoryOfTheirOwn) {
  ToyFunction f = identity();
  const Workers workers(f, 0, 2);
  EXPECT_NE(workers.function(0).inputs()[0].raw(), workers.function(1).inputs()[0].raw());
}

TEST(Workers, AreOneWhereTheFunctionCannotBeForked) {
  Alone f;
  const Workers workers(f, std::nullopt, 8);
  EXPECT_EQ(workers.size(), 1u);
  EXPECT_EQ(&workers.function(0), &f);
}

TEST(Workers, ThrowTheFirstExceptionWhenAllHaveEnded) {
  ToyFunction f = identity();
  const Workers workers(f, 0, 1);
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
  for (const int count : {0, -1, 100'000}) EXPECT_THROW(Workers(f, 0, count), InvalidArgument);
}

}  // namespace
}  // namespace fluidcore::gradcheck
