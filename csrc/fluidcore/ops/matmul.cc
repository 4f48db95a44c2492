#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/gemv.h"
#include "fluidcore/kernels/cpu/matmul.h"
#include "fluidcore/kernels/cpu/packed_product.h"
#include "fluidcore/kernels/cuda/matmul.h"
#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/ops/bilinear.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/epilogue.h"
#include "fluidcore/ops/flops.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/through_float32.h"

namespace fluidcore {

namespace {

// By a second operand that `is_constant`; empty for another, on a GPU, and for some layouts.
FusedKernel packed_product(const KernelContext& context,
                           const MatmulProblem& problem,
                           bool is_constant) {
  return is_constant && !context.is_on_cuda() ? cpu::prepare_packed_product(problem) : nullptr;
}

// The second operand, if it `is_constant`, may be kept in another layout. Empty for bfloat16 where
// the processor has no products of it.
template <class T>
PreparedWeights<T> prepare_product(const KernelContext& context,
                                   const MatmulProblem& problem,
                                   bool is_constant) {
  if constexpr (std::is_same_v<T, float>) {
    if (const FusedKernel packed = packed_product(context, problem, is_constant)) {
      return [packed](const float* x, const float* y, std::uint64_t version, float* out) {
        packed(x, y, version, out, {});
      };
    }
  }
  const ScratchPtr& scratch = context.scratch();
  Prepared2<T> product;
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) product = cuda::prepare_matmul<T>(context.device(), problem, scratch);
  }
  if constexpr (!cpu::kIsHalf<T>) {
    if (!product) product = cpu::prepare_gemv<T>(problem);
  }
  if constexpr (onednn::kEnabled && !std::is_same_v<T, double> && !std::is_same_v<T, Float16>) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      if (!product && is_constant) {
        if (auto kept = onednn::prepare_matmul_by_weights(problem, scratch)) return kept;
      }
    }
    if (!product) product = onednn::prepare_matmul<T>(problem, scratch);
  }
  if constexpr (!cpu::kIsHalf<T>) {
    if (!product) product = cpu::prepare_matmul<T>(problem, scratch);
  }
  if (!product) return {};
  return [product = std::move(product)](const T* x, const T* y, std::uint64_t /*version*/, T* out) {
    product(x, y, out);
  };
}

// From the shapes of X and Y and the attributes to the shape of Out, and to the product that it is.
using OutShape = Shape (*)(const InferContext&);
using Describe = MatmulProblem (*)(const KernelContext&, const Shape& x, const Shape& y);

template <class T, Describe describe>
Kernel matmul(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto y = context.input<T>("Y");
  const auto out = context.output<T>("Out");
  const MatmulProblem problem = describe(context, x.shape(), y.shape());
  if constexpr (std::is_same_v<T, float>) {
    const FusedKernel product = packed_product(context, problem, y.cell()->is_constant);
    if (product) return fused_kernel(product, x, y, out, problem.n);
  }
  const auto product = prepare_product<T>(context, problem, y.cell()->is_constant);
  if (!product) return through_float32(context);
  const auto run = [=] { product(x.data(), y.data(), y.cell()->version, out.data()); };
  if constexpr (onednn::kEnabled && std::is_same_v<T, float>) {
    // A vector has kernels of its own.
    if (!context.is_on_cuda() && problem.m > 1 && problem.n > 1) {
      const auto make = [=, scratch = context.scratch()](const EpilogueParts& parts) {
        return onednn::prepare_fused_matmul(problem, parts, scratch);
      };
      return fused_kernel(run, make, x, y, out, problem.n);
    }
  }
  return work_kernel(context, run);
}

template <class T, Describe describe>
Kernel product_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto y = context.input<T>("Y");
  const auto dout = context.input<T>("Out@GRAD");
  const auto dx = context.optional_output<T>("X@GRAD");
  const auto dy = context.optional_output<T>("Y@GRAD");
  const MatmulProblem forward = describe(context, x.shape(), y.shape());
  const bool y_is_constant = y.cell()->is_constant;
  PreparedWeights<T> to_x;
  PreparedWeights<T> to_y;
  if (dx) to_x = prepare_product<T>(context, a_gradient(forward), y_is_constant);
  if (dy) to_y = prepare_product<T>(context, b_gradient(forward), false);
  if ((dx && !to_x) || (dy && !to_y)) return through_float32(context);
  const auto run = [=] {
    if (to_x) to_x(dout.data(), y.data(), y.cell()->version, dx.data());
    if (to_y) to_y(x.data(), dout.data(), 0, dy.data());
  };
  return work_kernel(context, run);
}

template <OutShape out_shape>
void infer_product(InferContext& context) {
  context.set_output("Out", {out_shape(context), context.input("X").dtype});
}

template <OutShape out_shape>
void infer_product_grad(InferContext& context) {
  require_shape(context, "Out@GRAD", out_shape(context));
  infer_grads_like_inputs(context);
}

template <Describe describe>
KernelTable product_kernels() {
  return floating_kernels_everywhere(
      [](auto tag) -> KernelFactory { return matmul<typename decltype(tag)::type, describe>; });
}

