#include <algorithm>
#include <cstring>
#include <utility>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cuda/words.h"
#include "fluidcore/ops/bytes.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/row_numbers.h"
#include "fluidcore/ops/single_element.h"

namespace fluidcore {

namespace {

// Which one of `count` tensors the Mask chooses.
std::size_t chosen(std::int64_t mask, std::size_t count, const char* who) {
  require(mask >= 0 && mask < static_cast<std::int64_t>(count), who,
          ": Mask must be the position of one of X, in [0, ", count, "), got ", mask);
  return static_cast<std::size_t>(mask);
}

Kernel select_input(const KernelContext& context) {
  const std::size_t count = context.input_count("X");
  std::vector<Arg<const void>> choices;
  choices.reserve(count);
  for (std::size_t i = 0; i < count; ++i) choices.push_back(context.raw_input("X", i));
  const Index mask(context, "Mask");
  const auto out = context.raw_output("Out");
  return [choices = std::move(choices), mask, out, bytes = byte_size(out.spec()),
          &device = context.device()] {
    const std::size_t i = chosen(mask.value(), choices.size(), "select_input");
    require(choices[i].is_set(), "select_input: X at position ", i,
            ", which Mask chooses, must be ", "written before, got a block that was not run");
    device.copy(out.data(), choices[i].data(), bytes);
  };
}

Kernel select_input_grad(const KernelContext& context) {
  const auto dout = context.raw_input("Out@GRAD");
  const std::size_t count = context.output_count("X@GRAD");
  std::vector<Arg<void>> grads;
  grads.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    grads.push_back(optional_raw_output(context, "X@GRAD", i));
  }
  const Index mask(context, "Mask");
  return [grads = std::move(grads), mask, dout, bytes = byte_size(dout.spec()),
          &device = context.device()] {
    const std::size_t wanted = chosen(mask.value(), grads.size(), "select_input_grad");
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i]) continue;
      if (i == wanted) {
        device.copy(grads[i].data(), dout.data(), bytes);
      } else {
        device.zero(grads[i].data(), bytes);
      }
    }
  };
}

// What all of X are; unknown extents are taken from those that know them.
TensorSpec common_spec(const InferContext& context) {
  require(context.input_count("X") > 0, context.type(),
          ": X must hold at least one variable, got none");
  TensorSpec common = context.input("X");
  for (std::size_t i = 1; i < context.input_count("X"); ++i) {
    const TensorSpec& x = context.input("X", i);
    require(x.dtype == common.dtype && compatible(x.shape, common.shape), context.type(),
            ": all of X must have one shape and dtype, got ", context.input("X"),
            " and, at position ", i, ", ", x);
    for (std::size_t d = 0; d < x.shape.rank(); ++d) {
      if (common.shape[d] == -1) common.shape[d] = x.shape[d];
    }
  }
  return common;
}

// Of the gradient of `type`, which chooses among X by the slot `choice`. A gradient that was not
// wanted leaves zeros to choose.
GradMaker choose_among_grads(const std::string& type, const std::string& choice) {
  return [type, choice](GradContext& context) -> std::vector<OpDesc> {
    const std::vector<std::string> grads = context.input_grad("Out@GRAD");
    if (grads[0] == kEmptyName || context.forward().output_arg_names().empty()) return {};
    std::vector<OpDesc> ops;
    std::vector<std::string> choices = output_grads_or_zeros(context, "X@GRAD", "X", ops);
    ops.emplace_back(type, SlotMap{{"X", std::move(choices)}, {choice, context.input(choice)}},
                     SlotMap{{"Out", grads}});
    return ops;
  };
}

// How the rows of several tensors of one shape lie in memory.
struct RowsOf {
  explicit RowsOf(const TensorSpec& spec)
      : count(spec.shape[0]), bytes(count == 0 ? 0 : bytes_of(spec) / count) {}

  // Calls f(row, offset, bytes) for every row.
  template <class F>
  void each(const F& f) const {
    if (bytes == 0) return;
    constexpr std::int64_t kGrainBytes = std::int64_t{1} << 17;
    parallel_for(count, kGrainBytes / bytes, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        f(row, row * bytes, static_cast<std::size_t>(bytes));
      }
    });
  }

  std::int64_t count;
  std::int64_t bytes;
};

RowNumbers choices_of_rows(const KernelContext& context) {
  return {context, "Ids", {static_cast<std::int64_t>(context.input_count("X"))}};
}

// The rows that choose tensor `which`, on a device; zeros, if they are wanted, for the others.
struct ChosenRows {
  cpu::RowIndex chosen;
  std::int64_t which;
  std::int64_t width;
  bool zeros;

  template <class Index, class Word>
  FC_HOST_DEVICE void operator()(Index i, const Word* from, Word* to) const {
    const bool is_chosen = chosen[i / width] == which;
    if (is_chosen || zeros) to[i] = is_chosen ? from[i] : Word(0);
  }
};

[[maybe_unused]] void copy_chosen(DeviceContext& device,
                                  const RowNumbers& ids,
                                  std::size_t which,
                                  const TensorSpec& spec,
                                  const void* from,
                                  void* to,
                                  bool zeros) {
  const std::int64_t size = spec.shape.num_elements();
  const ChosenRows rows{ids.index(), static_cast<std::int64_t>(which),
                        size / std::max<std::int64_t>(spec.shape[0], 1), zeros};
  cuda::visit_word(size_of(spec.dtype), [&](auto word) {
    using Word = decltype(word);
    cuda::for_each(device, size, rows, static_cast<const Word*>(from), static_cast<Word*>(to));
  });
}

