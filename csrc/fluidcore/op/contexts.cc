#include "fluidcore/op/contexts.h"

#include <type_traits>

#include "fluidcore/base/error.h"
#include "fluidcore/op/cast_advice.h"

namespace fluidcore {

template <class Value>
const Value& SlotContext<Value>::find(const Slots& slots,
                                      std::string_view slot,
                                      std::size_t index) const {
  const auto it = slots.find(slot);
  if (it == slots.end() || index >= it->second.size()) {
    throw NotFound(op_.type(), ": no variable ", index, " in slot '", slot, "'");
  }
  return it->second[index];
}

template <class Value>
bool SlotContext<Value>::has_output(std::string_view slot, std::size_t index) const {
  const auto& names = op_.output(slot);
  const bool is_named = index < names.size() && names[index] != kEmptyName;
  if constexpr (std::is_pointer_v<Value>) {
    return is_named && find(outputs_, slot, index) != nullptr;
  } else {
    return is_named;
  }
}

template class SlotContext<TensorSpec>;
template class SlotContext<const Cell*>;

const std::string& InferContext::input_name(std::string_view slot, std::size_t index) const {
  for (const std::string& name : op_.input(slot)) {
    if (name != kEmptyName && index-- == 0) return name;
  }
  throw NotFound(type(), ": no variable ", index, " in slot '", slot, "'");
}

void InferContext::set_output(std::string_view slot, TensorSpec spec, std::size_t index) {
  if (has_output(slot, index)) outputs_.find(slot)->second[index] = std::move(spec);
}

const Cell* KernelContext::find_output(std::string_view slot, std::size_t index) const {
  const Cell* cell = find(outputs_, slot, index);
  require(cell != nullptr, type(), ": ", slot, " must be a variable, got ", kEmptyName);
  return cell;
}

TensorArray& KernelContext::array_input(std::string_view slot) const {
  return *find(inputs_, slot, 0)->array;
}

TensorArray& KernelContext::array_output(std::string_view slot) const {
  return *find_output(slot, 0)->array;
}

void KernelContext::check_dtype(std::string_view slot, DType actual, DType wanted) const {
  require(actual == wanted, type(), ": ", slot, " must be ", wanted,
          " as the operator's kernel is, got ", actual, cast_advice(slot, wanted));
}

}  // namespace fluidcore
