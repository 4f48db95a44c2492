#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fluidcore/op/op_def.h"
#include "fluidcore/tensor/scratch.h"
#include "fluidcore/tensor/selected_rows.h"

namespace fluidcore {

// What kernels do with selected rows.

// How many rows memory is made for where `count` depends on the data: at least so many, and so that
// few plans serve all counts.
std::int64_t room_for(std::int64_t count);
// Memory for more than so many times that is made anew.
inline constexpr std::int64_t kFarTooMuchRoom = 4;

// Those of an input, merged: each row once, in rising order.
class MergedRows {
 public:
  struct Rows {
    std::int64_t count;           // how many different ones there are; the rest are unused
    const std::int64_t* numbers;  // -1 for the unused ones
    const void* values;           // 0 for the unused ones
  };

  MergedRows(const KernelContext& context, std::string_view slot, std::size_t index = 0);

  std::int64_t width() const { return row_width(rows_.spec()); }
  // While the kernel runs; in its scratch memory.
  Rows merge() const;
  // Into memory for as many rows as the input has.
  std::int64_t merge_into(std::int64_t* numbers, void* values) const;
  // The same on a device, which does not know how many different ones there are: all count.
  Rows merge_on(DeviceContext& device) const;
  void merge_into_on(DeviceContext& device, std::int64_t* numbers, void* values) const;

 private:
  Arg<const void> rows_;
  ScratchPtr scratch_;
};

// Out = the rows of all of the slot X, one after the other. All of them are selected rows.
Kernel joined_rows(const KernelContext& context);

// Out += those of the slot X that are selected rows.
Kernel rows_added_to_out(const KernelContext& context);

}  // namespace fluidcore
