#include "fluidcore/op/op_def.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"

namespace fluidcore {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

template <class T>
Kernel scale_kernel(const KernelContext& context) {
  const Arg<const T> x = context.input<T>("X");
  const Arg<T> out = context.output<T>("Out");
  const T factor = static_cast<T>(context.attr<double>("factor"));
  return [=, size = x.size()] {
    for (std::int64_t i = 0; i < size; ++i) out.data()[i] = x.data()[i] * factor;
  };
}

OpDef scale() {
  return OpDef("scale")
      .input("X", "any shape")
      .input("Bias", "one number", {.optional = true})
      .output("Out", "shape of X")
      .output("Mask", "where X > 0", {.intermediate = true})
      .attr("factor", 1.0, "what to multiply with")
      .attr("axes", std::vector<std::int64_t>{}, "where")
      .attr("names", std::vector<std::string>{"a"}, "of the axes")
      .attr("weights", std::vector<double>{}, "of the axes")
      .attr("axis", std::int64_t{-1}, "where")
      .infer(same_as("X"))
      .kernels({{{DeviceKind::kCpu, DType::kFloat32}, scale_kernel<float>}})
      .kernels({{{DeviceKind::kCpu, DType::kFloat64}, scale_kernel<double>}})
      .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}}));
}

OpDef pad() {
  return OpDef("pad")
      .input("X", "any shape", {.list = true})
      .output("Out", "larger")
      .required_attr("mode", std::string("zero"), "what to fill with", {"zero", "edge"});
}

OpDesc op(AttributeMap attrs = {}) {
  return OpDesc("scale", {{"X", {"x"}}}, {{"Out", {"out"}}}, std::move(attrs));
}

OpDesc completed(AttributeMap attrs) {
  OpDesc desc = op(std::move(attrs));
  scale().complete(desc);
  return desc;
}

TEST(OpDefComplete, FillsInTheDefaults) {
  EXPECT_EQ(to_string(completed({{"axis", std::int64_t{2}}})),
            "scale(X=x) -> Out=out   # axes=[], axis=2, factor=1.0, names=['a'], weights=[]");
}

TEST(OpDefComplete, AcceptsAnIntForAFloatOrAListOfOneAndAnEmptyListForAnyList) {
  const OpDesc desc = completed({{"factor", std::int64_t{3}},
                                 {"axes", std::int64_t{4}},
                                 {"names", std::vector<std::int64_t>{}},
                                 {"weights", std::vector<std::int64_t>{1, 2}}});
  EXPECT_EQ(desc.attr("factor"), Attribute(3.0));
  EXPECT_EQ(desc.attr("axes"), Attribute(std::vector<std::int64_t>{4}));
  EXPECT_EQ(desc.attr("names"), Attribute(std::vector<std::string>{}));
  EXPECT_EQ(desc.attr("weights"), Attribute(std::vector<double>{1, 2}));
}

TEST(OpDefComplete, RefusesAnAttributeOfAnotherType) {
  EXPECT_THAT(
      [] { completed({{"factor", std::string("2")}}); },
      ThrowsMessage<InvalidArgument>("scale: attribute 'factor' must be a float, got the str '2'"));
  EXPECT_THROW(completed({{"axis", 1.0}}), InvalidArgument);
  EXPECT_THROW(completed({{"axis", true}}), InvalidArgument);
  EXPECT_THROW(completed({{"names", std::vector<std::int64_t>{1}}}), InvalidArgument);
  EXPECT_THROW(completed({{"axes", std::vector<double>{}}}), InvalidArgument);
}

TEST(OpDefComplete, NamesTheNearestAttribute) {
  EXPECT_THAT([] { completed({{"factr", 2.0}}); },
              ThrowsMessage<NotFound>("scale: no attribute 'factr'; did you mean 'factor'?"));
  EXPECT_THAT([] { completed({{"something", 2.0}}); },
              ThrowsMessage<NotFound>("scale: no attribute 'something'; it has: factor, axes, "
                                      "names, weights, axis"));
}