template <Describe describe>
KernelTable product_grad_kernels() {
  return floating_kernels_everywhere([](auto tag) -> KernelFactory {
    return product_grad<typename decltype(tag)::type, describe>;
  });
}

// mul

// Where `slot` is cut into the two dimensions of a matrix.
std::size_t mul_cut(const InferContext& context, std::string_view slot, std::string_view attr) {
  const auto cut = context.attr<std::int64_t>(attr);
  const Shape& shape = context.input(slot).shape;
  require(cut >= 1 && cut < static_cast<std::int64_t>(shape.rank()), context.type(), ": ", attr,
          " must be at least 1 and less than the rank of ", slot, ", got ", attr, " ", cut, ", ",
          slot, " ", shape);
  return static_cast<std::size_t>(cut);
}

Shape mul_shape(const InferContext& context) {
  const Shape& x = context.input("X").shape;
  const Shape& y = context.input("Y").shape;
  const std::size_t x_cut = mul_cut(context, "X", "x_num_col_dims");
  const std::size_t y_cut = mul_cut(context, "Y", "y_num_col_dims");
  require(compatible(x.product(x_cut, x.rank()), y.product(0, y_cut)), context.type(),
          ": columns of X must equal rows of Y, got X ", x, ", Y ", y);
  std::vector<std::int64_t> out(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x_cut));
  out.insert(out.end(), y.begin() + static_cast<std::ptrdiff_t>(y_cut), y.end());
  return Shape(std::move(out));
}

std::int64_t mul_pairs(const InferContext& context) {
  const Shape& x = context.input("X").shape;
  const std::size_t cut = mul_cut(context, "X", "x_num_col_dims");
  return mul_shape(context).num_elements() * x.product(cut, x.rank());
}

MatmulProblem mul_problem(const KernelContext& context, const Shape& x, const Shape& y) {
  const auto x_cut = static_cast<std::size_t>(context.attr<std::int64_t>("x_num_col_dims"));
  const auto y_cut = static_cast<std::size_t>(context.attr<std::int64_t>("y_num_col_dims"));
  const std::int64_t m = x.product(0, x_cut);
  const std::int64_t k = x.product(x_cut, x.rank());
  const std::int64_t n = y.product(y_cut, y.rank());
  return {.batch = {}, .m = m, .n = n, .k = k, .a = {k, 1, {}}, .b = {n, 1, {}}, .c = {n, 1, {}}};
}

OpDef mul_attrs(OpDef def) {
  return std::move(def)
      .attr("x_num_col_dims", std::int64_t{1},
            "how many dimensions of X are rows; the others are columns")
      .attr("y_num_col_dims", std::int64_t{1},
            "how many dimensions of Y are rows; the others are columns");
}

void add_mul(OpRegistry& registry) {
  registry.add(mul_attrs(OpDef("mul"))
                   .doc("Out = X Y, the product of two matrices. Tensors of higher rank are seen "
                        "as matrices: the "
                        "first x_num_col_dims (y_num_col_dims) dimensions are the rows, the others "
                        "the columns.")
                   .input("X", "[rows..., inner...], floating")
                   .input("Y", "[inner..., columns...]")
                   .output("Out", "[rows of X..., columns of Y...]")
                   .row_dims([](const InferContext& context, std::string_view slot) {
                     return slot == "X" ? mul_cut(context, "X", "x_num_col_dims") : 0;
                   })
                   .infer(infer_product<mul_shape>)
                   .flops(flops_of_pairs(mul_pairs))
                   .kernels(product_kernels<mul_problem>())
                   .grad(standard_grad({.inputs = {"X", "Y"}, .differentiable = {"X", "Y"}})));
  registry.add(mul_attrs(OpDef("mul_grad"))
                   .doc("X@GRAD = Out@GRAD Y^T and Y@GRAD = X^T Out@GRAD, of matrices as in mul.")
                   .input("X", "input of the forward operator", {.read_for = "Y@GRAD"})
                   .input("Y", "input of the forward operator", {.read_for = "X@GRAD"})
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .output("Y@GRAD", "gradient of Y, shape of Y")
                   .infer(infer_product_grad<mul_shape>)
                   .flops(flops_of_pairs(mul_pairs))
                   .kernels(product_grad_kernels<mul_problem>())
                   .grad(bilinear_grad_grad("mul", "X", "Y", "Out")));
}

// matmul

// An operand seen as a matrix in each of its batch dimensions.
struct Matrices {
  Shape batch;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  bool transposed = false;
};

// `vector_is_row` says what a tensor of rank 1 is before it is transposed.
Matrices as_matrices(const Shape& shape, bool transpose, bool vector_is_row) {
  const std::size_t rank = shape.rank();
  Matrices result;
  result.transposed = transpose;
  if (rank == 1) {
    result.rows = vector_is_row ? 1 : shape[0];
    result.cols = vector_is_row ? shape[0] : 1;
  } else {
    result.batch = Shape(std::vector<std::int64_t>(shape.begin(), shape.end() - 2));
    result.rows = shape[rank - 2];
    result.cols = shape[rank - 1];
  }
  if (transpose) std::swap(result.rows, result.cols);
  return result;
}

