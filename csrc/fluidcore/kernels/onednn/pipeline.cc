#include "fluidcore/kernels/onednn/pipeline.h"
#include "fluidcore/base/division.h"

#include <cstddef>
#include <utility>

namespace fluidcore::onednn {

Pipeline::Pipeline(ScratchPtr scratch)
    : engine_(dnnl::engine::kind::cpu, 0),
      stream_(engine_),
      threads_(num_threads()),
      owns_scratch_(scratch == nullptr),
      scratch_(scratch ? std::move(scratch) : std::make_shared<Scratch>()) {
}

dnnl::memory Pipeline::external(const dnnl::memory::desc& desc) {
  externals_.push_back(dnnl::memory(desc, engine_, nullptr));
  return externals_.back();
}

dnnl::memory Pipeline::temporary(const dnnl::memory::desc& desc) {
  constexpr std::size_t kAlignment = 64;
  const std::size_t offset = end_;
  end_ += round_up(desc.get_size(), kAlignment);
  return place(desc, offset);
}

dnnl::memory Pipeline::place(const dnnl::memory::desc& desc, std::size_t offset) {
  scratch_->reserve(offset + desc.get_size());
  placed_.push_back({dnnl::memory(desc, engine_, nullptr), offset});
  return placed_.back().memory;
}

void Pipeline::point_to_scratch() {
  std::byte* const base = scratch_->data();
  if (base == pointed_) return;
  for (const Placed& placed : placed_) placed.memory.set_data_handle(base + placed.offset);
  pointed_ = base;
}

void Pipeline::add(const dnnl::primitive& primitive,
                   const dnnl::memory::desc& scratchpad,
                   const std::vector<std::pair<int, dnnl::memory>>& arguments) {
  Step step;
  step.primitive = primitive;
  const auto add_argument = [&](int index, const dnnl::memory& memory) {
    step.memories.push_back(memory);
    step.arguments.push_back({index, memory.get()});
  };
  for (const auto& [index, memory] : arguments) add_argument(index, memory);
  if (scratchpad.get_size() > 0) add_argument(DNNL_ARG_SCRATCHPAD, temporary(scratchpad));
  if (owns_scratch_) scratch_->data();
  steps_.push_back(std::move(step));
}

dnnl::memory Pipeline::converted(const dnnl::memory& memory, const dnnl::memory::desc& wanted) {
  if (memory.get_desc() == wanted) return memory;
  const dnnl::memory result = temporary(wanted);
  copy(memory, result);
  return result;
}

dnnl::memory Pipeline::kept(const dnnl::memory& weights, const dnnl::memory::desc& wanted) {
  if (weights.get_desc() == wanted) return weights;
  const dnnl::memory result(wanted, engine_);
  copy(weights, result);
  steps_.back().is_of_weights = true;
  return result;
}

void Pipeline::copy(const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc desc(from, to, with_scratchpad());
  add(dnnl::reorder(desc), desc.scratchpad_desc(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void Pipeline::run(std::initializer_list<const void*> addresses, std::uint64_t version) {
  std::size_t index = 0;
  for (const void* address : addresses) {
    const dnnl::memory& memory = externals_[index++];
    if (memory.get_data_handle() != address) memory.set_data_handle(const_cast<void*>(address));
  }
  point_to_scratch();
  const ThreadCountScope scope(threads_);
  const bool has_weights = version != 0 && std::exchange(version_, 0) == version;
  for (const Step& step : steps_) {
    if (has_weights && step.is_of_weights) continue;
    // The C function, because the C++ one copies the arguments into a new vector.
    const dnnl_status_t status =
        dnnl_primitive_execute(step.primitive.get(), stream_.get(),
                               static_cast<int>(step.arguments.size()), step.arguments.data());
    if (status != dnnl_success)
      throw Error("oneDNN: must run, got its status ", static_cast<int>(status));
  }
  version_ = version;
}

dnnl::primitive_attr with_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

}  // namespace fluidcore::onednn
