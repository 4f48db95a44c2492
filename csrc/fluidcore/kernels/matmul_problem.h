#pragma once

#include <cstdint>
#include <vector>

namespace fluidcore {

// Where one operand of a batched product is: the strides, in elements, of its rows, its columns and
// of every batch dimension.
struct MatmulOperand {
  std::int64_t row = 0;
  std::int64_t col = 0;
  std::vector<std::int64_t> batch;
};

// C[m x n] = A[m x k] B[k x n] for every index of the batch dimensions. A batch stride of 0 in A or
// B uses one matrix again and again; a batch stride of 0 in C adds the products up.
struct MatmulProblem {
  std::vector<std::int64_t> batch;  // extents
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  MatmulOperand a;
  MatmulOperand b;
  MatmulOperand c;

  std::int64_t batches() const;
  // Multiplications and additions of all products together, for choices of speed.
  double flops() const;
  bool adds_products() const;  // C has a batch stride of 0
  bool is_empty() const;       // an extent is 0
};

// The gradients of a product are products of the same matrices:
MatmulProblem a_gradient(const MatmulProblem& forward);  // dA = dC B^T; the operands are dC, B
MatmulProblem b_gradient(const MatmulProblem& forward);  // dB = A^T dC; the operands are A, dC

// The same product as C^T = B^T A^T: the operands are B, A.
MatmulProblem transposed(const MatmulProblem& problem);

// The same product with as few batch dimensions as possible: [8, 32, 64] x [64, 10] is one product
// of 256 rows.
MatmulProblem simplified(MatmulProblem problem);

}  // namespace fluidcore
