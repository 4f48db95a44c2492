#include "fluidcore/program/serialize.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/program/program_desc.h"

namespace fluidcore {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::unique_ptr<ProgramDesc> sample() {
  auto program = std::make_unique<ProgramDesc>();
  program->set_random_seed(std::numeric_limits<std::uint64_t>::max());
  BlockDesc& block = program->block(0);
  VarDesc& w = *block.var("fc_0.w_0");
  w.set_shape({-1, 0, 10});
  w.set_dtype(DType::kBFloat16);
  w.set_lod_level(2);
  w.set_persistable(true);
  w.set_stop_gradient(true);
  w.set_is_data(true);
  w.set_is_parameter(true);
  w.set_trainable(false);
  block.var("größe \"x\"\n");
  OpDesc op("while", {{"X", {"a", "b"}}, {"None", {}}}, {{"Out", {"fc_0.w_0"}}});
  op.set_attrs({{"bool", true},
                {"int", std::numeric_limits<std::int64_t>::min()},
                {"float", 1.0},
                {"tenth", 0.1},
                {"minus_zero", -0.0},
                {"inf", kInf},
                {"minus_inf", -kInf},
                {"str", std::string("inf")},
                {"bools", std::vector<bool>{true, false}},
                {"ints", std::vector<std::int64_t>{1, std::numeric_limits<std::int64_t>::max()}},
                {"floats", std::vector<double>{1, -kInf, 1e-300}},
                {"strings", std::vector<std::string>{"", "b"}},
                {"no_bools", std::vector<bool>{}},
                {"no_ints", std::vector<std::int64_t>{}},
                {"no_floats", std::vector<double>{}},
                {"no_strings", std::vector<std::string>{}},
                {"sub_block", BlockIndex{1}}});
  op.set_call_site("train.py:41");
  block.append_op(std::move(op));
  program->append_block(0).set_forward_block_idx(1);
  return program;
}

// A file with one block; the arguments replace its parts.
struct File {
  std::string version = "1";
  std::string seed = "0";
  std::string parent = "-1";
  std::string forward = "-1";
  std::string shape = "[2, -1]";
  std::string dtype = "\"float32\"";
  std::string lod_level = "0";
  std::string flag = "false";
  std::string inputs = R"({"X": ["x"]})";
  std::string attr = "1";
  std::string more_vars = "";
  std::string more_blocks = "";

