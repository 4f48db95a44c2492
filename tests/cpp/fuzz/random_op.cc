#include "fuzz/random_op.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "fuzz/documented_shapes.h"

namespace fluidcore {

namespace {

std::string name_of(const std::string& slot, std::size_t index) {
  return str_cat(slot, index);
}

}  // namespace

OpDesc RandomOp::desc() const {
  SlotMap in;
  SlotMap out;
  for (const auto& [slot, specs] : inputs) {
    for (std::size_t i = 0; i < specs.size(); ++i) in[slot].push_back(name_of(slot, i));
  }
  for (const OpDef::Slot& slot : definition->outputs()) {
    out[slot.name] = {name_of(slot.name, 0)};
    // An array that goes in comes out as the same variable.
    for (const OpDef::Slot& given : definition->inputs()) {
      if (slot.traits.array && given.traits.array) out[slot.name] = in[given.name];
    }
  }
  // As many outputs as the operator names parts, or as it has inputs.
  for (const OpDef::Slot& slot : definition->outputs()) {
    if (!slot.traits.list || inputs.empty()) continue;
    for (std::size_t i = 1; i < inputs.begin()->second.size(); ++i) {
      out[slot.name].push_back(name_of(slot.name, i));
    }
  }
  return OpDesc(definition->type(), in, out, attrs);
}

std::string to_string(const RandomOp& op) {
  std::string text = op.definition->type();
  for (const auto& [slot, specs] : op.inputs) {
    for (const TensorSpec& spec : specs) {
      text += str_cat(" ", slot, " ", spec);
    }
  }
  for (const auto& [name, value] : op.attrs) text += str_cat(" ", name, "=", to_string(value));
  return text;
}

Drawing::Extents Drawing::extents() {
  Extents extents;
  for (std::int64_t rank = below(6); rank > 0; --rank) {
    extents.push_back(one_in(12) ? 0 : 1 + below(4));
  }
  return extents;
}

// The same, most of the time.
Drawing::Extents Drawing::like(Extents given) {
  if (given.empty()) return one_in(3) ? extents() : given;
  switch (below(10)) {
    case 0: return extents();
    case 1: given.pop_back(); return given;
    case 2: given.erase(given.begin()); return given;
    case 3: any_of(given) = 1 + below(3); return given;
    case 4: return {any_of(given)};
    default: return given;
  }
}

DType Drawing::dtype() {
  constexpr std::array kDTypes{DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                               DType::kBool,    DType::kInt16,   DType::kInt32,   DType::kInt64};
  return kDTypes[static_cast<std::size_t>(below(one_in(2) ? 2 : std::ssize(kDTypes)))];
}

std::int64_t Drawing::integer(bool wild) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr std::array kExtremes{Limits::min(),         Limits::max(),
                                 Limits::max() / 2 + 1, std::int64_t{1} << 31,
                                 std::int64_t{1} << 40, -(std::int64_t{1} << 32)};
  if (wild) return one_in(4) ? any_of(kExtremes) : below(9) - 4;
  return below(4);
}

double Drawing::number(bool wild) {
  using Limits = std::numeric_limits<double>;
  constexpr std::array kExtremes{0.0,
                                 -0.0,
                                 Limits::infinity(),
                                 -Limits::infinity(),
                                 Limits::quiet_NaN(),
                                 Limits::max(),
                                 Limits::denorm_min()};
  if (wild && one_in(4)) return any_of(kExtremes);
  return static_cast<double>(below(4001) - 2000) / 1000;
}

void Drawing::set(RandomOp& op, const OpDef::Attr& attr) {
  const bool wild = one_in(8);
  if (!attr.choices.empty() && !one_in(10)) {
    op.attrs[attr.name] = any_of(attr.choices);
    return;
  }
  const auto list = [&](auto draw) {
    std::vector<std::decay_t<decltype(draw())>> values;
    for (std::int64_t count = below(5); count > 0; --count) values.push_back(draw());
    return values;
  };
  Attribute value = attr.default_value;
  std::visit(
      [&](auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, bool>)
          held = one_in(2);
        else if constexpr (std::is_same_v<T, std::int64_t>)
          held = integer(wild);
        else if constexpr (std::is_same_v<T, double>)
          held = number(wild);
        else if constexpr (std::is_same_v<T, std::string>)
          held = one_in(2) ? "" : "sum";
        else if constexpr (std::is_same_v<T, std::vector<bool>>)
          held = list([&] { return one_in(2); });
        else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
          held = list([&] { return integer(wild); });
        else if constexpr (std::is_same_v<T, std::vector<double>>)
          held = list([&] { return number(wild); });
      },
      static_cast<Attribute::variant&>(value));
  op.attrs[attr.name] = value;
}

