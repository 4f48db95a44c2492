#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/strings.h"

namespace fluidcore {

// "; write cast(label, 'int64')": the cure for an input whose dtype is wrong.
inline std::string cast_advice(std::string_view slot, DType wanted) {
  std::string argument(slot);
  std::transform(argument.begin(), argument.end(), argument.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return str_cat("; write cast(", argument, ", '", wanted, "')");
}

// The cure for two inputs that must have one dtype: the one that holds less is cast, so that
// nothing is lost.
inline std::string cast_advice(std::string_view a, DType of_a, std::string_view b, DType of_b) {
  const auto range = [](DType dtype) { return std::pair(is_floating(dtype), size_of(dtype)); };
  return range(of_a) < range(of_b) ? cast_advice(a, of_b) : cast_advice(b, of_a);
}

}  // namespace fluidcore
