#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/base/device.h"
#include "fluidcore/base/shape.h"
#include "fluidcore/op/random_stream.h"
#include "fluidcore/op/sub_block.h"
#include "fluidcore/program/attribute.h"
#include "fluidcore/program/op_desc.h"
#include "fluidcore/tensor/device_context.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore {

class OpDef;

// What shape inference and kernels share: an operator's slots by name, and its attributes.
// `Value` is what is known of one variable.
template <class Value>
class SlotContext {
 public:
  using Slots = std::map<std::string, std::vector<Value>, std::less<>>;

  SlotContext(const OpDesc& op, Slots inputs, Slots outputs)
      : op_(op), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

  const std::string& type() const { return op_.type(); }

  // A slot that was left out, or an output that nobody wants (@EMPTY@), is not there.
  bool has_input(std::string_view slot) const { return count(inputs_, slot) > 0; }
  bool has_output(std::string_view slot, std::size_t index = 0) const;
  std::size_t input_count(std::string_view slot) const { return count(inputs_, slot); }
  std::size_t output_count(std::string_view slot) const { return count(outputs_, slot); }

  // Calls f(value) for every input that is there.
  template <class F>
  void each_input(F f) const {
    for (const auto& [slot, values] : inputs_) {
      for (const Value& value : values) f(value);
    }
  }
  // Calls f(slot, index) for every output that is there.
  template <class F>
  void each_output(F f) const {
    for (const auto& [slot, values] : outputs_) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (has_output(slot, i)) f(slot, i);
      }
    }
  }

  // The attributes were completed and checked when the operator was added to its block.
  template <class T>
  const T& attr(std::string_view name) const {
    return std::get<T>(op_.attr(name));
  }
  const AttributeMap& attrs() const { return op_.attrs(); }

 protected:
  static std::size_t count(const Slots& slots, std::string_view slot) {
    const auto it = slots.find(slot);
    return it == slots.end() ? 0 : it->second.size();
  }
  const Value& find(const Slots& slots, std::string_view slot, std::size_t index) const;

  const OpDesc& op_;
  Slots inputs_;
  Slots outputs_;
};

// Shape and dtype inference: called when an operator is added, with -1 for unknown extents, and
// again with the real extents when a Plan is built.
//
// The spec of a tensor array is that of its elements.
class InferContext : public SlotContext<TensorSpec> {
 public:
  using SlotContext::SlotContext;
  using BlockVariables = std::function<TensorSpec(const std::string&)>;

  // The spec of a variable of the operator's sub-block; throws NotFound when it has none.
  TensorSpec block_variable(const std::string& name) const { return block_variables_(name); }
  void set_block_variables(BlockVariables find) { block_variables_ = std::move(find); }

  // The extents that depend on the data, if they are known; see OpDef::extents_from_data().
  const std::optional<Shape>& extents_from_data() const { return extents_from_data_; }
  void set_extents_from_data(std::optional<Shape> extents) {
    extents_from_data_ = std::move(extents);
  }

  const TensorSpec& input(std::string_view slot, std::size_t index = 0) const {
    return find(inputs_, slot, index);
  }
  // The name of the variable.
  const std::string& input_name(std::string_view slot, std::size_t index) const;
  const TensorSpec& output(std::string_view slot, std::size_t index = 0) const {
    return find(outputs_, slot, index);
  }
  // Does nothing for an output that is not there.
  void set_output(std::string_view slot, TensorSpec spec, std::size_t index = 0);

 private:
  BlockVariables block_variables_;
  std::optional<Shape> extents_from_data_;
};

// A kernel's handle on one variable. Small: a running kernel captures it by value.
template <class T>
class Arg {
 public:
  Arg() = default;
  explicit Arg(const Cell* cell) : cell_(cell) {}

  explicit operator bool() const { return cell_ != nullptr; }
  const Cell* cell() const { return cell_; }
  T* data() const { return static_cast<T*>(cell_->data); }  // valid only while the Plan runs
  const TensorSpec& spec() const { return cell_->spec; }
  const Shape& shape() const { return cell_->spec.shape; }
  std::int64_t size() const { return cell_->spec.shape.num_elements(); }
  bool has_rows() const { return cell_->spec.rows.has_value(); }  // selected rows, not a tensor
  // False while nothing was written to it; only of a slot that may be unset.
  bool is_set() const { return cell_->is_set == nullptr || *cell_->is_set; }

 private:
  const Cell* cell_ = nullptr;
};

