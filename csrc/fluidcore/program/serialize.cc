#include "fluidcore/program/serialize.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/program/json_node.h"
#include "fluidcore/program/program_desc.h"

namespace fluidcore {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kFormat = "fluidcore program";
constexpr std::int64_t kMaxBlocks = 65536;
constexpr std::size_t kMaxNesting = 16;  // a valid file needs 8

OrderedJson number_to_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : to_string(value);  // JSON has no inf and nan
}

// Bool, int, finite float and string as JSON has them; others as an object with one field, the
// type, because JSON cannot tell an empty list of ints from an empty list of strings.
OrderedJson attribute_to_json(const Attribute& attribute) {
  const auto write = [](const auto& value) -> OrderedJson {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, double>) {
      OrderedJson number = number_to_json(value);
      if (number.is_string()) return {{"float", std::move(number)}};
      return number;
    } else if constexpr (std::is_same_v<T, BlockIndex>) {
      return {{"block", value.value}};
    } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
      return {{"bools", value}};
    } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
      return {{"ints", value}};
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      return {{"strings", value}};
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      OrderedJson numbers = OrderedJson::array();
      for (const double item : value) numbers.push_back(number_to_json(item));
      return {{"floats", std::move(numbers)}};
    } else {
      return value;
    }
  };
  return std::visit(write, static_cast<const Attribute::variant&>(attribute));
}

// The type of a plain tensor and an error clip that is not there are left out.
OrderedJson var_to_json(const VarDesc& var) {
  OrderedJson json = {{"name", var.name()}};
  if (var.type() != VarType::kTensor) json["type"] = to_string(var.type());
  json.update({{"dtype", to_string(var.dtype())},
               {"shape", var.shape().extents()},
               {"lod_level", var.lod_level()},
               {"persistable", var.persistable()},
               {"stop_gradient", var.stop_gradient()},
               {"is_data", var.is_data()},
               {"is_parameter", var.is_parameter()},
               {"trainable", var.trainable()}});
  if (const auto& clip = var.error_clip()) {
    json["error_clip"] = {{"min", number_to_json(clip->min)}, {"max", number_to_json(clip->max)}};
  }
  return json;
}

OrderedJson slots_to_json(const SlotMap& slots) {
  OrderedJson json = OrderedJson::object();
  for (const auto& [slot, names] : slots) json[slot] = names;
  return json;
}

OrderedJson op_to_json(const OpDesc& op) {
  OrderedJson attrs = OrderedJson::object();
  for (const auto& [name, value] : op.attrs()) attrs[name] = attribute_to_json(value);
  return {{"type", op.type()},
          {"inputs", slots_to_json(op.inputs())},
          {"outputs", slots_to_json(op.outputs())},
          {"attrs", std::move(attrs)}};
}

// [\n<item>,\n<item>\n]: a line for each item, so that two versions of a program can be compared.
template <class Items, class Write>
std::string lines(const Items& items, const Write& write) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "\n   " : ",\n   ") + write(*item).dump();
  return "[" + text + "]";
}

SlotMap read_slots(const JsonNode& node) {
  SlotMap slots;
  node.for_each_field([&](const std::string& slot, const JsonNode& names) {
    slots.emplace(slot, names.list(&JsonNode::string));
  });
  return slots;
}

Attribute read_typed_attribute(const JsonNode& node, std::int64_t num_blocks) {
  if (node.json().size() == 1) {
    const std::string& type = node.json().begin().key();
    const JsonNode value = node.field(type);
    if (type == "float") return value.number();
    if (type == "block") return BlockIndex{value.integer_in(0, num_blocks - 1)};
    if (type == "bools") return value.list(&JsonNode::boolean);
    if (type == "ints") return value.list(&JsonNode::integer);
    if (type == "floats") return value.list(&JsonNode::number);
    if (type == "strings") return value.list(&JsonNode::string);
  }
  node.fail("must be an object with one field, float, block, bools, ints, floats or strings, got ",
            excerpt(node.json().dump()));
}

Attribute read_attribute(const JsonNode& node, std::int64_t num_blocks) {
  if (node.json().is_object()) return read_typed_attribute(node, num_blocks);
  if (node.json().is_boolean()) return node.boolean();
  if (node.json().is_number_integer()) return node.integer();
  if (node.json().is_number_float()) return node.number();
  node.check(node.json().is_string(), "true, false, a number, a string or an object");
  return node.string();
}

Shape read_shape(const JsonNode& node) {
  std::vector<std::int64_t> extents = node.list(&JsonNode::integer);
  for (const std::int64_t extent : extents) {
    if (extent < -1) node.fail("extents must be at least -1, got ", extent);
  }
  return Shape(std::move(extents));
}

DType read_dtype(const JsonNode& node) {
  const std::string name = excerpt(node.string());
  try {
    return dtype_from_name(name);
  } catch (const InvalidArgument& error) {
    node.fail(error.what());
  }
}

VarType read_var_type(const JsonNode& node) {
  const std::string name = excerpt(node.string());
  try {
    return var_type_from_name(name);
  } catch (const InvalidArgument& error) {
    node.fail(error.what());
  }
}

ErrorClip read_error_clip(const JsonNode& node) {
  node.check_fields({"min", "max"});
  const ErrorClip clip{node.field("min").number(), node.field("max").number()};
  if (!(clip.min <= clip.max)) {  // nan too
    node.fail("min must be at most max, got min ", clip.min, ", max ", clip.max);
  }
  return clip;
}

