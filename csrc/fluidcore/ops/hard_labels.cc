#include "fluidcore/ops/hard_labels.h"

#include <vector>

#include "fluidcore/ops/row_numbers.h"

namespace fluidcore {

cpu::RowIndex HardLabels::checked() const {
  const bool is_wide = label_.spec().dtype == DType::kInt64;
  const cpu::RowIndex label{label_.data(), is_wide};
  for (std::int64_t row = 0; row < samples_.rows; ++row) {
    const std::int64_t number = label[row];
    require((number >= 0 && number < samples_.classes) || number == ignored_, type_,
            ": labels must be in [0, ", samples_.classes, ") or ignore_index ", ignored_, ", got ",
            number, " in row ", row);
  }
  return {label_.data(), is_wide, ignored_};
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
