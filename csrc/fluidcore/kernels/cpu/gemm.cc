#include "fluidcore/kernels/cpu/gemm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "fluidcore/base/threads.h"

namespace fluidcore::cpu {

namespace {

// Extents of a packed block: A takes kBlockRows x kBlockDepth, B kBlockDepth x kBlockColumns.
constexpr std::int64_t kBlockRows = 1024;
constexpr std::int64_t kBlockDepth = 256;
constexpr std::int64_t kBlockColumns = 1024;
// Rows whose panels stay in the second-level cache while the panels of B pass by.
constexpr std::int64_t kCachedRows = 128;
// Below this many multiplications a second thread costs more than it saves.
constexpr std::int64_t kParallelWork = 1 << 22;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// The inner loop: an accumulator of kRows x kVectorCount vectors lives in registers. The rows of A
// are packed side by side, or lie where the caller has them, `a_row` apart.
template <class T, int kVectorBytes, int kMaxRows, int kVectorCount = 2, bool kPacked = true>
struct TileLoop {
  using Vector [[gnu::vector_size(kVectorBytes)]] = T;
  using Unaligned [[gnu::vector_size(kVectorBytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
  static constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));
  static constexpr int kVectors = kVectorCount;
  static constexpr int kColumns = kWidth * kVectors;

  template <int kRows>
  [[gnu::always_inline]] static inline void run(std::int64_t k,
                                                const T* a,
                                                std::int64_t a_row,
                                                const T* b,
                                                T* c,
                                                MatrixLayout c_layout,
                                                std::int64_t columns,
                                                bool accumulate) {
    if (columns > kColumns) __builtin_unreachable();
    Vector sums[kRows][kVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) sums[i][j] = Vector{};
    }
    for (std::int64_t p = 0; p < k; ++p) {
      Vector row[kVectors];
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) {
        row[j] = *reinterpret_cast<const Unaligned*>(b + p * kColumns + j * kWidth);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const T factor = kPacked ? a[p * kMaxRows + i] : a[i * a_row + p];
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j) sums[i][j] += factor * row[j];
      }
    }
    if (columns == kColumns && c_layout.col == 1) {
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j) {
          auto* out = reinterpret_cast<Unaligned*>(c + i * c_layout.row + j * kWidth);
          *out = accumulate ? *out + sums[i][j] : sums[i][j];
        }
      }
      return;
    }
    T tile[kRows][kColumns];
    std::memcpy(tile, sums, sizeof(tile));
    for (int i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        T& out = c[i * c_layout.row + j * c_layout.col];
        out = accumulate ? out + tile[i][j] : tile[i][j];
      }
    }
  }
};

template <class T, bool kPacked>
using Avx512Loop = TileLoop<T, 64, 8, kPacked ? 2 : 1, kPacked>;
template <class T, bool kPacked>
using Avx2Loop = TileLoop<T, 32, 6, kPacked ? 2 : 1, kPacked>;
template <class T, bool kPacked>
using BaselineLoop = TileLoop<T, 16, 6, kPacked ? 2 : 1, kPacked>;

template <class T, bool kPacked, int kRows>
void avx512_tile(std::int64_t k,
                 const T* a,
                 std::int64_t a_row,
                 const T* b,
                 T* c,
                 MatrixLayout layout,
                 std::int64_t columns,
                 bool add) {
  run_avx512([&] {
    Avx512Loop<T, kPacked>::template run<kRows>(k, a, a_row, b, c, layout, columns, add);
  });
}
template <class T, bool kPacked, int kRows>
void avx2_tile(std::int64_t k,
               const T* a,
               std::int64_t a_row,
               const T* b,
               T* c,
               MatrixLayout layout,
               std::int64_t columns,
               bool add) {
  run_avx2(
      [&] { Avx2Loop<T, kPacked>::template run<kRows>(k, a, a_row, b, c, layout, columns, add); });
}
template <class T, bool kPacked, int kRows>
void baseline_tile(std::int64_t k,
                   const T* a,
                   std::int64_t a_row,
                   const T* b,
                   T* c,
                   MatrixLayout layout,
                   std::int64_t columns,
                   bool add) {
  run_baseline([&] {
    BaselineLoop<T, kPacked>::template run<kRows>(k, a, a_row, b, c, layout, columns, add);
  });
}