// What a kernel is given when a Plan is built. Names, shapes and attributes are looked up here,
// once; the function that is returned only calculates.
class KernelContext : public SlotContext<const Cell*> {
 public:
  KernelContext(const OpDef& def,
                const OpDesc& op,
                Slots inputs,
                Slots outputs,
                DType dtype,
                const RunState& state,
                std::uint64_t stream,
                SubBlock* block = nullptr,
                std::optional<Shape> extents_from_data = {},
                ScratchPtr scratch = nullptr,
                DeviceContext& device = device_context({}))
      : SlotContext(op, std::move(inputs), std::move(outputs)),
        def_(def),
        dtype_(dtype),
        state_(state),
        stream_(stream),
        block_(block),
        extents_from_data_(std::move(extents_from_data)),
        scratch_(scratch ? std::move(scratch) : std::make_shared<Scratch>()),
        device_(device) {}

  DType dtype() const { return dtype_; }  // the one that chose the kernel

  // What a kernel needs that prepares another one: the operator, its variables, and the same
  // operator on others.
  const OpDef& def() const { return def_; }
  const OpDesc& op() const { return op_; }
  const Slots& inputs() const { return inputs_; }
  const Slots& outputs() const { return outputs_; }
  KernelContext with(DType dtype, Slots inputs, Slots outputs, ScratchPtr scratch) const {
    return {def_,    op_,    std::move(inputs),  std::move(outputs), dtype,  state_,
            stream_, block_, extents_from_data_, std::move(scratch), device_};
  }

  // The same operator on the CPU, with scratch memory of its own.
  KernelContext on_host(Slots inputs, Slots outputs) const {
    return {def_,    op_,    std::move(inputs), std::move(outputs), dtype_, state_,
            stream_, block_, extents_from_data_};
  }

  // Throws InvalidArgument when the variable does not hold T or is an output that is not wanted;
  // NotFound when it is not there.
  template <class T>
  Arg<const T> input(std::string_view slot, std::size_t index = 0) const {
    const Cell* cell = find(inputs_, slot, index);
    check_dtype(slot, cell->spec.dtype, dtype_of<T>);
    return Arg<const T>(cell);
  }
  template <class T>
  Arg<T> output(std::string_view slot, std::size_t index = 0) const {
    const Cell* cell = find_output(slot, index);
    check_dtype(slot, cell->spec.dtype, dtype_of<T>);
    return Arg<T>(cell);
  }
  // As output(), but an empty handle when the output is not wanted.
  template <class T>
  Arg<T> optional_output(std::string_view slot, std::size_t index = 0) const {
    return has_output(slot, index) ? output<T>(slot, index) : Arg<T>();
  }
  // Of any dtype: for kernels that move bytes or depend on two dtypes.
  Arg<const void> raw_input(std::string_view slot, std::size_t index = 0) const {
    return Arg<const void>(find(inputs_, slot, index));
  }
  Arg<void> raw_output(std::string_view slot, std::size_t index = 0) const {
    return Arg<void>(find_output(slot, index));
  }

  // A tensor array; valid as long as the kernel.
  TensorArray& array_input(std::string_view slot) const;
  TensorArray& array_output(std::string_view slot) const;

  // Of an operator that runs a block: the block, valid as long as the kernel.
  SubBlock& block() const { return *block_; }
  // What the Plan was made for, if anything; see OpDef::extents_from_data().
  const std::optional<Shape>& extents_from_data() const { return extents_from_data_; }

  // Where the kernel is to work, valid as long as the kernel; its memory is what the arguments of a
  // kernel point to.
  DeviceContext& device() const { return device_; }
  bool is_on_cuda() const { return kHasCuda && !device_.device().is_cpu(); }

  // Memory for one run of the kernel, shared with the other kernels of the Plan.
  const ScratchPtr& scratch() const { return scratch_; }

  // What is known of the run when the kernel runs; valid as long as the kernel.
  const RunState& run_state() const { return state_; }
  // The random numbers of this operator; `seed` is the operator's own attribute, 0 if it has none.
  RandomStream random(std::int64_t seed) const { return {&state_, stream_, seed}; }

 private:
  const Cell* find_output(std::string_view slot, std::size_t index) const;
  void check_dtype(std::string_view slot, DType actual, DType wanted) const;

  const OpDef& def_;
  DType dtype_;
  const RunState& state_;
  std::uint64_t stream_;
  SubBlock* block_;
  std::optional<Shape> extents_from_data_;
  ScratchPtr scratch_;
  DeviceContext& device_;
};

}  // namespace fluidcore
