#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/op/contexts.h"
#include "fluidcore/ops/on_host.h"

namespace fluidcore {

// Losses of rows whose right classes have numbers.

// A row for each sample: the last dimension holds the classes.
struct Samples {
  explicit Samples(const Shape& shape)
      : rows(shape.product(0, shape.rank() - 1)), classes(shape.back()) {}

  std::int64_t rows;
  std::int64_t classes;
};

// The hard labels of a running kernel: the input Label and the attribute ignore_index.
class HardLabels {
 public:
  explicit HardLabels(const KernelContext& context, const Samples& samples)
      : type_(context.type()),
        samples_(samples),
        label_(context.raw_input("Label")),
        on_host_(label_),
        ignored_(context.attr<std::int64_t>("ignore_index")) {}

  // Throws InvalidArgument for a label that names no class. -1: ignored.
  cpu::RowIndex checked() const;

  // The same in two steps, for a kernel on a device: labels() are in its memory.
  void check() const;
  cpu::RowIndex labels() const;
  Arg<const void> input() const { return label_; }

 private:
  std::string type_;
  Samples samples_;
  Arg<const void> label_;
  OnHost on_host_;
  std::int64_t ignored_;
};

// Checks Label, the number of a class for each row of the input `slot`; gives the shape of one
// number for each row, [..., 1].
Shape labelled_rows(const InferContext& context, std::string_view slot);

}  // namespace fluidcore
