#include "fluidcore/kernels/cpu/broadcast.h"

namespace fluidcore::cpu {

BroadcastNest::BroadcastNest(const Shape& out, const std::vector<Shape>& operands)
    : size_(out.num_elements()), strides_(operands.size()) {
  for (const Shape& operand : operands) {
    is_full_.push_back(operand == out);
    std::size_t shared = 0;
    while (shared < out.rank() && operand[shared] == out[shared]) ++shared;
    rows_.push_back(out.product(0, shared));
  }
  // From the innermost dimension outwards, then turned around.
  std::vector<std::int64_t> next(operands.size(), 1);  // elements inside the current dimension
  for (std::size_t axis = out.rank(); axis-- > 0;) {
    if (out[axis] == 1) continue;
    bool merges = !extents_.empty();
    std::vector<std::int64_t> strides(operands.size());
    for (std::size_t k = 0; k < operands.size(); ++k) {
      strides[k] = operands[k][axis] == 1 ? 0 : next[k];
      next[k] *= operands[k][axis];
      merges = merges && strides[k] == strides_[k].back() * extents_.back();
    }
    if (merges) {
      extents_.back() *= out[axis];
      continue;
    }
    extents_.push_back(out[axis]);
    for (std::size_t k = 0; k < operands.size(); ++k) strides_[k].push_back(strides[k]);
  }
  if (extents_.empty()) {
    extents_.push_back(1);
    for (auto& strides : strides_) strides.push_back(1);
  }
  std::reverse(extents_.begin(), extents_.end());
  for (auto& strides : strides_) std::reverse(strides.begin(), strides.end());
}

std::int64_t BroadcastNest::offset(std::size_t operand, std::int64_t row) const {
  if (extents_.size() == 1) return 0;
  const std::vector<std::int64_t>& strides = strides_[operand];
  std::int64_t offset = 0;
  for (std::size_t axis = extents_.size() - 2; axis > 0; --axis) {
    const std::int64_t outer = row / extents_[axis];
    offset += (row - outer * extents_[axis]) * strides[axis];
    row = outer;
  }
  return offset + row * strides[0];
}

}  // namespace fluidcore::cpu