Shape matmul_shape(const InferContext& context) {
  const Shape& x = context.input("X").shape;
  const Shape& y = context.input("Y").shape;
  const bool transpose_x = context.attr<bool>("transpose_X");
  const bool transpose_y = context.attr<bool>("transpose_Y");
  require(x.rank() >= 1 && y.rank() >= 1, context.type(),
          ": X and Y must have rank 1 or more, got X ", x, ", Y ", y,
          "; write scale or elementwise_mul for a product with a scalar");
  const Matrices left = as_matrices(x, transpose_x, true);
  const Matrices right = as_matrices(y, transpose_y, false);
  require(compatible(left.cols, right.rows), context.type(),
          ": columns of X must equal rows of Y, got X ", x, transpose_x ? " transposed" : "",
          ", Y ", y, transpose_y ? " transposed" : "");
  const Shape batch =
      broadcast(left.batch, right.batch, -1,
                str_cat(context.type(), " of X ", x, ", Y ", y, ", batch dimensions"));
  std::vector<std::int64_t> out = batch.extents();
  if (x.rank() > 1 || transpose_x) out.push_back(left.rows);
  if (y.rank() > 1 || transpose_y) out.push_back(right.cols);
  return Shape(std::move(out));
}

std::int64_t matmul_pairs(const InferContext& context) {
  const bool transpose_x = context.attr<bool>("transpose_X");
  const Matrices left = as_matrices(context.input("X").shape, transpose_x, true);
  return matmul_shape(context).num_elements() * left.cols;
}

// Strides of `matrices` in row-major memory; 0 in batch dimensions that are repeated.
MatmulOperand operand(const Matrices& matrices, const Shape& batch) {
  MatmulOperand result;
  result.row = matrices.transposed ? 1 : matrices.cols;
  result.col = matrices.transposed ? matrices.rows : 1;
  result.batch.assign(batch.rank(), 0);
  std::int64_t stride = matrices.rows * matrices.cols;
  for (std::size_t i = matrices.batch.rank(); i-- > 0;) {
    const std::size_t dim = batch.rank() - matrices.batch.rank() + i;
    if (matrices.batch[i] == batch[dim]) result.batch[dim] = stride;
    stride *= matrices.batch[i];
  }
  return result;
}

MatmulProblem matmul_problem(const KernelContext& context, const Shape& x, const Shape& y) {
  const Matrices left = as_matrices(x, context.attr<bool>("transpose_X"), true);
  const Matrices right = as_matrices(y, context.attr<bool>("transpose_Y"), false);
  const Shape batch = broadcast(left.batch, right.batch, -1, context.type());
  const Matrices out{batch, left.rows, right.cols};
  return {.batch = batch.extents(),
          .m = left.rows,
          .n = right.cols,
          .k = left.cols,
          .a = operand(left, batch),
          .b = operand(right, batch),
          .c = operand(out, batch)};
}

OpDef matmul_attrs(OpDef def) {
  return std::move(def)
      .attr("transpose_X", false, "exchange the last two dimensions of X first")
      .attr("transpose_Y", false, "exchange the last two dimensions of Y first");
}

void add_matmul(OpRegistry& registry) {
  registry.add(matmul_attrs(OpDef("matmul"))
                   .doc("Out = X Y, the product of the matrices in the last two dimensions; the "
                        "dimensions before "
                        "are a batch and broadcast as NumPy's do. X of rank 1 is a row (transposed "
                        "a column), Y of "
                        "rank 1 a column (transposed a row); the 1 that a row X or a column Y adds "
                        "is not in Out.")
                   .input("X", "[batch..., rows, inner], floating")
                   .input("Y", "[batch..., inner, columns]")
                   .output("Out", "[batch..., rows, columns]")
                   .infer(infer_product<matmul_shape>)
                   .flops(flops_of_pairs(matmul_pairs))
                   .kernels(product_kernels<matmul_problem>())
                   .grad(standard_grad({.inputs = {"X", "Y"}, .differentiable = {"X", "Y"}})));
  registry.add(matmul_attrs(OpDef("matmul_grad"))
                   .doc("X@GRAD = Out@GRAD Y^T and Y@GRAD = X^T Out@GRAD, matrix by matrix, added "
                        "up over the batch "
                        "dimensions in which X or Y was repeated.")
                   .input("X", "input of the forward operator", {.read_for = "Y@GRAD"})
                   .input("Y", "input of the forward operator", {.read_for = "X@GRAD"})
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .output("Y@GRAD", "gradient of Y, shape of Y")
                   .infer(infer_product_grad<matmul_shape>)
                   .flops(flops_of_pairs(matmul_pairs))
                   .kernels(product_grad_kernels<matmul_problem>())
                   .grad(bilinear_grad_grad("matmul", "X", "Y", "Out")));
}

}  // namespace

void register_matmul_ops(OpRegistry& registry) {
  add_mul(registry);
  add_matmul(registry);
}

}  // namespace fluidcore
