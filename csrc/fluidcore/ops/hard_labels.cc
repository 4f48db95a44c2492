#include "fluidcore/ops/hard_labels.h"

#include <vector>

#include "fluidcore/ops/row_numbers.h"

namespace fluidcore {

cpu::RowIndex HardLabels::labels() const {
  return {label_.data(), label_.spec().dtype == DType::kInt64, ignored_};
}

cpu::RowIndex HardLabels::checked() const {
  check();
  return labels();
}

void HardLabels::check() const {
  const cpu::RowIndex label{on_host_.data(), label_.spec().dtype == DType::kInt64, ignored_};
  const std::int64_t row = cpu::find_outside(label, samples_.rows, samples_.classes, ignored_);
  if (row >= 0) {
    require(false, type_, ": labels must be in [0, ", samples_.classes, ") or ignore_index ",
            ignored_, ", got ", label.number(row), " in row ", row);
  }
}

Shape labelled_rows(const InferContext& context, std::string_view slot) {
  const Shape& x = context.input(slot).shape;
  require(x.rank() >= 1, context.type(), ": ", slot, " must have rank 1 or more, got ", x);
  Shape rows = x;
  rows[x.rank() - 1] = 1;
  require_row_numbers(context, "Label");
  const Shape& label = context.input("Label").shape;
  const Shape flat(std::vector<std::int64_t>(x.begin(), x.end() - 1));
  require(compatible(label, rows) || compatible(label, flat), context.type(),
          ": Label must have shape ", rows, " for ", slot, " ", x, ", got ", label);
  return rows;
}

}  // namespace fluidcore
