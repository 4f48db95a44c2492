#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/broadcast.h"
#include "fluidcore/kernels/cpu/small_matrix.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/square_matrices.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

// The dimensions before those of the matrices.
Shape batch_of(const Shape& shape) {
  return Shape(std::vector<std::int64_t>(shape.begin(), shape.end() - 2));
}

// Which matrices of X and of Y belong together, where the batches are broadcast.
class Pairs {
 public:
  Pairs(const Shape& x, const Shape& y, const Shape& out)
      : nest_(batch_of(out),
              {align(batch_of(x), -1, out.rank() - 2, out.rank() - 2),
               align(batch_of(y), -1, out.rank() - 2, out.rank() - 2)}) {}

  std::int64_t x(std::int64_t i) const { return find(0, i); }
  std::int64_t y(std::int64_t i) const { return find(1, i); }

 private:
  std::int64_t find(std::size_t operand, std::int64_t i) const {
    const std::int64_t row = i / nest_.row();
    const std::int64_t column = nest_.streams(operand) ? i - row * nest_.row() : 0;
    return nest_.offset(operand, row) + column;
  }

  cpu::BroadcastNest nest_;
};

template <class T>
Kernel triangular_solve(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto y = context.input<T>("Y");
  const auto out = context.output<T>("Out");
  const MatrixBatch of_x(x.shape());
  const MatrixBatch of_out(out.shape());
  const cpu::Triangular form{context.attr<bool>("upper"), context.attr<bool>("transpose"),
                             context.attr<bool>("unitriangular")};
  const Tensor matrices({x.shape(), DType::kFloat64});
  const Tensor unknowns({out.shape(), DType::kFloat64});
  return [=, pairs = Pairs(x.shape(), y.shape(), out.shape())] {
    auto* const a = static_cast<double*>(matrices.raw());
    auto* const b = static_cast<double*>(unknowns.raw());
    std::copy_n(x.data(), x.size(), a);
    for_matrices(of_out.count, of_x.rows, [&](std::int64_t i) {
      const std::int64_t size = of_out.size();
      std::copy_n(y.data() + pairs.y(i) * size, size, b + i * size);
      cpu::solve_triangular(of_x.rows, of_out.columns, form, a + pairs.x(i) * of_x.size(),
                            b + i * size);
      std::copy_n(b + i * size, size, out.data() + i * size);
    });
  };
}

TensorSpec solved(const InferContext& context) {
  const TensorSpec x = checked_square(context, "X");
  const Shape& y = context.input("Y").shape;
  const std::size_t rank = y.rank();
  require(rank >= 2 && compatible(y[rank - 2], x.shape.back()), context.type(),
          ": Y must have shape [..., n, k] for X ", x.shape, ", got ", y);
  Shape batch;
  try {
    batch = broadcast(batch_of(x.shape), batch_of(y), -1, context.type());
  } catch (const InvalidArgument&) {
    throw InvalidArgument(context.type(), ": the batches of X and Y must have equal extents or 1 ",
                          "in every dimension, got X ", x.shape, ", Y ", y);
  }
  std::vector<std::int64_t> out = batch.extents();
  out.push_back(y[rank - 2] == -1 ? x.shape.back() : y[rank - 2]);
  out.push_back(y.back());
  return {Shape(std::move(out)), x.dtype};
}

// The dimensions of the batch, as far as an input is not repeated there.
std::size_t dims_of_batch(const InferContext& context, std::string_view slot) {
  const Shape& shape = context.input(slot).shape;
  const Shape out = solved(context).shape;
  std::size_t dims = 0;
  while (shape.rank() == out.rank() && dims + 2 < out.rank() && shape[dims] == out[dims]) ++dims;
  return dims;
}

// Y@GRAD is the solution of the transposed matrices; X@GRAD the part that is read of -Y@GRAD Out^T,
// transposed where X was. Both are added up where X or Y was repeated.
std::vector<OpDesc> triangular_solve_grad(GradContext& context) {
  const std::string dx = context.input_grad("X")[0];
  const std::string dy = context.input_grad("Y")[0];
  if (dx == kEmptyName && dy == kEmptyName) return {};
  const AttributeMap& attrs = context.forward().attrs();
  const bool upper = std::get<bool>(attrs.at("upper"));
  const bool transpose = std::get<bool>(attrs.at("transpose"));
  const bool unit = std::get<bool>(attrs.at("unitriangular"));
  const std::vector<std::string>& out = context.output("Out");
  GradSteps steps(context);
  AttributeMap transposed = attrs;
  transposed["transpose"] = !transpose;
  const std::string solved =
      steps.add("triangular_solve", {{"X", context.input("X")}, {"Y", context.output_grad("Out")}},
                std::move(transposed));
  if (dy != kEmptyName) steps.add_sum_like(dy, context.input("Y"), solved);
  if (dx == kEmptyName) return steps.take();
  const SlotMap factors =
      transpose ? SlotMap{{"X", out}, {"Y", {solved}}} : SlotMap{{"X", {solved}}, {"Y", out}};
  const std::string product = steps.add("matmul", factors, {{"transpose_Y", true}});
  const std::string negative = steps.add("scale", {{"X", {product}}}, {{"scale", -1.0}});
  const std::int64_t beside = upper ? 1 : -1;
  const std::string read = steps.add(upper ? "triu" : "tril", {{"X", {negative}}},
                                     {{"diagonal", unit ? beside : std::int64_t{0}}});
  steps.add_sum_like(dx, context.input("X"), read);
  return steps.take();
}

}  // namespace

void register_triangular_solve_ops(OpRegistry& registry) {
  registry.add(
      OpDef("triangular_solve")
          .doc(str_cat("Out = the solution of X Out = Y for triangular X, or of X^T Out = Y; "
                       "infinite or NaN where an element of the diagonal is 0.",
                       kSmallMatrices))
          .input("X", "[..., n, n], floating; the other triangle is not read")
          .input("Y", "[..., n, k], dtype of X")
          .output("Out", "[..., n, k], dtype of X; the batches are broadcast as in NumPy")
          .attr("upper", true, "whether X is upper triangular, not lower")
          .attr("transpose", false, "whether X is transposed")
          .attr("unitriangular", false, "whether the diagonal of X counts as 1 and is not read")
          .infer([](InferContext& context) { context.set_output("Out", solved(context)); })
          .row_dims(dims_of_batch)
          .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
            return triangular_solve<typename decltype(tag)::type>;
          }))
          .grad(triangular_solve_grad));
}

}  // namespace fluidcore