TEST(OpDefComplete, RequiresSlotsThatAreNotOptional) {
  OpDesc missing("scale", {}, {{"Out", {"out"}}});
  EXPECT_THAT(
      [&] { scale().complete(missing); },
      ThrowsMessage<InvalidArgument>("scale: input X must be given (any shape), got nothing"));
  OpDesc no_output("scale", {{"X", {"x"}}}, {{"Out", {}}});
  EXPECT_THAT(
      [&] { scale().complete(no_output); },
      ThrowsMessage<InvalidArgument>("scale: output Out must be given (shape of X), got nothing"));
}

TEST(OpDefComplete, RefusesUnknownSlotsAndTooManyVariables) {
  OpDesc unknown("scale", {{"X", {"x"}}, {"Bios", {"b"}}}, {{"Out", {"out"}}});
  EXPECT_THAT([&] { scale().complete(unknown); },
              ThrowsMessage<NotFound>("scale: no input slot 'Bios'; did you mean 'Bias'?"));
  OpDesc many("scale", {{"X", {"x", "y"}}}, {{"Out", {"out"}}});
  EXPECT_THAT([&] { scale().complete(many); },
              ThrowsMessage<InvalidArgument>("scale: input X takes one variable, got 2: x, y"));
  OpDesc list("pad", {{"X", {"x", "y"}}}, {{"Out", {"out"}}}, {{"mode", std::string("edge")}});
  EXPECT_NO_THROW(pad().complete(list));
}

TEST(OpDefComplete, RefusesOneVariableInTwoOutputs) {
  OpDesc twice("scale", {{"X", {"x"}}}, {{"Out", {"y"}}, {"Mask", {"y"}}});
  EXPECT_THAT([&] { scale().complete(twice); },
              ThrowsMessage<InvalidArgument>(
                  "scale: every output must be a variable of its own, got 'y' twice"));
}

TEST(OpDefComplete, RequiresAttributesWithoutDefaultAndChecksChoices) {
  OpDesc without("pad", {{"X", {"x"}}}, {{"Out", {"out"}}});
  EXPECT_THAT([&] { pad().complete(without); },
              ThrowsMessage<InvalidArgument>(
                  "pad: attribute 'mode' must be given (what to fill with), got nothing"));
  OpDesc wrong("pad", {{"X", {"x"}}}, {{"Out", {"out"}}}, {{"mode", std::string("wrap")}});
  EXPECT_THAT([&] { pad().complete(wrong); },
              ThrowsMessage<InvalidArgument>(
                  "pad: attribute 'mode' must be one of zero, edge, got 'wrap'"));
}

TEST(OpDefInfer, GivesOutputsTheSpecOfTheInput) {
  const OpDesc desc = op();
  const TensorSpec x{{-1, 3}, DType::kFloat64};
  InferContext context(desc, {{"X", {x}}}, {{"Out", {TensorSpec()}}});
  scale().infer(context);
  EXPECT_EQ(context.output("Out"), x);
}

TEST(OpDefInfer, RefusesFloatingInputsOfDifferentDtypesUnlessTheOperatorAllowsThem) {
  const OpDesc desc("scale", {{"X", {"x"}}, {"Bias", {"b"}}}, {{"Out", {"out"}}});
  const InferContext::Slots inputs = {{"X", {TensorSpec{{2}, DType::kFloat32}}},
                                      {"Bias", {TensorSpec{{1}, DType::kFloat64}}}};
  InferContext context(desc, inputs, {{"Out", {TensorSpec()}}});
  EXPECT_THAT(
      [&] { scale().infer(context); },
      ThrowsMessage<InvalidArgument>(
          "scale: X and Bias must have the same dtype, got X float32 [2], Bias float64 [1]; "
          "write cast(x, 'float64')"));
  EXPECT_NO_THROW(scale().mixed_dtypes().infer(context));
}

TEST(OpDefInfer, DoesNothingForAnOutputThatNobodyWants) {
  const OpDesc desc("scale", {{"X", {"x"}}}, {{"Out", {std::string(kEmptyName)}}});
  InferContext context(desc, {{"X", {TensorSpec{{2}}}}}, {{"Out", {TensorSpec()}}});
  scale().infer(context);
  EXPECT_FALSE(context.has_output("Out"));
  EXPECT_EQ(context.output("Out"), TensorSpec());
}

