#include "fluidcore/program/json_node.h"

#include <array>
#include <limits>
#include <utility>

namespace fluidcore {

namespace {

using Json = nlohmann::json;

// Builds the value of a text. The library's own reader accepts any nesting, keeps the last of two
// equal fields and makes an integer beyond 64 bits a float.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::size_t max_nesting) : max_nesting_(max_nesting) {}
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    require(text.find_first_of(".eE") != std::string::npos,
            "program file: integers must fit in 64 bits, got ", excerpt(text));
    return add(value);
  }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }  // not in texts

  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    require(!open_.back()->contains(name), "program file: a field must be given once, got two of '",
            excerpt(name), "' in one object");
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position,
                   const std::string& last_token,
                   const Json::exception& /*error*/) override {
    throw InvalidArgument("program file: must be complete JSON text, got a mistake at byte ",
                          position, " near '", excerpt(last_token), "'");
  }

 private:
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json container) {
    require(open_.size() < max_nesting_, "program file: values must be nested at most ",
            max_nesting_, " deep, got more");
    open_.push_back(place(std::move(container)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }

  std::size_t max_nesting_;
  Json root_;
  std::vector<Json*> open_;  // containers that are not complete yet, outermost first
  std::string key_;
};

}  // namespace

std::string excerpt(std::string_view text) {
  constexpr std::size_t kLength = 60;
  std::string shown;
  for (const char letter : text.substr(0, kLength)) {
    shown += letter >= ' ' && letter <= '~' ? letter : '?';
  }
  return text.size() > kLength ? shown + "..." : shown;
}

Json parse_json(std::string_view text, std::size_t max_nesting) {
  Builder builder(max_nesting);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

void JsonNode::check_fields(std::initializer_list<std::string_view> names,
                            std::initializer_list<std::string_view> optional) const {
  check(json_.is_object(), "an object");
  for (const std::string_view name : names) {
    if (!json_.contains(name)) fail("must have a field '", name, "', got none");
  }
  std::vector<std::string> known(names.begin(), names.end());
  known.insert(known.end(), optional.begin(), optional.end());
  for (const auto& [name, value] : json_.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      fail("must have no fields but ", join(known), ", got '", excerpt(name), "'");
    }
  }
}

std::string JsonNode::string() const {
  check(json_.is_string(), "a string");
  return json_.get<std::string>();
}

bool JsonNode::boolean() const {
  check(json_.is_boolean(), "true or false");
  return json_.get<bool>();
}

std::int64_t JsonNode::integer() const {
  check(json_.is_number_integer(), "an integer");
  if (json_.is_number_unsigned()) {
    const auto value = json_.get<std::uint64_t>();
    if (value > std::numeric_limits<std::int64_t>::max()) {
      fail("must be at most ", std::numeric_limits<std::int64_t>::max(), ", got ", value);
    }
  }
  return json_.get<std::int64_t>();
}

std::uint64_t JsonNode::unsigned_integer() const {
  check(json_.is_number_unsigned(), "an integer of at least 0");
  return json_.get<std::uint64_t>();
}

std::int64_t JsonNode::integer_in(std::int64_t first, std::int64_t last) const {
  const std::int64_t value = integer();
  if (value < first || value > last) fail("must be in [", first, ", ", last, "], got ", value);
  return value;
}

double JsonNode::number() const {
  static constexpr std::array<std::pair<std::string_view, double>, 3> kNamed = {{
      {"inf", std::numeric_limits<double>::infinity()},
      {"-inf", -std::numeric_limits<double>::infinity()},
      {"nan", std::numeric_limits<double>::quiet_NaN()},
  }};
  for (const auto& [name, value] : kNamed) {
    if (json_ == name) return value;
  }
  check(json_.is_number_float(), "a number with a decimal point, 'inf', '-inf' or 'nan'");
  return json_.get<double>();
}

std::string JsonNode::path() const {
  if (parent_ == nullptr) return "";
  const std::string front = parent_->path();
  if (parent_->json_.is_array()) return str_cat(front, "[", index_, "]");
  return str_cat(front, front.empty() ? "" : ".", excerpt(key_));
}

std::string JsonNode::show() const {
  if (json_.is_string()) return str_cat("'", excerpt(json_.get_ref<const std::string&>()), "'");
  if (json_.is_object()) return "an object";
  return json_.is_array() ? "a list" : json_.dump();
}

}  // namespace fluidcore