  std::string text() const {
    return R"({"format": "fluidcore program", "version": )" + version + R"(, "random_seed": )" +
           seed + R"(, "blocks": [{"parent": )" + parent + R"(, "forward_block": )" + forward +
           R"(, "vars": [)" + var("x") + more_vars + R"(], "ops": [{"type": "relu", "inputs": )" +
           inputs + R"(, "outputs": {}, "attrs": {"axis": )" + attr + "}}]}" + more_blocks + "]}";
  }
  std::string var(const std::string& name) const {
    return R"({"name": ")" + name + R"(", "dtype": )" + dtype + R"(, "shape": )" + shape +
           R"(, "lod_level": )" + lod_level + R"(, "persistable": )" + flag +
           R"(, "stop_gradient": false, "is_data": false, "is_parameter": false, "trainable": true})";
  }
};

std::string block_text(const std::string& parent, const std::string& forward = "-1") {
  return R"(, {"parent": )" + parent + R"(, "forward_block": )" + forward +
         R"(, "vars": [], "ops": []})";
}

void expect_refused(const std::string& text, const std::string& message) {
  EXPECT_THAT([&] { program_from_json(text); },
              ThrowsMessage<InvalidArgument>("program file: " + message))
      << text.substr(0, 400);
}

TEST(Serialize, KeepsEverythingThatIsSaved) {
  const auto program = sample();
  const auto back = program_from_json(to_json(*program));
  EXPECT_EQ(to_string(*back), to_string(*program));
  EXPECT_EQ(to_json(*back), to_json(*program));
  EXPECT_EQ(back->random_seed(), program->random_seed());
  EXPECT_EQ(back->block(1).parent_idx(), 0);
  EXPECT_EQ(back->block(1).forward_block_idx(), 1);
  EXPECT_EQ(back->block(0).ops()[0]->attrs(), program->block(0).ops()[0]->attrs());
  EXPECT_EQ(back->block(0).ops()[0]->inputs(), program->block(0).ops()[0]->inputs());
  EXPECT_TRUE(std::signbit(std::get<double>(back->block(0).ops()[0]->attr("minus_zero"))));
  EXPECT_EQ(back->block(0).ops()[0]->call_site(), "");
  const VarDesc& w = *back->block(0).vars()[0];
  EXPECT_EQ(w.spec(), (TensorSpec{{-1, 0, 10}, DType::kBFloat16}));
  EXPECT_EQ(w.lod_level(), 2);
  EXPECT_TRUE(w.persistable() && w.stop_gradient() && w.is_data() && w.is_parameter());
  EXPECT_FALSE(w.trainable());
  EXPECT_TRUE(back->block(0).vars()[1]->trainable());
}

TEST(Serialize, KeepsTheTypeOfAnArray) {
  ProgramDesc program;
  program.block(0).var("a")->set_type(VarType::kTensorArray);
  program.block(0).var("x");
  const auto back = program_from_json(to_json(program));
  EXPECT_EQ(back->block(0).find_var("a")->type(), VarType::kTensorArray);
  EXPECT_EQ(back->block(0).find_var("x")->type(), VarType::kTensor);
  std::string text = to_json(program);
  EXPECT_THAT(text, HasSubstr(R"({"name":"a","type":"lod_tensor_array","dtype":"float32")"));
  text.replace(text.find("lod_tensor_array"), 16, "reader");
  expect_refused(text,
                 "blocks[0].vars[0].type: variable type must be lod_tensor, lod_tensor_array or "
                 "selected_rows, "
                 "got 'reader'");
}

TEST(Serialize, KeepsTheTypeOfSelectedRows) {
  ProgramDesc program;
  program.block(0).var("w@GRAD")->set_type(VarType::kSelectedRows);
  const std::string text = to_json(program);
  EXPECT_THAT(text, HasSubstr(R"("type":"selected_rows")"));
  EXPECT_EQ(program_from_json(text)->block(0).find_var("w@GRAD")->type(), VarType::kSelectedRows);
}

TEST(Serialize, KeepsErrorClips) {
  ProgramDesc program;
  program.append_block(0).var("h")->set_error_clip(ErrorClip{-kInf, 0.1});
  program.block(0).var("x");
  const std::string text = to_json(program);
  EXPECT_THAT(text, HasSubstr(R"("trainable":true,"error_clip":{"min":"-inf","max":0.1}})"));
  const auto back = program_from_json(text);
  EXPECT_EQ(back->block(1).find_var("h")->error_clip(), (ErrorClip{-kInf, 0.1}));
  EXPECT_EQ(back->block(0).find_var("x")->error_clip(), std::nullopt);
  EXPECT_EQ(to_json(*back), text);
}

TEST(Serialize, RefusesDamagedErrorClips) {
  ProgramDesc program;
  program.block(0).var("h")->set_error_clip(ErrorClip{-1, 1});
  const std::string text = to_json(program);
  const std::string good = R"({"min":-1.0,"max":1.0})";
  const auto refuse = [&](const std::string& clip, const std::string& message) {
    std::string damaged = text;
    expect_refused(damaged.replace(text.find(good), good.size(), clip),
                   "blocks[0].vars[0].error_clip" + message);
  };
  refuse(R"({"min":1.0,"max":-1.0})", ": min must be at most max, got min 1.0, max -1.0");
  refuse(R"({"min":"nan","max":1.0})", ": min must be at most max, got min nan, max 1.0");
  refuse(R"({"min":-1.0,"max":"one"})",
         ".max: must be a number with a decimal point, 'inf', '-inf' or 'nan', got 'one'");
  refuse(R"({"min":-1.0})", ": must have a field 'max', got none");
  refuse(R"({"min":-1.0,"max":1.0,"norm":2.0})", ": must have no fields but min, max, got 'norm'");
  refuse("[-1.0,1.0]", ": must be an object, got a list");
  refuse("null", ": must be an object, got null");
}

TEST(Serialize, KeepsNan) {
  ProgramDesc program;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  program.block(0).append_op(
      OpDesc("a", {}, {}, {{"x", nan}, {"y", std::vector<double>{-nan, 1.0}}}));
  const auto back = program_from_json(to_json(program));
  const OpDesc& op = *back->block(0).ops()[0];
  EXPECT_TRUE(std::isnan(std::get<double>(op.attr("x"))));
  EXPECT_TRUE(std::isnan(std::get<std::vector<double>>(op.attr("y"))[0]));
}

TEST(Serialize, WritesALinePerVariableAndOperator) {
  ProgramDesc program;
  program.block(0).var("x")->set_shape({-1, 3});
  program.block(0).append_op(OpDesc("scale", {{"X", {"x"}}}, {{"Out", {"y"}}},
                                    {{"axis", std::int64_t{1}},
                                     {"factor", 1.0},
                                     {"limit", kInf},
                                     {"sub_block", BlockIndex{0}},
                                     {"weights", std::vector<double>{}}}));
  EXPECT_EQ(to_json(program),
            R"({"format":"fluidcore program",
"version":1,
"random_seed":0,
"blocks":[
 {"parent":-1,"forward_block":-1,
  "vars":[
   {"name":"x","dtype":"float32","shape":[-1,3],"lod_level":0,"persistable":false,"stop_gradient":false,"is_data":false,"is_parameter":false,"trainable":true}],
  "ops":[
   {"type":"scale","inputs":{"X":["x"]},"outputs":{"Out":["y"]},"attrs":{"axis":1,"factor":1.0,"limit":{"float":"inf"},"sub_block":{"block":0},"weights":{"floats":[]}}}]}]}
)");
}

