#include <cstring>
#include <utility>

#include "fluidcore/ops/bytes.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

// The rows of a tensor, in two groups: those where Mask is true, and the others.
class MaskedRows {
 public:
  MaskedRows(const KernelContext& context, const TensorSpec& whole)
      : mask_(context.input<bool>("Mask")),
        count_(mask_.size()),
        bytes_(bytes_of({Shape({whole.shape.begin() + 1, whole.shape.end()}), whole.dtype})) {}

  std::int64_t count_true() const {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < count_; ++i) count += mask_.data()[i] ? 1 : 0;
    return count;
  }

  // Copies every row of `whole` to the next place in its group; a group may be absent.
  void split(const void* whole, void* if_true, void* if_false) const {
    const auto* from = static_cast<const std::byte*>(whole);
    auto* next_true = static_cast<std::byte*>(if_true);
    auto* next_false = static_cast<std::byte*>(if_false);
    if (bytes_ == 0) return;
    for (std::int64_t i = 0; i < count_; ++i, from += bytes_) {
      std::byte*& to = mask_.data()[i] ? next_true : next_false;
      if (to == nullptr) continue;
      std::memcpy(to, from, static_cast<std::size_t>(bytes_));
      to += bytes_;
    }
  }

  // Puts every row of the groups where it belongs; rows of an absent group are zero.
  void merge(const void* if_true, const void* if_false, void* whole) const {
    auto* to = static_cast<std::byte*>(whole);
    const auto* next_true = static_cast<const std::byte*>(if_true);
    const auto* next_false = static_cast<const std::byte*>(if_false);
    if (bytes_ == 0) return;
    for (std::int64_t i = 0; i < count_; ++i, to += bytes_) {
      const std::byte*& from = mask_.data()[i] ? next_true : next_false;
      if (from == nullptr) {
        std::memset(to, 0, static_cast<std::size_t>(bytes_));
      } else {
        std::memcpy(to, from, static_cast<std::size_t>(bytes_));
        from += bytes_;
      }
    }
  }

  // Throws InvalidArgument unless a group has as many rows as Mask says.
  void check(const char* who, const char* slot, std::int64_t rows, bool value) const {
    const std::int64_t trues = count_true();
    const std::int64_t wanted = value ? trues : count_ - trues;
    require(rows == wanted, who, ": ", slot, " must have a row for each ", value,
            " element of Mask, got ", rows, " rows, ", wanted, " elements");
  }

 private:
  Arg<const bool> mask_;
  std::int64_t count_;
  std::int64_t bytes_;  // of a row
};

Kernel split_rows(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const auto if_true = optional_raw_output(context, "OutTrue");
  const auto if_false = optional_raw_output(context, "OutFalse");
  return [=, rows = MaskedRows(context, x.spec()), expected = context.extents_from_data()] {
    const Shape count{rows.count_true()};
    if (count != expected) throw ExtentsChanged(count);
    rows.split(x.data(), data_or_null(if_true), data_or_null(if_false));
  };
}

// One group of rows that goes in, or may be absent.
struct Group {
  Group(const KernelContext& context, const char* slot_name, bool mask_value)
      : slot(slot_name), value(mask_value) {
    if (context.has_input(slot)) rows = context.raw_input(slot);
  }
  const void* data(const MaskedRows& all, const char* who) const {
    if (!rows) return nullptr;
    all.check(who, slot, rows.shape()[0], value);
    require(rows.is_set() || rows.size() == 0, who, ": ", slot, " must be written before it is ",
            "read, got a block that was not run");
    return rows.data();
  }

  const char* slot;
  bool value;
  Arg<const void> rows;
};

Kernel merge_kernel(const KernelContext& context,
                    const char* who,
                    const Group& if_true,
                    const Group& if_false,
                    Arg<void> whole) {
  return [=, rows = MaskedRows(context, whole.spec())] {
    const void* trues = if_true.data(rows, who);
    rows.merge(trues, if_false.data(rows, who), whole.data());
  };
}

Kernel merge_rows(const KernelContext& context) {
  return merge_kernel(context, "merge_lod_tensor", Group(context, "InTrue", true),
                      Group(context, "InFalse", false), context.raw_output("Out"));
}

Kernel split_rows_grad(const KernelContext& context) {
  if (!context.has_output("X@GRAD")) return nothing_to_do();
  return merge_kernel(context, "split_lod_tensor_grad", Group(context, "OutTrue@GRAD", true),
                      Group(context, "OutFalse@GRAD", false), context.raw_output("X@GRAD"));
}

Kernel merge_rows_grad(const KernelContext& context) {
  const auto dout = context.raw_input("Out@GRAD");
  const auto if_true = optional_raw_output(context, "InTrue@GRAD");
  const auto if_false = optional_raw_output(context, "InFalse@GRAD");
  return [=, rows = MaskedRows(context, dout.spec())] {
    if (if_true) rows.check("merge_lod_tensor_grad", "InTrue", if_true.shape()[0], true);
    if (if_false) rows.check("merge_lod_tensor_grad", "InFalse", if_false.shape()[0], false);
    rows.split(dout.data(), data_or_null(if_true), data_or_null(if_false));
  };
}

