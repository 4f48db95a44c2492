#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/cross_entropy.h"
#include "fluidcore/kernels/cpu/softmax.h"
#include "fluidcore/kernels/cuda/softmax.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/hard_labels.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/softmax.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

// Checks Label against `x`, the shape of the probabilities or logits, and gives the shape of the
// loss.
Shape loss_shape(const InferContext& context, std::string_view slot) {
  const Shape& x = context.input(slot).shape;
  require(x.rank() >= 1, context.type(), ": ", slot, " must have rank 1 or more, got ", x);
  Shape loss = x;
  loss[x.rank() - 1] = 1;
  if (context.attr<bool>("soft_label")) {
    require_dtype(context, "Label", context.input(slot).dtype);
    require_shape(context, "Label", x);
    return loss;
  }
  return labelled_rows(context, slot);
}

OpDef with_label_attrs(OpDef def) {
  return std::move(def)
      .attr("soft_label", false, "Label holds distributions over the classes, not class numbers")
      .attr("ignore_index", std::int64_t{-100},
            "a hard label that takes no part: its loss and gradient are 0")
      .row_dims(all_but_last_dim)
      .checks_data();
}

constexpr const char* kLabelDoc =
    "[..., 1] int32 or int64, the number of the right class; with soft_label [..., D] of the dtype "
    "of the "
    "other input";

constexpr const char* kLabelGradDoc = "gradient of Label, shape of Label; with soft_label only";

// Of a gradient operator: `slot` is that of the probabilities or logits, `x` their spec.
void set_loss_grads(InferContext& context, std::string_view slot, const TensorSpec& x) {
  context.set_output(grad_name(slot), x);
  if (!context.has_output("Label@GRAD")) return;
  require(context.attr<bool>("soft_label"), context.type(),
          ": soft_label must be True for a gradient of Label, got False");
  context.set_output("Label@GRAD", x);
}

template <template <class> class Make>
KernelTable table() {
  return kernels_everywhere<float, double>(
      [](auto tag) -> KernelFactory { return Make<typename decltype(tag)::type>::kernel; });
}

// run(device, labels) with hard labels, which are checked first.
template <class Run>
Kernel on_cuda(const KernelContext& context, const Samples& samples, const Run& run) {
  const HardLabels labels(context, samples);
  return checked(
      labels.input(), [labels] { labels.check(); },
      [labels, run, &device = context.device()] { run(device, labels.labels()); });
}

template <class T>
struct CrossEntropy {
  static Kernel kernel(const KernelContext& context) {
    const auto x = context.input<T>("X");
    const auto loss = context.output<T>("Y");
    const Samples s(x.shape());
    if constexpr (kHasCuda) {
      if (context.is_on_cuda()) {
        if (context.attr<bool>("soft_label")) {
          return Kernel::enqueued([=, &device = context.device(),
                                   label = context.input<T>("Label")] {
            cuda::for_each_group(device, s.rows, s.classes, cuda::SoftCrossEntropyRows{s.classes},
                                 x.data(), label.data(), loss.data());
          });
        }
        return on_cuda(context, s, [s, x, loss](DeviceContext& device, const cpu::RowIndex& label) {
          cuda::for_each(device, s.rows, cuda::CrossEntropy{s.classes, label}, x.data(),
                         loss.data());
        });
      }
    }
    if (context.attr<bool>("soft_label")) {
      return [s, x, loss, label = context.input<T>("Label")] {
        cpu::soft_cross_entropy(s.rows, s.classes, x.data(), label.data(), loss.data());
      };
    }
    return [s, x, loss, labels = HardLabels(context, s)] {
      cpu::cross_entropy(s.rows, s.classes, x.data(), labels.checked(), loss.data());
    };
  }
};