TEST(Serialize, RefusesToWriteNamesThatAreNotUtf8) {
  ProgramDesc program;
  program.block(0).var("\xff");
  EXPECT_THAT([&] { to_json(program); },
              ThrowsMessage<InvalidArgument>(
                  "program: names and strings of a program to be saved must be UTF-8"));
}

TEST(Serialize, ReadsAFileThatAPersonWrote) {
  const auto program = program_from_json(File{.more_blocks = block_text("0", "0")}.text());
  EXPECT_EQ(
      to_string(*program),
      "block 0:\n  x: float32 [2, -1]\n  relu(X=x) ->    # axis=1\nblock 1 (parent 0, gradient of "
      "block 0):\n");
}

TEST(Serialize, RefusesEveryTruncation) {
  const std::string text = to_json(*sample());
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    ASSERT_THROW(program_from_json(text.substr(0, size)), InvalidArgument) << size;
  }
  expect_refused("", "must be complete JSON text, got a mistake at byte 1 near ''");
  expect_refused("{\"a\": tru}",
                 "must be complete JSON text, got a mistake at byte 10 near '\"a\": tru}'");
  EXPECT_THROW(program_from_json(text + "{"), InvalidArgument);
}

TEST(Serialize, RefusesAFileOfSomethingElse) {
  const std::string expected = "must be an object with \"format\": \"fluidcore program\", got ";
  expect_refused("{}", expected + "an object");
  expect_refused("[]", expected + "a list");
  expect_refused("null", expected + "null");
  expect_refused(R"({"format": 1})", expected + "an object");
}

TEST(Serialize, RefusesANewerVersion) {
  expect_refused(R"({"format": "fluidcore program", "version": 2, "modules": []})",
                 "version: must be in [1, 1], got 2; a newer fluidcore wrote this file");
  expect_refused(File{.version = "0"}.text(), "version: must be in [1, 1], got 0");
  expect_refused(File{.version = "1.0"}.text(), "version: must be an integer, got 1.0");
  expect_refused(R"({"format": "fluidcore program"})", "must have a field 'version', got none");
}

TEST(Serialize, RefusesMissingUnknownAndRepeatedFields) {
  expect_refused(R"({"format": "fluidcore program", "version": 1, "blocks": []})",
                 "must have a field 'random_seed', got none");
  expect_refused(File{.more_blocks = R"(, {"parent": 0})"}.text(),
                 "blocks[1]: must have a field 'forward_block', got none");
  expect_refused(
      File{.more_blocks = R"(, {"parent":0,"forward_block":-1,"vars":[],"ops":[],"x":1})"}.text(),
      "blocks[1]: must have no fields but parent, forward_block, vars, ops, got 'x'");
  expect_refused(File{.inputs = R"({"X": [], "X": []})"}.text(),
                 "a field must be given once, got two of 'X' in one object");
}