template <class T, bool kPacked>
constexpr std::array<typename Gemm<T>::Tile, 8> kAvx512Tiles = {
    avx512_tile<T, kPacked, 1>, avx512_tile<T, kPacked, 2>, avx512_tile<T, kPacked, 3>,
    avx512_tile<T, kPacked, 4>, avx512_tile<T, kPacked, 5>, avx512_tile<T, kPacked, 6>,
    avx512_tile<T, kPacked, 7>, avx512_tile<T, kPacked, 8>};
template <class T, bool kPacked>
constexpr std::array<typename Gemm<T>::Tile, 6> kAvx2Tiles = {
    avx2_tile<T, kPacked, 1>, avx2_tile<T, kPacked, 2>, avx2_tile<T, kPacked, 3>,
    avx2_tile<T, kPacked, 4>, avx2_tile<T, kPacked, 5>, avx2_tile<T, kPacked, 6>};
template <class T, bool kPacked>
constexpr std::array<typename Gemm<T>::Tile, 6> kBaselineTiles = {
    baseline_tile<T, kPacked, 1>, baseline_tile<T, kPacked, 2>, baseline_tile<T, kPacked, 3>,
    baseline_tile<T, kPacked, 4>, baseline_tile<T, kPacked, 5>, baseline_tile<T, kPacked, 6>};

// The inner loops of an instruction set for 1, 2, … rows of A.
template <class T>
struct Tiles {
  std::int64_t rows;
  std::int64_t columns;
  const typename Gemm<T>::Tile* loops;
};

template <class T, bool kPacked>
Tiles<T> tiles_of(Isa isa) {
  switch (isa) {
    case Isa::kAvx512: {
      const auto& loops = kAvx512Tiles<T, kPacked>;
      return {static_cast<std::int64_t>(loops.size()), Avx512Loop<T, kPacked>::kColumns,
              loops.data()};
    }
    case Isa::kAvx2: {
      const auto& loops = kAvx2Tiles<T, kPacked>;
      return {static_cast<std::int64_t>(loops.size()), Avx2Loop<T, kPacked>::kColumns,
              loops.data()};
    }
    case Isa::kBaseline: break;
  }
  const auto& loops = kBaselineTiles<T, kPacked>;
  return {static_cast<std::int64_t>(loops.size()), BaselineLoop<T, kPacked>::kColumns,
          loops.data()};
}

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
  Tiles<T> tiles = tiles_of<T, true>(isa);
  // The inner loop is wide in columns, and stores them fastest when they are neighbours.
  const bool strided = c.col != 1 && c.row == 1;
  const bool narrow = n <= tiles.columns / 2 && m > n;  // most of a tile would be padding
  // So few columns that packing A would take longer than the product.
  packs_a_ = !narrow || strided || a.col != 1;
  if (!packs_a_) {
    tiles = tiles_of<T, false>(isa);
  } else if (strided || narrow) {
    swapped_ = true;
    std::swap(m_, n_);
    a_ = b.transposed();
    b_ = a.transposed();
    c_ = c.transposed();
  }
  tile_rows_ = tiles.rows;
  tile_columns_ = tiles.columns;
  tiles_ = tiles.loops;
}

template <class T>
std::size_t Gemm<T>::scratch_bytes() const {
  const std::int64_t depth = std::min(k_, kBlockDepth);
  const std::int64_t rows =
      packs_a_ ? divide_up(std::min(m_, kBlockRows), tile_rows_) * tile_rows_ : 0;
  const std::int64_t columns =
      divide_up(std::min(n_, kBlockColumns), tile_columns_) * tile_columns_;
  // B comes first: its rows are whole vectors, so that they stay aligned.
  return static_cast<std::size_t>(depth * (rows + columns)) * sizeof(T);
}