template <class T>
struct CrossEntropyGrad {
  static Kernel kernel(const KernelContext& context) {
    const auto x = context.input<T>("X");
    const auto dloss = context.input<T>("Y@GRAD");
    const auto dx = context.optional_output<T>("X@GRAD");
    const Samples s(x.shape());
    if constexpr (kHasCuda) {
      if (context.is_on_cuda()) {
        if (context.attr<bool>("soft_label")) {
          return Kernel::enqueued([=, &device = context.device(), label = context.input<T>("Label"),
                                   dlabel = context.optional_output<T>("Label@GRAD")] {
            const std::int64_t size = s.rows * s.classes;
            if (dlabel) {
              cuda::for_each(device, size, cuda::SoftCrossEntropyLabelGrad{s.classes}, x.data(),
                             dloss.data(), dlabel.data());
            }
            if (dx) {
              cuda::for_each(device, size, cuda::SoftCrossEntropyGrad{s.classes}, x.data(),
                             label.data(), dloss.data(), dx.data());
            }
          });
        }
        if (!dx) return nothing_to_do();
        return on_cuda(
            context, s, [s, x, dloss, dx](DeviceContext& device, const cpu::RowIndex& label) {
              cuda::for_each(device, s.rows * s.classes, cuda::CrossEntropyGrad{s.classes, label},
                             x.data(), dloss.data(), dx.data());
            });
      }
    }
    if (context.attr<bool>("soft_label")) {
      return [=, label = context.input<T>("Label"),
              dlabel = context.optional_output<T>("Label@GRAD")] {
        if (dlabel) {
          cpu::soft_cross_entropy_label_grad(s.rows, s.classes, x.data(), dloss.data(),
                                             dlabel.data());
        }
        if (dx) {
          cpu::soft_cross_entropy_grad(s.rows, s.classes, x.data(), label.data(), dloss.data(),
                                       dx.data());
        }
      };
    }
    if (!dx) return nothing_to_do();
    return [s, x, dloss, dx, labels = HardLabels(context, s)] {
      cpu::cross_entropy_grad(s.rows, s.classes, x.data(), labels.checked(), dloss.data(),
                              dx.data());
    };
  }
};

// The labels of the rows from `first` on.
cpu::RowIndex rows_from(cpu::RowIndex label, std::int64_t first) {
  const std::int64_t bytes = label.is_wide ? sizeof(std::int64_t) : sizeof(std::int32_t);
  label.data = static_cast<const char*>(label.data) + first * bytes;
  return label;
}

template <class T>
struct SoftmaxCrossEntropy {
  static Kernel kernel(const KernelContext& context) {
    const auto logits = context.input<T>("Logits");
    const auto wanted = context.optional_output<T>("Softmax");
    const auto loss = context.output<T>("Loss");
    const Samples s(logits.shape());
    if constexpr (kHasCuda) {
      if (context.is_on_cuda()) {
        if (context.attr<bool>("soft_label")) {
          return Kernel::enqueued(
              [=, &device = context.device(), label = context.input<T>("Label")] {
                cuda::for_each_group(device, s.rows, s.classes,
                                     cuda::SoftSoftmaxCrossEntropyRows{s.classes}, logits.data(),
                                     label.data(), wanted ? wanted.data() : nullptr, loss.data());
              });
        }
        return on_cuda(
            context, s,
            [s, logits, wanted, loss](DeviceContext& device, const cpu::RowIndex& label) {
              cuda::for_each_group(device, s.rows, s.classes,
                                   cuda::SoftmaxCrossEntropyRows{s.classes, label}, logits.data(),
                                   wanted ? wanted.data() : nullptr, loss.data());
            });
      }
    }
    const Tensor scratch = wanted ? Tensor() : Tensor({logits.shape(), dtype_of<T>});
    // Rows at a time whose probabilities are still in the cache when their losses are calculated.
    const auto by_parts = [=](const auto& loss_of_rows) {
      constexpr std::int64_t kPart = 8192;  // elements
      const std::int64_t most = kPart / std::max<std::int64_t>(s.classes, 1) + 1;
      T* probabilities = wanted ? wanted.data() : static_cast<T*>(scratch.raw());
      parallel_for(s.rows, most, [&](std::int64_t begin, std::int64_t end) {
        for (; begin < end; begin += most) {
          const std::int64_t rows = std::min(most, end - begin);
          const std::int64_t first = begin * s.classes;
          cpu::softmax(rows, s.classes, logits.data() + first, probabilities + first);
          loss_of_rows(begin, rows, logits.data() + first, probabilities + first);
        }
      });
    };
    if (context.attr<bool>("soft_label")) {
      return [=, label = context.input<T>("Label")] {
        by_parts([&](std::int64_t row, std::int64_t rows, const T* x, const T* softmax) {
          cpu::soft_softmax_cross_entropy(rows, s.classes, x, softmax,
                                          label.data() + row * s.classes, loss.data() + row);
        });
      };
    }
    return [=, labels = HardLabels(context, s)] {
      const cpu::RowIndex label = labels.checked();
      by_parts([&](std::int64_t row, std::int64_t rows, const T* x, const T* softmax) {
        cpu::softmax_cross_entropy(rows, s.classes, x, softmax, rows_from(label, row),
                                   loss.data() + row);
      });
    };
  }
};

