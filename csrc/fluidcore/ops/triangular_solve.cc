#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "fluidcore/kernels/cpu/small_matrix.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/square_matrices.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

template <class T>
Kernel triangular_solve(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto y = context.input<T>("Y");
  const auto out = context.output<T>("Out");
  const MatrixBatch of_x(x.shape());
  const MatrixBatch of_y(y.shape());
  const cpu::Triangular form{context.attr<bool>("upper"), context.attr<bool>("transpose"),
                             context.attr<bool>("unitriangular")};
  const Tensor matrices({x.shape(), DType::kFloat64});
  const Tensor unknowns({y.shape(), DType::kFloat64});
  return [=] {
    auto* const a = static_cast<double*>(matrices.raw());
    auto* const b = static_cast<double*>(unknowns.raw());
    for_matrices(of_x.count, of_x.rows, [=](std::int64_t i) {
      const std::int64_t matrix = i * of_x.size();
      const std::int64_t sides = i * of_y.size();
      std::copy_n(x.data() + matrix, of_x.size(), a + matrix);
      std::copy_n(y.data() + sides, of_y.size(), b + sides);
      cpu::solve_triangular(of_x.rows, of_y.columns, form, a + matrix, b + sides);
      std::copy_n(b + sides, of_y.size(), out.data() + sides);
    });
  };
}

void infer_triangular_solve(InferContext& context) {
  const TensorSpec x = checked_square(context, "X");
  TensorSpec y = context.input("Y");
  Shape wanted = x.shape;
  if (y.shape.rank() == wanted.rank()) wanted[wanted.rank() - 1] = y.shape.back();
  require(compatible(y.shape, wanted), context.type(), ": Y must have shape [..., n, k] for X ",
          x.shape, ", got ", y.shape, "; broadcast_to repeats a batch");
  for (std::size_t axis = 0; axis < wanted.rank(); ++axis) {
    if (y.shape[axis] == -1) y.shape[axis] = wanted[axis];
  }
  context.set_output("Out", y);
}

// Y@GRAD is the solution of the transposed matrices; X@GRAD the part that is read of -Y@GRAD Out^T,
// transposed where X was.
std::vector<OpDesc> triangular_solve_grad(GradContext& context) {
  const std::string dx = context.input_grad("X")[0];
  const std::string dy = context.input_grad("Y")[0];
  const AttributeMap& attrs = context.forward().attrs();
  const bool upper = std::get<bool>(attrs.at("upper"));
  const bool transpose = std::get<bool>(attrs.at("transpose"));
  const bool unit = std::get<bool>(attrs.at("unitriangular"));
  GradSteps steps(context);
  const auto solve = [&](const std::string& into) {
    AttributeMap transposed = attrs;
    transposed["transpose"] = !transpose;
    steps.add_into(into, "triangular_solve",
                   {{"X", context.input("X")}, {"Y", context.output_grad("Out")}},
                   std::move(transposed));
  };
  if (dx == kEmptyName) {
    if (dy != kEmptyName) solve(dy);
    return steps.take();
  }
  const std::string solved = context.output("Out")[0] + "@SOLVED";
  solve(solved);
  if (dy != kEmptyName) steps.add_into(dy, "assign", {{"X", {solved}}});
  const std::vector<std::string>& out = context.output("Out");
  const SlotMap factors =
      transpose ? SlotMap{{"X", out}, {"Y", {solved}}} : SlotMap{{"X", {solved}}, {"Y", out}};
  const std::string product = steps.add("matmul", factors, {{"transpose_Y", true}});
  const std::string negative = steps.add("scale", {{"X", {product}}}, {{"scale", -1.0}});
  const std::int64_t beside = upper ? 1 : -1;
  steps.add_into(dx, upper ? "triu" : "tril", {{"X", {negative}}},
                 {{"diagonal", unit ? beside : std::int64_t{0}}});
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
          .input("Y", "[..., n, k], the batch and dtype of X")
          .output("Out", "shape and dtype of Y")
          .attr("upper", true, "whether X is upper triangular, not lower")
          .attr("transpose", false, "whether X is transposed")
          .attr("unitriangular", false, "whether the diagonal of X counts as 1 and is not read")
          .infer(infer_triangular_solve)
          .row_dims([](const InferContext& context, std::string_view /*slot*/) {
            return context.input("X").shape.rank() - 2;
          })
          .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
            return triangular_solve<typename decltype(tag)::type>;
          }))
          .grad(triangular_solve_grad));
}

}  // namespace fluidcore
