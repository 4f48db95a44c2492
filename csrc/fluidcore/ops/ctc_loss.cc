#include "fluidcore/kernels/cpu/ctc.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/row_numbers.h"

namespace fluidcore {

namespace {

cpu::RowIndex numbers_of(Arg<const void> arg) {
  if (!arg) return {nullptr, false};
  return {arg.data(), arg.spec().dtype == DType::kInt64};
}

// Labels and lengths of a running kernel.
class Targets {
 public:
  explicit Targets(const KernelContext& context)
      : who_(context.type()),
        labels_(context.raw_input("Label")),
        steps_of_(optional(context, "LogitsLength")),
        num_labels_of_(optional(context, "LabelLength")) {
    const Shape& logits = context.raw_input("Logits").shape();
    shape_ = {logits[0], logits[1], logits[2], labels_.shape()[1],
              context.attr<std::int64_t>("blank")};
  }

  const cpu::CtcShape& shape() const { return shape_; }

  // Throws InvalidArgument for a length or a label that is out of range.
  cpu::CtcTargets checked() const {
    const cpu::CtcTargets targets{numbers_of(labels_), numbers_of(steps_of_),
                                  numbers_of(num_labels_of_)};
    check_lengths("LogitsLength", targets.steps_of, shape_.steps);
    check_lengths("LabelLength", targets.num_labels_of, shape_.labels);
    for (std::int64_t sample = 0; sample < shape_.batch; ++sample) {
      const std::int64_t count = num_labels_of_ ? targets.num_labels_of[sample] : shape_.labels;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t label = targets.labels[sample * shape_.labels + i];
        require(label >= 0 && label < shape_.classes && label != shape_.blank, who_,
                ": labels must be in [0, ", shape_.classes, ") and not blank ", shape_.blank,
                ", got ", label, " in sample ", sample);
      }
    }
    return targets;
  }

 private:
  static Arg<const void> optional(const KernelContext& context, std::string_view slot) {
    return context.has_input(slot) ? context.raw_input(slot) : Arg<const void>();
  }
  void check_lengths(std::string_view slot, const cpu::RowIndex& lengths, std::int64_t most) const {
    for (std::int64_t i = 0; lengths.data != nullptr && i < shape_.batch; ++i) {
      require(lengths[i] >= 0 && lengths[i] <= most, who_, ": ", slot, " must be in [0, ", most,
              "], got ", lengths[i], " in sample ", i);
    }
  }

  std::string who_;
  Arg<const void> labels_;
  Arg<const void> steps_of_;
  Arg<const void> num_labels_of_;
  cpu::CtcShape shape_{};
};

// Memory for one run, shared with other kernels.
ScratchPtr reserved(const KernelContext& context, std::int64_t bytes) {
  context.scratch()->reserve(static_cast<std::size_t>(bytes));
  return context.scratch();
}

template <class T>
Kernel ctc_loss(const KernelContext& context) {
  const auto logits = context.input<T>("Logits");
  const auto loss = context.output<T>("Loss");
  const Targets targets(context);
  return [=, memory = reserved(context, cpu::ctc_loss_bytes(targets.shape()))] {
    cpu::ctc_loss(targets.shape(), targets.checked(), logits.data(), memory->data(), loss.data());
  };
}

template <class T>
Kernel ctc_loss_grad(const KernelContext& context) {
  const auto dlogits = context.optional_output<T>("Logits@GRAD");
  if (!dlogits) return nothing_to_do();
  const auto logits = context.input<T>("Logits");
  const auto dloss = context.input<T>("Loss@GRAD");
  const Targets targets(context);
  return [=, memory = reserved(context, cpu::ctc_grad_bytes(targets.shape()))] {
    cpu::ctc_grad(targets.shape(), targets.checked(), logits.data(), dloss.data(), memory->data(),
                  dlogits.data());
  };
}

template <class T>
Kernel ctc_curvature(const KernelContext& context) {
  const auto logits = context.input<T>("Logits");
  const auto direction = context.input<T>("Direction");
  const auto dloss = context.input<T>("Loss@GRAD");
  const auto slope = context.optional_output<T>("Slope");
  const auto curvature = context.optional_output<T>("Curvature");
  const Targets targets(context);
  return [=, memory = reserved(context, cpu::ctc_curvature_bytes(targets.shape()))] {
    cpu::ctc_curvature(targets.shape(), targets.checked(), logits.data(), direction.data(),
                       dloss.data(), memory->data(), data_or_null(slope), data_or_null(curvature));
  };
}

// Checks all inputs but cotangents; gives the spec of Loss.
TensorSpec loss_spec(const InferContext& context) {
  require_rank(context, "Logits", 3, "[steps, batch, classes]");
  require_rank(context, "Label", 2, "[batch, labels]");
  require_row_numbers(context, "Label");
  const TensorSpec& logits = context.input("Logits");
  const Shape& label = context.input("Label").shape;
  const std::int64_t batch = logits.shape[1];
  require(compatible(label[0], batch), context.type(), ": Label must have shape [batch, labels] ",
          "for Logits ", logits.shape, ", got ", label);
  for (const std::string_view slot : {"LogitsLength", "LabelLength"}) {
    if (!context.has_input(slot)) continue;
    require_row_numbers(context, slot);
    require_shape(context, slot, {batch});
  }
  const std::int64_t blank = context.attr<std::int64_t>("blank");
  const std::int64_t classes = logits.shape[2];
  require(blank >= 0 && (classes == -1 || blank < classes), context.type(),
          ": blank must be a class, got ", blank, " for Logits ", logits.shape);
  return {Shape{batch == -1 ? label[0] : batch, 1}, logits.dtype};
}

OpDef ctc_op(const char* type) {
  const SlotTraits number{.needs_no_gradient = true};
  const SlotTraits length{.optional = true, .needs_no_gradient = true};
  return OpDef(type)
      .input("Logits", "[steps, batch, classes], floating, any numbers")
      .input("Label", "[batch, labels], int32 or int64: classes, but not blank", number)
      .input("LogitsLength", "[batch], int32 or int64: the steps of each sample; all if left out",
             length)
      .input("LabelLength", "[batch], int32 or int64: the labels of each sample; all if left out",
             length)
      .attr("blank", std::int64_t{0}, "the class that is no label")
      .checks_data();
}

std::vector<OpDesc> grad_of_grad(GradContext& context) {
  SlotMap inputs{{"Direction", context.output_grad("Logits@GRAD")}};
  for (const char* slot : {"Logits", "Label", "LogitsLength", "LabelLength", "Loss@GRAD"}) {
    inputs.emplace(slot, context.input(slot));
  }
  SlotMap outputs{{"Curvature", context.input_grad("Logits")},
                  {"Slope", context.input_grad("Loss@GRAD")}};
  return {
      OpDesc("ctc_curvature", std::move(inputs), std::move(outputs), context.forward().attrs())};
}

}  // namespace

