#pragma once

#include <algorithm>
#include <cstdint>

#include "fluidcore/base/division.h"
#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

inline constexpr double kOperationsOfThread = 1e6;  // that are worth one

// Of a sum of k products, how many are added up before the next ones are, whose sum is then added:
// rounding errors grow with the roots of how many these are, and of how many such pieces there are.
// One number for all products of float32 and float64, so that they have the same bits.
inline std::int64_t sum_piece(std::int64_t k) {
  constexpr std::int64_t kMost = 256;
  return divide_up(k, std::max<std::int64_t>(divide_up(k, kMost), 1));
}

// Where the elements of a matrix are: element (i, j) at i * row + j * col.
struct MatrixLayout {
  std::int64_t row = 0;
  std::int64_t col = 0;

  MatrixLayout transposed() const { return {col, row}; }
};

// The product of an m x k matrix A and a k x n matrix B of fixed sizes and layouts:
//
//   const Gemm<float> product(m, n, k, {k, 1}, {n, 1}, {n, 1});
//   const std::shared_ptr<void> scratch = allocate(product.scratch_bytes());
//   product(a, b, c, /*accumulate=*/false, static_cast<float*>(scratch.get()));
//
// Works through blocks that fit the caches, copied into the order in which a register-tiled inner
// loop reads them. Large products use num_threads() threads; the result does not depend on how
// many. T is float or double. Any size may be 0; k = 0 gives zeros.
template <class T>
class Gemm {
 public:
  Gemm(std::int64_t m,
       std::int64_t n,
       std::int64_t k,
       MatrixLayout a,
       MatrixLayout b,
       MatrixLayout c,
       Isa isa = cpu_isa());

  // C = A B, or C += A B. `scratch` is aligned to 64 bytes and used by no other thread meanwhile.
  void operator()(const T* a, const T* b, T* c, bool accumulate, T* scratch) const;

  std::size_t scratch_bytes() const;

  // c += a b for one tile: packed panels a[k][kRows] and b[k][columns]; or a[kRows][k] that is not
  // packed, with rows that are `a_row` apart.
  using Tile = void (*)(std::int64_t k,
                        const T* a,
                        std::int64_t a_row,
                        const T* b,
                        T* c,
                        MatrixLayout c_layout,
                        std::int64_t columns,
                        bool accumulate);
  // Makes a panel of lines that are `apart`: to[p][i] = from[p][i] for as many i as it has.
  using Copy = void (*)(std::int64_t k, const T* from, std::int64_t apart, T* to);
  // The same of columns that are `apart`: to[p][i] = from[i][p] for `count` of them.
  using Turn =
      void (*)(std::int64_t count, std::int64_t k, const T* from, std::int64_t apart, T* to);

  // What an instruction set has for it.
  struct Kernels {
    struct Rows {
      std::int64_t count;
      Tile tile;
    };

    const Rows* tiles;  // for `rows`, 4, 2 and 1 row
    std::int64_t rows;
    std::int64_t columns;
    Copy copy_rows;     // of a panel of A
    Copy copy_columns;  // of a panel of B
    Turn turn_columns;

    // Of the tiles that have no more than so many rows.
    const Rows& largest(std::int64_t most) const {
      const Rows* found = tiles;
      while (found->count > most) ++found;
      return *found;
    }
  };

 private:
  struct Block;  // what one pass over packed panels multiplies

  void pack_a(const Block& block, const T* a, T* packed, std::int64_t panel) const;
  void pack_b(const Block& block, const T* b, T* packed, std::int64_t panel) const;
  void multiply(const Block& block, const T* a, const T* b, T* c) const;

  std::int64_t m_;
  std::int64_t n_;
  std::int64_t k_;
  MatrixLayout a_;
  MatrixLayout b_;
  MatrixLayout c_;
  bool swapped_ = false;  // calculates the transposed product
  bool packs_a_ = true;   // else it is read where it is
  Kernels kernels_;
};

}  // namespace fluidcore::cpu
