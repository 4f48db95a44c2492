#include "fluidcore/kernels/cpu/packed_product.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/float_vectors.h"
#include "fluidcore/kernels/cpu/gemm.h"
#include "fluidcore/kernels/cpu/gemm_kernels.h"
#include "fluidcore/kernels/cpu/gemv.h"
#include "fluidcore/kernels/prepared.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore::cpu {

namespace {

constexpr std::int64_t kPanelColumns = 32;
constexpr std::int64_t kTaskColumns = 64;
constexpr std::int64_t kLine = 64 / sizeof(float);
constexpr std::int64_t kMostTaskRows = 128;  // they stay in the second cache
constexpr std::int64_t kTasksOfThread = 4;
constexpr double kElementsOfThread = 32768;  // that are worth one
// How far ahead of its use a panel is asked for.
constexpr std::int64_t kAhead = 2048 / sizeof(float);

// A tile of sums that stays in registers, beside vectors of the panels and a factor.
template <int kBytes>
struct Tiles {
  static constexpr std::int64_t kLanes = FloatVector<kBytes>::kLanes;
  static constexpr std::int64_t kOfPanel = kPanelColumns / kLanes;  // vectors
  static constexpr std::int64_t kOfLine = kLine / kLanes;
  static constexpr std::int64_t kMostRows = kBytes == 64 ? 8 : 4;
  static constexpr std::int64_t kMostSums = 2 * kMostRows;

  static constexpr std::int64_t vectors(std::int64_t rows) {
    return std::min(kMostSums / rows, kTaskColumns / kLanes);
  }
};
constexpr std::int64_t kMostTileRows = Tiles<64>::kMostRows;

class PackedProduct {
 public:
  PackedProduct(const MatmulProblem& p, Isa isa)
      : rows_(p.m),
        depth_(p.k),
        piece_(sum_piece(p.k)),
        columns_(p.n),
        x_row_(p.a.row),
        out_row_(p.c.row),
        weights_row_(p.b.row),
        weights_column_(p.b.col),
        isa_(isa),
        parts_(divide_up(p.n, kTaskColumns)),
        task_rows_(std::min(
            round_up(divide_up(p.m * parts_, kTasksOfThread * num_threads()), kMostTileRows),
            kMostTaskRows)),
        blocks_(divide_up(p.m, task_rows_)),
        row_(p.m == 1 ? prepare_gemv<float>(p) : nullptr) {
    // The panels are only read for one row, and multiplied by many.
    const auto elements = static_cast<double>(p.k * std::min(p.n, kTaskColumns));
    const double operations = 2 * elements * static_cast<double>(std::min(p.m, task_rows_));
    grain_ = 1 + static_cast<std::int64_t>(
                     1 / std::max(elements / kElementsOfThread, operations / kOperationsOfThread));
  }

  void run(const float* x,
           const float* weights,
           std::uint64_t version,
           float* out,
           const Epilogue& epilogue) {
    if (version == 0 && row_) {
      row_(x, weights, out);
      return finish({x, nullptr, out, epilogue}, 0, {0, columns_}, out);
    }
    if (version == 0 || version_ != version) {
      version_ = 0;  // until they are packed
      pack(weights);
      version_ = version;
    }
    const auto* const packed = reinterpret_cast<const float*>(packed_.data());
    parallel_for(parts_ * blocks_, grain_, [&](std::int64_t begin, std::int64_t end) {
      on_vectors(isa_, [&](auto bytes) {
        for (std::int64_t task = begin; task < end; ++task) {
          const std::int64_t row = task % blocks_ * task_rows_;
          const std::int64_t column = task / blocks_ * kTaskColumns;
          multiply<bytes(), Tiles<bytes()>::kMostRows>(
              {x, packed, out, epilogue}, {row, std::min(row + task_rows_, rows_)},
              {column, std::min(column + kTaskColumns, columns_)});
        }
      });
    });
  }

 private:
  struct Operands {
    const float* x;
    const float* packed;
    float* out;
    const Epilogue& epilogue;
  };
  struct Range {
    std::int64_t begin;
    std::int64_t end;
  };

  // The gap keeps panels from the same set of a cache.
  std::int64_t panel_size() const { return (depth_ + 1) * kPanelColumns; }