Kernel multiplex(const KernelContext& context) {
  std::vector<Arg<const void>> choices;
  choices.reserve(context.input_count("X"));
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    choices.push_back(context.raw_input("X", i));
  }
  const auto out = context.raw_output("Out");
  const RowNumbers ids = choices_of_rows(context);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return checked(
          ids.input(), [=] { ids.check(); },
          [=, &device = context.device()] {
            for (std::size_t i = 0; i < choices.size(); ++i) {
              copy_chosen(device, ids, i, out.spec(), choices[i].data(), out.data(), false);
            }
          });
    }
  }
  return [=, rows = RowsOf(out.spec())] {
    const cpu::RowIndex chosen = ids.checked();
    rows.each([&](std::int64_t row, std::int64_t offset, std::size_t bytes) {
      const auto* from = static_cast<const char*>(choices[chosen[row]].data());
      std::memcpy(static_cast<char*>(out.data()) + offset, from + offset, bytes);
    });
  };
}

Kernel multiplex_grad(const KernelContext& context) {
  const auto dout = context.raw_input("Out@GRAD");
  std::vector<Arg<void>> grads;
  grads.reserve(context.output_count("X@GRAD"));
  for (std::size_t i = 0; i < context.output_count("X@GRAD"); ++i) {
    grads.push_back(optional_raw_output(context, "X@GRAD", i));
  }
  const RowNumbers ids = choices_of_rows(context);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return checked(
          ids.input(), [=] { ids.check(); },
          [=, &device = context.device()] {
            for (std::size_t i = 0; i < grads.size(); ++i) {
              if (!grads[i]) continue;
              copy_chosen(device, ids, i, dout.spec(), dout.data(), grads[i].data(), true);
            }
          });
    }
  }
  return [=, rows = RowsOf(dout.spec())] {
    const cpu::RowIndex chosen = ids.checked();
    rows.each([&](std::int64_t row, std::int64_t offset, std::size_t bytes) {
      for (std::size_t i = 0; i < grads.size(); ++i) {
        if (!grads[i]) continue;
        char* to = static_cast<char*>(grads[i].data()) + offset;
        if (chosen[row] == static_cast<std::int64_t>(i)) {
          std::memcpy(to, static_cast<const char*>(dout.data()) + offset, bytes);
        } else {
          std::memset(to, 0, bytes);
        }
      }
    });
  };
}

// Checks X and Ids; gives what they make.
TensorSpec multiplexed(const InferContext& context) {
  TensorSpec out = common_spec(context);
  const std::int64_t count = count_row_numbers(context, "Ids");
  require(out.shape.rank() > 0 && compatible(out.shape[0], count), context.type(),
          ": Ids must have an element for each row of X, got Ids ", context.input("Ids"), ", X ",
          out);
  if (out.shape[0] == -1) out.shape[0] = count;
  return out;
}

void add_multiplex(OpRegistry& registry) {
  const char* ids_doc = "int32 or int64 [N] or [N, 1]: for each row which of X";
  registry.add(
      OpDef("multiplex")
          .doc("Out[i] = X[Ids[i]][i]: each row from one of several tensors.")
          .input("Ids", ids_doc)
          .input("X", "tensors [N, ...] of one shape and dtype", {.list = true})
          .output("Out", "shape and dtype of X")
          .infer([](InferContext& context) { context.set_output("Out", multiplexed(context)); })
          .kernels(byte_kernels_everywhere(multiplex))
          .grad(standard_grad({.inputs = {"X", "Ids"}, .differentiable = {"X"}}))
          .checks_data());
  registry.add(OpDef("multiplex_grad")
                   .doc("X@GRAD = the rows of Out@GRAD that came from X, 0 elsewhere.")
                   .input("Ids", ids_doc)
                   .input("X", "inputs of the forward operator", {.list = true, .shape_only = true})
                   .input("Out@GRAD", "gradient of Out, shape of X")
                   .output("X@GRAD", "gradients of X, shapes of X", {.list = true})
                   .infer([](InferContext& context) {
                     require_spec(context, "Out@GRAD", multiplexed(context));
                     infer_grads_like_inputs(context);
                   })
                   .kernels(byte_kernels_everywhere(multiplex_grad))
                   .grad(choose_among_grads("multiplex", "Ids"))
                   .checks_data());
}

}  // namespace

void register_select_ops(OpRegistry& registry) {
  registry.add(
      OpDef("select_input")
          .doc("Out = X[Mask], one of several tensors; the others need not have a value.")
          .input("X", "tensors of one shape and dtype", {.list = true, .may_be_unset = true})
          .input("Mask", "int32 or int64, one element: which of X")
          .output("Out", "shape and dtype of X")
          .infer([](InferContext& context) {
            require_index(context, "Mask");
            context.set_output("Out", common_spec(context));
          })
          .kernels(byte_kernels_everywhere(select_input))
          .grad(standard_grad({.inputs = {"X", "Mask"}, .differentiable = {"X"}}))
          .checks_data());
  registry.add(OpDef("select_input_grad")
                   .doc("X@GRAD = Out@GRAD for the tensor that was chosen, 0 for the others.")
                   .input("X", "inputs of the forward operator", {.list = true, .shape_only = true})
                   .input("Mask", "int32 or int64, one element: which of X")
                   .input("Out@GRAD", "gradient of Out, shape of X")
                   .output("X@GRAD", "gradients of X, shapes of X", {.list = true})
                   .infer([](InferContext& context) {
                     require_index(context, "Mask");
                     require_spec(context, "Out@GRAD", common_spec(context));
                     infer_grads_like_inputs(context);
                   })
                   .kernels(byte_kernels_everywhere(select_input_grad))
                   .grad(choose_among_grads("select_input", "Mask"))
                   .checks_data());
  add_multiplex(registry);
}

}  // namespace fluidcore
