#include <cstring>
#include <utility>

#include "fluidcore/kernels/cpu/copy.h"
#include "fluidcore/ops/bytes.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/single_element.h"

namespace fluidcore {

namespace {

void set_zero(void* data, std::int64_t bytes) {
  if (bytes > 0) std::memset(data, 0, static_cast<std::size_t>(bytes));
}

// Which one of `count` tensors the Mask chooses.
std::size_t chosen(std::int64_t mask, std::size_t count, const char* who) {
  require(mask >= 0 && mask < static_cast<std::int64_t>(count), who,
          ": Mask must be the position of one of X, in [0, ", count, "), got ", mask);
  return static_cast<std::size_t>(mask);
}

Kernel select_input(const KernelContext& context) {
  const std::size_t count = context.input_count("X");
  std::vector<Arg<const void>> choices;
  choices.reserve(count);
  for (std::size_t i = 0; i < count; ++i) choices.push_back(context.raw_input("X", i));
  const Index mask(context, "Mask");
  const auto out = context.raw_output("Out");
  return [choices = std::move(choices), mask, out, bytes = bytes_of(out.spec())] {
    const std::size_t i = chosen(mask.value(), choices.size(), "select_input");
    require(choices[i].is_set(), "select_input: X at position ", i,
            ", which Mask chooses, must be ", "written before, got a block that was not run");
    cpu::copy_bytes(out.data(), choices[i].data(), bytes);
  };
}

Kernel select_input_grad(const KernelContext& context) {
  const auto dout = context.raw_input("Out@GRAD");
  const std::size_t count = context.output_count("X@GRAD");
  std::vector<Arg<void>> grads;
  grads.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    grads.push_back(optional_raw_output(context, "X@GRAD", i));
  }
  const Index mask(context, "Mask");
  return [grads = std::move(grads), mask, dout, bytes = bytes_of(dout.spec())] {
    const std::size_t wanted = chosen(mask.value(), grads.size(), "select_input_grad");
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i]) continue;
      if (i == wanted) {
        cpu::copy_bytes(grads[i].data(), dout.data(), bytes);
      } else {
        set_zero(grads[i].data(), bytes);
      }
    }
  };
}

// What all of X are; unknown extents are taken from those that know them.
TensorSpec common_spec(const InferContext& context) {
  require(context.input_count("X") > 0, context.type(),
          ": X must hold at least one variable, got none");
  TensorSpec common = context.input("X");
  for (std::size_t i = 1; i < context.input_count("X"); ++i) {
    const TensorSpec& x = context.input("X", i);
    require(x.dtype == common.dtype && compatible(x.shape, common.shape), context.type(),
            ": all of X must have one shape and dtype, got ", context.input("X"),
            " and, at position ", i, ", ", x);
    for (std::size_t d = 0; d < x.shape.rank(); ++d) {
      if (common.shape[d] == -1) common.shape[d] = x.shape[d];
    }
  }
  return common;
}

std::vector<OpDesc> select_input_to_grad(GradContext& context) {
  return {OpDesc("select_input_grad",
                 {{"X", context.input("X")},
                  {"Mask", context.input("Mask")},
                  {"Out@GRAD", context.output_grad("Out")}},
                 {{"X@GRAD", context.input_grad("X")}})};
}

// A gradient that was not wanted leaves zeros to choose.
std::vector<OpDesc> select_input_grad_to_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("Out@GRAD");
  if (grads[0] == kEmptyName) return {};
  std::vector<OpDesc> ops;
  std::vector<std::string> choices = context.output_grad("X@GRAD");
  const std::vector<std::string>& inputs = context.input("X");
  require(choices.size() == inputs.size(), "select_input_grad: X@GRAD must hold a variable, or ",
          kEmptyName, ", for each of X, got ", choices.size(), " for ", inputs.size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] != kEmptyName) continue;
    const std::string& x = inputs[i];
    choices[i] = x + "@ZERO";
    ops.push_back(OpDesc("fill_zeros_like", {{"X", {x}}}, {{"Out", {choices[i]}}}));
  }
  ops.push_back(
      OpDesc("select_input", {{"X", choices}, {"Mask", context.input("Mask")}}, {{"Out", grads}}));
  return ops;
}

}  // namespace

void register_select_ops(OpRegistry& registry) {
  registry.add(
      OpDef("select_input")
          .doc("Out = X[Mask], one of several tensors; the others need not have a value.")
          .input("X", "tensors of one shape and dtype", {.list = true, .may_be_unset = true})
          .input("Mask", "int32 or int64, one element: which of X")
          .output("Out", "shape and dtype of X")
          .infer([](InferContext& context) {
            require_index(context, "Mask");
            context.set_output("Out", common_spec(context));
          })
          .kernels(byte_kernels<select_input>())
          .grad(select_input_to_grad)
          .checks_data());
  registry.add(OpDef("select_input_grad")
                   .doc("X@GRAD = Out@GRAD for the tensor that was chosen, 0 for the others.")
                   .input("X", "inputs of the forward operator", {.list = true, .shape_only = true})
                   .input("Mask", "int32 or int64, one element: which of X")
                   .input("Out@GRAD", "gradient of Out, shape of X")
                   .output("X@GRAD", "gradients of X, shapes of X", {.list = true})
                   .infer([](InferContext& context) {
                     require_index(context, "Mask");
                     require_spec(context, "Out@GRAD", common_spec(context));
                     infer_grads_like_inputs(context);
                   })
                   .kernels(byte_kernels<select_input_grad>())
                   .grad(select_input_grad_to_grad)
                   .checks_data());
}

}  // namespace fluidcore
