#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/base/device.h"
#include "fluidcore/op/contexts.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/op/grad_context.h"
#include "fluidcore/op/kernel.h"

namespace fluidcore {

using InferFn = std::function<void(InferContext&)>;

// A kernel in its two stages. The factory is called when a Plan is built: it looks up slots,
// shapes and attributes and prepares what the shapes allow (a oneDNN primitive, a table of
// strides). The function it returns is called once per run and only calculates. One for a device
// may return an empty kernel: it has none for these attributes and variables.
using KernelFactory = std::function<Kernel(const KernelContext&)>;
using KernelKey = std::pair<DeviceKind, DType>;
using KernelTable = std::map<KernelKey, KernelFactory>;

struct SlotTraits {
  bool list = false;          // any number of variables
  bool optional = false;      // may be left out
  bool intermediate = false;  // an output that callers need not ask for
  bool shape_only = false;    // an input whose elements are never read
  std::string read_for = {};  // the only output for which the elements of an input are read
  bool no_gradient = false;   // values pass, gradients do not: of an input none goes out, though
                              // outputs depend on its elements; of an output none comes in
  // Nothing passes that would need a gradient. Outputs depend on an input in jumps only, or it is a
  // function of another input, whose gradient counts it; an output depends on no element.
  bool needs_no_gradient = false;
  // float32 where the other variables have 16 bits: numbers that 16 bits would spoil.
  bool may_be_float32 = false;
  bool array = false;         // a tensor array, changed in place where it is an output
  bool rows = false;          // selected rows or a tensor
  bool only_rows = false;     // selected rows
  bool may_be_unset = false;  // an input that need not have a value, and then is not read
  bool live = false;          // of an operator with a block: read again after each run of it
  bool of_block = false;      // what the sub-block itself reads or writes, listed for readers
};
inline SlotTraits of_sub_block() {
  return {.list = true, .optional = true, .of_block = true};
}

// An operator that runs the block of its attribute `sub_block`. The block reads and writes the
// variables around it by name; the operator itself may hand over others.
struct BlockTraits {
  using Specs = std::vector<std::pair<std::string, TensorSpec>>;

  // Variables of the block that the operator sets before each run. Null: none.
  std::function<Specs(const InferContext&)> given = nullptr;
  // Variables that the operator reads after each run, by the names the block has for them. Null:
  // none. Any other input that the block overwrites stays for the operator what it was before.
  std::function<std::vector<std::string>(const OpDesc&)> results = nullptr;
  // Whether the kernel says where results are to be, as far as they have no memory of their own:
  // SubBlock::place_of().
  bool places_results = false;
  // Whether the block may run again and again: what it only reads is a constant for its kernels.
  bool repeats = false;
};

// How many leading dimensions of the input `slot` number its rows: element [i, ...] of every output
// depends on no elements of the input but [i, ...].
using RowDims = std::function<std::size_t(const InferContext&, std::string_view slot)>;

// Where in an input the elements of an output, of its slot the one at `index`, begin: the number of
// elements before them. None: they do not follow each other there.
using ViewBegin =
    std::function<std::optional<std::int64_t>(const InferContext&, std::size_t index)>;

// The floating-point operations of one run, a product and its addition counted as two.
using CountFlops = std::function<std::int64_t(const InferContext&)>;

// Everything fluidcore knows about one operator, declared in one place:
//
//   registry.add(OpDef("relu")
//                    .doc("Out = max(X, 0), element by element.")
//                    .input("X", "any shape, floating")
//                    .output("Out", "shape and dtype of X")
//                    .infer(same_as("X"))
//                    .kernels(unary_kernels<Relu>())
//                    .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
class OpDef {
 public:
  struct Slot {
    std::string name;
    std::string doc;
    SlotTraits traits;
  };
  struct Attr {
    std::string name;
    Attribute default_value;  // gives the type also where a value is required
    std::string doc;
    bool required = false;
    std::vector<std::string> choices = {};  // of a str; empty: any
  };

  struct View {
    std::string input;
    std::string output;
    ViewBegin begin;  // null: where both have as many elements, all of them
  };