TEST(InferGradsLikeInputs, GivesAGradientTheSpecOfItsVariable) {
  const OpDesc desc("sum_grad", {{"X", {"a", "b"}}, {"Out@GRAD", {"g"}}},
                    {{"X@GRAD", {"a@GRAD", "b@GRAD"}}});
  const TensorSpec a{{2, 3}, DType::kFloat64};
  const TensorSpec b{{3}, DType::kFloat32};
  InferContext context(desc, {{"X", {a, b}}, {"Out@GRAD", {a}}},
                       {{"X@GRAD", {TensorSpec(), TensorSpec()}}});
  infer_grads_like_inputs(context);
  EXPECT_EQ(context.output("X@GRAD", 0), a);
  EXPECT_EQ(context.output("X@GRAD", 1), b);
}

TEST(OpDefKernel, IsChosenByTheFirstFloatingInput) {
  const OpDesc desc("scale", {{"X", {"x"}}, {"Bias", {"b"}}}, {{"Out", {"out"}}});
  const auto dtype = [&](DType x, DType bias) {
    return scale().kernel_dtype(
        InferContext(desc, {{"X", {TensorSpec{{2}, x}}}, {"Bias", {TensorSpec{{2}, bias}}}},
                     {{"Out", {TensorSpec{{2}, DType::kInt16}}}}));
  };
  EXPECT_EQ(dtype(DType::kFloat64, DType::kFloat32), DType::kFloat64);
  EXPECT_EQ(dtype(DType::kInt64, DType::kFloat32), DType::kFloat32);
  EXPECT_EQ(dtype(DType::kInt64, DType::kInt32), DType::kInt64);
  const OpDesc source("fill", {}, {{"Out", {"out"}}});
  EXPECT_EQ(
      scale().kernel_dtype(InferContext(source, {}, {{"Out", {TensorSpec{{2}, DType::kInt16}}}})),
      DType::kInt16);
}

TEST(OpDefKernel, ListsWhatThereIsWhenItIsMissing) {
  EXPECT_THAT([] { scale().kernel(DeviceKind::kCpu, DType::kInt64); },
              ThrowsMessage<InvalidArgument>(
                  "scale: no kernel for int64 on cpu; it has: float32 on cpu, float64 on cpu"));
  EXPECT_THAT([] { pad().kernel(DeviceKind::kCuda, DType::kInt64); },
              ThrowsMessage<InvalidArgument>("pad: no kernel for int64 on cuda; it has: none"));
}

TEST(OpDefKernel, CalculatesOnTheMemoryThatItsCellsHaveWhenItRuns) {
  const OpDesc desc = completed({{"factor", 2.0}});
  const TensorSpec spec{{3}, DType::kFloat32};
  Cell x{spec};
  Cell out{spec};
  const RunState state;
  const OpDef def = scale();
  const Kernel kernel = def.kernel(DeviceKind::kCpu, DType::kFloat32)(
      KernelContext(def, desc, {{"X", {&x}}}, {{"Out", {&out}}}, DType::kFloat32, state, 0));
  std::vector<float> input = {1, 2, 3};
  std::vector<float> output(3);
  x.data = input.data();
  out.data = output.data();
  kernel();
  EXPECT_EQ(output, (std::vector<float>{2, 4, 6}));
  out.data = input.data();  // in place
  kernel();
  EXPECT_EQ(input, (std::vector<float>{2, 4, 6}));
}