void require_rows(const InferContext& context, const char* slot) {
  const Shape& shape = context.input(slot).shape;
  require(shape.rank() > 0, context.type(), ": ", slot, " must have rows, got a scalar");
}

// The number of rows that Mask decides on.
std::int64_t rows_of_mask(const InferContext& context) {
  require_dtype(context, "Mask", DType::kBool);
  const Shape& mask = context.input("Mask").shape;
  require(mask.rank() == 1 || (mask.rank() == 2 && compatible(mask[1], 1)), context.type(),
          ": Mask must be [N] or [N, 1], got ", mask);
  return mask[0];
}

// N rows, like those of `slot`.
TensorSpec rows_like(const InferContext& context, const char* slot, std::int64_t rows) {
  require_rows(context, slot);
  TensorSpec spec = context.input(slot);
  spec.shape[0] = rows;
  return spec;
}

void infer_split_rows(InferContext& context) {
  const std::int64_t mask = rows_of_mask(context);
  require_rows(context, "X");
  const std::int64_t known = context.input("X").shape[0];
  require(compatible(mask, known), "split_lod_tensor: Mask must have an element for each row of X,",
          " got Mask ", context.input("Mask"), ", X ", context.input("X"));
  const std::int64_t rows = known == -1 ? mask : known;
  const std::int64_t trues = context.extents_from_data().value_or(Shape{-1})[0];
  context.set_output("OutTrue", rows_like(context, "X", trues));
  context.set_output("OutFalse",
                     rows_like(context, "X", trues == -1 || rows == -1 ? -1 : rows - trues));
}

// Checks that the two groups have rows of one kind, and gives all of them together.
TensorSpec merged_spec(const InferContext& context,
                       const char* if_true,
                       const char* if_false,
                       std::int64_t rows) {
  const char* slot = context.has_input(if_true) ? if_true : if_false;
  require(context.has_input(slot), context.type(), ": ", if_true, " or ", if_false,
          " must be given, got nothing");
  TensorSpec merged = rows_like(context, slot, rows);
  if (!context.has_input(if_false)) return merged;
  const TensorSpec other = rows_like(context, if_false, rows);
  if (context.has_input(if_true)) {
    const std::int64_t trues = context.input(if_true).shape[0];
    const std::int64_t falses = context.input(if_false).shape[0];
    require(rows == -1 || trues == -1 || falses == -1 || trues + falses == rows, context.type(),
            ": ", if_true, " and ", if_false, " must have shapes with ", rows,
            " rows together, one for each element of Mask, got ", context.input(if_true), " and ",
            context.input(if_false));
  }
  require(other.dtype == merged.dtype && compatible(other.shape, merged.shape), context.type(),
          ": ", if_true, " and ", if_false, " must have rows of one shape and dtype, got ",
          context.input(slot), " and ", context.input(if_false));
  for (std::size_t d = 0; d < merged.shape.rank(); ++d) {
    if (merged.shape[d] == -1) merged.shape[d] = other.shape[d];
  }
  return merged;
}

void infer_merge(InferContext& context) {
  const std::int64_t mask = rows_of_mask(context);
  require_rows(context, "X");
  const std::int64_t known = context.input("X").shape[0];
  require(compatible(mask, known), "merge_lod_tensor: Mask must have an element for each row of X,",
          " got Mask ", context.input("Mask"), ", X ", context.input("X"));
  context.set_output("Out", merged_spec(context, "InTrue", "InFalse", known == -1 ? mask : known));
}

std::vector<OpDesc> split_to_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  SlotMap inputs = {{"Mask", context.input("Mask")}};
  for (const char* slot : {"OutTrue", "OutFalse"}) {
    std::vector<std::string> names = context.output_grad(slot);
    if (!names.empty() && names[0] != kEmptyName) inputs[grad_name(slot)] = std::move(names);
  }
  if (inputs.size() == 1) return {};
  return {OpDesc("split_lod_tensor_grad", std::move(inputs), {{"X@GRAD", grads}})};
}

std::vector<OpDesc> split_grad_to_grad(GradContext& context) {
  SlotMap outputs;
  for (const char* slot : {"OutTrue", "OutFalse"}) {
    if (context.input(grad_name(slot)).empty()) {
      outputs[slot] = {std::string(kEmptyName)};
    } else {
      outputs[slot] = context.input_grad(grad_name(slot));
    }
  }
  return {OpDesc("split_lod_tensor",
                 {{"X", context.output_grad("X@GRAD")}, {"Mask", context.input("Mask")}},
                 std::move(outputs))};
}