RandomOp Drawing::draw(const OpDef& definition) {
  RandomOp op{&definition};
  const auto may_hold_rows = [](const OpDef::Slot& slot) {
    return slot.traits.rows || slot.traits.only_rows;
  };
  const bool has_rows = std::ranges::any_of(definition.inputs(), may_hold_rows);
  const Extents base = has_rows && !one_in(4) ? Extents{1 + below(4), 1 + below(4)} : extents();
  const Extents vector = {base.empty() ? 1 : any_of(base)};
  const bool agree = one_in(3);
  const bool as_documented = one_in(3);
  DocumentedShapes documented(definition, [this] { return one_in(12) ? 0 : 1 + below(4); });
  const bool by_default = one_in(2);
  const DType chosen = dtype();
  std::vector<TensorSpec> rows;  // the specs of those that are selected rows
  for (const OpDef::Slot& slot : definition.inputs()) {
    if (slot.traits.optional && one_in(2)) continue;
    for (std::int64_t count = slot.traits.list ? 1 + below(3) : 1; count > 0; --count) {
      const std::optional<Extents> known = as_documented ? documented.of(slot.name) : std::nullopt;
      TensorSpec spec{Shape(known   ? *known
                            : agree ? base
                                    : like(one_in(3) ? vector : base)),
                      one_in(4) && !agree ? dtype() : chosen};
      if (as_documented && documented.is_integral(slot.name)) spec.dtype = DType::kInt64;
      const bool is_table = spec.shape.rank() == 2 && is_floating(spec.dtype);
      if (is_table && may_hold_rows(slot) && (slot.traits.only_rows || one_in(2))) {
        spec.rows = below(5);
      }
      if (may_hold_rows(slot) && !rows.empty() && !one_in(4)) spec = rows.front();
      if (spec.rows) rows.push_back(spec);
      op.inputs[slot.name].push_back(spec);
    }
  }
  for (const OpDef::Attr& attr : definition.attrs()) {
    if (attr.required || (!by_default && one_in(3))) set(op, attr);
  }
  return op;
}

RandomOp Drawing::change(RandomOp op) {
  const std::vector<OpDef::Attr>& attrs = op.definition->attrs();
  if (!attrs.empty() && (op.inputs.empty() || one_in(2))) {
    set(op, any_of(attrs));
    return op;
  }
  if (op.inputs.empty()) return op;
  auto& [slot, specs] = *std::next(op.inputs.begin(), below(std::ssize(op.inputs)));
  TensorSpec& spec = any_of(specs);
  const TensorSpec& other =
      any_of(std::next(op.inputs.begin(), below(std::ssize(op.inputs)))->second);
  if (spec.rows && one_in(2))
    spec.rows = below(5);
  else if (one_in(3))
    spec.dtype = one_in(2) ? dtype() : other.dtype;
  else if (one_in(3))
    spec.shape = Shape(like(other.shape.extents()));
  else
    spec.shape = Shape(like(spec.shape.extents()));
  if (spec.shape.rank() != 2 || !is_floating(spec.dtype)) spec.rows = std::nullopt;
  return op;
}

Tensor Drawing::values(const TensorSpec& spec) {
  Tensor tensor(spec);
  const bool wild = one_in(4);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    visit_dtype(spec.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T& element = tensor.data<T>()[i];
      if constexpr (std::is_same_v<T, bool>)
        element = one_in(2);
      else if constexpr (std::is_integral_v<T>)
        element = static_cast<T>(integer(wild));
      else
        element = static_cast<T>(static_cast<ComputeType<T>>(number(wild)));
    });
  }
  return tensor;
}

}  // namespace fluidcore
