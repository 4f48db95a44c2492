#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <unordered_set>
#include <vector>

#include "fluidcore/op/cell.h"

namespace fluidcore {

// A variable that a RowPart reads or writes. It can be cut into `rows` pieces of equal size, one
// after the other in memory, and into as many as any divisor of that, so that a row of the output
// is made of the same row of each input. An elementwise operator has a row for each element; an
// input that every element may ask for has one row.
struct RowOperand {
  const Cell* cell = nullptr;
  std::int64_t rows = 1;
};

// Where an operand is: element i is at data + (i - origin).
struct RowSlice {
  void* data = nullptr;
  std::int64_t origin = 0;
};

// What a part does to each element, if it is one of the few things that other kernels can do to
// their results before they store them. An operand of fewer elements begins again at its end.
enum class RowForm {
  kOther,
  kSum,   // in[0] + in[1], where in[0] has as many elements as the output
  kRelu,  // in[0], and 0 where that is negative
  // in[0] * factor + shift, with numbers of its own, which begin again as operands do; see
  // RowPart::factors.
  kAffine,
};

// Calculates rows of one output.
struct RowPart {
  static constexpr std::size_t kMostInputs = 64;

  // Elements [begin, begin + size) of the output, whole rows of it. Throws nothing.
  using Run =
      std::function<void(std::int64_t begin, std::int64_t size, RowSlice out, const RowSlice* in)>;

  // All elements, on a device.
  using Launch = std::function<void(
      DeviceContext& device, std::int64_t size, void* out, const void* const* in)>;

  RowOperand out = {};
  std::vector<RowOperand> in = {};
  Run run = nullptr;
  Launch launch = nullptr;  // null: for the CPU only
  RowForm form = RowForm::kOther;
  // Of kAffine: how many factors there are, and what writes them and as many shifts, in each run.
  // It needs nothing that is done before the rows; see Kernel::first().
  std::int64_t num_factors = 0;
  std::function<void(float* factors, float* shifts)> factors = nullptr;
};

// Parts that run one after the other, for some rows before they do so for the next, so that what
// one writes and another reads stays in the cache. Several threads share the rows; which of them
// calculates a row changes no bit of it.
class RowKernel {
 public:
  RowKernel() = default;  // has no part and does nothing
  explicit RowKernel(RowPart part);
  // `rows` is the count of CommonRows for these parts. The variables `inner` are used by these
  // parts alone, and written before they are read: as many as there is room for get no memory but
  // that of a tile.
  RowKernel(std::vector<RowPart> parts, std::int64_t rows, const std::set<const Cell*>& inner = {});

  void run() const;

  const std::vector<RowPart>& parts() const { return parts_; }
  bool is_on_device() const { return device_ != nullptr; }
  const std::set<const Cell*>& inner() const { return inner_; }  // those that need no memory

 private:
  struct Operand {
    const Cell* cell;
    std::int64_t row;  // elements
    std::size_t tile;  // or none: in memory
  };
  struct Operands {
    Operand out;
    std::vector<Operand> in;
  };
  // `tiles`: their memory.
  static RowSlice slice(const Operand& operand, std::int64_t row, std::byte* tiles);
  void run_parts(std::int64_t row, std::int64_t count, std::byte* tiles) const;
  void launch_parts() const;

  std::vector<RowPart> parts_;
  std::vector<Operands> operands_;  // of each part
  std::set<const Cell*> inner_;
  DeviceContext* device_ = nullptr;  // null: the CPU
  std::int64_t rows_ = 0;
  std::int64_t rows_of_tile_ = 0;
  std::int64_t grain_ = 0;  // rows that are worth a thread of their own
};

// Into how many rows parts can be cut together.
class CommonRows {
 public:
  // What comes next. False, and nothing has changed, where it does not fit to what was before:
  // there would be too few rows to share, or one would be longer than a tile.
  bool add(const RowPart& part);
  bool add(const std::vector<RowPart>& parts);
  std::int64_t count() const { return count_; }  // 0 while there is no part

 private:
  std::int64_t count_ = 0;
  std::size_t largest_ = 0;  // bytes of an output
  std::unordered_set<const Cell*> written_;
  std::unordered_set<const Cell*> read_in_one_;  // by a part that may ask for any element
};

}  // namespace fluidcore
