#include "fluidcore/kernels/cpu/gemm.h"

#include <algorithm>
#include <utility>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/gemm_kernels.h"

namespace fluidcore::cpu {

namespace {

// Extents of a packed block: A takes kBlockRows x sum_piece(k), B sum_piece(k) x kBlockColumns.
constexpr std::int64_t kBlockRows = 1024;
constexpr std::int64_t kBlockColumns = 1024;
// Rows whose panels stay in the second-level cache while the panels of B pass by.
constexpr std::int64_t kCachedRows = 128;
// Below this many multiplications a second thread costs more than it saves.
constexpr std::int64_t kParallelWork = 1 << 20;

}  // namespace

template <class T>
struct Gemm<T>::Block {
  std::int64_t row, rows;
  std::int64_t column, columns;
  std::int64_t depth, depths;  // the first index of k, and how many
  bool accumulate;
};

template <class T>
Gemm<T>::Gemm(std::int64_t m,
              std::int64_t n,
              std::int64_t k,
              MatrixLayout a,
              MatrixLayout b,
              MatrixLayout c,
              Isa isa)
    : m_(m), n_(n), k_(k), a_(a), b_(b), c_(c) {
  kernels_ = gemm::kernels_of<T, 2, true>(isa);
  // The inner loop is wide in columns, and stores them fastest when they are neighbours.
  const bool strided = c.col != 1 && c.row == 1;
  const bool narrow = n <= kernels_.columns / 2;  // most of a tile would be padding
  // Lines of A are as fast to read where they are.
  packs_a_ = strided || a.col != 1;
  if (!packs_a_) {
    kernels_ = narrow ? gemm::kernels_of<T, 1, false>(isa) : gemm::kernels_of<T, 2, false>(isa);
  } else if (strided || (narrow && m > n)) {
    swapped_ = true;
    std::swap(m_, n_);
    a_ = b.transposed();
    b_ = a.transposed();
    c_ = c.transposed();
  }
}

template <class T>
std::size_t Gemm<T>::scratch_bytes() const {
  const std::int64_t depth = sum_piece(k_);
  const std::int64_t rows =
      packs_a_ ? divide_up(std::min(m_, kBlockRows), kernels_.rows) * kernels_.rows : 0;
  const std::int64_t columns =
      divide_up(std::min(n_, kBlockColumns), kernels_.columns) * kernels_.columns;
  // B comes first: its rows are whole vectors, so that they stay aligned.
  return static_cast<std::size_t>(depth * (rows + columns)) * sizeof(T);
}

template <class T>
void Gemm<T>::pack_a(const Block& block, const T* a, T* packed, std::int64_t panel) const {
  const std::int64_t first = panel * kernels_.rows;
  const std::int64_t rows = std::min(kernels_.rows, block.rows - first);
  const T* source = a + (block.row + first) * a_.row + block.depth * a_.col;
  T* out = packed + first * block.depths;
  if (a_.row == 1 && rows == kernels_.rows) {
    return kernels_.copy_rows(block.depths, source, a_.col, out);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t p = 0; p < block.depths; ++p) {
      out[p * kernels_.rows + i] = source[i * a_.row + p * a_.col];
    }
  }
}

template <class T>
void Gemm<T>::pack_b(const Block& block, const T* b, T* packed, std::int64_t panel) const {
  const std::int64_t first = panel * kernels_.columns;
  const std::int64_t columns = std::min(kernels_.columns, block.columns - first);
  const T* source = b + block.depth * b_.row + (block.column + first) * b_.col;
  T* out = packed + first * block.depths;
  if (b_.col == 1 && columns == kernels_.columns) {
    return kernels_.copy_columns(block.depths, source, b_.row, out);
  }
  if (columns < kernels_.columns) std::fill_n(out, kernels_.columns * block.depths, T(0));
  if (b_.row == 1) return kernels_.turn_columns(columns, block.depths, source, b_.col, out);
  for (std::int64_t p = 0; p < block.depths; ++p) {
    for (std::int64_t j = 0; j < columns; ++j) {
      out[p * kernels_.columns + j] = source[p * b_.row + j * b_.col];
    }
  }
}