void register_ctc_loss_ops(OpRegistry& registry) {
  registry.add(
      ctc_op("ctc_loss")
          .doc(
              "Loss = minus the logarithm of the probability that symbols, drawn at each step from "
              "the softmax of Logits, read as Label once repetitions are merged and then blanks "
              "are left out; infinity where there are too few steps (Graves et al., Connectionist "
              "Temporal Classification, 2006). Calculated in float64. It has gradients and second "
              "derivatives.")
          .output("Loss", "[batch, 1], dtype of Logits")
          .infer([](InferContext& context) { context.set_output("Loss", loss_spec(context)); })
          .kernels(cpu_kernels<float, double>(
              [](auto tag) -> KernelFactory { return ctc_loss<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"Logits", "Label", "LogitsLength", "LabelLength"},
                               .differentiable = {"Logits"},
                               .cotangents = {"Loss"}})));
  registry.add(
      ctc_op("ctc_loss_grad")
          .doc("Logits@GRAD = Loss@GRAD times softmax(Logits) minus the probability of each symbol "
               "at each step, given the labels; 0 after the steps of a sample, and where Loss is "
               "infinite.")
          .input("Loss@GRAD", "gradient of Loss, shape of Loss")
          .output("Logits@GRAD", "gradient of Logits, shape of Logits")
          .infer([](InferContext& context) {
            require_spec(context, "Loss@GRAD", loss_spec(context));
            context.set_output("Logits@GRAD", context.input("Logits"));
          })
          .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
            return ctc_loss_grad<typename decltype(tag)::type>;
          }))
          .grad(grad_of_grad));
  registry.add(
      ctc_op("ctc_curvature")
          .doc("What the gradient of ctc_loss_grad needs: the derivatives of Loss and, times "
               "Loss@GRAD, of its gradient in a direction of Logits. It has no gradient.")
          .input("Direction", "shape and dtype of Logits")
          .input("Loss@GRAD", "gradient of Loss, [batch, 1], dtype of Logits")
          .output("Slope", "[batch, 1], dtype of Logits")
          .output("Curvature", "shape and dtype of Logits")
          .infer([](InferContext& context) {
            const TensorSpec loss = loss_spec(context);
            require_spec(context, "Direction", context.input("Logits"));
            require_spec(context, "Loss@GRAD", loss);
            context.set_output("Slope", loss);
            context.set_output("Curvature", context.input("Logits"));
          })
          .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
            return ctc_curvature<typename decltype(tag)::type>;
          })));
}

}  // namespace fluidcore
