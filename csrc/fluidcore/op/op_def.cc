#include "fluidcore/op/op_def.h"

#include <algorithm>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"
#include "fluidcore/op/cast_advice.h"

namespace fluidcore {

namespace {

template <class Items>
auto find_named(const Items& items, std::string_view name) {
  return std::find_if(items.begin(), items.end(),
                      [name](const auto& item) { return item.name == name; });
}

template <class Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  names.reserve(items.size());
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

// "; did you mean 'X'?" or "; it has: X, Y"
std::string cure(std::string_view name, const std::vector<std::string>& known) {
  const std::string near = nearest(name, known);
  return near.empty() ? "; it has: " + join(known) : "; did you mean '" + near + "'?";
}

// What tells Fluid whose kernels to take: every operator accepts it, and leaves it out.
bool is_hint(std::string_view attr) {
  return attr == "use_cudnn" || attr == "use_mkldnn" || attr == "workspace_size_MB";
}

// An int may stand for a float or for a list of one int, and an empty list for any list; nothing
// else converts.
bool assign(const Attribute& value, Attribute& slot) {
  if (value.index() == slot.index()) {
    slot = value;
    return true;
  }
  const auto* number = std::get_if<std::int64_t>(&value);
  if (number && std::holds_alternative<double>(slot)) {
    slot = static_cast<double>(*number);
    return true;
  }
  if (number && std::holds_alternative<std::vector<std::int64_t>>(slot)) {
    slot = std::vector<std::int64_t>{*number};
    return true;
  }
  const auto* ints = std::get_if<std::vector<std::int64_t>>(&value);
  if (!ints) return false;
  if (std::holds_alternative<std::vector<double>>(slot)) {
    slot = std::vector<double>(ints->begin(), ints->end());
    return true;
  }
  if (!ints->empty()) return false;
  if (std::holds_alternative<std::vector<std::string>>(slot)) {
    slot = std::vector<std::string>();
    return true;
  }
  if (std::holds_alternative<std::vector<bool>>(slot)) {
    slot = std::vector<bool>();
    return true;
  }
  return false;
}

std::string with_article(std::string_view type) {
  return str_cat(type.starts_with('i') ? "an " : "a ", type);
}

}  // namespace

OpDef&& OpDef::doc(std::string text) && {
  doc_ = std::move(text);
  return std::move(*this);
}

OpDef&& OpDef::input(std::string name, std::string doc, SlotTraits traits) && {
  inputs_.push_back({std::move(name), std::move(doc), std::move(traits)});
  return std::move(*this);
}

OpDef&& OpDef::output(std::string name, std::string doc, SlotTraits traits) && {
  outputs_.push_back({std::move(name), std::move(doc), std::move(traits)});
  return std::move(*this);
}

OpDef&& OpDef::attr(std::string name,
                    Attribute default_value,
                    std::string doc,
                    std::vector<std::string> choices) && {
  attrs_.push_back(
      {std::move(name), std::move(default_value), std::move(doc), false, std::move(choices)});
  return std::move(*this);
}

OpDef&& OpDef::required_attr(std::string name,
                             Attribute example,
                             std::string doc,
                             std::vector<std::string> choices) && {
  attrs_.push_back({std::move(name), std::move(example), std::move(doc), true, std::move(choices)});
  return std::move(*this);
}

OpDef&& OpDef::infer(InferFn infer) && {
  infer_ = std::move(infer);
  return std::move(*this);
}

OpDef&& OpDef::kernels(KernelTable table) && {
  kernels_.merge(std::move(table));
  return std::move(*this);
}

OpDef&& OpDef::grad(GradMaker maker) && {
  grad_ = std::move(maker);
  return std::move(*this);
}

void OpDef::add_kernels_through(DType wide,
                                std::initializer_list<DType> narrow,
                                const KernelFactory& factory) {
  for (const DeviceKind device : {DeviceKind::kCpu, DeviceKind::kCuda}) {
    if (!kernels_.contains({device, wide})) continue;
    for (const DType dtype : narrow) kernels_.try_emplace({device, dtype}, factory);
  }
}

OpDef&& OpDef::not_differentiable() && {
  not_differentiable_ = true;
  return std::move(*this);
}

OpDef&& OpDef::decompose(Decompose decompose) && {
  decompose_ = std::move(decompose);
  return std::move(*this);
}

OpDef&& OpDef::decompose_by_specs(Decompose decompose) && {
  decompose_ = std::move(decompose);
  decomposes_by_specs_ = true;
  return std::move(*this);
}

OpDef&& OpDef::stands_for_decomposition() && {
  stands_for_decomposition_ = true;
  return std::move(*this);
}

OpDef&& OpDef::runs_block(BlockTraits traits) && {
  block_traits_ = std::move(traits);
  return std::move(*this).required_attr("sub_block", BlockIndex{}, "the block that is run");
}

OpDef&& OpDef::extents_from_data(std::string slot) && {
  extents_from_data_ = std::move(slot);
  return std::move(*this);
}

bool OpDef::has_extents_from_data(const OpDesc& op) const {
  return extents_from_data_ &&
         (extents_from_data_->empty() || !op.input(*extents_from_data_).empty());
}

OpDef&& OpDef::stands_for_feed() && {
  stands_for_feed_ = true;
  return std::move(*this);
}

OpDef&& OpDef::random() && {
  random_ = true;
  return std::move(*this);
}

OpDef&& OpDef::row_dims(RowDims dims) && {
  row_dims_ = std::move(dims);
  return std::move(*this);
}

OpDef&& OpDef::flops(CountFlops count) && {
  flops_ = std::move(count);
  return std::move(*this);
}

OpDef&& OpDef::elementwise() && {
  elementwise_ = true;
  return std::move(*this).row_dims(all_dims);
}

OpDef&& OpDef::images(Images images) && {
  images_ = std::move(images);
  return std::move(*this);
}

OpDef&& OpDef::dims_attr(std::string attr) && {
  dims_attr_ = std::move(attr);
  return std::move(*this);
}

OpDef&& OpDef::in_place(std::string input, std::string output) && {
  in_place_.emplace_back(std::move(input), std::move(output));
  return std::move(*this);
}

OpDef&& OpDef::view(std::string input, std::string output, ViewBegin begin) && {
  views_.push_back({std::move(input), std::move(output), std::move(begin)});
  return std::move(*this);
}

OpDef&& OpDef::mixed_dtypes() && {
  mixed_dtypes_ = true;
  return std::move(*this);
}

OpDef&& OpDef::checks_data() && {
  checks_data_ = true;
  return std::move(*this);
}

bool OpDef::reads_only_shape(const OpDesc& op, const Slot& input) const {
  if (input.traits.shape_only || input.traits.read_for.empty()) return input.traits.shape_only;
  const std::vector<std::string>& wanted = op.output(input.traits.read_for);
  return std::all_of(wanted.begin(), wanted.end(),
                     [](const std::string& name) { return name == kEmptyName; });
}

bool OpDef::is_in_place(std::string_view input, std::string_view output) const {
  return std::any_of(in_place_.begin(), in_place_.end(), [&](const auto& pair) {
    return pair.first == input && pair.second == output;
  });
}

const OpDef::View* OpDef::find_view(std::string_view output) const {
  const auto found = std::ranges::find(views_, output, &View::output);
  return found == views_.end() ? nullptr : &*found;
}

const OpDef::Slot* OpDef::find_input(std::string_view name) const {
  const auto it = find_named(inputs_, name);
  return it == inputs_.end() ? nullptr : &*it;
}

const OpDef::Slot* OpDef::find_output(std::string_view name) const {
  const auto it = find_named(outputs_, name);
  return it == outputs_.end() ? nullptr : &*it;
}

void OpDef::check_slots(const SlotMap& given,
                        const std::vector<Slot>& slots,
                        std::string_view kind) const {
  for (const auto& [name, variables] : given) {
    const auto it = find_named(slots, name);
    if (it == slots.end()) {
      throw NotFound(type_, ": no ", kind, " slot '", name, "'", cure(name, names_of(slots)));
    }
    require(it->traits.list || variables.size() <= 1, type_, ": ", kind, " ", name,
            " takes one variable, got ", variables.size(), ": ", join(variables));
  }
  for (const Slot& slot : slots) {
    if (slot.traits.optional || slot.traits.intermediate) continue;
    const auto it = given.find(slot.name);
    require(it != given.end() && !it->second.empty(), type_, ": ", kind, " ", slot.name,
            " must be given (", slot.doc, "), got nothing");
  }
}

AttributeMap OpDef::complete_attrs(const AttributeMap& given) const {
  AttributeMap complete;
  for (const Attr& attr : attrs_) {
    require(!attr.required || given.contains(attr.name), type_, ": attribute '", attr.name,
            "' must be given (", attr.doc, "), got nothing");
    complete.emplace(attr.name, attr.default_value);
  }
  for (const auto& [name, value] : given) {
    const auto it = complete.find(name);
    if (it == complete.end()) {
      if (is_hint(name)) continue;
      throw NotFound(type_, ": no attribute '", name, "'", cure(name, names_of(attrs_)));
    }
    require(assign(value, it->second), type_, ": attribute '", name, "' must be ",
            with_article(type_name(it->second)), ", got the ", type_name(value), " ", value);
    const Attr& attr = *find_named(attrs_, name);
    const auto* text = std::get_if<std::string>(&value);
    require(attr.choices.empty() || std::count(attr.choices.begin(), attr.choices.end(), *text) > 0,
            type_, ": attribute '", name, "' must be one of ", join(attr.choices), ", got ", value);
  }
  return complete;
}

void OpDef::complete(OpDesc& op) const {
  check_slots(op.inputs(), inputs_, "input");
  check_slots(op.outputs(), outputs_, "output");
  std::vector<std::string> written = op.output_arg_names();
  std::sort(written.begin(), written.end());
  const auto twice = std::adjacent_find(written.begin(), written.end());
  require(twice == written.end(), type_, ": every output must be a variable of its own, got '",
          twice == written.end() ? "" : *twice, "' twice");
  op.set_attrs(complete_attrs(op.attrs()));
}

void OpDef::check_rows(const InferContext& context) const {
  for (const Slot& slot : inputs_) {
    const SlotTraits& traits = slot.traits;
    if (traits.rows || traits.of_block) continue;
    for (std::size_t i = 0; i < context.input_count(slot.name); ++i) {
      const bool has_rows = context.input(slot.name, i).rows.has_value();
      if (has_rows == traits.only_rows) continue;
      const std::string& name = context.input_name(slot.name, i);
      require(has_rows, type_, ": ", slot.name, " must be selected rows, got the tensor '", name,
              "'; the gradient of a table that lookup_table reads with is_sparse is selected rows");
      throw InvalidArgument(type_, ": ", slot.name, " must be a tensor, got the selected rows '",
                            name, "'; make a tensor of them with selected_rows_to_dense");
    }
  }
}

void OpDef::infer(InferContext& context) const {
  check_rows(context);
  if (!mixed_dtypes_) {
    const TensorSpec* first = nullptr;
    std::string first_name;
    for (const Slot& slot : inputs_) {
      for (std::size_t i = 0; i < context.input_count(slot.name); ++i) {
        const TensorSpec& spec = context.input(slot.name, i);
        if (!is_floating(spec.dtype)) continue;
        const bool is_wide = first != nullptr && size_of(first->dtype) == 2 &&
                             spec.dtype == DType::kFloat32 && slot.traits.may_be_float32;
        if (is_wide) continue;
        const std::string name = slot.traits.list ? str_cat(slot.name, "[", i, "]") : slot.name;
        if (first == nullptr) {
          first = &spec;
          first_name = name;
        }
        require(spec.dtype == first->dtype, type_, ": ", first_name, " and ", name,
                " must have the same dtype, got ", first_name, " ", *first, ", ", name, " ", spec,
                cast_advice(first_name, first->dtype, name, spec.dtype));
      }
    }
  }
  if (infer_) infer_(context);
}

std::int64_t OpDef::num_rows(const InferContext& context, std::string_view slot) const {
  const std::size_t dims = row_dims_ ? row_dims_(context, slot) : 0;
  return dims > 0 ? context.input(slot).shape.product(0, dims) : 0;
}

DType OpDef::kernel_dtype(const InferContext& context) const {
  const TensorSpec* first = nullptr;
  for (const Slot& slot : inputs_) {
    for (std::size_t i = 0; i < context.input_count(slot.name); ++i) {
      const TensorSpec& spec = context.input(slot.name, i);
      if (is_floating(spec.dtype)) return spec.dtype;
      if (first == nullptr) first = &spec;
    }
  }
  if (first != nullptr) return first->dtype;
  for (const Slot& slot : outputs_) {
    if (context.has_output(slot.name)) return context.output(slot.name).dtype;
  }
  return DType::kFloat32;
}

void OpDef::check_dtype(DType dtype) const {
  const bool found = std::any_of(kernels_.begin(), kernels_.end(), [dtype](const auto& entry) {
    return entry.first.second == dtype;
  });
  if (!found && !kernels_.empty()) kernel(DeviceKind::kCpu, dtype);
}

KernelFactory OpDef::kernel(DeviceKind device, DType dtype) const {
  const auto it = kernels_.find({device, dtype});
  if (it != kernels_.end()) return it->second;
  std::vector<std::string> available;
  for (const auto& [key, kernel] : kernels_) {
    available.push_back(str_cat(key.second, " on ", key.first));
  }
  throw InvalidArgument(type_, ": no kernel for ", dtype, " on ", device,
                        "; it has: ", join(available));
}

std::vector<OpDesc> OpDef::grad_ops(GradContext& context) const {
  if (not_differentiable_) return {};
  require(grad_ != nullptr, type_, ": has no gradient; stop the gradient at its inputs",
          " (stop_gradient = True, or no_grad_set)");
  std::vector<OpDesc> ops = grad_(context);
  for (OpDesc& op : ops) op.set_call_site(context.forward().call_site());
  return ops;
}

std::size_t all_but_last_dim(const InferContext& context, std::string_view slot) {
  const std::size_t rank = context.input(slot).shape.rank();
  return rank > 0 ? rank - 1 : 0;
}

std::size_t all_dims(const InferContext& context, std::string_view slot) {
  const Shape& shape = context.input(slot).shape;
  bool is_alike = true;
  context.each_input([&](const TensorSpec& other) { is_alike &= other.shape == shape; });
  return is_alike ? shape.rank() : 0;
}

InferFn same_as(std::string slot) {
  return [slot = std::move(slot)](InferContext& context) {
    context.set_output("Out", context.input(slot));
  };
}

void infer_grads_like_inputs(InferContext& context) {
  context.each_output([&context](const std::string& slot, std::size_t index) {
    const std::string_view forward = std::string_view(slot).substr(0, slot.find(kGradSuffix));
    if (context.has_input(forward)) context.set_output(slot, context.input(forward, index), index);
  });
}

}  // namespace fluidcore
