#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "fluidcore/kernels/cpu/small_matrix.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/square_matrices.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

// The factors of a batch of matrices, and what is made of those of each.
class Factors {
 public:
  explicit Factors(const Shape& shape)
      : shape_(shape),
        factors_({shape, DType::kFloat64}),
        rows_({Shape{shape_.count, shape_.rows}, DType::kInt64}) {}

  const MatrixBatch& shape() const { return shape_; }

  // Calls use(i, n, factors, rows, sign) for each matrix i; see cpu::lu.
  template <class T, class Use>
  void each(const T* x, const Use& use) const {
    auto* const factors = static_cast<double*>(factors_.raw());
    auto* const rows = static_cast<std::int64_t*>(rows_.raw());
    for_matrices(shape_.count, shape_.rows, [=, n = shape_.rows](std::int64_t i) {
      double* const matrix = factors + i * n * n;
      std::int64_t* const order = rows + i * n;
      std::copy_n(x + i * n * n, n * n, matrix);
      const int sign = cpu::lu(n, matrix, order);
      use(i, n, matrix, order, sign);
    });
  }

 private:
  MatrixBatch shape_;
  Tensor factors_;
  Tensor rows_;
};

bool is_singular(std::int64_t n, const double* factors) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (factors[i * n + i] == 0.0) return true;
  }
  return false;
}

template <class T>
Kernel inverse(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const Factors all(x.shape());
  const Tensor inverses({x.shape(), DType::kFloat64});
  const Tensor singular({Shape{all.shape().count}, DType::kBool});
  return [=] {
    auto* const work = static_cast<double*>(inverses.raw());
    auto* const found = static_cast<bool*>(singular.raw());
    all.each(x.data(), [=](std::int64_t i, std::int64_t n, const double* factors,
                           const std::int64_t* rows, int /*sign*/) {
      double* const matrix = work + i * n * n;
      found[i] = is_singular(n, factors);
      std::fill_n(matrix, n * n, 0.0);
      for (std::int64_t row = 0; row < n; ++row) matrix[row * n + rows[row]] = 1.0;
      cpu::solve_triangular(n, n, {.upper = false, .transpose = false, .unit = true}, factors,
                            matrix);
      cpu::solve_triangular(n, n, {.upper = true, .transpose = false, .unit = false}, factors,
                            matrix);
      std::copy_n(matrix, n * n, out.data() + i * n * n);
    });
    for (std::int64_t i = 0; i < all.shape().count; ++i) {
      require(!found[i], "inverse: X must be invertible, got a singular matrix at position ", i);
    }
  };
}

// With the inverse Y, X@GRAD = -Y^T Out@GRAD Y^T.
std::vector<OpDesc> inverse_grad(GradContext& context) {
  const std::vector<std::string> wanted = context.input_grad("X");
  if (wanted[0] == kEmptyName) return {};
  GradSteps steps(context);
  const std::vector<std::string>& out = context.output("Out");
  const std::string left =
      steps.add("matmul", {{"X", out}, {"Y", context.output_grad("Out")}}, {{"transpose_X", true}});
  const std::string both =
      steps.add("matmul", {{"X", {left}}, {"Y", out}}, {{"transpose_Y", true}});
  steps.add_into(wanted[0], "scale", {{"X", {both}}}, {{"scale", -1.0}});
  return steps.take();
}

template <class T>
Kernel det(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  return [=, all = Factors(x.shape())] {
    all.each(x.data(), [=](std::int64_t i, std::int64_t n, const double* factors,
                           const std::int64_t* /*rows*/, int sign) {
      double product = sign;
      for (std::int64_t k = 0; k < n; ++k) product *= factors[k * n + k];
      out.data()[i] = static_cast<T>(product);
    });
  };
}

