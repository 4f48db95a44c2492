#include <algorithm>
#include <utility>

#include "fluidcore/base/bytes.h"
#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/kernels/cuda/gather.h"
#include "fluidcore/ops/bytes.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/row_numbers.h"

namespace fluidcore {

namespace {

// The rows of Ref that Index names, and for each of them the one of Updates that stays.
class Overwritten {
 public:
  explicit Overwritten(const KernelContext& context)
      : index_(context, "Index", {context.raw_input("Ref").shape()[0]}),
        scratch_(context.scratch()) {
    const TensorSpec& ref = context.raw_input("Ref").spec();
    const std::int64_t rows = ref.shape[0];
    shape_ = {1, rows, index_.size(), rows == 0 ? 0 : bytes_of(ref) / rows};
    const std::int64_t count = rows + std::max(rows, shape_.count);
    scratch_->reserve(static_cast<std::size_t>(count) * sizeof(std::int64_t));
  }

  const cpu::IndexedRows& shape() const { return shape_; }
  const RowNumbers& numbers() const { return index_; }

  // On a device: the rows become those of `updates`, zeros where that is null.
  void replace(DeviceContext& device, DType dtype, const void* updates, void* rows) const {
    visit_rows(dtype, [&](auto word, const cuda::LastRows& last) {
      using Word = decltype(word);
      cuda::for_each_group(device, shape_.count, last.shape.width, cuda::ReplaceRows{last},
                           static_cast<const Word*>(updates), static_cast<Word*>(rows));
    });
  }
  // There: the rows that stay in `rows`, zeros for updates that are overwritten.
  void take(DeviceContext& device, DType dtype, const void* rows, void* updates) const {
    visit_rows(dtype, [&](auto word, const cuda::LastRows& last) {
      using Word = decltype(word);
      cuda::for_each_group(device, shape_.count, last.shape.width, cuda::TakeLastRows{last},
                           static_cast<const Word*>(rows), static_cast<Word*>(updates));
    });
  }

  // For each row of Ref the one of Updates that replaces it, -1 where it stays. Valid until the
  // kernel returns.
  cpu::RowIndex updates_of_rows() const {
    cpu::find_last_places(shape_, index_.checked(), last());
    return {last(), true};
  }
  // After updates_of_rows(). The row of Ref that each one of Updates replaces, -1 if a later one
  // does so.
  cpu::RowIndex rows_of_updates() const {
    const cpu::RowIndex rows = index_.checked();
    for (std::int64_t i = 0; i < shape_.count; ++i) {
      moved()[i] = last()[rows[i]] == i ? rows[i] : -1;
    }
    return {moved(), true};
  }
  // After updates_of_rows(). Each row of Ref that stays, -1 for the others.
  cpu::RowIndex rows_that_stay() const {
    for (std::int64_t row = 0; row < shape_.extent; ++row) {
      moved()[row] = last()[row] < 0 ? row : -1;
    }
    return {moved(), true};
  }

 private:
  // f(word, the last numbers), of rows of words.
  template <class F>
  void visit_rows(DType dtype, const F& f) const {
    cpu::IndexedRows shape = shape_;
    shape.width /= static_cast<std::int64_t>(size_of(dtype));
    cuda::visit_word(size_of(dtype),
                     [&](auto word) { f(word, cuda::LastRows{shape, index_.index()}); });
  }

  std::int64_t* last() const { return reinterpret_cast<std::int64_t*>(scratch_->data()); }
  std::int64_t* moved() const { return last() + shape_.extent; }

  RowNumbers index_;
  ScratchPtr scratch_;
  cpu::IndexedRows shape_{};
};

Kernel scatter(const KernelContext& context) {
  const auto ref = context.raw_input("Ref");
  const auto updates = context.raw_input("Updates");
  const auto out = context.raw_output("Out");
  const Overwritten rows(context);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return checked(
          rows.numbers().input(), [=] { rows.numbers().check(); },
          [=, &device = context.device()] {
            if (out.data() != ref.data())
              device.copy(out.data(), ref.data(), byte_size(out.spec()));
            rows.replace(device, out.spec().dtype, updates.data(), out.data());
          });
    }
  }
  return [=, bytes = bytes_of(out.spec())] {
    const cpu::RowIndex found = rows.updates_of_rows();
    copy_bytes(out.data(), ref.data(), bytes);
    cpu::replace_rows(rows.shape(), found, updates.data(), out.data());
  };
}

