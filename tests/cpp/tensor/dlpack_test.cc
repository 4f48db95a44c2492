#include "fluidcore/tensor/dlpack.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace fluidcore {
namespace {

// A 2 x 3 float32 tensor of somebody else, who counts the calls of its deleter.
class Foreign {
 public:
  Foreign() {
    managed_.dl_tensor = {data_.data(), {kDlpackCpu, 0}, 2, {2, 32, 1}, shape_.data(), nullptr, 0};
    managed_.manager_ctx = this;
    managed_.deleter = [](DLManagedTensor* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->deleted_;
    };
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  DLManagedTensor* managed() { return &managed_; }
  DLTensor& tensor() { return managed_.dl_tensor; }
  std::vector<std::int64_t>& shape() { return shape_; }
  int deleted() const { return deleted_; }

 private:
  std::vector<float> data_ = {0, 1, 2, 3, 4, 5};
  std::vector<std::int64_t> shape_ = {2, 3};
  DLManagedTensor managed_ = {};
  int deleted_ = 0;
};

TEST(FromDlpack, SharesTheMemoryUntilTheLastCopyIsGone) {
  Foreign foreign;
  {
    const Tensor tensor = from_dlpack(foreign.managed());
    const Tensor copy = tensor;  // NOLINT(*-unnecessary-copy-*)
    EXPECT_EQ(tensor.spec(), (TensorSpec{{2, 3}, DType::kFloat32}));
    EXPECT_EQ(copy.raw(), foreign.tensor().data);
    EXPECT_EQ(tensor.get_float_element(4), 4.0);
    EXPECT_EQ(foreign.deleted(), 0);
  }
  EXPECT_EQ(foreign.deleted(), 1);
}

TEST(FromDlpack, HeedsTheByteOffset) {
  Foreign foreign;
  foreign.shape() = {1, 3};
  foreign.tensor().byte_offset = 12;
  EXPECT_EQ(from_dlpack(foreign.managed()).get_float_element(0), 3.0);
}

TEST(FromDlpack, AcceptsDenseStrides) {
  Foreign foreign;
  std::vector<std::int64_t> strides = {3, 1};
  foreign.tensor().strides = strides.data();
  EXPECT_EQ(from_dlpack(foreign.managed()).get_float_element(5), 5.0);
}

TEST(FromDlpack, CopiesATensorWithStridesWhenItMay) {
  for (const auto& [strides, wanted] :
       std::vector<std::pair<std::vector<std::int64_t>, std::vector<double>>>{
           {{1, 2}, {0, 2, 4, 1, 3, 5}},
           {{0, 1}, {0, 1, 2, 0, 1, 2}},
           {{1, 0}, {0, 0, 0, 1, 1, 1}}}) {
    Foreign foreign;
    std::vector<std::int64_t> own = strides;
    foreign.tensor().strides = own.data();
    const Tensor tensor = from_dlpack(foreign.managed(), true);
    EXPECT_EQ(foreign.deleted(), 1);
    for (std::int64_t i = 0; i < 6; ++i) {
      EXPECT_EQ(tensor.get_float_element(i), wanted[static_cast<std::size_t>(i)]);
    }
  }
}

TEST(FromDlpack, RefusesWhatItCannotViewAndLeavesItToTheCaller) {
  Foreign foreign;
  std::vector<std::int64_t> strides = {1, 2};
  foreign.tensor().strides = strides.data();
  EXPECT_THROW(from_dlpack(foreign.managed()), InvalidArgument);
  foreign.tensor().strides = nullptr;
  foreign.tensor().device.device_type = 8;  // Metal
  EXPECT_THROW(from_dlpack(foreign.managed()), InvalidArgument);
  foreign.tensor().device.device_type = kDlpackCpu;
  foreign.tensor().dtype = {5, 64, 1};  // complex
  EXPECT_THROW(from_dlpack(foreign.managed()), InvalidArgument);
  foreign.tensor().dtype = {2, 32, 4};  // vectors of 4
  EXPECT_THROW(from_dlpack(foreign.managed()), InvalidArgument);
  EXPECT_EQ(foreign.deleted(), 0);
}

TEST(FromDlpack, RefusesExtentsThatNoMemoryHasAndLeavesThemToTheCaller) {
  Foreign foreign;
  for (const std::int64_t extent : {std::int64_t{-1}, std::int64_t{1} << 40}) {
    foreign.shape() = {extent, extent};
    EXPECT_THROW(from_dlpack(foreign.managed()), InvalidArgument) << extent;
  }
  EXPECT_EQ(foreign.deleted(), 0);
}

TEST(ToDlpack, ComesBackAsTheSameTensor) {
  for (const DType dtype : {DType::kBool, DType::kInt16, DType::kInt32, DType::kInt64,
                            DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
    const Tensor tensor({{2, 3}, dtype});
    const Tensor back = from_dlpack(to_dlpack(tensor));
    EXPECT_EQ(back.spec(), tensor.spec());
    EXPECT_EQ(back.raw(), tensor.raw());
  }
}

TEST(ToDlpack, KeepsTheMemoryAlive) {
  DLManagedTensor* managed = nullptr;
  {
    Tensor tensor({{}, DType::kFloat64});
    tensor.set_float_element(0, 2.5);
    managed = to_dlpack(tensor);
  }
  EXPECT_EQ(managed->dl_tensor.ndim, 0);
  EXPECT_EQ(*static_cast<double*>(managed->dl_tensor.data), 2.5);
  managed->deleter(managed);
}

}  // namespace
}  // namespace fluidcore
