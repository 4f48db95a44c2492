#include "fluidcore/base/dtype.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace fluidcore {

namespace {

constexpr std::array<std::pair<DType, std::string_view>, 8> kNames = {{
    {DType::kBool, "bool"},
    {DType::kInt16, "int16"},
    {DType::kInt32, "int32"},
    {DType::kInt64, "int64"},
    {DType::kFloat16, "float16"},
    {DType::kFloat32, "float32"},
    {DType::kFloat64, "float64"},
    {DType::kBFloat16, "bfloat16"},
}};

}  // namespace

std::string_view to_string(DType dtype) {
  for (const auto& [known, name] : kNames) {
    if (known == dtype) return name;
  }
  return "?";
}

std::size_t size_of(DType dtype) {
  return visit_dtype(dtype, [](auto tag) { return sizeof(typename decltype(tag)::type); });
}

bool is_floating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16;
}

DType dtype_from_number(std::int64_t number) {
  std::vector<std::string> known;
  for (const auto& [dtype, name] : kNames) {
    if (static_cast<std::int64_t>(dtype) == number) return dtype;
    known.push_back(str_cat(static_cast<std::int64_t>(dtype), " (", name, ")"));
  }
  throw InvalidArgument("dtype must be one of ", join(known), ", got ", number);
}

DType dtype_from_name(std::string_view name) {
  std::vector<std::string> known;
  for (const auto& [dtype, text] : kNames) {
    if (text == name) return dtype;
    known.emplace_back(text);
  }
  throw InvalidArgument("dtype must be one of ", join(known), ", got '", name, "'");
}

}  // namespace fluidcore