TEST(Serialize, RefusesWrongTypesAndNamesThePlace) {
  expect_refused(File{.seed = "-1"}.text(),
                 "random_seed: must be an integer of at least 0, got -1");
  expect_refused(File{.shape = "3"}.text(), "blocks[0].vars[0].shape: must be a list, got 3");
  expect_refused(File{.shape = "[1, \"a\"]"}.text(),
                 "blocks[0].vars[0].shape[1]: must be an integer, got 'a'");
  expect_refused(File{.flag = "0"}.text(),
                 "blocks[0].vars[0].persistable: must be true or false, got 0");
  expect_refused(File{.inputs = "[]"}.text(),
                 "blocks[0].ops[0].inputs: must be an object, got a list");
  expect_refused(File{.inputs = R"({"X": ["a", null]})"}.text(),
                 "blocks[0].ops[0].inputs.X[1]: must be a string, got null");
  expect_refused(File{.attr = "null"}.text(),
                 "blocks[0].ops[0].attrs.axis: must be true, false, a number, a string or an "
                 "object, got null");
  expect_refused(File{.attr = "[1]"}.text(),
                 "blocks[0].ops[0].attrs.axis: must be true, false, a number, a string or an "
                 "object, got a list");
  expect_refused(File{.attr = R"({"ints": [1.0]})"}.text(),
                 "blocks[0].ops[0].attrs.axis.ints[0]: must be an integer, got 1.0");
  expect_refused(File{.attr = R"({"floats": [1]})"}.text(),
                 "blocks[0].ops[0].attrs.axis.floats[0]: must be a number with a decimal point, "
                 "'inf', '-inf' or 'nan', got 1");
  expect_refused(File{.attr = R"({"tuple": []})"}.text(),
                 "blocks[0].ops[0].attrs.axis: must be an object with one field, float, block, "
                 "bools, ints, floats or strings, got {\"tuple\":[]}");
}

TEST(Serialize, RefusesNegativeSizes) {
  expect_refused(File{.shape = "[2, -7]"}.text(),
                 "blocks[0].vars[0].shape: extents must be at least -1, got -7");
  expect_refused(File{.lod_level = "-1"}.text(),
                 "blocks[0].vars[0].lod_level: must be in [0, 2147483647], got -1");
}

TEST(Serialize, RefusesUnknownDtypes) {
  expect_refused(
      File{.dtype = "\"float31\""}.text(),
      "blocks[0].vars[0].dtype: dtype must be one of bool, int16, int32, int64, float16, "
      "float32, float64, bfloat16, got 'float31'");
  expect_refused(File{.dtype = "5"}.text(), "blocks[0].vars[0].dtype: must be a string, got 5");
}

TEST(Serialize, RefusesParentsThatDoNotComeBefore) {
  expect_refused(File{.parent = "0"}.text(), "blocks[0].parent: must be in [-1, -1], got 0");
  expect_refused(File{.more_blocks = block_text("1")}.text(),
                 "blocks[1].parent: must be in [0, 0], got 1");
  expect_refused(File{.more_blocks = block_text("2") + block_text("1")}.text(),
                 "blocks[1].parent: must be in [0, 0], got 2");
  expect_refused(File{.more_blocks = block_text("-1")}.text(),
                 "blocks[1].parent: must be in [0, 0], got -1");
}

TEST(Serialize, RefusesBlockIndicesOutOfRange) {
  expect_refused(File{.forward = "1"}.text(), "blocks[0].forward_block: must be in [-1, 0], got 1");
  expect_refused(File{.forward = "-2"}.text(),
                 "blocks[0].forward_block: must be in [-1, 0], got -2");
  expect_refused(File{.attr = R"({"block": 1})"}.text(),
                 "blocks[0].ops[0].attrs.axis.block: must be in [0, 0], got 1");
  expect_refused(File{.attr = R"({"block": -1})"}.text(),
                 "blocks[0].ops[0].attrs.axis.block: must be in [0, 0], got -1");
}

