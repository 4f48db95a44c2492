#include "fluidcore/io/safetensors.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/io/files.h"
#include "fluidcore/program/json_node.h"

namespace fluidcore {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kSizeBytes = 8;  // of the header's size, which comes first
constexpr std::size_t kNesting = 4;
constexpr std::string_view kMetadata = "__metadata__";
constexpr std::array<std::pair<std::string_view, DType>, 8> kDTypes = {{{"BOOL", DType::kBool},
                                                                        {"I16", DType::kInt16},
                                                                        {"I32", DType::kInt32},
                                                                        {"I64", DType::kInt64},
                                                                        {"F16", DType::kFloat16},
                                                                        {"BF16", DType::kBFloat16},
                                                                        {"F32", DType::kFloat32},
                                                                        {"F64", DType::kFloat64}}};

DType dtype_named(std::string_view name) {
  const auto* const found =
      std::ranges::find(kDTypes, name, [](const auto& entry) { return entry.first; });
  require(found != kDTypes.end(), "dtypes must be known, got ", excerpt(name));
  return found->second;
}

std::string_view name_of(DType dtype) {
  return std::ranges::find(kDTypes, dtype, [](const auto& entry) { return entry.second; })->first;
}

struct StoredTensor {
  std::string name;
  TensorSpec spec;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

StoredTensor place_of(const std::string& name, const JsonNode& node) {
  node.check_fields({"dtype", "shape", "data_offsets"});
  std::vector<std::int64_t> shape;
  std::vector<std::uint64_t> offsets;
  node.field("shape").for_each([&](const JsonNode& extent, std::size_t /*i*/) {
    shape.push_back(extent.integer_in(0, INT64_MAX));
  });
  node.field("data_offsets").for_each([&](const JsonNode& offset, std::size_t /*i*/) {
    offsets.push_back(offset.unsigned_integer());
  });
  StoredTensor place{name, {Shape(std::move(shape)), dtype_named(node.field("dtype").string())}};
  require(offsets.size() == 2 && offsets[0] <= offsets[1] &&
              offsets[1] - offsets[0] == byte_size(place.spec),
          "data_offsets of '", excerpt(name), "' must be two that hold ", byte_size(place.spec),
          " bytes");
  place.begin = offsets[0];
  place.end = offsets[1];
  return place;
}

// The tensors in the order of their bytes, of which each belongs to one.
std::vector<StoredTensor> places_of(const Json& header, std::uint64_t data, TensorFile& file) {
  std::vector<StoredTensor> places;
  JsonNode(header).for_each_field([&](const std::string& name, const JsonNode& node) {
    if (name != kMetadata) return places.push_back(place_of(name, node));
    node.for_each_field([&](const std::string& key, const JsonNode& text) {
      file.metadata.emplace(key, text.string());
    });
  });
  std::ranges::sort(places, [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t end = 0;
  for (const StoredTensor& place : places) {
    require(place.begin == end, "tensors must follow each other, got '", excerpt(place.name),
            "' at byte ", place.begin, " instead of ", end);
    end = place.end;
  }
  require(end == data, "there must be ", end, " bytes of tensors, got ", data);
  return places;
}

TensorFile read(std::ifstream& in, std::uint64_t size) {
  require(size >= kSizeBytes, "there must be the size of a header, got ", size, " bytes");
  std::array<unsigned char, kSizeBytes> bytes{};
  in.read(reinterpret_cast<char*>(bytes.data()), kSizeBytes);
  std::uint64_t header_size = 0;
  for (std::size_t i = kSizeBytes; i-- > 0;) header_size = header_size << 8U | bytes[i];
  require(header_size <= size - kSizeBytes, "the header must have ", header_size,
          " bytes, got a file of ", size);
  std::string text(header_size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(header_size));
  TensorFile file;
  const Json header = parse_json(text, kNesting);
  for (const StoredTensor& place : places_of(header, size - kSizeBytes - header_size, file)) {
    Tensor tensor(place.spec);
    in.read(static_cast<char*>(tensor.raw()), static_cast<std::streamsize>(tensor.bytes()));
    file.tensors.emplace(place.name, std::move(tensor));
  }
  require(static_cast<bool>(in), "it must be read to its end, got an error of the file system");
  return file;
}

}  // namespace

TensorFile read_tensors(const std::string& path) {
  const std::optional<std::uint64_t> size = file_size(path);
  std::ifstream in(path, std::ios::binary);
  if (!size || !in) throw NotFound("load: no file ", path);
  try {
    return read(in, *size);
  } catch (const InvalidArgument& damage) {
    throw InvalidArgument("load: ", path,
                          " must be a whole safetensors file, got a damaged one: ", damage.what());
  }
}

void write_tensors(const std::string& path, const TensorFile& file) {
  Json header = Json::object();
  if (!file.metadata.empty()) header[kMetadata] = file.metadata;
  std::uint64_t begin = 0;
  for (const auto& [name, tensor] : file.tensors) {
    const std::uint64_t end = begin + tensor.bytes();
    header[name] = {{"dtype", name_of(tensor.dtype())},
                    {"shape", tensor.shape().extents()},
                    {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the tensors are aligned
  std::string content;
  content.reserve(kSizeBytes + text.size() + begin);
  for (std::size_t i = 0; i < kSizeBytes; ++i) {
    content += static_cast<char>(std::uint64_t{text.size()} >> (8 * i));
  }
  content += text;
  for (const auto& [name, tensor] : file.tensors) {
    content.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
  }
  write_file(path, content);
}

}  // namespace fluidcore
