#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fluidcore {

inline std::string to_string(std::string_view text) {
  return std::string(text);
}
inline std::string to_string(const std::string& text) {
  return text;
}
inline std::string to_string(const char* text) {
  return text;
}
inline std::string to_string(char letter) {
  return std::string(1, letter);
}
inline std::string to_string(bool value) {
  return value ? "True" : "False";
}
std::string to_string(double value);  // the shortest text that reads back as the same number
inline std::string to_string(float value) {
  return to_string(static_cast<double>(value));
}

template <class Integer>
  requires std::is_integral_v<Integer>
std::string to_string(Integer value) {
  return std::to_string(value);
}

// A value on its way into a text: whatever has a `to_string` that argument-dependent lookup finds.
// Refers to the value, so it lives no longer than the call that it is an argument of.
class TextPart {
 public:
  template <class Value>
  explicit TextPart(const Value& value)
      : value_(static_cast<const void*>(&value)), append_(append<Value>) {}
  template <std::size_t N>
  explicit TextPart(const char (&text)[N]) : value_(text), append_(append_literal) {}

  void append_to(std::string& text) const { append_(value_, text); }

 private:
  template <class Value>
  static void append(const void* value, std::string& text) {
    text += to_string(*static_cast<const Value*>(value));
  }
  static void append_literal(const void* value, std::string& text);

  const void* value_;
  void (*append_)(const void* value, std::string& text);
};

std::string join_parts(std::initializer_list<TextPart> parts);

// Joins its arguments into one string: str_cat("axis ", 2, " of ", shape).
template <class... Parts>
std::string str_cat(const Parts&... parts) {
  return join_parts({TextPart(parts)...});
}

// "a, b, c", or "none" for an empty list.
std::string join(const std::vector<std::string>& items);

// The candidate with the smallest edit distance to `name`, or "" when none is near enough to be a
// likely misspelling. Upper and lower case do not count.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace fluidcore
