#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "fluidcore/base/threads.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/hard_labels.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

// What a row counts: 1, or the weight of its class.
template <class T>
class ClassWeights {
 public:
  explicit ClassWeights(const KernelContext& context)
      : weight_(context.has_input("Weight") ? context.input<T>("Weight") : Arg<const T>()) {}
  ComputeType<T> operator[](std::int64_t label) const {
    using C = ComputeType<T>;
    return weight_ ? static_cast<C>(weight_.data()[label]) : C(1);
  }

 private:
  Arg<const T> weight_;
};

// Calls f(row) for all rows, of so many elements.
template <class F>
void for_samples(std::int64_t rows, std::int64_t elements, const F& f) {
  parallel_for(rows, cpu::kGrain / (elements + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) f(row);
  });
}

template <class T>
Kernel nll_loss(const KernelContext& context) {
  using C = ComputeType<T>;
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const Samples samples(x.shape());
  return [=, labels = HardLabels(context, samples), weights = ClassWeights<T>(context)] {
    const cpu::RowIndex label = labels.checked();
    for_samples(samples.rows, 1, [&](std::int64_t row) {
      const std::int64_t number = label[row];
      const C loss =
          number < 0 ? C(0)
                     : -weights[number] * static_cast<C>(x.data()[row * samples.classes + number]);
      out.data()[row] = static_cast<T>(loss);
    });
  };
}

template <class T>
Kernel nll_loss_grad(const KernelContext& context) {
  using C = ComputeType<T>;
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx) return nothing_to_do();
  const auto dout = context.input<T>("Out@GRAD");
  const Samples samples(dx.shape());
  return [=, labels = HardLabels(context, samples), weights = ClassWeights<T>(context)] {
    const cpu::RowIndex label = labels.checked();
    for_samples(samples.rows, samples.classes, [&](std::int64_t row) {
      T* to = dx.data() + row * samples.classes;
      std::fill_n(to, samples.classes, static_cast<T>(C(0)));
      const std::int64_t number = label[row];
      if (number < 0) return;
      to[number] = static_cast<T>(-weights[number] * static_cast<C>(dout.data()[row]));
    });
  };
}

TensorSpec nll_spec(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const Shape out = labelled_rows(context, "X");
  if (context.has_input("Weight")) require_shape(context, "Weight", {x.shape.back()});
  return {out, x.dtype};
}

OpDef with_nll_slots(OpDef&& def, SlotTraits of_x) {
  return std::move(def)
      .input("X", "[..., D], logarithms of probabilities, floating", std::move(of_x))
      .input("Label", "[..., 1] or [...], int32 or int64, the number of the right class",
             {.needs_no_gradient = true})
      .input("Weight", "[D], dtype of X: what the rows of each class count; 1 if left out",
             {.optional = true, .no_gradient = true})
      .attr("ignore_index", std::int64_t{-100},
            "a label that takes no part: its loss and gradient are 0")
      .row_dims([](const InferContext& context, std::string_view slot) {
        return slot == "Weight" ? 0 : context.input("X").shape.rank() - 1;
      })
      .checks_data();
}

}  // namespace

void register_nll_loss_ops(OpRegistry& registry) {
  registry.add(
      with_nll_slots(OpDef("nll_loss"), {})
          .doc("Out = -Weight[Label] X[Label] for each row: the negative log-likelihood. With "
               "log_softmax of logits as X it is their cross entropy.")
          .output("Out", "[..., 1], dtype of X")
          .infer([](InferContext& context) { context.set_output("Out", nll_spec(context)); })
          .kernels(floating_cpu_kernels(
              [](auto tag) -> KernelFactory { return nll_loss<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X", "Label", "Weight"}, .differentiable = {"X"}})));
  registry.add(with_nll_slots(OpDef("nll_loss_grad"), {.shape_only = true})
                   .doc("X@GRAD = -Weight[Label] Out@GRAD at Label, else 0.")
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .infer([](InferContext& context) {
                     require_spec(context, "Out@GRAD", nll_spec(context));
                     context.set_output("X@GRAD", context.input("X"));
                   })
                   .kernels(floating_cpu_kernels([](auto tag) -> KernelFactory {
                     return nll_loss_grad<typename decltype(tag)::type>;
                   }))
                   .grad(adjoint_grad({.type = "nll_loss", .kept = {"Label", "Weight"}})));
}

}  // namespace fluidcore
