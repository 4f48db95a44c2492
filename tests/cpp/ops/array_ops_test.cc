#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/op/grad_context.h"
#include "fluidcore/ops/register_ops.h"
#include "ops/op_runner.h"
#include "ops/program_runner.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ArrayOpsTest : public ::testing::Test {
 protected:
  ArrayOpsTest() {
    runner_.feed("x", tensor_of({2}, {1, 2}));
    runner_.feed("y", tensor_of({2}, {3, 4}));
    for (int i = 0; i < 4; ++i) runner_.feed_int("i" + std::to_string(i), i);
  }
  void write(const std::string& x, const std::string& i, const std::string& array) {
    runner_.add(OpDesc("write_to_array", {{"X", {x}}, {"I", {i}}}, {{"Out", {array}}}));
  }
  void read(const std::string& array, const std::string& i, const std::string& out) {
    runner_.add(OpDesc("read_from_array", {{"X", {array}}, {"I", {i}}}, {{"Out", {out}}}));
  }
  void push(const std::string& x, const std::string& array) {
    runner_.add(OpDesc("push_to_array", {{"X", {x}}, {"Array", {array}}}, {{"ArrayOut", {array}}}));
  }
  void pop(const std::string& array, const std::string& out) {
    runner_.add(
        OpDesc("pop_from_array", {{"Array", {array}}}, {{"Out", {out}}, {"ArrayOut", {array}}}));
  }
  // The gradient operators of `op`, as text.
  static std::vector<std::string> grads(const OpDesc& op,
                                        const std::set<std::string>& no_grad = {}) {
    GradContext context(op, no_grad);
    std::vector<std::string> texts;
    for (const OpDesc& grad : builtin_ops().grad_ops(context)) texts.push_back(to_string(grad));
    return texts;
  }

  ProgramRunner runner_;
};

TEST_F(ArrayOpsTest, ReadWhatWasWritten) {
  write("x", "i0", "a");
  write("y", "i2", "a");
  read("a", "i0", "first");
  read("a", "i2", "third");
  runner_.add("lod_array_length", "a", "length");
  EXPECT_THAT(runner_.values("first"), ElementsAre(1, 2));
  EXPECT_THAT(runner_.values("third"), ElementsAre(3, 4));
  EXPECT_THAT(runner_.values("length"), ElementsAre(3));
}

TEST_F(ArrayOpsTest, OverwriteAnElement) {
  write("x", "i0", "a");
  write("y", "i0", "a");
  read("a", "i0", "out");
  EXPECT_THAT(runner_.values("out"), ElementsAre(3, 4));
}

TEST_F(ArrayOpsTest, BeginWithAnEmptyArrayInEveryRun) {
  push("x", runner_.array("a"));
  runner_.add("lod_array_length", "a", "length");
  for (int i = 0; i < 2; ++i) EXPECT_THAT(runner_.values("length"), ElementsAre(1));
}

TEST_F(ArrayOpsTest, RefuseToReadBeyondTheEnd) {
  write("x", "i0", "a");
  read("a", "i1", "out");
  EXPECT_THAT([&] { runner_.values("out"); },
              ThrowsMessage<InvalidArgument>("read_from_array: element I of the array must have "
                                             "been written, got I 1, an array of length 1"));
}

TEST_F(ArrayOpsTest, RefuseToReadWhatWasLeftOut) {
  write("x", "i2", "a");
  read("a", "i1", "out");
  EXPECT_THROW(runner_.values("out"), InvalidArgument);
}

TEST_F(ArrayOpsTest, RefuseToReadAnElementThatIsNotAsWasSaid) {
  runner_.feed("large", Tensor({{1000}, DType::kFloat64}));
  write("x", "i0", "a");
  runner_.add(OpDesc("read_from_array", {{"X", {"a"}}, {"I", {"i0"}}, {"Like", {"large"}}},
                     {{"Out", {"out"}}}));
  EXPECT_THAT([&] { runner_.values("out"); },
              ThrowsMessage<InvalidArgument>("read_from_array: Like must be as the elements of X, "
                                             "float64 [2], got float64 [1000]"));
}

