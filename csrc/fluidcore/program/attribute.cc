#include "fluidcore/program/attribute.h"

#include <array>
#include <type_traits>

#include "fluidcore/base/strings.h"

namespace fluidcore {

std::string_view type_name(const Attribute& attribute) {
  static constexpr std::array<std::string_view, std::variant_size_v<Attribute::variant>> kNames = {
      "bool",        "int",           "float",       "str",  "list of bool",
      "list of int", "list of float", "list of str", "block"};
  return kNames[attribute.index()];
}

std::string to_string(const Attribute& attribute) {
  const auto print = [](const auto& value) -> std::string {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<T>) {
      return to_string(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      return str_cat("'", value, "'");
    } else if constexpr (std::is_same_v<T, BlockIndex>) {
      return str_cat("block ", value.value);
    } else {
      std::string text = "[";
      for (const typename T::value_type& item : value) {
        if (text.size() > 1) text += ", ";
        text += to_string(Attribute(item));
      }
      return text + "]";
    }
  };
  return std::visit(print, static_cast<const Attribute::variant&>(attribute));
}

}  // namespace fluidcore