  void pack(const float* weights) {
    const std::int64_t panels = divide_up(columns_, kPanelColumns);
    packed_.reserve(sizeof(float) * static_cast<std::size_t>(panels * panel_size() + kAhead));
    auto* const packed = reinterpret_cast<float*>(packed_.data());
    parallel_for(panels, 1, [&](std::int64_t begin, std::int64_t end) {
      on_vectors(isa_, [&](auto bytes) {
        for (std::int64_t panel = begin; panel < end; ++panel) {
          pack_panel<bytes()>(weights, panel * kPanelColumns, packed + panel * panel_size());
        }
      });
    });
  }

  template <int kBytes>
  [[gnu::always_inline]] void pack_panel(const float* weights,
                                         std::int64_t first,
                                         float* to) const {
    const std::int64_t count = std::min(kPanelColumns, columns_ - first);
    const float* const from = weights + first * weights_column_;
    if (count < kPanelColumns) std::fill_n(to, depth_ * kPanelColumns, 0.0F);
    if (weights_row_ == 1) {
      gemm::turn_lines<float, kBytes, kPanelColumns>(count, depth_, from, weights_column_, to);
    } else if (weights_column_ == 1 && count == kPanelColumns) {
      gemm::copy_lines<float, kPanelColumns>(depth_, from, weights_row_, to);
    } else {
      for (std::int64_t i = 0; i < depth_; ++i) {
        for (std::int64_t j = 0; j < count; ++j) {
          to[i * kPanelColumns + j] = from[i * weights_row_ + j * weights_column_];
        }
      }
    }
  }

  // In tiles of kRows rows and less.
  template <int kBytes, std::int64_t kRows>
  [[gnu::always_inline]] void multiply(const Operands& of, Range rows, Range columns) const {
    using Size = Tiles<kBytes>;
    constexpr std::int64_t kVectors = Size::vectors(kRows);
    constexpr std::int64_t kFew = std::min(kVectors, Size::kOfLine);
    const std::int64_t end = rows.end - (rows.end - rows.begin) % kRows;
    if (const Range tiled{rows.begin, end}; rows.begin < end) {
      Range rest = columns;
      rest.begin = multiply_columns<kBytes, kRows, kVectors>(of, tiled, rest);
      if (kFew < kVectors) rest.begin = multiply_columns<kBytes, kRows, kFew>(of, tiled, rest);
      multiply_rest<kBytes, kRows, kFew>(of, tiled, rest);
    }
    if constexpr (kRows > 1) multiply<kBytes, kRows / 2>(of, {end, rows.end}, columns);
  }

  // In tiles of kVectors vectors, as far as they go; returns the first column that is left.
  template <int kBytes, std::int64_t kRows, std::int64_t kVectors>
  [[gnu::always_inline]] std::int64_t multiply_columns(const Operands& of,
                                                       Range rows,
                                                       Range columns) const {
    constexpr std::int64_t kColumns = kVectors * Tiles<kBytes>::kLanes;
    std::int64_t column = columns.begin;
    for (; column + kColumns <= columns.end; column += kColumns) {
      for (std::int64_t row = rows.begin; row < rows.end; row += kRows) {
        multiply_tile<kBytes, kRows, kVectors>(of, row, column, of.out + row * out_row_ + column,
                                               out_row_,
                                               of.epilogue.from(row * columns_ + column, column));
      }
    }
    return column;
  }

  // Fewer columns than a tile has.
  template <int kBytes, std::int64_t kRows, std::int64_t kVectors>
  [[gnu::always_inline]] void multiply_rest(const Operands& of, Range rows, Range columns) const {
    if (columns.begin == columns.end) return;
    constexpr std::int64_t kColumns = kVectors * Tiles<kBytes>::kLanes;
    std::array<float, kRows * kColumns> sums;
    for (std::int64_t row = rows.begin; row < rows.end; row += kRows) {
      multiply_tile<kBytes, kRows, kVectors>(of, row, columns.begin, sums.data(), kColumns, {});
      for (std::int64_t i = 0; i < kRows; ++i) {
        finish(of, row + i, columns, sums.data() + i * kColumns);
      }
    }
  }

