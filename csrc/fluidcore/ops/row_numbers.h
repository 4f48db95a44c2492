#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fluidcore/base/strings.h"
#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/op/contexts.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/on_host.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore {

// Inputs whose elements are numbers of rows of another tensor.

// Throws InvalidArgument unless the input is int32 or int64.
inline void require_row_numbers(const InferContext& context, std::string_view slot) {
  const DType dtype = context.input(slot).dtype;
  require(dtype == DType::kInt32 || dtype == DType::kInt64, context.type(), ": ", slot,
          " must be int32 or int64, got ", dtype, cast_advice(slot, DType::kInt64));
}

// As require_row_numbers, of an input [N] or [N, 1]; gives N.
inline std::int64_t count_row_numbers(const InferContext& context, std::string_view slot) {
  require_row_numbers(context, slot);
  const Shape& shape = context.input(slot).shape;
  require(shape.rank() == 1 || (shape.rank() == 2 && compatible(shape[1], 1)), context.type(), ": ",
          slot, " must be [N] or [N, 1], got ", shape);
  return shape[0];
}

class RowNumbers {
 public:
  struct Rows {
    std::int64_t extent;       // how many there are
    std::int64_t none = -1;    // a number for none of them; -1: there is none
    std::int64_t columns = 1;  // see cpu::RowIndex
  };

  RowNumbers(const KernelContext& context, std::string_view slot, const Rows& rows)
      : who_(str_cat(context.type(), ": ", slot)),
        arg_(context.raw_input(slot)),
        on_host_(arg_),
        rows_(rows) {}

  std::int64_t size() const { return arg_.size(); }

  // While the kernel runs, before it writes: throws InvalidArgument for the first number that is
  // none of a row.
  cpu::RowIndex checked() const {
    check();
    return index(arg_.data());
  }

  // The same in two steps, for a kernel on a device: index() is in its memory.
  cpu::RowIndex index() const { return index(arg_.data()); }
  Arg<const void> input() const { return arg_; }
  void check() const {
    const cpu::RowIndex index = this->index(on_host_.data());
    const auto none = rows_.none == -1 ? std::nullopt : std::optional(rows_.none);
    const std::int64_t at = cpu::find_outside(index, size(), rows_.extent, none);
    if (at >= 0) {
      require(false, who_, " must be in [0, ", rows_.extent, "), got ", index.number(at),
              " at position ", at);
    }
  }

 private:
  cpu::RowIndex index(const void* data) const {
    return {data, arg_.spec().dtype == DType::kInt64, rows_.none, rows_.columns};
  }

  std::string who_;
  Arg<const void> arg_;
  OnHost on_host_;
  Rows rows_;
};

// The memory that cpu::add_rows needs.
class Links {
 public:
  Links(const KernelContext& context, const cpu::IndexedRows& shape) : scratch_(context.scratch()) {
    const std::int64_t count = cpu::num_links(shape);
    scratch_->reserve(static_cast<std::size_t>(count) * sizeof(std::int64_t));
  }
  std::int64_t* data() const { return reinterpret_cast<std::int64_t*>(scratch_->data()); }

 private:
  ScratchPtr scratch_;
};

}  // namespace fluidcore
