#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fluidcore {

// The value of an attribute that names a block of the same program (`sub_block`).
struct BlockIndex {
  std::int64_t value = 0;
  friend bool operator==(BlockIndex, BlockIndex) = default;
};

// The value of an operator's attribute. One integer type and one floating type, as in Python.
struct Attribute : std::variant<bool,
                                std::int64_t,
                                double,
                                std::string,
                                std::vector<bool>,
                                std::vector<std::int64_t>,
                                std::vector<double>,
                                std::vector<std::string>,
                                BlockIndex> {
  using variant::variant;
};

using AttributeMap = std::map<std::string, Attribute, std::less<>>;

std::string_view type_name(const Attribute& attribute);  // "bool", "int", "float", "list of int"
std::string to_string(const Attribute& attribute);       // as Python would print it

}  // namespace fluidcore
