#include "fluidcore/io/safetensors.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/io/files.h"

namespace fluidcore {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string path_of(const std::string& name) {
  const std::string own = "fluidcore_safetensors_" + std::to_string(getpid()) + "_" + name;
  return (std::filesystem::temp_directory_path() / own).string();
}

TensorFile example() {
  Tensor x({{2, 3}, DType::kFloat32});
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i);
  Tensor n({{}, DType::kInt64});
  n.data<std::int64_t>()[0] = -5;
  const Tensor none({{0, 4}, DType::kBFloat16});
  return {{{"x", x}, {"n", n}, {"none", none}}, {{"key", "a \"text\""}}};
}

// A file with this header, and so many bytes behind it.
std::string with_header(const std::string& header, std::size_t bytes) {
  std::string content;
  for (std::size_t i = 0; i < 8; ++i) {
    content += static_cast<char>(std::uint64_t{header.size()} >> (8 * i));
  }
  return content + header + std::string(bytes, '\0');
}

TEST(Safetensors, GivesBackWhatWasWritten) {
  const std::string path = path_of("whole");
  write_tensors(path, example());
  const TensorFile file = read_tensors(path);
  EXPECT_EQ(file.metadata, example().metadata);
  ASSERT_EQ(file.tensors.size(), 3U);
  const Tensor& x = file.tensors.at("x");
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(x.data<float>()[i], static_cast<float>(i));
  EXPECT_EQ(file.tensors.at("n").data<std::int64_t>()[0], -5);
  EXPECT_EQ(file.tensors.at("none").shape(), (Shape{0, 4}));
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST(Safetensors, NamesAFileThatIsNotThere) {
  EXPECT_THAT([] { read_tensors(path_of("nothing")); },
              ThrowsMessage<NotFound>(HasSubstr("load: no file ")));
}

TEST(Safetensors, LeavesWhatWasThereWhenItCannotWrite) {
  const std::string folder = path_of("folder");
  std::filesystem::create_directories(folder);
  EXPECT_THAT([&] { write_tensors(folder, example()); },
              ThrowsMessage<Error>(HasSubstr("must be a file that can be written")));
  EXPECT_FALSE(std::filesystem::exists(folder + ".new"));
}

TEST(Safetensors, RefusesWhatIsNotWholeAndWellFormed) {
  const std::string x = R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"abc", "the size of a header"},
      {std::string(7, '\0') + "\x7f", "the header must have"},
      {with_header("{", 0), "complete JSON"},
      {with_header("[]", 0), "an object"},
      {with_header("{" + x + "}", 7), "8 bytes of tensors, got 7"},
      {with_header("{" + x + "}", 9), "8 bytes of tensors, got 9"},
      {with_header("{" + x + "," + x + "}", 8), "once"},
      {with_header(R"({"x":{"dtype":"F4","shape":[2],"data_offsets":[0,8]}})", 8), "F4"},
      {with_header(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), "shape"},
      {with_header(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8), "12 bytes"},
      {with_header(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), "8 bytes"},
      {with_header(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12), "follow"},
      {with_header("{" + x + R"(,"y":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8),
       "follow"},
      {with_header(R"({"x":{"dtype":"F64","shape":[4611686018427387904,8],"data_offsets":[0,8]}})",
                   8),
       ""},
      {with_header(R"({"__metadata__":{"key":5}})", 0), "key"},
  };
  const std::string path = path_of("damaged");
  for (const auto& [content, message] : cases) {
    write_file(path, content);
    EXPECT_THAT([&] { read_tensors(path); },
                ThrowsMessage<InvalidArgument>(
                    AllOf(HasSubstr("must be a whole safetensors file"), HasSubstr(message))))
        << content;
  }
}

TEST(Safetensors, SurvivesAnyChangeOfItsBytes) {
  const std::string path = path_of("changed");
  write_tensors(path, example());
  const std::string whole = read_file(path);
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp)
  for (int i = 0; i < 3000; ++i) {
    std::string content = whole;
    for (int changes = 0; changes < 1 + i % 3; ++changes) {
      content[random() % content.size()] = static_cast<char>(random());
    }
    if (i % 5 == 0) content.resize(random() % content.size());
    write_file(path, content);
    try {
      read_tensors(path);
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("must be a whole safetensors file"));
    }
  }
}

}  // namespace
}  // namespace fluidcore