  template <int kBytes, std::int64_t kRows, std::int64_t kVectors>
  [[gnu::always_inline]] void multiply_tile(const Operands& of,
                                            std::int64_t row,
                                            std::int64_t column,
                                            float* out,
                                            std::int64_t out_row,
                                            const Epilogue& epilogue) const {
    using Vector = typename FloatVector<kBytes>::Type;
    constexpr std::int64_t kLanes = Tiles<kBytes>::kLanes;
    constexpr std::int64_t kOfPanel = Tiles<kBytes>::kOfPanel;
    const float* x = of.x + row * x_row_;
    const float* panel = of.packed + column / kPanelColumns * panel_size() + column % kPanelColumns;
    const std::int64_t to_next = panel_size();
    Vector totals[kRows][kVectors] = {};
    for (std::int64_t left = depth_; left > 0; left -= piece_) {
      Vector sums[kRows][kVectors];
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[i][v] = Vector{};
      }
      for (std::int64_t k = std::min(piece_, left); k > 0; --k, ++x, panel += kPanelColumns) {
        Vector values[kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          const float* const from = panel + v / kOfPanel * to_next + v % kOfPanel * kLanes;
          if (v * kLanes % kLine == 0) __builtin_prefetch(from + kAhead);
          load_once(from, values[v]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) {
          Vector factor = x[i * x_row_] - Vector{};
          asm("" : "+v"(factor));  // else it would be read again for each vector
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) sums[i][v] += factor * values[v];
        }
      }
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) totals[i][v] += sums[i][v];
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const std::int64_t offset = v * kLanes;
        Vector value = totals[i][v];
        Vector other;
        if (epilogue.scale != nullptr) {
          load_once(epilogue.scale + offset, other);
          value *= other;
        }
        if (epilogue.bias != nullptr) {
          load_once(epilogue.bias + offset, other);
          value += other;
        }
        if (epilogue.residual != nullptr) {
          load_once(epilogue.residual + i * columns_ + offset, other);
          value += other;
        }
        if (epilogue.relu) value = value < 0 ? Vector{} : value;
        *reinterpret_cast<typename FloatVector<kBytes>::Unaligned*>(out + i * out_row + offset) =
            value;
      }
    }
  }

  // Stores the sums of a part of a row.
  void finish(const Operands& of, std::int64_t row, Range columns, const float* sums) const {
    const Epilogue epilogue = of.epilogue.from(row * columns_ + columns.begin, columns.begin);
    float* const out = of.out + row * out_row_ + columns.begin;
    for (std::int64_t j = 0; j < columns.end - columns.begin; ++j) {
      out[j] = epilogue.finished(sums[j], j);
    }
  }

  std::int64_t rows_;
  std::int64_t depth_;
  std::int64_t piece_;
  std::int64_t columns_;
  std::int64_t x_row_;
  std::int64_t out_row_;
  std::int64_t weights_row_;
  std::int64_t weights_column_;
  Isa isa_;
  std::int64_t parts_;  // of the columns
  std::int64_t task_rows_;
  std::int64_t blocks_;  // of rows
  std::int64_t grain_;
  Prepared2<float> row_;  // one, by weights that are not kept: as long as packing them
  Scratch packed_;        // panel by panel, row by row
  std::uint64_t version_ = 0;
};

}  // namespace

FusedKernel prepare_packed_product(const MatmulProblem& original, Isa isa) {
  const MatmulProblem p = simplified(original);
  const auto is_dense = [](std::int64_t stride, std::int64_t extent) {
    return stride == 1 || extent == 1;
  };
  if (!p.batch.empty() || p.is_empty()) return nullptr;
  // One stream as they are.
  if (p.n == 1 || (p.m == 1 && p.b.row == 1 && p.k > 1)) return nullptr;
  if (!is_dense(p.a.col, p.k) || !is_dense(p.c.col, p.n)) return nullptr;
  return [product = std::make_shared<PackedProduct>(p, isa)](
             const float* x, const float* weights, std::uint64_t version, float* out,
             const Epilogue& epilogue) { product->run(x, weights, version, out, epilogue); };
}

}  // namespace fluidcore::cpu
