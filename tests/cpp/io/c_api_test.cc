#include "fluidcore/io/c_api.h"

#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/io/predictor.h"
#include "io/example_model.h"

namespace fluidcore {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CApi : public ::testing::Test {
 protected:
  CApi() {
    const std::string folder = folder_of("c_api");
    save_model(example_model(), folder);
    EXPECT_EQ(fluidcore_predictor_open(folder.c_str(), 1, &predictor_, nullptr, 0), 0);
  }
  ~CApi() override { fluidcore_predictor_close(predictor_); }
  CApi(const CApi&) = delete;
  CApi& operator=(const CApi&) = delete;

  int run(const fluidcore_tensor& input, std::size_t outputs = 1) {
    return fluidcore_predictor_run(predictor_, &input, 1, &output_, outputs, error_.data(),
                                   error_.size());
  }

  fluidcore_predictor* predictor_ = nullptr;
  fluidcore_tensor output_{};
  std::array<char, 200> error_{};
  std::array<float, 2> x_ = {1, 2};
};

TEST_F(CApi, RunsAModel) {
  ASSERT_EQ(run({x_.data(), 5, 2, {1, 2}}), 0) << error_.data();
  EXPECT_EQ(output_.dtype, 5);
  EXPECT_EQ(output_.rank, 2);
  EXPECT_EQ(output_.shape[0], 1);
  EXPECT_EQ(output_.shape[1], 3);
  EXPECT_EQ(static_cast<const float*>(output_.data)[2], 1.5F);
}

TEST_F(CApi, NamesWhatIsFedAndFetched) {
  EXPECT_EQ(fluidcore_predictor_feeds(predictor_), 1U);
  EXPECT_EQ(fluidcore_predictor_fetches(predictor_), 1U);
  EXPECT_STREQ(fluidcore_predictor_feed(predictor_, 0), "x");
  EXPECT_STREQ(fluidcore_predictor_fetch(predictor_, 0), "y");
  EXPECT_EQ(fluidcore_predictor_feed(predictor_, 1), nullptr);
}

TEST_F(CApi, ClonesKeepTheWeightsWhenTheFirstIsClosed) {
  fluidcore_predictor* clone = nullptr;
  ASSERT_EQ(fluidcore_predictor_clone(predictor_, &clone, nullptr, 0), 0);
  std::swap(clone, predictor_);
  fluidcore_predictor_close(clone);
  ASSERT_EQ(run({x_.data(), 5, 2, {1, 2}}), 0) << error_.data();
  EXPECT_EQ(static_cast<const float*>(output_.data)[0], 1.5F);
}

TEST_F(CApi, SaysWhatIsWrong) {
  fluidcore_predictor* none = nullptr;
  EXPECT_EQ(fluidcore_predictor_open("/no/folder", 1, &none, error_.data(), error_.size()), 1);
  EXPECT_THAT(error_.data(), StartsWith("load: no file /no/folder/params.safetensors"));
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(fluidcore_predictor_open("/no/folder", 1, &none, error_.data(), 5), 1);
  EXPECT_STREQ(error_.data(), "load");
  EXPECT_EQ(run({x_.data(), 99, 2, {1, 2}}), 1);
  EXPECT_THAT(error_.data(), HasSubstr("99"));
  EXPECT_EQ(run({x_.data(), 5, 17, {1, 2}}), 1);
  EXPECT_STREQ(error_.data(), "run: rank must be 0 to 16, got 17");
  EXPECT_EQ(run({nullptr, 5, 2, {1, 2}}), 1);
  EXPECT_STREQ(error_.data(), "run: data must be there, got NULL");
  EXPECT_EQ(run({x_.data(), 5, 2, {1, -2}}), 1);
  EXPECT_EQ(run({x_.data(), 5, 2, {2, 1}}), 1);
  EXPECT_THAT(error_.data(), HasSubstr("x' must have the shape [-1, 2]"));
  EXPECT_EQ(run({x_.data(), 5, 2, {1, 2}}, 2), 1);
  EXPECT_THAT(error_.data(), HasSubstr("room for each of 1 results, got 2"));
}

}  // namespace
}  // namespace fluidcore
