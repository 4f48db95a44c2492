#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "fluidcore/base/error.h"

namespace fluidcore {

// The start of `text`, fit for a message: a hostile file may hold names of any length and content.
std::string excerpt(std::string_view text);

// Reads a text that may be hostile. Throws InvalidArgument for anything but one JSON value, for
// invalid UTF-8, for values nested more than `max_nesting` deep, for two equal fields in an object
// and for integers beyond 64 bits.
nlohmann::json parse_json(std::string_view text, std::size_t max_nesting);

// A value in a program file and the way to it. Every function that reads checks, and throws
// InvalidArgument with the place: "program file: blocks[2].vars[5].lod_level: must be an integer,
// got 'a'". Lives on the stack, as its parents do; file and parents must outlive it.
class JsonNode {
 public:
  explicit JsonNode(const nlohmann::json& json) : json_(json) {}

  const nlohmann::json& json() const { return json_; }
  // Of a field that is there.
  JsonNode field(std::string_view name) const { return {json_[name], this, name, 0}; }

  // This must be an object with exactly these fields, and maybe some of the optional ones.
  void check_fields(std::initializer_list<std::string_view> names,
                    std::initializer_list<std::string_view> optional = {}) const;

  std::string string() const;
  bool boolean() const;
  std::int64_t integer() const;
  std::uint64_t unsigned_integer() const;
  std::int64_t integer_in(std::int64_t first, std::int64_t last) const;  // [first, last]
  double number() const;  // with a decimal point, or one of "inf", "-inf" and "nan"

  // visit(element, index) for every element of a list.
  template <class Visit>
  void for_each(const Visit& visit) const {
    check(json_.is_array(), "a list");
    for (std::size_t i = 0; i < json_.size(); ++i) visit(JsonNode(json_[i], this, {}, i), i);
  }
  // visit(name, value) for every field of an object.
  template <class Visit>
  void for_each_field(const Visit& visit) const {
    check(json_.is_object(), "an object");
    for (const auto& [name, value] : json_.items()) visit(name, field(name));
  }
  // (element.*read)() of every element: list(&JsonNode::string).
  template <class T>
  std::vector<T> list(T (JsonNode::*read)() const) const {
    std::vector<T> items;
    for_each([&](const JsonNode& element, std::size_t) { items.push_back((element.*read)()); });
    return items;
  }

  void check(bool ok, std::string_view expected) const {
    if (!ok) fail("must be ", expected, ", got ", show());
  }
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    const std::string where = path();
    throw InvalidArgument("program file: ", where, where.empty() ? "" : ": ", parts...);
  }

 private:
  JsonNode(const nlohmann::json& json,
           const JsonNode* parent,
           std::string_view key,
           std::size_t index)
      : json_(json), parent_(parent), key_(key), index_(index) {}

  std::string path() const;  // blocks[2].vars[5].shape
  std::string show() const;

  const nlohmann::json& json_;
  const JsonNode* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
};

}  // namespace fluidcore