  // Variables that are images [N, C, ...], or [N, ..., C] where the attribute says so.
  struct Images {
    std::string attr;
    std::string last;  // its value for channels that come last
    std::vector<std::string> slots;
    std::string filter = {};  // the slot of filters [M, ...] for which that is faster
  };

  explicit OpDef(std::string type) : type_(std::move(type)) {}

  OpDef&& doc(std::string text) &&;
  OpDef&& input(std::string name, std::string doc, SlotTraits traits = {}) &&;
  OpDef&& output(std::string name, std::string doc, SlotTraits traits = {}) &&;
  OpDef&& attr(std::string name,
               Attribute default_value,
               std::string doc,
               std::vector<std::string> choices = {}) &&;
  OpDef&& required_attr(std::string name,
                        Attribute example,
                        std::string doc,
                        std::vector<std::string> choices = {}) &&;
  OpDef&& infer(InferFn infer) &&;
  OpDef&& kernels(KernelTable table) &&;  // adds to what is there
  // Where a device has a kernel for `wide`, `factory` becomes that of each narrow dtype without
  // one.
  void add_kernels_through(DType wide,
                           std::initializer_list<DType> narrow,
                           const KernelFactory& factory);
  OpDef&& grad(GradMaker maker) &&;
  // For an operator without gradient maker: the differentiable operators it stands for.
  OpDef&& decompose(Decompose decompose) &&;
  // The decomposition is made for certain specs of the inputs: Decomposition::spec().
  OpDef&& decompose_by_specs(Decompose decompose) &&;
  // Front ends write the decomposition into a program in the place of the operator.
  OpDef&& stands_for_decomposition() &&;
  OpDef&& not_differentiable() &&;  // append_backward treats the outputs as constants
  OpDef&& runs_block(BlockTraits traits = {}) &&;  // declares the attribute sub_block
  // Extents of the outputs depend on the data, if `slot` is not empty where this input is given:
  // `infer` finds them in the context, leaves them -1 where they are not known, and the kernel
  // throws ExtentsChanged when it meets others.
  OpDef&& extents_from_data(std::string slot = {}) &&;
  // The output is what the run is fed: the operator itself never runs.
  OpDef&& stands_for_feed() &&;
  OpDef&& random() &&;  // draws random numbers: calculating it again would give others
  // The kernel is right when the variable of `input` is also that of `output`, in one memory.
  // Where the user writes one variable in both without this, the output gets memory of its own.
  OpDef&& in_place(std::string input, std::string output) &&;
  // The output has elements of the input, in the same order, from `begin` on; without it, all of
  // them where it has as many. A Plan may let it be in the input's memory, and then asks the kernel
  // for the other outputs only. An array has the elements of its last one: before the operator runs
  // as an input, then as an output.
  OpDef&& view(std::string input, std::string output, ViewBegin begin = nullptr) &&;
  OpDef&& mixed_dtypes() &&;  // floating inputs may differ in dtype
  OpDef&& checks_data() &&;   // a kernel may throw when it sees the data
  // Rows of an input that do not depend on each other can be differentiated at once.
  OpDef&& row_dims(RowDims dims) &&;
  OpDef&& flops(CountFlops count) &&;
  // The rows are the elements, where all inputs have one shape; an element of an output depends on
  // what it is made of, and not on where it is.
  OpDef&& elementwise() &&;
  OpDef&& images(Images images) &&;
  // The attribute numbers dimensions, one or several, from the end if negative. Otherwise they are
  // alike: they may come in another order, in all variables of two or more.
  OpDef&& dims_attr(std::string attr) &&;