TEST(Serialize, RefusesTwoVariablesOfOneName) {
  expect_refused(File{.more_vars = "," + File().var("x")}.text(),
                 "blocks[0].vars[1].name: must be new in its block, got 'x' again");
}

TEST(Serialize, RefusesNumbersBeyond64Bits) {
  expect_refused(File{.attr = "9223372036854775808"}.text(),
                 "blocks[0].ops[0].attrs.axis: must be at most 9223372036854775807, got "
                 "9223372036854775808");
  expect_refused(File{.attr = "18446744073709551616"}.text(),
                 "integers must fit in 64 bits, got 18446744073709551616");
  expect_refused(File{.shape = "[-9223372036854775809]"}.text(),
                 "integers must fit in 64 bits, got -9223372036854775809");
  EXPECT_THROW(program_from_json(File{.attr = "1e999"}.text()), InvalidArgument);
}

TEST(Serialize, RefusesInvalidUtf8AndKeepsItOutOfTheMessage) {
  EXPECT_THAT([] { program_from_json(File{.attr = "\"\xff\xfe\""}.text()); },
              ThrowsMessage<InvalidArgument>(HasSubstr("near '\"?'")));
}

TEST(Serialize, CutsHugeStringsInMessages) {
  const std::string huge(1 << 20, 'a');
  expect_refused(File{.shape = "\"" + huge + "\""}.text(),
                 "blocks[0].vars[0].shape: must be a list, got '" + std::string(60, 'a') + "...'");
  const auto program = program_from_json(File{.attr = "\"" + huge + "\""}.text());
  EXPECT_EQ(std::get<std::string>(program->block(0).ops()[0]->attr("axis")), huge);
}

TEST(Serialize, RefusesAMillionNestedLists) {
  const std::string deep(1'000'000, '[');
  expect_refused(deep, "values must be nested at most 16 deep, got more");
  expect_refused(File{.attr = deep}.text(), "values must be nested at most 16 deep, got more");
}

TEST(Serialize, RefusesTooManyBlocks) {
  std::string blocks;
  for (int i = 0; i < 65536; ++i) blocks += ",0";
  expect_refused(File{.more_blocks = blocks}.text(),
                 "blocks: must be 1 to 65536 blocks, got 65537");
  expect_refused(R"({"format": "fluidcore program", "version": 1, "random_seed": 0, "blocks": []})",
                 "blocks: must be 1 to 65536 blocks, got 0");
}

TEST(Serialize, ReadsAChainOfManyBlocks) {
  std::string blocks;
  for (int i = 1; i < 2000; ++i) blocks += block_text(std::to_string(i - 1));
  EXPECT_EQ(program_from_json(File{.more_blocks = blocks}.text())->num_blocks(), 2000u);
}

// What a reader accepts, it must also be able to write and read again.
TEST(Serialize, SurvivesRandomDamage) {
  const std::string valid = to_json(*sample());
  constexpr std::string_view kAlphabet = "{}[],:\"-+.eE0123456789 \\untrfals\x80\xc3\xff";
  std::mt19937 random(20240229);
  const auto pick = [&](std::size_t size) { return random() % size; };
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = valid;
    for (std::size_t n = 1 + pick(3); n > 0; --n) {
      const std::size_t at = pick(text.size());
      const char letter =
          pick(4) == 0 ? static_cast<char>(pick(256)) : kAlphabet[pick(kAlphabet.size())];
      switch (pick(4)) {
        case 0: text.erase(at, 1 + pick(8)); break;
        case 1: text.insert(at, 1, letter); break;
        case 2: text.insert(at, valid, pick(valid.size()), pick(40)); break;
        default: text[at] = letter;
      }
      if (text.empty()) text = "x";
    }
    try {
      const std::string again = to_json(*program_from_json(text));
      ASSERT_EQ(to_json(*program_from_json(again)), again);
      ++accepted;
    } catch (const InvalidArgument&) {
    }
  }
  EXPECT_GT(accepted, 100) << "the damage is too heavy to reach far into the reader";
}

}  // namespace
}  // namespace fluidcore