template <class T>
struct SoftmaxCrossEntropyGrad {
  static Kernel kernel(const KernelContext& context) {
    const auto softmax = context.input<T>("Softmax");
    const auto dloss = context.input<T>("Loss@GRAD");
    const auto dlogits = context.optional_output<T>("Logits@GRAD");
    const Samples s(softmax.shape());
    if constexpr (kHasCuda) {
      if (context.is_on_cuda()) {
        if (context.attr<bool>("soft_label")) {
          const auto dlabel = context.optional_output<T>("Label@GRAD");
          return Kernel::enqueued([=, &device = context.device(), label = context.input<T>("Label"),
                                   logits = dlabel ? context.input<T>("Logits") : Arg<const T>()] {
            if (dlabel) {
              cuda::for_each_group(device, s.rows, s.classes,
                                   cuda::SoftSoftmaxLabelGradRows{s.classes}, logits.data(),
                                   dloss.data(), dlabel.data());
            }
            if (dlogits) {
              cuda::for_each_group(device, s.rows, s.classes,
                                   cuda::SoftSoftmaxCrossEntropyGradRows{s.classes}, softmax.data(),
                                   label.data(), dloss.data(), dlogits.data());
            }
          });
        }
        if (!dlogits) return nothing_to_do();
        return on_cuda(context, s, [=](DeviceContext& device, const cpu::RowIndex& label) {
          cuda::for_each(device, s.rows * s.classes,
                         cuda::SoftmaxCrossEntropyGrad{s.classes, label}, softmax.data(),
                         dloss.data(), dlogits.data());
        });
      }
    }
    if (context.attr<bool>("soft_label")) {
      const auto dlabel = context.optional_output<T>("Label@GRAD");
      return [=, label = context.input<T>("Label"),
              logits = dlabel ? context.input<T>("Logits") : Arg<const T>()] {
        if (dlabel) {
          cpu::soft_softmax_cross_entropy_label_grad(s.rows, s.classes, logits.data(), dloss.data(),
                                                     dlabel.data());
        }
        if (dlogits) {
          cpu::soft_softmax_cross_entropy_grad(s.rows, s.classes, softmax.data(), label.data(),
                                               dloss.data(), dlogits.data());
        }
      };
    }
    if (!dlogits) return nothing_to_do();
    return [=, labels = HardLabels(context, s)] {
      cpu::softmax_cross_entropy_grad(s.rows, s.classes, softmax.data(), labels.checked(),
                                      dloss.data(), dlogits.data());
    };
  }
};