  const std::string& type() const { return type_; }
  const std::string& doc() const { return doc_; }
  const std::vector<Slot>& inputs() const { return inputs_; }
  const std::vector<Slot>& outputs() const { return outputs_; }
  const std::vector<Attr>& attrs() const { return attrs_; }
  const KernelTable& kernels() const { return kernels_; }
  bool has_grad() const { return grad_ != nullptr || decompose_ != nullptr; }
  bool has_grad_maker() const { return grad_ != nullptr; }
  bool has_decomposition() const { return decompose_ != nullptr; }
  const Decompose& decomposition() const { return decompose_; }  // may be null
  bool decomposes_by_specs() const { return decomposes_by_specs_; }
  bool is_its_decomposition() const { return stands_for_decomposition_; }
  const BlockTraits* block_traits() const { return block_traits_ ? &*block_traits_ : nullptr; }
  bool has_extents_from_data(const OpDesc& op) const;
  bool is_feed() const { return stands_for_feed_; }
  bool is_random() const { return random_; }
  bool is_elementwise() const { return elementwise_; }
  const std::optional<Images>& images() const { return images_; }
  const std::string& dims_attr() const { return dims_attr_; }  // empty: none
  bool is_constant() const { return not_differentiable_; }
  bool may_throw() const { return checks_data_; }
  // True when an input's elements are not read, for this operator with the outputs it has.
  bool reads_only_shape(const OpDesc& op, const Slot& input) const;
  bool is_in_place(std::string_view input, std::string_view output) const;
  const View* find_view(std::string_view output) const;  // null: none
  const Slot* find_input(std::string_view name) const;
  const Slot* find_output(std::string_view name) const;

  // Checks slots and attributes of `op` and fills in the defaults. Throws InvalidArgument for a
  // missing slot, a wrong number of variables, one variable in two outputs, a wrong type; NotFound
  // for an unknown slot or attribute, naming the nearest.
  void complete(OpDesc& op) const;
  // Sets the specs of the outputs. Throws InvalidArgument for shapes or dtypes that do not fit.
  void infer(InferContext& context) const;
  // How many rows of the input `slot` do not depend on each other; 0: nothing is known.
  std::int64_t num_rows(const InferContext& context, std::string_view slot) const;
  // 0: nothing is known. The context has the outputs' specs.
  std::int64_t flops(const InferContext& context) const { return flops_ ? flops_(context) : 0; }
  // The dtype that chooses the kernel: of the first floating input, else of the first input, else
  // of the first output.
  DType kernel_dtype(const InferContext& context) const;
  // Throws InvalidArgument if no device has a kernel for `dtype`, listing what there is.
  void check_dtype(DType dtype) const;
  // Throws InvalidArgument if there is none, listing what there is.
  KernelFactory kernel(DeviceKind device, DType dtype) const;
  // What the gradient maker gives; OpRegistry::grad_ops() also knows decompositions. Throws
  // InvalidArgument for an operator without gradient maker, naming the cure.
  std::vector<OpDesc> grad_ops(GradContext& context) const;

 private:
  void check_slots(const SlotMap& given,
                   const std::vector<Slot>& slots,
                   std::string_view kind) const;
  AttributeMap complete_attrs(const AttributeMap& given) const;
  void check_rows(const InferContext& context) const;

  std::string type_;
  std::string doc_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  std::vector<Attr> attrs_;
  InferFn infer_;
  RowDims row_dims_;
  CountFlops flops_;
  KernelTable kernels_;
  GradMaker grad_;
  std::vector<std::pair<std::string, std::string>> in_place_;
  std::vector<View> views_;
  Decompose decompose_;
  bool decomposes_by_specs_ = false;
  bool stands_for_decomposition_ = false;
  std::optional<BlockTraits> block_traits_;
  bool not_differentiable_ = false;
  std::optional<std::string> extents_from_data_;  // the input; empty: always
  bool stands_for_feed_ = false;
  bool random_ = false;
  bool elementwise_ = false;
  std::optional<Images> images_;
  std::string dims_attr_;
  bool mixed_dtypes_ = false;
  bool checks_data_ = false;
};

// Of an operator that maps the last dimension: all others number its rows.
std::size_t all_but_last_dim(const InferContext& context, std::string_view slot);
// Of one where each element is a row, where all inputs have one shape.
std::size_t all_dims(const InferContext& context, std::string_view slot);

// Inference: every output has the spec of the first variable of input `slot`.
InferFn same_as(std::string slot);

// Inference of gradient operators: the output "S@GRAD" has the specs of the input slot "S".
void infer_grads_like_inputs(InferContext& context);

}  // namespace fluidcore
