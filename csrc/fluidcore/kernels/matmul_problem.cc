#include "fluidcore/kernels/matmul_problem.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace fluidcore {

namespace {

MatmulOperand transposed(MatmulOperand operand) {
  std::swap(operand.row, operand.col);
  return operand;
}

void remove_batch_dim(MatmulProblem& problem, std::size_t dim) {
  const auto at = static_cast<std::ptrdiff_t>(dim);
  problem.batch.erase(problem.batch.begin() + at);
  for (MatmulOperand* operand : {&problem.a, &problem.b, &problem.c}) {
    operand->batch.erase(operand->batch.begin() + at);
  }
}

// Dimensions `dim` and `dim + 1` are walked as one.
bool can_merge(const MatmulProblem& problem, std::size_t dim) {
  const auto continues = [&](const MatmulOperand& operand) {
    return operand.batch[dim] == operand.batch[dim + 1] * problem.batch[dim + 1];
  };
  return continues(problem.a) && continues(problem.b) && continues(problem.c);
}

// The last batch dimension, with these strides, continues an extent of the matrices: of `extent`
// elements with the strides `x` and `y` in the two operands that have it.
bool fold(std::int64_t batch,
          std::int64_t& extent,
          std::int64_t& x,
          std::int64_t x_batch,
          std::int64_t& y,
          std::int64_t y_batch) {
  if (extent == 1) {
    x = x_batch;
    y = y_batch;
  } else if (x_batch != extent * x || y_batch != extent * y) {
    return false;
  }
  extent *= batch;
  return true;
}

bool fold_last_batch_dim(MatmulProblem& problem) {
  const std::int64_t batch = problem.batch.back();
  MatmulOperand& a = problem.a;
  MatmulOperand& b = problem.b;
  MatmulOperand& c = problem.c;
  if (b.batch.back() == 0 && fold(batch, problem.m, a.row, a.batch.back(), c.row, c.batch.back())) {
    return true;
  }
  if (a.batch.back() == 0 && fold(batch, problem.n, b.col, b.batch.back(), c.col, c.batch.back())) {
    return true;
  }
  return c.batch.back() == 0 &&
         fold(batch, problem.k, a.col, a.batch.back(), b.row, b.batch.back());
}

}  // namespace

std::int64_t MatmulProblem::batches() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : batch) count *= extent;
  return count;
}

double MatmulProblem::flops() const {
  return 2.0 * static_cast<double>(batches()) * static_cast<double>(m) * static_cast<double>(n) *
         static_cast<double>(k);
}

bool MatmulProblem::adds_products() const {
  return std::find(c.batch.begin(), c.batch.end(), 0) != c.batch.end();
}

bool MatmulProblem::is_empty() const {
  return m == 0 || n == 0 || k == 0 || batches() == 0;
}

MatmulProblem a_gradient(const MatmulProblem& forward) {
  return {.batch = forward.batch,
          .m = forward.m,
          .n = forward.k,
          .k = forward.n,
          .a = forward.c,
          .b = transposed(forward.b),
          .c = forward.a};
}

MatmulProblem b_gradient(const MatmulProblem& forward) {
  return {.batch = forward.batch,
          .m = forward.k,
          .n = forward.n,
          .k = forward.m,
          .a = transposed(forward.a),
          .b = forward.c,
          .c = forward.b};
}

MatmulProblem transposed(const MatmulProblem& problem) {
  return {.batch = problem.batch,
          .m = problem.n,
          .n = problem.m,
          .k = problem.k,
          .a = transposed(problem.b),
          .b = transposed(problem.a),
          .c = transposed(problem.c)};
}

MatmulProblem simplified(MatmulProblem problem) {
  for (std::size_t dim = problem.batch.size(); dim-- > 0;) {
    if (problem.batch[dim] == 1) remove_batch_dim(problem, dim);
  }
  for (std::size_t dim = problem.batch.size(); dim-- > 1;) {
    if (!can_merge(problem, dim - 1)) continue;
    problem.batch[dim] *= problem.batch[dim - 1];
    remove_batch_dim(problem, dim - 1);
  }
  while (!problem.batch.empty() && fold_last_batch_dim(problem)) {
    remove_batch_dim(problem, problem.batch.size() - 1);
  }
  return problem;
}

}  // namespace fluidcore