// X@GRAD = Y@GRAD c / X, where c is -Label or, of a hard label, the gradient at X = 1: -1 at the
// label and 0 elsewhere, and 0 where the label is ignored.
void decompose_cross_entropy_grad(Decomposition& d) {
  const bool is_soft = d.attr<bool>("soft_label");
  const Expr x = d.input("X");
  const Expr dloss = d.input("Y@GRAD");
  const Expr c = is_soft ? -d.input("Label")
                         : d.constant("cross_entropy_grad",
                                      {{"X", d.filled_like(x, 1.0)},
                                       {"Label", d.input("Label")},
                                       {"Y@GRAD", d.filled_like(dloss, 1.0)}},
                                      d.attrs(), "X@GRAD");
  // Probabilities of 0 are common, and then c is 0 too.
  const Expr divisor = x + is_zero(x);
  d.set("X@GRAD", dloss * c / divisor);
  if (is_soft) d.set("Label@GRAD", -dloss * d.op("log", {{"X", divisor}}));
}

// log(sum of exp(Logits)); what the logits are shifted by cancels out.
Expr log_sum_exp(Decomposition& d) {
  const Expr logits = d.input("Logits");
  const Expr top =
      d.constant("reduce_max", {{"X", logits}}, {{"dim", std::int64_t{-1}}, {"keep_dim", true}});
  const Expr sum = sum_of_row(d.op("exp", {{"X", logits - top}}));
  return top + d.op("log", {{"X", sum}});
}

// Logits@GRAD = Loss@GRAD (c - Softmax sum of c), where c is -Label or, of a hard label, the
// gradient at Softmax = 0, as above.
void decompose_softmax_cross_entropy_grad(Decomposition& d) {
  const bool is_soft = d.attr<bool>("soft_label");
  const Expr softmax = d.input("Softmax");
  const Expr dloss = d.input("Loss@GRAD");
  const Expr c = is_soft ? -d.input("Label")
                         : d.constant("softmax_with_cross_entropy_grad",
                                      {{"Softmax", d.filled_like(softmax, 0.0)},
                                       {"Label", d.input("Label")},
                                       {"Loss@GRAD", d.filled_like(dloss, 1.0)}},
                                      d.attrs(), "Logits@GRAD");
  d.set("Logits@GRAD", dloss * (c - softmax * sum_of_row(c)));
  if (d.wants("Label@GRAD")) {
    d.set("Label@GRAD", dloss * (log_sum_exp(d) - d.input("Logits")));
  }
}

bool has_soft_label(const GradContext& context) {
  return std::get<bool>(context.forward().attr("soft_label"));
}

std::vector<OpDesc> cross_entropy_grad_ops(GradContext& context) {
  StandardGrad form{.inputs = {"X", "Label"}, .differentiable = {"X"}, .cotangents = {"Y"}};
  if (has_soft_label(context)) form.differentiable.emplace_back("Label");
  return standard_grad(std::move(form))(context);
}

// Of Loss, and of Softmax where something else reads it, as the gradient of Loss does.
std::vector<OpDesc> softmax_cross_entropy_grad_ops(GradContext& context) {
  StandardGrad form{.inputs = {"Label"},
                    .outputs = {"Softmax"},
                    .differentiable = {"Logits"},
                    .cotangents = {"Loss"}};
  if (has_soft_label(context)) {
    form.differentiable.emplace_back("Label");
    if (context.wants(context.input("Label")[0])) form.inputs.emplace_back("Logits");
  }
  std::vector<OpDesc> ops = standard_grad(std::move(form))(context);
  const std::vector<std::string>& softmax = context.output("Softmax");
  const std::vector<std::string> wanted = context.input_grad("Logits");
  if (softmax.empty() || softmax[0] == kEmptyName || wanted.empty()) return ops;
  ops.emplace_back("softmax_grad",
                   SlotMap{{"Out", softmax}, {"Out@GRAD", context.output_grad("Softmax")}},
                   SlotMap{{"X@GRAD", wanted}});
  return ops;
}

