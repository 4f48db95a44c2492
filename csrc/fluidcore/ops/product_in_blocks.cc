#include "fluidcore/ops/product_in_blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/onednn/onednn.h"

namespace fluidcore {

namespace {

constexpr std::int64_t kCached = 524288;  // bytes of a result that stays in the second cache
constexpr std::int64_t kBlock = 131072;   // bytes of a block's result
constexpr std::int64_t kLeastRows = 16;   // of a block: with fewer, a product takes longer

// Into how many blocks of equal size the rows are cut; 0: it is not worth it.
std::int64_t count_blocks(const MatmulProblem& problem) {
  const auto row = static_cast<std::int64_t>(sizeof(float)) * problem.n;
  if (!problem.batch.empty() || problem.is_empty() || problem.m * row <= kCached) return 0;
  std::int64_t rows = std::min(std::max(kBlock / row, kLeastRows), problem.m);
  while (problem.m % rows != 0) --rows;
  return rows < kLeastRows ? 0 : problem.m / rows;
}

// Whether the rows fall into as many blocks as `out`, read it block by block, and change nothing
// that is read for a later block.
bool follow(
    const RowKernel& rows, std::int64_t blocks, const Cell* x, const Cell* y, const Cell* out) {
  if (rows.rows() % blocks != 0) return false;
  bool reads = false;
  for (const RowPart& part : rows.parts()) {
    const Cell* written = owner_of(part.out.cell);
    if (written == owner_of(x) || written == owner_of(y)) return false;
    if (written == owner_of(out) && part.out.cell != whole_of(out)) return false;
    for (const RowOperand& operand : part.in) {
      if (owner_of(operand.cell) != owner_of(out)) continue;
      if (operand.cell != whole_of(out) || operand.rows % blocks != 0) return false;
      reads = true;
    }
  }
  return reads;
}

// Each thread makes some of the blocks, and the rows that follow each.
struct BlockByBlock {
  onednn::MatmulBlocks product;
  RowKernel rows;
  MatmulProblem block;
  std::int64_t blocks;
  Arg<const float> x;
  Arg<const float> y;
  Arg<float> out;

  void operator()() const {
    product.begin(y.data(), y.cell()->version);
    const auto workers = static_cast<std::int64_t>(product.workers.size());
    std::vector<std::exception_ptr> errors(product.workers.size());
    parallel_for(workers, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t worker = first; worker < last; ++worker) {
        try {
          work(worker, blocks * worker / workers, blocks * (worker + 1) / workers);
        } catch (...) {
          errors[static_cast<std::size_t>(worker)] = std::current_exception();
        }
      }
    });
    for (const std::exception_ptr& error : errors) {
      if (error) std::rethrow_exception(error);
    }
  }

  void work(std::int64_t worker, std::int64_t first, std::int64_t last) const {
    const std::int64_t rows_of_block = rows.rows() / blocks;
    for (std::int64_t i = first; i < last; ++i) {
      product.workers[static_cast<std::size_t>(worker)](x.data() + i * block.m * block.a.row,
                                                        out.data() + i * block.m * block.c.row);
      rows.run_rows(i * rows_of_block, (i + 1) * rows_of_block);
    }
  }
};

}  // namespace

Kernel product_in_blocks(std::function<void()> run,
                         const MatmulProblem& problem,
                         Arg<const float> x,
                         Arg<const float> y,
                         Arg<float> out) {
  if constexpr (onednn::kEnabled) {
    MatmulProblem block = simplified(problem);
    const std::int64_t blocks = count_blocks(block);
    if (blocks > 0) {
      block.m /= blocks;
      return {std::move(run), [=](const RowKernel& rows) -> Kernel {
                if (!follow(rows, blocks, x.cell(), y.cell(), out.cell())) return {};
                onednn::MatmulBlocks product = onednn::prepare_matmul_blocks(block);
                if (!product) return {};
                return BlockByBlock{std::move(product), rows, block, blocks, x, y, out};
              }};
    }
  }
  return run;
}

}  // namespace fluidcore