TEST(KernelContext, RefusesAVariableOfAnotherDtype) {
  const OpDesc desc = completed({});
  Cell x{{{3}, DType::kFloat64}};
  Cell out{{{3}, DType::kFloat32}};
  const RunState state;
  const OpDef def = scale();
  const KernelContext context(def, desc, {{"X", {&x}}}, {{"Out", {&out}}}, DType::kFloat32, state,
                              0);
  EXPECT_THAT([&] { context.input<float>("X"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("scale: X must be float32")));
  EXPECT_THAT([&] { context.input<float>("Y"); },
              ThrowsMessage<NotFound>("scale: no variable 0 in slot 'Y'"));
  EXPECT_FALSE(context.optional_output<float>("Mask"));
  EXPECT_TRUE(context.optional_output<float>("Out"));
}

TEST(OpDefGrad, MakesTheGradientOperatorFromItsForm) {
  const OpDesc desc = completed({{"factor", 2.0}});
  const std::set<std::string> no_grad;
  GradContext context(desc, no_grad);
  const std::vector<OpDesc> ops = scale().grad_ops(context);
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(to_string(ops[0]),
            "scale_grad(Out@GRAD=out@GRAD, X=x) -> X@GRAD=x@GRAD   "
            "# axes=[], axis=-1, factor=2.0, names=['a'], weights=[]");
  EXPECT_EQ(context.grad_to_var(), (std::map<std::string, std::string>{{"x@GRAD", "x"}}));
}

TEST(OpDefGrad, CarriesTheCallSiteOfTheForwardOperator) {
  OpDesc desc = op();
  desc.set_call_site("train.py:41");
  const std::set<std::string> no_grad;
  GradContext context(desc, no_grad);
  EXPECT_EQ(scale().grad_ops(context)[0].call_site(), "train.py:41");
}

TEST(OpDefGrad, LeavesOutUnwantedGradients) {
  const OpDesc desc = op();
  for (const char* unwanted : {"x", "x@GRAD"}) {
    const std::set<std::string> no_grad = {unwanted};
    GradContext context(desc, no_grad);
    EXPECT_EQ(scale().grad_ops(context)[0].output("X@GRAD"),
              std::vector<std::string>{std::string(kEmptyName)});
    EXPECT_THAT(context.grad_to_var(), IsEmpty());
  }
}

TEST(OpDefGrad, IsRefusedWithTheCureWhenThereIsNone) {
  const OpDesc desc("pad", {{"X", {"x"}}}, {{"Out", {"out"}}});
  const std::set<std::string> no_grad;
  GradContext context(desc, no_grad);
  EXPECT_THAT([&] { pad().grad_ops(context); },
              ThrowsMessage<InvalidArgument>(
                  "pad: has no gradient; stop the gradient at its inputs (stop_gradient = True, "
                  "or no_grad_set)"));
  EXPECT_THAT(pad().not_differentiable().grad_ops(context), IsEmpty());
}

TEST(OpDef, TellsWhatWasDeclared) {
  const OpDef def = scale();
  EXPECT_TRUE(def.has_grad());
  EXPECT_FALSE(def.is_constant());
  EXPECT_FALSE(def.may_throw());
  EXPECT_EQ(def.kernels().size(), 2u);
  ASSERT_NE(def.find_input("Bias"), nullptr);
  EXPECT_TRUE(def.find_input("Bias")->traits.optional);
  EXPECT_EQ(def.find_input("Out"), nullptr);
  EXPECT_NE(def.find_output("Mask"), nullptr);
}

std::int64_t num_rows(const OpDef& def, const InferContext::Slots& inputs, const char* slot = "X") {
  const OpDesc desc = op();
  return def.num_rows(InferContext(desc, inputs, {}), slot);
}

const TensorSpec kMatrix{Shape{2, 3}, DType::kFloat32};

TEST(OpDef, NothingIsKnownOfRowsUnlessItIsDeclared) {
  EXPECT_EQ(num_rows(scale(), {{"X", {kMatrix}}}), 0);
}

TEST(OpDef, TheRowsOfAnElementwiseOperatorAreItsElementsWhereAllInputsHaveOneShape) {
  const OpDef def = scale().elementwise();
  EXPECT_EQ(num_rows(def, {{"X", {kMatrix}}}), 6);
  EXPECT_EQ(num_rows(def, {{"X", {kMatrix}}, {"Bias", {kMatrix}}}), 6);
  const TensorSpec row{Shape{3}, DType::kFloat32};
  EXPECT_EQ(num_rows(def, {{"X", {kMatrix}}, {"Bias", {row}}}), 0);
  EXPECT_EQ(num_rows(def, {{"X", {kMatrix, row}}}), 0);
}

TEST(OpDef, LeadingDimensionsNumberRows) {
  const OpDef def = scale().row_dims(all_but_last_dim);
  EXPECT_EQ(num_rows(def, {{"X", {{Shape{2, 3, 4}, DType::kFloat32}}}}), 6);
  EXPECT_EQ(num_rows(def, {{"X", {{Shape{4}, DType::kFloat32}}}}), 0);
  EXPECT_EQ(num_rows(def, {{"X", {{Shape{}, DType::kFloat32}}}}), 0);
}

}  // namespace
}  // namespace fluidcore
