#include "fluidcore/tensor/device_context.h"

#include <cstring>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(DeviceContext, OfTheCpuWorksAtOnce) {
  DeviceContext& cpu = device_context({});
  std::vector<int> to(2);
  const std::vector<int> from{3, 4};
  cpu.copy(to.data(), from.data(), 2 * sizeof(int));
  EXPECT_THAT(to, ElementsAre(3, 4));
  cpu.zero(to.data(), sizeof(int));
  EXPECT_THAT(to, ElementsAre(0, 4));
}

#ifndef FLUIDCORE_WITH_CUDA

TEST(DeviceContext, WithoutCudaADeviceIsAnErrorThatSaysWhatToBuild) {
  EXPECT_EQ(num_cuda_devices(), 0);
  EXPECT_THAT([] { device_context({DeviceKind::kCuda, 0}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("FLUIDCORE_CUDA=ON")));
}

#else

constexpr Device kGpu{DeviceKind::kCuda, 0};

struct AddNumber {
  int summand;
  template <class Index>
  FC_HOST_DEVICE void operator()(Index i, int* data) const {
    data[i] += summand;
  }
};

class EmulatedDevice : public ::testing::Test {
 protected:
  int* data() const { return static_cast<int*>(memory_.get()); }
  void set(const std::vector<int>& values) {
    context_->copy_in(data(), values.data(), values.size() * sizeof(int));
  }
  std::vector<int> values() {
    std::vector<int> copy(kSize);
    context_->copy_out(copy.data(), data(), kSize * sizeof(int));
    return copy;
  }
  void add(int summand) { cuda::for_each(*context_, kSize, AddNumber{summand}, data()); }

  static constexpr std::int64_t kSize = 3;
  std::unique_ptr<DeviceContext> context_ = device_context(kGpu).fork();
  std::shared_ptr<void> memory_ = context_->allocate(kSize * sizeof(int));
};

TEST_F(EmulatedDevice, WorksInTheOrderOfWhatItIsAsked) {
  set({1, 2, 3});
  add(10);
  context_->zero(data(), sizeof(int));
  add(1);
  EXPECT_THAT(values(), ElementsAre(1, 13, 14));
}

TEST_F(EmulatedDevice, TakesACopyOfWhatTheHostGives) {
  std::vector<int> given{1, 2, 3};
  set(given);
  given = {0, 0, 0};
  EXPECT_THAT(values(), ElementsAre(1, 2, 3));
}

TEST_F(EmulatedDevice, AGraphDoesItsWorkEachTimeItIsLaunched) {
  set({1, 2, 3});
  context_->begin_capture();
  add(10);
  add(100);
  const std::unique_ptr<DeviceGraph> graph = context_->end_capture();
  EXPECT_THAT(values(), ElementsAre(1, 2, 3)) << "what is recorded is not done";
  graph->launch();
  graph->launch();
  EXPECT_THAT(values(), ElementsAre(221, 222, 223));
}

TEST_F(EmulatedDevice, NothingWaitsOrAllocatesWhileWorkIsRecorded) {
  context_->begin_capture();
  EXPECT_THROW(context_->wait(), InvalidArgument);
  EXPECT_THROW(values(), InvalidArgument);
  context_->end_capture();
}

TEST_F(EmulatedDevice, TensorsComeBackAsTheyWent) {
  Tensor tensor({{2}, DType::kFloat32});
  tensor.set_float_element(0, 1.5);
  tensor.set_float_element(1, -2.5);
  const Tensor there = tensor.to(kGpu);
  EXPECT_EQ(there.device(), kGpu);
  EXPECT_EQ(there.get_float_element(1), -2.5);
  const Tensor copy = there.clone();
  Tensor(there).set_float_element(0, 9);
  EXPECT_EQ(copy.to_host().data<float>()[0], 1.5F);
  EXPECT_THAT([&] { there.data<float>(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must be on the cpu, got one on cuda:0")));
}

TEST_F(EmulatedDevice, HasNoMoreMemoryThanItHas) {
  EXPECT_THROW(context_->allocate(std::size_t{1} << 50), NoMemory);
  set({1, 2, 3});
  EXPECT_THAT(values(), ElementsAre(1, 2, 3));
}

TEST_F(EmulatedDevice, MemoryThatWasGivenBackIsUsedAgain) {
  for (int i = 0; i < 100; ++i) {
    const Tensor large({{1 << 28}, DType::kBool}, kGpu);
  }
}

#ifndef __SANITIZE_ADDRESS__
TEST_F(EmulatedDevice, TheHostCannotTouchItsMemory) {
  set({1, 2, 3});
  context_->wait();
  EXPECT_DEATH(std::memset(data(), 0, sizeof(int)), "");
}
#endif

TEST(DeviceContext, AnotherIndexIsAnErrorThatSaysHowManyThereAre) {
  EXPECT_THAT([] { device_context({DeviceKind::kCuda, 7}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must be one of 1")));
}

#endif

}  // namespace
}  // namespace fluidcore