TEST_F(ArrayOpsTest, RefuseIndicesThatMakeNoSense) {
  runner_.feed_int("minus", -1);
  runner_.feed_int("huge", std::int64_t{1} << 60);
  runner_.feed_bool("flag", {true});
  EXPECT_THAT([&] { write("x", "flag", "a"); },
              ThrowsMessage<InvalidArgument>("write_to_array: I must be int32 or int64, got bool; "
                                             "write cast(i, 'int64')"));
  EXPECT_THAT([&] { write("x", "x", "a"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("I must be")));
  write("x", "minus", "a");
  write("x", "huge", "b");
  read("a", "i0", "of_a");
  read("b", "i0", "of_b");
  EXPECT_THAT([&] { runner_.values("of_a"); },
              ThrowsMessage<InvalidArgument>("write_to_array: I must be at least 0, got -1"));
  EXPECT_THROW(runner_.values("of_b"), InvalidArgument);
}

TEST_F(ArrayOpsTest, TakeElementsOfOneKind) {
  write("x", "i0", "a");
  EXPECT_EQ(to_string(*runner_.program().block(0).find_var("a")), "a: float64 [2] array");
  runner_.feed("long", tensor_of({3}, {1, 2, 3}));
  EXPECT_THAT([&] { write("long", "i1", "a"); },
              ThrowsMessage<InvalidArgument>(
                  "write_to_array: Out must fit the elements of 'a', float64 [2], got float64 [3]; "
                  "an array holds tensors of one shape and dtype"));
}

TEST_F(ArrayOpsTest, TellArraysFromTensors) {
  write("x", "i0", "a");
  EXPECT_THAT([&] { runner_.add("relu", "a", "out"); },
              ThrowsMessage<InvalidArgument>("relu: X must be a tensor, got the tensor array 'a'; "
                                             "read an element with array_read"));
  EXPECT_THAT([&] { runner_.add("relu", "x", "a"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("relu: Out must be a tensor, got the")));
  EXPECT_THAT([&] { read("x", "i0", "out"); },
              ThrowsMessage<InvalidArgument>("read_from_array: X must be a tensor array, got the "
                                             "tensor 'x'; make an array with create_array"));
  EXPECT_THROW(write("x", "i0", "y"), InvalidArgument);
}

TEST_F(ArrayOpsTest, PopInReverseWhatWasPushed) {
  runner_.array("a");
  push("x", "a");
  push("y", "a");
  pop("a", "last");
  pop("a", "first");
  runner_.add("lod_array_length", "a", "length");
  EXPECT_THAT(runner_.values("last"), ElementsAre(3, 4));
  EXPECT_THAT(runner_.values("first"), ElementsAre(1, 2));
  EXPECT_THAT(runner_.values("length"), ElementsAre(0));
}

TEST_F(ArrayOpsTest, RefuseToPopFromAnEmptyArray) {
  runner_.array("a");
  push("x", "a");
  pop("a", "one");
  pop("a", "two");
  EXPECT_THAT([&] { runner_.values("two"); },
              ThrowsMessage<InvalidArgument>(
                  "pop_from_array: Array must hold an element, got an empty array"));
}

TEST_F(ArrayOpsTest, ChangeAnArrayInPlace) {
  runner_.array("a");
  runner_.array("b");
  EXPECT_THAT(
      [&] {
        runner_.add(
            OpDesc("push_to_array", {{"X", {"x"}}, {"Array", {"a"}}}, {{"ArrayOut", {"b"}}}));
      },
      ThrowsMessage<InvalidArgument>("push_to_array: ArrayOut must be the variable of Array, which "
                                     "is changed in place, got 'b' and 'a'"));
}

TEST_F(ArrayOpsTest, AddUpTheGradientsOfAnElement) {
  for (const char* grad : {"x", "y"}) {
    runner_.add(OpDesc("read_from_array_grad", {{"I", {"i1"}}, {"Out@GRAD", {grad}}},
                       {{"X@GRAD", {"a@GRAD"}}}));
  }
  for (const char* i : {"i1", "i3"}) {
    const std::string dx = std::string("dx_") + i;
    runner_.add(OpDesc("write_to_array_grad", {{"X", {"x"}}, {"I", {i}}, {"Out@GRAD", {"a@GRAD"}}},
                       {{"X@GRAD", {dx}}, {"Out@GRAD@OUT", {"a@GRAD"}}}));
  }
  runner_.add(OpDesc("write_to_array_grad", {{"X", {"x"}}, {"I", {"i1"}}, {"Out@GRAD", {"a@GRAD"}}},
                     {{"X@GRAD", {"again"}}, {"Out@GRAD@OUT", {"a@GRAD"}}}));
  EXPECT_THAT(runner_.values("dx_i1"), ElementsAre(4, 6));
  EXPECT_THAT(runner_.values("dx_i3"), ElementsAre(0, 0)) << "nothing was read there";
  EXPECT_THAT(runner_.values("again"), ElementsAre(0, 0)) << "an older value got no gradient";
}

TEST_F(ArrayOpsTest, HaveGradients) {
  EXPECT_THAT(grads(OpDesc("write_to_array", {{"X", {"x"}}, {"I", {"i"}}}, {{"Out", {"a"}}})),
              ElementsAre("write_to_array_grad(I=i, Out@GRAD=a@GRAD, X=x) -> "
                          "Out@GRAD@OUT=a@GRAD, X@GRAD=x@GRAD"));
  EXPECT_THAT(grads(OpDesc("read_from_array", {{"X", {"a"}}, {"I", {"i"}}}, {{"Out", {"o"}}})),
              ElementsAre("read_from_array_grad(I=i, Out@GRAD=o@GRAD) -> X@GRAD=a@GRAD"));
  const OpDesc push("push_to_array", {{"X", {"x"}}, {"Array", {"a"}}}, {{"ArrayOut", {"a"}}});
  EXPECT_THAT(grads(push),
              ElementsAre("pop_from_array(Array=a@GRAD) -> ArrayOut=a@GRAD, Out=x@GRAD"));
  EXPECT_THAT(grads(push, {"x"}), ElementsAre()) << "nothing is there to be popped";
  EXPECT_THAT(
      grads(OpDesc("pop_from_array", {{"Array", {"a"}}}, {{"Out", {"o"}}, {"ArrayOut", {"a"}}})),
      ElementsAre("push_to_array(Array=a@GRAD, X=o@GRAD) -> ArrayOut=a@GRAD"));
}

TEST_F(ArrayOpsTest, HaveGradientsOfGradients) {
  EXPECT_THAT(grads(OpDesc("write_to_array_grad", {{"X", {"x"}}, {"I", {"i"}}, {"Out@GRAD", {"d"}}},
                           {{"X@GRAD", {"dx"}}, {"Out@GRAD@OUT", {"d"}}})),
              ElementsAre("write_to_array(I=i, X=dx@GRAD) -> Out=d@GRAD"));
  EXPECT_THAT(grads(OpDesc("read_from_array_grad", {{"I", {"i"}}, {"Out@GRAD", {"d"}}},
                           {{"X@GRAD", {"da"}}})),
              ElementsAre("read_from_array(I=i, Like=d, X=da@GRAD) -> Out=d@GRAD"
                          "   # unset_is_zero=True"));
}

TEST_F(ArrayOpsTest, CollectTheStepsOfALoop) {
  runner_.feed_int("zero", 0);
  runner_.feed_int("n", 3);
  runner_.add("assign", "zero", "i");
  write("x", "i", "a");
  runner_.add("less_than", "i", "n", "go", 0);
  const std::int64_t body = runner_.new_block();
  runner_.add(OpDesc("read_from_array", {{"X", {"a"}}, {"I", {"i"}}}, {{"Out", {"now"}}}), body);
  runner_.add("elementwise_add", "now", "y", "next", body);
  runner_.increment("i", body);
  runner_.add(OpDesc("write_to_array", {{"X", {"next"}}, {"I", {"i"}}}, {{"Out", {"a"}}}), body);
  runner_.add("less_than", "i", "n", "go", body);
  runner_.add(OpDesc("while", {{"Condition", {"go"}}}, {}, {{"sub_block", BlockIndex{body}}}));
  runner_.add("lod_array_length", "a", "length");
  read("a", "i3", "last");
  EXPECT_THAT(runner_.values("length"), ElementsAre(4));
  EXPECT_THAT(runner_.values("last"), ElementsAre(10, 14));
}

}  // namespace
}  // namespace fluidcore
