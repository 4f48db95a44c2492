#include "fluidcore/program/attribute.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace fluidcore {
namespace {

TEST(Attribute, PrintsAsPythonWould) {
  EXPECT_EQ(to_string(Attribute(true)), "True");
  EXPECT_EQ(to_string(Attribute(std::int64_t{-3})), "-3");
  EXPECT_EQ(to_string(Attribute(1.0)), "1.0");
  EXPECT_EQ(to_string(Attribute(std::numeric_limits<double>::infinity())), "inf");
  EXPECT_EQ(to_string(Attribute(std::string("same"))), "'same'");
  EXPECT_EQ(to_string(Attribute(BlockIndex{2})), "block 2");
}

TEST(Attribute, PrintsListsAsPythonWould) {
  EXPECT_EQ(to_string(Attribute(std::vector<bool>{true, false})), "[True, False]");
  EXPECT_EQ(to_string(Attribute(std::vector<std::int64_t>{1, 2})), "[1, 2]");
  EXPECT_EQ(to_string(Attribute(std::vector<double>{1, 0.5})), "[1.0, 0.5]");
  EXPECT_EQ(to_string(Attribute(std::vector<std::string>{"a", "b"})), "['a', 'b']");
  EXPECT_EQ(to_string(Attribute(std::vector<double>{})), "[]");
}

TEST(Attribute, NamesItsType) {
  EXPECT_EQ(type_name(Attribute(false)), "bool");
  EXPECT_EQ(type_name(Attribute(std::int64_t{0})), "int");
  EXPECT_EQ(type_name(Attribute(0.0)), "float");
  EXPECT_EQ(type_name(Attribute(std::string())), "str");
  EXPECT_EQ(type_name(Attribute(std::vector<bool>())), "list of bool");
  EXPECT_EQ(type_name(Attribute(std::vector<std::int64_t>())), "list of int");
  EXPECT_EQ(type_name(Attribute(std::vector<double>())), "list of float");
  EXPECT_EQ(type_name(Attribute(std::vector<std::string>())), "list of str");
  EXPECT_EQ(type_name(Attribute(BlockIndex{0})), "block");
}

}  // namespace
}  // namespace fluidcore