template <class T>
void Gemm<T>::multiply(const Block& block, const T* a, const T* b, T* c) const {
  const std::int64_t row_panels = divide_up(block.rows, kernels_.rows);
  const std::int64_t column_panels = divide_up(block.columns, kernels_.columns);
  const auto part = [&](std::int64_t first_row, std::int64_t last_row, std::int64_t first_column,
                        std::int64_t last_column) {
    const std::int64_t step = kCachedRows / kernels_.rows;
    for (std::int64_t from = first_row; from < last_row; from += step) {
      for (std::int64_t j = first_column; j < last_column; ++j) {
        const std::int64_t column = j * kernels_.columns;
        const std::int64_t columns = std::min(kernels_.columns, block.columns - column);
        for (std::int64_t i = from; i < std::min(from + step, last_row); ++i) {
          const std::int64_t row = i * kernels_.rows;
          const T* panel =
              packs_a_ ? a + row * block.depths : a + (block.row + row) * a_.row + block.depth;
          T* out = c + (block.row + row) * c_.row + (block.column + column) * c_.col;
          for (std::int64_t left = std::min(kernels_.rows, block.rows - row); left > 0;) {
            const auto& [rows, tile] = kernels_.largest(left);
            tile(block.depths, panel, a_.row, b + column * block.depths, out, c_, columns,
                 block.accumulate);
            left -= rows;
            panel += packs_a_ ? rows : rows * a_.row;
            out += rows * c_.row;
          }
        }
      }
    }
  };
  const std::int64_t panels = std::max(row_panels, column_panels);
  const std::int64_t work = block.rows * block.columns * block.depths;
  const std::int64_t grain = work < kParallelWork ? panels : 1;
  if (row_panels > column_panels) {
    parallel_for(panels, grain, [&](std::int64_t first, std::int64_t last) {
      part(first, last, 0, column_panels);
    });
  } else {
    parallel_for(panels, grain,
                 [&](std::int64_t first, std::int64_t last) { part(0, row_panels, first, last); });
  }
}

template <class T>
void Gemm<T>::operator()(const T* a, const T* b, T* c, bool accumulate, T* scratch) const {
  if (swapped_) std::swap(a, b);
  if (k_ == 0 && !accumulate) {
    for (std::int64_t i = 0; i < m_; ++i) {
      for (std::int64_t j = 0; j < n_; ++j) c[i * c_.row + j * c_.col] = T(0);
    }
    return;
  }
  const std::int64_t depths = sum_piece(k_);
  for (std::int64_t column = 0; column < n_; column += kBlockColumns) {
    for (std::int64_t depth = 0; depth < k_; depth += depths) {
      for (std::int64_t row = 0; row < m_; row += kBlockRows) {
        const Block block{row,
                          std::min(kBlockRows, m_ - row),
                          column,
                          std::min(kBlockColumns, n_ - column),
                          depth,
                          std::min(depths, k_ - depth),
                          accumulate || depth > 0};
        const std::int64_t a_panels = packs_a_ ? divide_up(block.rows, kernels_.rows) : 0;
        const std::int64_t b_panels = row == 0 ? divide_up(block.columns, kernels_.columns) : 0;
        T* packed_b = scratch;
        T* packed_a =
            scratch + divide_up(block.columns, kernels_.columns) * kernels_.columns * block.depths;
        const std::int64_t work = block.rows * block.columns * block.depths;
        const std::int64_t panels = a_panels + b_panels;
        parallel_for(panels, work < kParallelWork ? panels : 1,
                     [&](std::int64_t first, std::int64_t last) {
                       for (std::int64_t panel = first; panel < last; ++panel) {
                         if (panel < b_panels) {
                           pack_b(block, b, packed_b, panel);
                         } else {
                           pack_a(block, a, packed_a, panel - b_panels);
                         }
                       }
                     });
        multiply(block, packs_a_ ? packed_a : a, packed_b, c);
      }
    }
  }
}

template class Gemm<float>;
template class Gemm<double>;

}  // namespace fluidcore::cpu
