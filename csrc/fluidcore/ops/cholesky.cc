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
Kernel cholesky(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const MatrixBatch shape(x.shape());
  const Tensor factors({x.shape(), DType::kFloat64});
  const Tensor definite({Shape{shape.count}, DType::kBool});
  return [=] {
    auto* const work = static_cast<double*>(factors.raw());
    auto* const is_definite = static_cast<bool*>(definite.raw());
    for_matrices(shape.count, shape.rows, [=](std::int64_t i) {
      const std::int64_t first = i * shape.size();
      std::copy_n(x.data() + first, shape.size(), work + first);
      is_definite[i] = cpu::cholesky(shape.rows, work + first);
      std::copy_n(work + first, shape.size(), out.data() + first);
    });
    for (std::int64_t i = 0; i < shape.count; ++i) {
      require(is_definite[i],
              "cholesky: X must be positive definite, got a matrix that is not, at "
              "position ",
              i);
    }
  };
}

// With the factor L and its gradient D, X@GRAD = L^-T Q L^-1 where Q has the lower triangle of
// L^T D, with half of the diagonal, plus that transposed, by 2 (Murray, Differentiation of the
// Cholesky decomposition, 2016).
std::vector<OpDesc> cholesky_grad(GradContext& context) {
  const std::vector<std::string> wanted = context.input_grad("X");
  if (wanted[0] == kEmptyName) return {};
  GradSteps steps(context);
  const std::vector<std::string>& factor = context.output("Out");
  const std::string product = steps.add(
      "matmul", {{"X", factor}, {"Y", context.output_grad("Out")}}, {{"transpose_X", true}});
  const std::string lower = steps.add("tril", {{"X", {product}}});
  const std::string below = steps.add("tril", {{"X", {product}}}, {{"diagonal", std::int64_t{-1}}});
  const std::string above = steps.add("matrix_transpose", {{"X", {below}}});
  const std::string both = steps.add("sum", {{"X", {lower, above}}});
  const std::string half = steps.add("scale", {{"X", {both}}}, {{"scale", 0.5}});
  const AttributeMap solve{{"upper", false}, {"transpose", true}};
  const std::string left = steps.add("triangular_solve", {{"X", factor}, {"Y", {half}}}, solve);
  const std::string turned = steps.add("matrix_transpose", {{"X", {left}}});
  steps.add_into(wanted[0], "triangular_solve", {{"X", factor}, {"Y", {turned}}}, solve);
  return steps.take();
}

}  // namespace

void register_cholesky_ops(OpRegistry& registry) {
  registry.add(
      OpDef("cholesky")
          .doc(
              str_cat("Out = the lower triangular L with L L^T = (X + X^T) / 2, the symmetric part "
                      "of X: X itself where that is symmetric. Gradients are symmetric, too.",
                      kSmallMatrices))
          .input("X", "[..., n, n], of a positive definite symmetric part, floating")
          .output("Out", "shape and dtype of X, 0 above the diagonal")
          .infer([](InferContext& context) {
            context.set_output("Out", checked_square(context, "X"));
          })
          .row_dims([](const InferContext& context, std::string_view /*slot*/) {
            return context.input("X").shape.rank() - 2;
          })
          .checks_data()
          .kernels(cpu_kernels<float, double>(
              [](auto tag) -> KernelFactory { return cholesky<typename decltype(tag)::type>; }))
          .grad(cholesky_grad));
}

}  // namespace fluidcore
