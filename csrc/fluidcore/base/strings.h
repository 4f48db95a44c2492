#pragma once

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

// Joins its arguments into one string: str_cat("axis ", 2, " of ", shape).
// A type takes part by having a `to_string` that argument-dependent lookup finds.
template <class... Parts>
std::string str_cat(const Parts&... parts) {
  std::string text;
  (text.append(to_string(parts)), ...);
  return text;
}

// "a, b, c", or "none" for an empty list.
std::string join(const std::vector<std::string>& items);

// The candidate with the smallest edit distance to `name`, or "" when none is near enough to be a
// likely misspelling. Upper and lower case do not count.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace fluidcore
