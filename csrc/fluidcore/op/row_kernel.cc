#include "fluidcore/op/row_kernel.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/error.h"
#include "fluidcore/base/threads.h"

namespace fluidcore {

namespace {

constexpr std::int64_t kGrain = 16384;   // elements of one part that are worth a thread
constexpr std::int64_t kLeastRows = 16;  // so that threads have some to share

constexpr std::size_t kTiles = 8;
constexpr std::size_t kTileBytes = 32768;  // together they fill a part of the second cache
constexpr std::size_t kInMemory = kTiles;

std::int64_t elements(const Cell* cell) {
  return cell->spec.shape.num_elements();
}

std::size_t bytes(const Cell* cell) {
  return static_cast<std::size_t>(elements(cell)) * size_of(cell->spec.dtype);
}

// The last part that uses each variable.
std::map<const Cell*, std::size_t> last_uses(const std::vector<RowPart>& parts) {
  std::map<const Cell*, std::size_t> last;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    last[parts[i].out.cell] = i;
    for (const RowOperand& operand : parts[i].in) last[operand.cell] = i;
  }
  return last;
}

}  // namespace

bool CommonRows::add(const RowPart& part) {
  const Cell* out = part.out.cell;
  if (elements(out) == 0) return false;
  std::int64_t rows = std::gcd(count_, part.out.rows);
  for (const RowOperand& operand : part.in) {
    const Cell* owner = owner_of(operand.cell);
    if (owner != operand.cell && written_.contains(owner)) return false;  // a part of it
    if (written_.contains(operand.cell)) rows = std::gcd(rows, operand.rows);
  }
  if (read_in_one_.contains(out)) rows = 1;
  const std::size_t largest = std::max(largest_, bytes(out));
  const bool is_first = count_ == 0;
  const bool fits_in_one = largest <= kTileBytes;
  const bool can_be_shared =
      rows >= kLeastRows && largest / static_cast<std::size_t>(rows) <= kTileBytes;
  if (!is_first && !fits_in_one && !can_be_shared) return false;
  count_ = rows;
  largest_ = largest;
  written_.insert(out);
  for (const RowOperand& operand : part.in) {
    if (operand.rows % rows != 0) read_in_one_.insert(operand.cell);
  }
  return true;
}

bool CommonRows::add(const std::vector<RowPart>& parts) {
  if (parts.size() == 1) return add(parts[0]);
  CommonRows with = *this;
  if (!std::ranges::all_of(parts, [&](const RowPart& part) { return with.add(part); })) {
    return false;
  }
  *this = std::move(with);
  return true;
}

RowKernel::RowKernel(RowPart part) {
  const std::int64_t rows = elements(part.out.cell) > 0 ? part.out.rows : 0;
  *this = RowKernel({std::move(part)}, rows);
}

RowKernel::RowKernel(std::vector<RowPart> parts,
                     std::int64_t rows,
                     const std::set<const Cell*>& inner)
    : parts_(std::move(parts)), rows_(rows) {
  for (RowPart& part : parts_) {
    part.out.cell = whole_of(part.out.cell);
    for (RowOperand& operand : part.in) operand.cell = whole_of(operand.cell);
  }
  if (rows_ == 0) return;
  device_ = parts_[0].out.cell->device;
  if (device_ != nullptr) return;
  const std::map<const Cell*, std::size_t> last = last_uses(parts_);
  std::map<const Cell*, std::size_t> tiles;
  std::set<const Cell*> written;
  std::vector<std::size_t> free(kTiles);
  std::iota(free.rbegin(), free.rend(), std::size_t{0});
  std::size_t widest = 1;  // bytes of a row of an output
  std::int64_t work = 1;   // elements of a row, of all parts
  const auto operand = [&](const RowOperand& of) {
    const auto tile = tiles.find(of.cell);
    return Operand{of.cell, elements(of.cell) / rows_,
                   tile == tiles.end() ? kInMemory : tile->second};
  };
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const RowPart& part = parts_[i];
    const Cell* out = part.out.cell;
    const bool is_new = written.insert(out).second;
    if (is_new && inner.contains(out) && !free.empty()) {
      tiles.emplace(out, free.back());
      free.pop_back();
      inner_.insert(out);
    }
    widest = std::max(widest, bytes(out) / static_cast<std::size_t>(rows_));
    Operands& operands = operands_.emplace_back(Operands{operand(part.out), {}});
    std::int64_t longest = operands.out.row;
    for (const RowOperand& in : part.in) {
      operands.in.push_back(operand(in));
      if (in.rows % rows_ == 0) longest = std::max(longest, operands.in.back().row);
    }
    work += longest;
    for (auto used = tiles.begin(); used != tiles.end();) {
      const bool is_done = last.at(used->first) == i;
      if (is_done) free.push_back(used->second);
      used = is_done ? tiles.erase(used) : std::next(used);
    }
  }
  rows_of_tile_ = std::max<std::int64_t>(static_cast<std::int64_t>(kTileBytes / widest), 1);
  grain_ = kGrain / work + 1;
}

RowSlice RowKernel::slice(const Operand& operand, std::int64_t row, std::byte* tiles) {
  if (operand.tile == kInMemory) return {operand.cell->data, 0};
  return {tiles + operand.tile * kTileBytes, row * operand.row};
}

void RowKernel::run_parts(std::int64_t row, std::int64_t count, std::byte* tiles) const {
  std::array<RowSlice, RowPart::kMostInputs> in;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto& [out, operands] = operands_[i];
    for (std::size_t k = 0; k < operands.size(); ++k) in[k] = slice(operands[k], row, tiles);
    parts_[i].run(row * out.row, count * out.row, slice(out, row, tiles), in.data());
  }
}

void RowKernel::launch_parts() const {
  for (const RowPart& part : parts_) {
    require(part.launch != nullptr, "kernel: must be made for CUDA too, got one for the cpu");
    std::array<const void*, RowPart::kMostInputs> in;
    for (std::size_t k = 0; k < part.in.size(); ++k) in[k] = part.in[k].cell->data;
    part.launch(*device_, elements(part.out.cell), part.out.cell->data, in.data());
  }
}

void RowKernel::run() const {
  if (device_ != nullptr) return launch_parts();
  if (parts_.size() == 1 && inner_.empty()) {
    parallel_for(rows_, grain_, [this](std::int64_t first, std::int64_t last) {
      run_parts(first, last - first, nullptr);
    });
    return;
  }
  parallel_for(rows_, grain_, [this](std::int64_t first, std::int64_t last) {
    alignas(64) std::array<std::byte, kTiles * kTileBytes> tiles;
    for (; first < last; first += rows_of_tile_) {
      run_parts(first, std::min(rows_of_tile_, last - first), tiles.data());
    }
  });
}

}  // namespace fluidcore
