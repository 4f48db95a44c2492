#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cuda/launch.h"
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
  const T* data() const { return weight_ ? weight_.data() : nullptr; }
  ComputeType<T> operator[](std::int64_t label) const {
    using C = ComputeType<T>;
    return weight_ ? static_cast<C>(weight_.data()[label]) : C(1);
  }

 private:
  Arg<const T> weight_;
};

// The same on a device, row by row.
template <class T>
struct NllRows {
  using C = ComputeType<T>;

  std::int64_t rows;
  std::int64_t classes;
  cpu::RowIndex label;
  const T* weights;  // null: 1

  FC_HOST_DEVICE C weight(std::int64_t row) const {
    const std::int64_t number = label[row];
    if (number < 0) return C(0);
    return weights == nullptr ? C(1) : static_cast<C>(weights[number]);
  }
  FC_HOST_DEVICE C loss(std::int64_t row, const T* x) const {
    const std::int64_t number = label[row];
    return number < 0 ? C(0) : -weight(row) * static_cast<C>(x[row * classes + number]);
  }

  template <class Index>
  FC_HOST_DEVICE void operator()(Index row, const T* x, T* out) const {
    out[row] = static_cast<T>(loss(row, x));
  }
};

// What all rows count together.
template <class T>
struct NllWeight {
  NllRows<T> rows;

  FC_HOST_DEVICE double of_all(const cuda::Group& group) const {
    double total = 0;
    for (std::int64_t row = group.rank(); row < rows.rows; row += group.size()) {
      total += static_cast<double>(rows.weight(row));
    }
    return group.sum(total);
  }
  FC_HOST_DEVICE void operator()(const cuda::Group& group, std::int64_t /*i*/, double* out) const {
    const double total = of_all(group);
    if (group.rank() == 0) *out = total;
  }
};

template <class T>
struct NllTotal {
  NllRows<T> rows;
  bool is_mean;

  FC_HOST_DEVICE void operator()(const cuda::Group& group,
                                 std::int64_t /*i*/,
                                 const T* x,
                                 T* out) const {
    double sum = 0;
    for (std::int64_t row = group.rank(); row < rows.rows; row += group.size()) {
      sum += static_cast<double>(rows.loss(row, x));
    }
    sum = group.sum(sum);
    if (is_mean) sum /= NllWeight<T>{rows}.of_all(group);
    if (group.rank() == 0) *out = static_cast<T>(static_cast<ComputeType<T>>(sum));
  }
};

// By element of X@GRAD; `total` is null where the rows are not divided by it.
template <class T>
struct NllGrad {
  NllRows<T> rows;
  bool by_row;

  template <class Index>
  FC_HOST_DEVICE void operator()(Index i, const T* dout, const double* total, T* dx) const {
    using C = ComputeType<T>;
    const std::int64_t row = i / rows.classes;
    const bool is_label = i - row * rows.classes == rows.label[row];
    const double cotangent =
        static_cast<double>(dout[by_row ? row : 0]) / (total == nullptr ? 1.0 : *total);
    dx[i] = static_cast<T>(is_label ? -rows.weight(row) * static_cast<C>(cotangent) : C(0));
  }
};

// Calls f(row) for all rows, of so many elements.
template <class F>
void for_samples(std::int64_t rows, std::int64_t elements, const F& f) {
  parallel_for(rows, cpu::kGrain / (elements + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) f(row);
  });
}

enum class Reduction { kNone, kMean, kSum };

template <class Context>
Reduction reduction_of(const Context& context) {
  const auto& name = context.template attr<std::string>("reduction");
  if (name == "none") return Reduction::kNone;
  return name == "mean" ? Reduction::kMean : Reduction::kSum;
}

// What all rows count together.
template <class T>
double total_weight(const ClassWeights<T>& weights, const cpu::RowIndex& label, std::int64_t rows) {
  double total = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (label[row] >= 0) total += static_cast<double>(weights[label[row]]);
  }
  return total;
}

