#include <memory>
#include <string>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"
#include "fluidcore/kernels/cpu/broadcast.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

// Elements as words of their size: they are only moved.
struct Choose {
  template <class Word>
  FC_HOST_DEVICE Word operator()(bool condition, Word x, Word y) const {
    return condition ? x : y;
  }
};

Shape chosen_shape(const Shape& condition, const Shape& x, const Shape& y) {
  try {
    return broadcast(broadcast(condition, x, -1, "where"), y, -1, "where");
  } catch (const InvalidArgument&) {
    throw InvalidArgument(
        str_cat("where: Condition, X and Y must have equal extents or 1 in every "
                "dimension, got Condition ",
                condition, ", X ", x, ", Y ", y));
  }
}

template <class Word>
Kernel choose_words(const KernelContext& context) {
  const auto condition = context.input<bool>("Condition");
  const Arg<const Word> x(context.raw_input("X").cell());
  const Arg<const Word> y(context.raw_input("Y").cell());
  const Arg<Word> out(context.raw_output("Out").cell());
  const std::size_t rank = out.shape().rank();
  const auto aligned = [rank](const Shape& shape) { return align(shape, -1, rank, rank); };
  const auto nest = std::make_shared<const cpu::BroadcastNest>(
      out.shape(), std::vector{aligned(condition.shape()), aligned(x.shape()), aligned(y.shape())});
  return broadcast_kernel(nest, Choose(), out, condition, x, y);
}

Kernel where(const KernelContext& context) {
  switch (size_of(context.raw_output("Out").spec().dtype)) {
    case 1: return choose_words<std::uint8_t>(context);
    case 2: return choose_words<std::uint16_t>(context);
    case 4: return choose_words<std::uint32_t>(context);
    default: return choose_words<std::uint64_t>(context);
  }
}

void infer_where(InferContext& context) {
  require_dtype(context, "Condition", DType::kBool);
  const TensorSpec& x = context.input("X");
  const TensorSpec& y = context.input("Y");
  require(x.dtype == y.dtype, "where: X and Y must have the same dtype, got ", x.dtype, " and ",
          y.dtype, cast_advice("X", x.dtype, "Y", y.dtype));
  context.set_output("Out",
                     {chosen_shape(context.input("Condition").shape, x.shape, y.shape), x.dtype});
}

// Of X and Y: Out@GRAD where it was chosen, 0 elsewhere, added up where it was repeated.
std::vector<OpDesc> where_grad(GradContext& context) {
  const std::vector<std::string> dout = context.output_grad("Out");
  const std::string zeros = dout[0] + "@ZEROS";
  std::vector<OpDesc> ops{OpDesc("fill_zeros_like", {{"X", dout}}, {{"Out", {zeros}}})};
  for (const char* slot : {"X", "Y"}) {
    const std::vector<std::string> grads = context.input_grad(slot);
    if (grads[0] == kEmptyName) continue;
    const std::string terms = grads[0] + "@TERMS";
    SlotMap choices{{"Condition", context.input("Condition")}, {"X", {zeros}}, {"Y", {zeros}}};
    choices[slot] = dout;
    ops.emplace_back("where", std::move(choices), SlotMap{{"Out", {terms}}});
    ops.emplace_back("elementwise_add_grad",
                     SlotMap{{"X", context.input(slot)}, {"Y", dout}, {"Out@GRAD", {terms}}},
                     SlotMap{{"X@GRAD", grads}, {"Y@GRAD", {std::string(kEmptyName)}}});
  }
  return ops.size() > 1 ? ops : std::vector<OpDesc>();
}

}  // namespace

void register_where_ops(OpRegistry& registry) {
  registry.add(OpDef("where")
                   .doc("Out = X where Condition is true, else Y, broadcast as in NumPy.")
                   .input("Condition", "bool, any shape")
                   .input("X", "any shape that broadcasts with the others")
                   .input("Y", "any shape that broadcasts with the others, dtype of X")
                   .output("Out", "the broadcast shape, dtype of X")
                   .elementwise()
                   .infer(infer_where)
                   .kernels(byte_kernels_everywhere(where))
                   .grad(where_grad));
}

}  // namespace fluidcore
