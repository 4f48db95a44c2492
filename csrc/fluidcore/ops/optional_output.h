#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fluidcore/op/contexts.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

// An output of any dtype; an empty handle when it is not wanted.
inline Arg<void> optional_raw_output(const KernelContext& context,
                                     std::string_view slot,
                                     std::size_t index = 0) {
  return context.has_output(slot, index) ? context.raw_output(slot, index) : Arg<void>();
}

// What an input or output that may be left out points to.
template <class T>
T* data_or_null(const Arg<T>& arg) {
  return arg ? arg.data() : nullptr;
}

// An output, or memory of its device in its place when it is not wanted.
template <class T>
class OutputOrScratch {
 public:
  OutputOrScratch(const KernelContext& context, std::string_view slot, std::int64_t size)
      : output_(context.optional_output<T>(slot)) {
    if (!output_) scratch_ = Tensor({{size}, dtype_of<T>}, context.device().device());
  }
  T* data() const { return output_ ? output_.data() : static_cast<T*>(scratch_.raw()); }

 private:
  Arg<T> output_;
  Tensor scratch_;
};

}  // namespace fluidcore