template <class T>
Kernel slogdet(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const auto sign_out = context.optional_output<T>("Sign");
  return [=, all = Factors(x.shape())] {
    all.each(x.data(), [=](std::int64_t i, std::int64_t n, const double* factors,
                           const std::int64_t* /*rows*/, int sign) {
      double total = 0.0;
      double signs = sign;
      for (std::int64_t k = 0; k < n; ++k) {
        const double pivot = factors[k * n + k];
        total += std::log(std::abs(pivot));
        signs = pivot == 0.0 ? 0.0 : pivot < 0.0 ? -signs : signs;
      }
      out.data()[i] = static_cast<T>(total);
      if (sign_out) sign_out.data()[i] = static_cast<T>(signs);
    });
  };
}

// X@GRAD = factor X^-T, where `factor` has a number for each matrix.
std::vector<OpDesc> times_inverse(GradContext& context,
                                  GradSteps steps,
                                  const std::string& factor) {
  const std::string inverse = steps.add("inverse", {{"X", context.input("X")}});
  const std::string turned = steps.add("matrix_transpose", {{"X", {inverse}}});
  const std::string numbers =
      steps.add("unsqueeze", {{"X", {factor}}}, {{"axes", std::vector<std::int64_t>{-2, -1}}});
  steps.add_into(context.input_grad("X")[0], "elementwise_mul",
                 {{"X", {turned}}, {"Y", {numbers}}});
  return steps.take();
}

std::vector<OpDesc> det_grad(GradContext& context) {
  if (!context.wants(context.input("X")[0])) return {};
  GradSteps steps(context);
  const std::string factor = steps.add(
      "elementwise_mul", {{"X", context.output("Out")}, {"Y", context.output_grad("Out")}});
  return times_inverse(context, std::move(steps), factor);
}

std::vector<OpDesc> slogdet_grad(GradContext& context) {
  if (!context.wants(context.input("X")[0])) return {};
  return times_inverse(context, GradSteps(context), context.output_grad("Out")[0]);
}

TensorSpec number_for_each(const InferContext& context) {
  const TensorSpec x = checked_square(context, "X");
  return {Shape(std::vector<std::int64_t>(x.shape.begin(), x.shape.end() - 2)), x.dtype};
}

OpDef matrix_op(const char* type, const std::string& doc) {
  return OpDef(type)
      .doc(doc + kSmallMatrices)
      .input("X", "[..., n, n], floating")
      .row_dims([](const InferContext& context, std::string_view /*slot*/) {
        return context.input("X").shape.rank() - 2;
      });
}

}  // namespace

void register_inverse_ops(OpRegistry& registry) {
  registry.add(matrix_op("inverse", "Out = the inverse of each matrix, by LU factors.")
                   .output("Out", "shape and dtype of X")
                   .infer([](InferContext& context) {
                     context.set_output("Out", checked_square(context, "X"));
                   })
                   .checks_data()
                   .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
                     return inverse<typename decltype(tag)::type>;
                   }))
                   .grad(inverse_grad));
  registry.add(
      matrix_op("det",
                "Out = the determinant of each matrix, by LU factors. Its gradient is that of an "
                "invertible matrix: an error for a singular one.")
          .output("Out", "[...], dtype of X")
          .infer([](InferContext& context) { context.set_output("Out", number_for_each(context)); })
          .kernels(cpu_kernels<float, double>(
              [](auto tag) -> KernelFactory { return det<typename decltype(tag)::type>; }))
          .grad(det_grad));
  registry.add(
      matrix_op(
          "slogdet",
          "Out = the logarithm of the absolute value of the determinant of each matrix, which "
          "neither overflows nor underflows: -infinity for a singular one, whose gradient is "
          "an error.")
          .output("Sign", "[...], dtype of X: the sign of the determinant, -1, 0 or 1",
                  {.no_gradient = true, .needs_no_gradient = true})
          .output("Out", "[...], dtype of X")
          .infer([](InferContext& context) {
            context.set_output("Out", number_for_each(context));
            context.set_output("Sign", number_for_each(context));
          })
          .kernels(cpu_kernels<float, double>(
              [](auto tag) -> KernelFactory { return slogdet<typename decltype(tag)::type>; }))
          .grad(slogdet_grad));
}

}  // namespace fluidcore