void read_var(const JsonNode& node, BlockDesc& block) {
  node.check_fields({"name", "dtype", "shape", "lod_level", "persistable", "stop_gradient",
                     "is_data", "is_parameter", "trainable"},
                    {"type", "error_clip"});
  const std::string name = node.field("name").string();
  if (block.find_var(name)) {
    node.field("name").fail("must be new in its block, got '", excerpt(name), "' again");
  }
  VarDesc& var = *block.var(name);
  if (node.json().contains("type")) var.set_type(read_var_type(node.field("type")));
  var.set_dtype(read_dtype(node.field("dtype")));
  var.set_shape(read_shape(node.field("shape")));
  var.set_lod_level(node.field("lod_level").integer_in(0, std::numeric_limits<int>::max()));
  var.set_persistable(node.field("persistable").boolean());
  var.set_stop_gradient(node.field("stop_gradient").boolean());
  var.set_is_data(node.field("is_data").boolean());
  var.set_is_parameter(node.field("is_parameter").boolean());
  var.set_trainable(node.field("trainable").boolean());
  if (node.json().contains("error_clip")) {
    var.set_error_clip(read_error_clip(node.field("error_clip")));
  }
}

OpDesc read_op(const JsonNode& node, std::int64_t num_blocks) {
  node.check_fields({"type", "inputs", "outputs", "attrs"});
  AttributeMap attrs;
  node.field("attrs").for_each_field([&](const std::string& name, const JsonNode& value) {
    attrs.emplace(name, read_attribute(value, num_blocks));
  });
  return {node.field("type").string(), read_slots(node.field("inputs")),
          read_slots(node.field("outputs")), std::move(attrs)};
}

void read_block(const JsonNode& node, std::int64_t num_blocks, BlockDesc& block) {
  block.set_forward_block_idx(node.field("forward_block").integer_in(-1, num_blocks - 1));
  node.field("vars").for_each([&](const JsonNode& var, std::size_t) { read_var(var, block); });
  node.field("ops").for_each(
      [&](const JsonNode& op, std::size_t) { block.append_op(read_op(op, num_blocks)); });
}

}  // namespace

std::string to_json(const ProgramDesc& program) {
  const auto num_blocks = static_cast<std::int64_t>(program.num_blocks());
  require(num_blocks <= kMaxBlocks, "program: a program to be saved must have at most ", kMaxBlocks,
          " blocks, got ", num_blocks);
  try {
    std::string text = str_cat("{\"format\":\"", kFormat, "\",\n\"version\":", kProgramVersion,
                               ",\n\"random_seed\":", program.random_seed(), ",\n\"blocks\":[");
    for (std::int64_t idx = 0; idx < num_blocks; ++idx) {
      const BlockDesc& block = program.block(idx);
      text += str_cat(idx == 0 ? "\n" : ",\n", " {\"parent\":", block.parent_idx(),
                      ",\"forward_block\":", block.forward_block_idx(),
                      ",\n  \"vars\":", lines(block.vars(), var_to_json),
                      ",\n  \"ops\":", lines(block.ops(), op_to_json), "}");
    }
    return text + "]}\n";
  } catch (const nlohmann::json::type_error&) {
    throw InvalidArgument("program: names and strings of a program to be saved must be UTF-8");
  }
}

std::unique_ptr<ProgramDesc> program_from_json(std::string_view text) {
  const nlohmann::json json = parse_json(text, kMaxNesting);
  const JsonNode root(json);
  root.check(json.is_object() && json.contains("format") && json["format"] == kFormat,
             str_cat("an object with \"format\": \"", kFormat, "\""));
  // Before the other fields: those of a newer version may be different.
  if (!json.contains("version")) root.fail("must have a field 'version', got none");
  const std::int64_t version = root.field("version").integer();
  if (version < 1 || version > kProgramVersion) {
    root.field("version").fail("must be in [1, ", kProgramVersion, "], got ", version,
                               version < 1 ? "" : "; a newer fluidcore wrote this file");
  }
  root.check_fields({"format", "version", "random_seed", "blocks"});

  auto program = std::make_unique<ProgramDesc>();
  program->set_random_seed(root.field("random_seed").unsigned_integer());
  const JsonNode blocks = root.field("blocks");
  blocks.check(blocks.json().is_array(), "a list");
  const auto num_blocks = static_cast<std::int64_t>(blocks.json().size());
  if (num_blocks < 1 || num_blocks > kMaxBlocks) {
    blocks.fail("must be 1 to ", kMaxBlocks, " blocks, got ", num_blocks);
  }
  blocks.for_each([&](const JsonNode& node, std::size_t i) {
    node.check_fields({"parent", "forward_block", "vars", "ops"});
    const auto idx = static_cast<std::int64_t>(i);
    // A parent comes before its children, so there are no cycles.
    const JsonNode parent = node.field("parent");
    const std::int64_t parent_idx =
        idx == 0 ? parent.integer_in(-1, -1) : parent.integer_in(0, idx - 1);
    read_block(node, num_blocks, idx == 0 ? program->block(0) : program->append_block(parent_idx));
  });
  return program;
}

}  // namespace fluidcore