void add_cross_entropy(OpRegistry& registry) {
  registry.add(with_label_attrs(OpDef("cross_entropy"))
                   .doc("Y = -log(X[label]) for each row of probabilities, or -sum of Label log(X) "
                        "with soft_label. "
                        "An infinite logarithm counts as 1e20.")
                   .input("X", "[..., D], probabilities of D classes, floating")
                   .input("Label", kLabelDoc)
                   .output("Y", "[..., 1], dtype of X")
                   .infer([](InferContext& context) {
                     context.set_output("Y", {loss_shape(context, "X"), context.input("X").dtype});
                   })
                   .kernels(table<CrossEntropy>())
                   .grad(cross_entropy_grad_ops));
  registry.add(with_label_attrs(OpDef("cross_entropy_grad"))
                   .doc("X@GRAD = -Y@GRAD / X at the label and 0 elsewhere; with soft_label "
                        "X@GRAD = -Y@GRAD Label / X, Label@GRAD = -Y@GRAD log(X).")
                   .input("X", "input of the forward operator")
                   .input("Label", kLabelDoc, {.read_for = "X@GRAD"})
                   .input("Y@GRAD", "gradient of Y, shape of Y")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .output("Label@GRAD", kLabelGradDoc, {.optional = true})
                   .infer([](InferContext& context) {
                     require_shape(context, "Y@GRAD", loss_shape(context, "X"));
                     set_loss_grads(context, "X", context.input("X"));
                   })
                   .kernels(table<CrossEntropyGrad>())
                   .decompose(decompose_cross_entropy_grad));
}

void add_softmax_with_cross_entropy(OpRegistry& registry) {
  registry.add(with_label_attrs(OpDef("softmax_with_cross_entropy"))
                   .doc("Softmax = softmax(Logits) over the last dimension; Loss = log(sum of "
                        "exp(Logits)) - Logits[label], "
                        "or, with soft_label, sum of Label (log(sum of exp(Logits)) - Logits). "
                        "Does not overflow.")
                   .input("Logits", "[..., D], floating")
                   .input("Label", kLabelDoc)
                   .output("Softmax", "shape of Logits", {.intermediate = true})
                   .output("Loss", "[..., 1], dtype of Logits")
                   .infer([](InferContext& context) {
                     context.set_output("Softmax", context.input("Logits"));
                     context.set_output(
                         "Loss", {loss_shape(context, "Logits"), context.input("Logits").dtype});
                   })
                   .kernels(table<SoftmaxCrossEntropy>())
                   .grad(softmax_cross_entropy_grad_ops));
  registry.add(with_label_attrs(OpDef("softmax_with_cross_entropy_grad"))
                   .doc("Logits@GRAD = (Softmax - [1 at the label, 0 elsewhere]) Loss@GRAD; with "
                        "soft_label Logits@GRAD = (Softmax sum of Label - Label) Loss@GRAD, "
                        "Label@GRAD = (log(sum of exp(Logits)) - Logits) Loss@GRAD.")
                   .input("Logits", "input of the forward operator, where Label@GRAD is wanted",
                          {.optional = true, .read_for = "Label@GRAD"})
                   .input("Label", kLabelDoc, {.read_for = "Logits@GRAD"})
                   .input("Softmax", "output of the forward operator", {.read_for = "Logits@GRAD"})
                   .input("Loss@GRAD", "gradient of Loss, shape of Loss")
                   .output("Logits@GRAD", "gradient of Logits, shape of Logits")
                   .output("Label@GRAD", kLabelGradDoc, {.optional = true})
                   .infer([](InferContext& context) {
                     require_shape(context, "Loss@GRAD", loss_shape(context, "Softmax"));
                     set_loss_grads(context, "Logits", context.input("Softmax"));
                     if (!context.has_output("Label@GRAD")) return;
                     require(context.has_input("Logits"), context.type(),
                             ": Logits must be given for a gradient of Label, got nothing");
                     require_spec(context, "Logits", context.input("Softmax"));
                   })
                   .in_place("Softmax", "Logits@GRAD")
                   .kernels(table<SoftmaxCrossEntropyGrad>())
                   .decompose(decompose_softmax_cross_entropy_grad));
}

}  // namespace

void register_loss_ops(OpRegistry& registry) {
  add_cross_entropy(registry);
  add_softmax_with_cross_entropy(registry);
}

}  // namespace fluidcore