template <class T>
Kernel nll_loss(const KernelContext& context) {
  using C = ComputeType<T>;
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const Samples samples(x.shape());
  const Reduction reduction = reduction_of(context);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const HardLabels labels(context, samples);
      return checked(
          labels.input(), [=] { labels.check(); },
          [=, &device = context.device(), weights = ClassWeights<T>(context)] {
            const NllRows<T> rows{samples.rows, samples.classes, labels.labels(), weights.data()};
            if (reduction == Reduction::kNone) {
              cuda::for_each(device, samples.rows, rows, x.data(), out.data());
            } else {
              cuda::for_each_group(device, 1, samples.rows,
                                   NllTotal<T>{rows, reduction == Reduction::kMean}, x.data(),
                                   out.data());
            }
          });
    }
  }
  context.scratch()->reserve(static_cast<std::size_t>(samples.rows) * sizeof(C));
  return [=, labels = HardLabels(context, samples), weights = ClassWeights<T>(context),
          scratch = context.scratch()] {
    const cpu::RowIndex label = labels.checked();
    auto* const losses = reinterpret_cast<C*>(scratch->data());
    for_samples(samples.rows, 1, [&](std::int64_t row) {
      const std::int64_t number = label[row];
      losses[row] =
          number < 0 ? C(0)
                     : -weights[number] * static_cast<C>(x.data()[row * samples.classes + number]);
    });
    if (reduction == Reduction::kNone) {
      std::transform(losses, losses + samples.rows, out.data(),
                     [](C loss) { return static_cast<T>(loss); });
      return;
    }
    double sum = std::accumulate(losses, losses + samples.rows, 0.0);
    if (reduction == Reduction::kMean) sum /= total_weight(weights, label, samples.rows);
    out.data()[0] = static_cast<T>(static_cast<C>(sum));
  };
}

template <class T>
Kernel nll_loss_grad(const KernelContext& context) {
  using C = ComputeType<T>;
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx) return nothing_to_do();
  const auto dout = context.input<T>("Out@GRAD");
  const Samples samples(dx.shape());
  const Reduction reduction = reduction_of(context);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const HardLabels labels(context, samples);
      context.scratch()->reserve(sizeof(double));
      return checked(
          labels.input(), [=] { labels.check(); },
          [=, &device = context.device(), weights = ClassWeights<T>(context),
           scratch = context.scratch()] {
            const NllRows<T> rows{samples.rows, samples.classes, labels.labels(), weights.data()};
            auto* const total = reinterpret_cast<double*>(scratch->data());
            const bool is_mean = reduction == Reduction::kMean;
            if (is_mean) cuda::for_each_group(device, 1, samples.rows, NllWeight<T>{rows}, total);
            const NllGrad<T> grad{rows, reduction == Reduction::kNone};
            cuda::for_each(device, dx.size(), grad, dout.data(),
                           is_mean ? static_cast<const double*>(total) : nullptr, dx.data());
          });
    }
  }
  return [=, labels = HardLabels(context, samples), weights = ClassWeights<T>(context)] {
    const cpu::RowIndex label = labels.checked();
    const double total =
        reduction == Reduction::kMean ? total_weight(weights, label, samples.rows) : 1.0;
    for_samples(samples.rows, samples.classes, [&](std::int64_t row) {
      T* to = dx.data() + row * samples.classes;
      std::fill_n(to, samples.classes, static_cast<T>(C(0)));
      const std::int64_t number = label[row];
      if (number < 0) return;
      const auto cotangent =
          static_cast<double>(dout.data()[reduction == Reduction::kNone ? row : 0]);
      to[number] = static_cast<T>(-weights[number] * static_cast<C>(cotangent / total));
    });
  };
}

TensorSpec nll_spec(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const Shape out = labelled_rows(context, "X");
  if (context.has_input("Weight")) require_shape(context, "Weight", {x.shape.back()});
  return {reduction_of(context) == Reduction::kNone ? out : Shape{1}, x.dtype};
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
      .attr(
          "reduction", std::string("none"),
          "none: a loss for each row; sum: their sum [1]; mean: their sum [1], divided by that of "
          "the weights of their labels, NaN where no row takes part",
          {"none", "mean", "sum"})
      .row_dims([](const InferContext& context, std::string_view slot) -> std::size_t {
        if (slot == "Weight" || reduction_of(context) != Reduction::kNone) return 0;
        return context.input("X").shape.rank() - 1;
      })
      .checks_data();
}

}  // namespace

void register_nll_loss_ops(OpRegistry& registry) {
  registry.add(
      with_nll_slots(OpDef("nll_loss"), {})
          .doc("Out = -Weight[Label] X[Label] for each row: the negative log-likelihood. With "
               "log_softmax of logits as X it is their cross entropy.")
          .output("Out", "[..., 1], or [1] with a reduction, dtype of X")
          .infer([](InferContext& context) { context.set_output("Out", nll_spec(context)); })
          .kernels(floating_kernels_everywhere(
              [](auto tag) -> KernelFactory { return nll_loss<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X", "Label", "Weight"}, .differentiable = {"X"}})));
  registry.add(with_nll_slots(OpDef("nll_loss_grad"), {.shape_only = true})
                   .doc("X@GRAD = -Weight[Label] Out@GRAD at Label, divided as in a mean, else 0.")
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .infer([](InferContext& context) {
                     require_spec(context, "Out@GRAD", nll_spec(context));
                     context.set_output("X@GRAD", context.input("X"));
                   })
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return nll_loss_grad<typename decltype(tag)::type>;
                   }))
                   .grad(adjoint_grad({.type = "nll_loss", .kept = {"Label", "Weight"}})));
}

}  // namespace fluidcore
