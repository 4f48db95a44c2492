#pragma once

#include <cstdint>

namespace fluidcore::cpu {

// Factors of single matrices, row by row in memory, in float64. For matrices that fit a cache: no
// blocks, n^3 multiplications one row after the other.

// The lower Cholesky factor of the symmetric part (A + A^T) / 2, in place of A; 0 above the
// diagonal. False where that is not positive definite.
bool cholesky(std::int64_t n, double* a);

struct Triangular {
  bool upper;      // which triangle of A is read
  bool transpose;  // whether it is transposed then
  bool unit;       // whether its diagonal counts as 1 and is not read
};

// Solves A X = B for the n x k matrix B, in place of B.
void solve_triangular(
    std::int64_t n, std::int64_t k, const Triangular& form, const double* a, double* b);

// Factors L, with a diagonal of 1 that is not stored, and U of A with its rows permuted, in place
// of A; row i of it was row rows[i]. The sign of the permutation; U has a 0 on its diagonal where A
// is singular.
int lu(std::int64_t n, double* a, std::int64_t* rows);

}  // namespace fluidcore::cpu