Kernel scatter_grad(const KernelContext& context) {
  const auto dout = context.raw_input("Out@GRAD");
  const auto dref = optional_raw_output(context, "Ref@GRAD");
  const auto dupdates = optional_raw_output(context, "Updates@GRAD");
  const Overwritten rows(context);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return checked(
          rows.numbers().input(), [=] { rows.numbers().check(); },
          [=, &device = context.device()] {
            const DType dtype = dout.spec().dtype;
            if (dupdates) rows.take(device, dtype, dout.data(), dupdates.data());
            if (!dref) return;
            device.copy(dref.data(), dout.data(), byte_size(dref.spec()));
            rows.replace(device, dtype, nullptr, dref.data());
          });
    }
  }
  return [=] {
    rows.updates_of_rows();
    if (dupdates) {
      cpu::take_rows(rows.shape(), rows.rows_of_updates(), dout.data(), dupdates.data());
    }
    if (dref) {
      cpu::IndexedRows all = rows.shape();
      all.count = all.extent;
      cpu::take_rows(all, rows.rows_that_stay(), dout.data(), dref.data());
    }
  };
}

// Checks Ref, Index and Updates; gives what they make.
TensorSpec scattered(const InferContext& context) {
  const TensorSpec& ref = context.input("Ref");
  const TensorSpec& updates = context.input("Updates");
  const std::int64_t count = count_row_numbers(context, "Index");
  require(ref.shape.rank() > 0, context.type(), ": Ref must have rank 1 or more, got ", ref.shape);
  TensorSpec wanted = ref;
  wanted.shape[0] = count;
  require(updates.dtype == ref.dtype && compatible(updates.shape, wanted.shape), context.type(),
          ": Updates must have a row like those of Ref for each element of Index, got Ref ", ref,
          ", Index ", context.input("Index"), ", Updates ", updates);
  return ref;
}

std::vector<OpDesc> scatter_grad_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("Out@GRAD");
  if (grads[0] == kEmptyName || context.forward().output_arg_names().empty()) return {};
  std::vector<OpDesc> ops;
  SlotMap inputs{{"Index", context.input("Index")}};
  for (const char* slot : {"Ref", "Updates"}) {
    inputs[slot] = output_grads_or_zeros(context, grad_name(slot), slot, ops);
  }
  ops.emplace_back("scatter", std::move(inputs), SlotMap{{"Out", grads}});
  return ops;
}

}  // namespace

void register_scatter_ops(OpRegistry& registry) {
  const char* index_doc = "int32 or int64 [N] or [N, 1], each in [0, rows of Ref)";
  registry.add(
      OpDef("scatter")
          .doc("Out = Ref with the rows that Index names replaced by those of Updates; of several "
               "for one row the last.")
          .input("Ref", "rank 1 or more")
          .input("Index", index_doc)
          .input("Updates", "[N, ...], rows like those of Ref")
          .output("Out", "shape and dtype of Ref")
          .in_place("Ref", "Out")
          .infer([](InferContext& context) { context.set_output("Out", scattered(context)); })
          .kernels(byte_kernels_everywhere(scatter))
          .grad(standard_grad(
              {.inputs = {"Ref", "Index", "Updates"}, .differentiable = {"Ref", "Updates"}}))
          .checks_data());
  registry.add(OpDef("scatter_grad")
                   .doc("Ref@GRAD = Out@GRAD where Ref stays, else 0; Updates@GRAD = the rows of "
                        "Out@GRAD that came from Updates, 0 for those that were overwritten.")
                   .input("Ref", "input of the forward operator", {.shape_only = true})
                   .input("Index", index_doc)
                   .input("Updates", "input of the forward operator", {.shape_only = true})
                   .input("Out@GRAD", "gradient of Out, shape of Ref")
                   .output("Ref@GRAD", "gradient of Ref, shape of Ref")
                   .output("Updates@GRAD", "gradient of Updates, shape of Updates")
                   .infer([](InferContext& context) {
                     require_spec(context, "Out@GRAD", scattered(context));
                     infer_grads_like_inputs(context);
                   })
                   .kernels(byte_kernels_everywhere(scatter_grad))
                   .grad(scatter_grad_grad)
                   .checks_data());
}

}  // namespace fluidcore