template <class T>
void Gemm<T>::pack_a(const Block& block, const T* a, T* packed, std::int64_t panel) const {
  const std::int64_t first = panel * tile_rows_;
  const std::int64_t rows = std::min(tile_rows_, block.rows - first);
  const T* source = a + (block.row + first) * a_.row + block.depth * a_.col;
  T* out = packed + first * block.depths;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t p = 0; p < block.depths; ++p) {
      out[p * tile_rows_ + i] = source[i * a_.row + p * a_.col];
    }
  }
}

template <class T>
void Gemm<T>::pack_b(const Block& block, const T* b, T* packed, std::int64_t panel) const {
  const std::int64_t first = panel * tile_columns_;
  const std::int64_t columns = std::min(tile_columns_, block.columns - first);
  const T* source = b + block.depth * b_.row + (block.column + first) * b_.col;
  T* out = packed + first * block.depths;
  if (b_.col == 1 && columns == tile_columns_) {
    const auto bytes = static_cast<std::size_t>(tile_columns_) * sizeof(T);
    for (std::int64_t p = 0; p < block.depths; ++p) {
      std::memcpy(out + p * tile_columns_, source + p * b_.row, bytes);
    }
    return;
  }
  if (columns < tile_columns_) std::fill_n(out, tile_columns_ * block.depths, T(0));
  if (b_.row == 1) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t p = 0; p < block.depths; ++p) {
        out[p * tile_columns_ + j] = source[p + j * b_.col];
      }
    }
    return;
  }
  for (std::int64_t p = 0; p < block.depths; ++p) {
    for (std::int64_t j = 0; j < columns; ++j) {
      out[p * tile_columns_ + j] = source[p * b_.row + j * b_.col];
    }
  }
}

template <class T>
void Gemm<T>::multiply(const Block& block, const T* a, const T* b, T* c) const {
  const std::int64_t row_panels = divide_up(block.rows, tile_rows_);
  const std::int64_t column_panels = divide_up(block.columns, tile_columns_);
  const auto part = [&](std::int64_t first_row, std::int64_t last_row, std::int64_t first_column,
                        std::int64_t last_column) {
    const std::int64_t step = kCachedRows / tile_rows_;
    for (std::int64_t from = first_row; from < last_row; from += step) {
      for (std::int64_t j = first_column; j < last_column; ++j) {
        const std::int64_t column = j * tile_columns_;
        const std::int64_t columns = std::min(tile_columns_, block.columns - column);
        for (std::int64_t i = from; i < std::min(from + step, last_row); ++i) {
          const std::int64_t row = i * tile_rows_;
          const std::int64_t rows = std::min(tile_rows_, block.rows - row);
          const T* panel =
              packs_a_ ? a + row * block.depths : a + (block.row + row) * a_.row + block.depth;
          tiles_[rows - 1](block.depths, panel, a_.row, b + column * block.depths,
                           c + (block.row + row) * c_.row + (block.column + column) * c_.col, c_,
                           columns, block.accumulate);
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
  for (std::int64_t column = 0; column < n_; column += kBlockColumns) {
    for (std::int64_t depth = 0; depth < k_; depth += kBlockDepth) {
      for (std::int64_t row = 0; row < m_; row += kBlockRows) {
        const Block block{row,
                          std::min(kBlockRows, m_ - row),
                          column,
                          std::min(kBlockColumns, n_ - column),
                          depth,
                          std::min(kBlockDepth, k_ - depth),
                          accumulate || depth > 0};
        const std::int64_t a_panels = packs_a_ ? divide_up(block.rows, tile_rows_) : 0;
        const std::int64_t b_panels = row == 0 ? divide_up(block.columns, tile_columns_) : 0;
        T* packed_b = scratch;
        T* packed_a =
            scratch + divide_up(block.columns, tile_columns_) * tile_columns_ * block.depths;
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