std::vector<OpDesc> merge_to_grad(GradContext& context) {
  return {OpDesc("merge_lod_tensor_grad",
                 {{"Mask", context.input("Mask")},
                  {"InTrue", context.input("InTrue")},
                  {"InFalse", context.input("InFalse")},
                  {"Out@GRAD", context.output_grad("Out")}},
                 {{"InTrue@GRAD", context.input_grad("InTrue")},
                  {"InFalse@GRAD", context.input_grad("InFalse")}})};
}

// As merge_lod_tensor, but one of the two may be absent.
std::vector<OpDesc> merge_grad_to_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("Out@GRAD");
  if (grads[0] == kEmptyName) return {};
  SlotMap inputs = {{"Mask", context.input("Mask")}};
  for (const auto& [slot, cotangent] :
       {std::pair{"InTrue@GRAD", "OutTrue@GRAD"}, std::pair{"InFalse@GRAD", "OutFalse@GRAD"}}) {
    std::vector<std::string> names = context.output_grad(slot);
    if (!names.empty() && names[0] != kEmptyName) inputs[cotangent] = std::move(names);
  }
  if (inputs.size() == 1) return {};
  return {OpDesc("split_lod_tensor_grad", std::move(inputs), {{"X@GRAD", grads}})};
}

constexpr const char* kMaskDoc = "bool [N] or [N, 1]: which rows belong to the first group";
constexpr const char* kLevelDoc = "accepted; rows are always those of dimension 0";

void add_split_rows(OpRegistry& registry) {
  registry.add(OpDef("split_lod_tensor")
                   .doc("OutTrue = the rows of X where Mask is true, OutFalse = the other rows.")
                   .input("X", "[N, ...]")
                   .input("Mask", kMaskDoc)
                   .output("OutTrue", "as many rows as Mask has true elements")
                   .output("OutFalse", "the rest of the rows")
                   .attr("level", std::int64_t{0}, kLevelDoc)
                   .infer(infer_split_rows)
                   .kernels(byte_kernels(split_rows))
                   .grad(split_to_grad)
                   .extents_from_data());
  registry.add(OpDef("split_lod_tensor_grad")
                   .doc("X@GRAD = the rows of OutTrue@GRAD where Mask is true, those of "
                        "OutFalse@GRAD elsewhere; 0 for one that is not there.")
                   .input("Mask", kMaskDoc)
                   .input("OutTrue@GRAD", "gradient of OutTrue", {.optional = true})
                   .input("OutFalse@GRAD", "gradient of OutFalse", {.optional = true})
                   .output("X@GRAD", "gradient of X, shape of X")
                   .infer([](InferContext& context) {
                     context.set_output("X@GRAD",
                                        merged_spec(context, "OutTrue@GRAD", "OutFalse@GRAD",
                                                    rows_of_mask(context)));
                   })
                   .kernels(byte_kernels(split_rows_grad))
                   .grad(split_grad_to_grad)
                   .checks_data());
}

void add_merge_rows(OpRegistry& registry) {
  registry.add(
      OpDef("merge_lod_tensor")
          .doc("Out = the next row of InTrue where Mask is true, the next of InFalse elsewhere.")
          .input("X", "[N, ...], what was split", {.shape_only = true})
          .input("Mask", kMaskDoc)
          .input("InTrue", "as many rows as Mask has true elements", {.may_be_unset = true})
          .input("InFalse", "the rest of the rows", {.may_be_unset = true})
          .output("Out", "[N, ...], rows like those of InTrue and InFalse")
          .attr("level", std::int64_t{0}, kLevelDoc)
          .infer(infer_merge)
          .kernels(byte_kernels(merge_rows))
          .grad(merge_to_grad)
          .mixed_dtypes()
          .checks_data());
  registry.add(OpDef("merge_lod_tensor_grad")
                   .doc("InTrue@GRAD = the rows of Out@GRAD where Mask is true, InFalse@GRAD = the "
                        "other rows.")
                   .input("Mask", kMaskDoc)
                   .input("InTrue", "input of the forward operator", {.shape_only = true})
                   .input("InFalse", "input of the forward operator", {.shape_only = true})
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("InTrue@GRAD", "gradient of InTrue, shape of InTrue")
                   .output("InFalse@GRAD", "gradient of InFalse, shape of InFalse")
                   .infer([](InferContext& context) {
                     require_spec(context, "Out@GRAD",
                                  merged_spec(context, "InTrue", "InFalse", rows_of_mask(context)));
                     for (const char* slot : {"InTrue", "InFalse"}) {
                       require(context.has_input(slot) || !context.has_output(grad_name(slot)),
                               context.type(), ": ", slot, " must be given where its gradient is ",
                               "wanted, got nothing");
                     }
                     infer_grads_like_inputs(context);
                   })
                   .kernels(byte_kernels(merge_rows_grad))
                   .grad(merge_grad_to_grad)
                   .checks_data());
}

}  // namespace

void register_row_ops(OpRegistry& registry) {
  add_split_rows(registry);
  add_merge_rows(registry);
}

}  // namespace fluidcore
