#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/batch_norm.h"
#include "fluidcore/kernels/cuda/batch_norm.h"
#include "fluidcore/kernels/cuda/reduce.h"
#include "fluidcore/ops/batch_norm_decomposition.h"
#include "fluidcore/ops/batch_statistics.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/through_float32.h"

namespace fluidcore {

namespace {

// Checks X and the layout; gives the number of channels.
std::int64_t batch_norm_channels(const InferContext& context) {
  const auto& layout = context.attr<std::string>("data_layout");
  require(layout == "NCHW" || layout == "NHWC", context.type(),
          ": data_layout must be 'NCHW' or 'NHWC', got '", layout, "'");
  const Shape& x = context.input("X").shape;
  require(x.rank() >= 2 && x.rank() <= 5, context.type(), ": X must have rank 2, 3, 4 or 5, got ",
          x);
  return channels_last(context) ? x.back() : x[1];
}

cpu::ChannelLayout channel_layout(const KernelContext& context, const Shape& x) {
  if (channels_last(context)) return {x.product(0, x.rank() - 1), x.back(), 1};
  return {x[0], x[1], x.product(2, x.rank())};
}

// Checks the numbers of each channel: all of X's dtype or, where X has 16 bits, all of float32.
TensorSpec checked_statistics(const InferContext& context,
                              std::initializer_list<std::string_view> slots) {
  const std::int64_t channels = batch_norm_channels(context);
  const DType x = context.input("X").dtype;
  const DType first = context.input(*slots.begin()).dtype;
  const bool is_wide = first == DType::kFloat32 && is_floating(x) && size_of(x) == 2;
  const DType wanted = is_wide ? first : x;
  for (const std::string_view slot : slots) require_spec(context, slot, {{channels}, wanted});
  return context.input(*slots.begin());
}

void infer_batch_norm(InferContext& context) {
  // Statistics are like what they update, whose shape is known when X's is not.
  const TensorSpec statistics = checked_statistics(context, {"Mean", "Variance", "Scale", "Bias"});
  context.set_output("Y", context.input("X"));
  for (const std::string_view slot : {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"}) {
    context.set_output(slot, statistics);
  }
}

void infer_batch_norm_grad(InferContext& context) {
  const TensorSpec scale = checked_statistics(context, {"Scale", "SavedMean", "SavedVariance"});
  const TensorSpec& x = context.input("X");
  require_spec(context, "Y@GRAD", x);
  context.set_output("X@GRAD", x);
  context.set_output("Scale@GRAD", scale);
  context.set_output("Bias@GRAD", scale);
}

// What both kernels need: numbers for each channel that are no variables.
template <class T>
struct ChannelNumbers {
  explicit ChannelNumbers(const cpu::ChannelLayout& layout) : sums(layout) {
    const auto channels = static_cast<std::size_t>(layout.channels);
    for (std::vector<T>* numbers : {&mean, &variance, &factor, &slope, &offset}) {
      numbers->resize(channels);
    }
  }

  cpu::ChannelSums<T> sums;
  std::vector<T> mean;
  std::vector<T> variance;
  std::vector<T> factor;
  std::vector<T> slope;
  std::vector<T> offset;
};

cpu::Elements elements(const RowSlice& slice, std::int64_t begin, DType dtype) {
  return {at_bytes(slice, begin, static_cast<std::int64_t>(size_of(dtype))), dtype};
}
cpu::Elements elements(const Arg<const void>& arg) {
  return {arg.data(), arg.spec().dtype};
}

// Whether the statistics are those of a batch, not the running ones: an empty batch has none, and
// nothing is learned from it. Of all ranks none may be empty, as all communicate.
template <class Batch>
bool uses_batch(const KernelContext& context, const cpu::ChannelLayout& layout) {
  if (context.attr<bool>("is_test")) return false;
  require(layout.per_channel() > 0 || !Batch::kOfAllRanks, context.type(),
          ": X must have elements on every rank, got ", context.raw_input("X").shape());
  return layout.per_channel() > 0;
}

// Whether X has the dtype T of the statistics or, of 16 bits, statistics of float32.
template <class T>
bool can_calculate_as(const KernelContext& context) {
  return context.raw_input("Scale").spec().dtype == dtype_of<T>;
}

// The elements of each channel, as what cuda::Reduction takes.
[[maybe_unused]] cuda::ReducedElements elements_of_channels(const cpu::ChannelLayout& layout) {
  return {{layout.outer, layout.channels, layout.inner}, {true, false, true}};
}

// On a device: without the host, unless all ranks have a word.
template <class Batch, class Work>
Kernel batch_kernel(const Work& work) {
  return Batch::kOfAllRanks ? Kernel(work) : Kernel::enqueued(work);
}

template <class T, class Stored, class Batch>
Kernel batch_norm_on_cuda(const KernelContext& context) {
  const auto x = context.input<Stored>("X");
  const cpu::ChannelLayout layout = channel_layout(context, x.shape());
  const std::int64_t channels = layout.channels;
  const bool of_batch = uses_batch<Batch>(context, layout);
  const cuda::Statistics<T> statistics{.of_batch = of_batch,
                                       .momentum = static_cast<T>(context.attr<double>("momentum")),
                                       .epsilon = static_cast<T>(context.attr<double>("epsilon"))};
  DeviceContext& device = context.device();
  const cuda::Reduction<SumOf, T> sum(device, context.scratch(), elements_of_channels(layout));
  return batch_kernel<Batch>([=, &device, batch = Batch(context), y = context.output<Stored>("Y"),
                              scale = context.input<T>("Scale"), bias = context.input<T>("Bias"),
                              mean = context.input<T>("Mean"),
                              variance = context.input<T>("Variance"),
                              mean_out = OutputOrScratch<T>(context, "MeanOut", channels),
                              variance_out = OutputOrScratch<T>(context, "VarianceOut", channels),
                              used_mean = OutputOrScratch<T>(context, "SavedMean", channels),
                              inv_std = OutputOrScratch<T>(context, "SavedVariance", channels)] {
    if (of_batch) {
      const auto count = static_cast<double>(layout.per_channel());
      sum.run(cuda::Elements<Stored>{x.data()}, used_mean.data(), count);
      sum.run(cuda::SquaredDistance<T, Stored>{layout, x.data(), used_mean.data()}, inv_std.data(),
              count);
      if constexpr (Batch::kOfAllRanks) {
        on_host(device, used_mean.data(), inv_std.data(), channels,
                [&](auto& means, auto& variances) { batch.moments(means, variances); });
      }
    }
    cuda::for_each(device, channels, statistics, mean.data(), variance.data(), mean_out.data(),
                   variance_out.data(), used_mean.data(), inv_std.data());
    cuda::for_each(device, layout.size(), cuda::BatchNormalize{layout}, x.data(),
                   static_cast<const T*>(used_mean.data()), static_cast<const T*>(inv_std.data()),
                   scale.data(), bias.data(), y.data());
  });
}

template <class T, class Stored, class Batch>
Kernel batch_norm_grad_on_cuda(const KernelContext& context) {
  const auto x = context.input<Stored>("X");
  const cpu::ChannelLayout layout = channel_layout(context, x.shape());
  const bool of_batch = uses_batch<Batch>(context, layout);
  const T share = of_batch ? T(1) / static_cast<T>(layout.per_channel()) : T(0);
  DeviceContext& device = context.device();
  const cuda::Reduction<SumOf, T> sum(device, context.scratch(), elements_of_channels(layout));
  return batch_kernel<Batch>(
      [=, &device, batch = Batch(context), dy = context.input<Stored>("Y@GRAD"),
       scale = context.input<T>("Scale"), mean = context.input<T>("SavedMean"),
       inv_std = context.input<T>("SavedVariance"), dx = context.optional_output<Stored>("X@GRAD"),
       dscale = OutputOrScratch<T>(context, "Scale@GRAD", layout.channels),
       dbias = OutputOrScratch<T>(context, "Bias@GRAD", layout.channels)] {
        sum.run(cuda::NormalizedGrad<T, Stored>{layout, x.data(), dy.data(), mean.data(),
                                                inv_std.data()},
                dscale.data());
        sum.run(cuda::Elements<Stored>{dy.data()}, dbias.data());
        const T* slope = dscale.data();
        const T* offset = dbias.data();
        std::shared_ptr<void> of_all;
        if constexpr (Batch::kOfAllRanks) {
          if (of_batch) {
            const std::size_t bytes = static_cast<std::size_t>(layout.channels) * sizeof(T);
            of_all = device.allocate(2 * bytes);
            auto* const sums = static_cast<T*>(of_all.get());
            device.copy(sums, slope, bytes);
            device.copy(sums + layout.channels, offset, bytes);
            on_host(device, sums, sums + layout.channels, layout.channels,
                    [&](auto& slopes, auto& offsets) { batch.sums(slopes, offsets); });
            slope = sums;
            offset = sums + layout.channels;
          }
        }
        if (!dx) return;
        // Last: it may be where Y@GRAD is.
        cuda::for_each(device, layout.size(), cuda::BatchNormInputGrad<T>{layout, share}, x.data(),
                       dy.data(), mean.data(), inv_std.data(), scale.data(), slope, offset,
                       dx.data());
      });
}

// A kernel for elements that are stored as T or, where that is float, in 16 bits.
template <class T, class Choose>
Kernel for_stored(const KernelContext& context, const Choose& choose) {
  if constexpr (std::is_same_v<T, float>) {
    if (context.dtype() == DType::kFloat16) return choose(TypeTag<Float16>());
    if (context.dtype() == DType::kBFloat16) return choose(TypeTag<BFloat16>());
  }
  return choose(TypeTag<T>());
}

// Batch is OwnBatch or WholeBatch.
template <class T, class Batch>
Kernel batch_norm(const KernelContext& context) {
  if (!can_calculate_as<T>(context)) return through_float32(context);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return for_stored<T>(context, [&](auto tag) {
        return batch_norm_on_cuda<T, typename decltype(tag)::type, Batch>(context);
      });
    }
  }
  const auto x = context.raw_input("X");
  const auto scale = context.input<T>("Scale");
  const auto bias = context.input<T>("Bias");
  const auto mean = context.input<T>("Mean");
  const auto variance = context.input<T>("Variance");
  const auto y = context.raw_output("Y");
  const cpu::ChannelLayout layout = channel_layout(context, x.shape());
  const std::int64_t channels = layout.channels;
  const OutputOrScratch<T> mean_out(context, "MeanOut", channels);
  const OutputOrScratch<T> variance_out(context, "VarianceOut", channels);
  const OutputOrScratch<T> used_mean(context, "SavedMean", channels);
  const OutputOrScratch<T> inv_std(context, "SavedVariance", channels);
  const auto epsilon = static_cast<T>(context.attr<double>("epsilon"));
  const auto momentum = static_cast<T>(context.attr<double>("momentum"));
  const bool of_batch = uses_batch<Batch>(context, layout);
  const auto numbers = std::make_shared<ChannelNumbers<T>>(layout);
  const auto statistics = [=, batch = Batch(context)] {
    T* const now = numbers->variance.data();
    if (of_batch) {
      numbers->sums.moments(elements(x), numbers->mean.data(), now);
      batch.moments(numbers->mean, numbers->variance);
      std::copy_n(numbers->mean.data(), channels, used_mean.data());
    } else {
      std::copy_n(mean.data(), channels, used_mean.data());
      std::copy_n(variance.data(), channels, now);
    }
    for (std::int64_t i = 0; i < channels; ++i) {
      const auto running = [&](T before, T batch) {
        return of_batch ? before * momentum + batch * (T(1) - momentum) : before;
      };
      mean_out.data()[i] = running(mean.data()[i], used_mean.data()[i]);
      variance_out.data()[i] = running(variance.data()[i], now[i]);
      inv_std.data()[i] = T(1) / std::sqrt(now[i] + epsilon);
      numbers->factor[static_cast<std::size_t>(i)] = inv_std.data()[i] * scale.data()[i];
    }
  };
  RowPart part{.out = by_element(y.cell()), .in = {by_element(x.cell()), {bias.cell(), 1}}};
  part.run = [=, dtype = context.dtype()](std::int64_t begin, std::int64_t size,
                                          const RowSlice& out, const RowSlice* in) {
    cpu::normalize(layout, begin, size, elements(in[0], begin, dtype), used_mean.data(),
                   numbers->factor.data(), static_cast<const T*>(in[1].data),
                   at_bytes(out, begin, static_cast<std::int64_t>(size_of(dtype))));
  };
  // With is_test there is nothing else to do where no statistics are wanted, or only those that are
  // there.
  const auto stays = [&](const char* output, const auto& input) {
    return !context.has_output(output) || context.raw_output(output).cell() == input.cell();
  };
  const bool is_affine = context.attr<bool>("is_test") && layout.inner == 1 &&
                         stays("MeanOut", mean) && stays("VarianceOut", variance) &&
                         !context.has_output("SavedMean") && !context.has_output("SavedVariance");
  if constexpr (std::is_same_v<T, float>) {
    if (is_affine) {
      part.form = RowForm::kAffine;
      part.num_factors = channels;
      part.factors = [=](float* factors, float* shifts) {
        for (std::int64_t i = 0; i < channels; ++i) {
          factors[i] = scale.data()[i] / std::sqrt(variance.data()[i] + epsilon);
          shifts[i] = bias.data()[i] - mean.data()[i] * factors[i];
        }
      };
    }
  }
  return {statistics, RowKernel(std::move(part))};
}

template <class T, class Batch>
Kernel batch_norm_grad(const KernelContext& context) {
  if (!can_calculate_as<T>(context)) return through_float32(context);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return for_stored<T>(context, [&](auto tag) {
        return batch_norm_grad_on_cuda<T, typename decltype(tag)::type, Batch>(context);
      });
    }
  }
  const auto x = context.raw_input("X");
  const auto scale = context.input<T>("Scale");
  const auto mean = context.input<T>("SavedMean");
  const auto inv_std = context.input<T>("SavedVariance");
  const auto dy = context.raw_input("Y@GRAD");
  const Arg<void> dx = optional_raw_output(context, "X@GRAD");
  const cpu::ChannelLayout layout = channel_layout(context, x.shape());
  const OutputOrScratch<T> dscale(context, "Scale@GRAD", layout.channels);
  const OutputOrScratch<T> dbias(context, "Bias@GRAD", layout.channels);
  const bool of_batch = uses_batch<Batch>(context, layout);
  const auto numbers = std::make_shared<ChannelNumbers<T>>(layout);
  const auto sums = [=, batch = Batch(context)] {
    numbers->sums.gradients(elements(x), mean.data(), inv_std.data(), elements(dy), dscale.data(),
                            dbias.data());
    std::copy_n(dscale.data(), layout.channels, numbers->slope.data());
    std::copy_n(dbias.data(), layout.channels, numbers->offset.data());
    if (of_batch) batch.sums(numbers->slope, numbers->offset);
    const T share = of_batch ? T(1) / static_cast<T>(layout.per_channel()) : T(0);
    for (std::int64_t i = 0; i < layout.channels; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const T factor = scale.data()[i] * inv_std.data()[i];
      numbers->factor[at] = factor;
      numbers->slope[at] = -factor * inv_std.data()[i] * numbers->slope[at] * share;
      numbers->offset[at] = -factor * numbers->offset[at] * share;
    }
  };
  if (!dx) return sums;
  RowPart part{.out = by_element(dx.cell()),
               .in = {by_element(x.cell()), by_element(dy.cell()), {mean.cell(), 1}}};
  part.run = [=, dtype = context.dtype()](std::int64_t begin, std::int64_t size,
                                          const RowSlice& out, const RowSlice* in) {
    cpu::batch_norm_x_grad(layout, begin, size, elements(in[0], begin, dtype),
                           elements(in[1], begin, dtype), static_cast<const T*>(in[2].data),
                           numbers->factor.data(), numbers->slope.data(), numbers->offset.data(),
                           at_bytes(out, begin, static_cast<std::int64_t>(size_of(dtype))));
  };
  return {sums, RowKernel(std::move(part))};
}

OpDef with_batch_norm_attrs(OpDef def) {
  return std::move(def)
      .attr("is_test", false, "normalize with Mean and Variance, and leave them as they are")
      .attr("momentum", 0.9, "how much of the running statistics is kept")
      .attr("epsilon", 1e-5, "is added to the variance")
      .attr("data_layout", std::string("NCHW"),
            "'NCHW': channels are dimension 1; 'NHWC': the last one");
}

std::vector<OpDesc> batch_norm_grad_ops(GradContext& context) {
  SlotMap inputs;
  for (const char* slot : {"X", "Scale"}) inputs.emplace(slot, context.input(slot));
  for (const char* slot : {"SavedMean", "SavedVariance"}) {
    inputs.emplace(slot, context.output(slot));
  }
  if (const auto& samples = context.input("Samples"); !samples.empty()) {
    inputs.emplace("Samples", samples);
  }
  inputs.emplace("Y@GRAD", context.output_grad("Y"));
  SlotMap outputs;
  for (const char* slot : {"X", "Scale", "Bias"}) {
    outputs.emplace(grad_name(slot), context.input_grad(slot));
  }
  return {OpDesc(context.forward().type() + "_grad", std::move(inputs), std::move(outputs),
                 context.forward().attrs())};
}

OpDef batch_norm_def(std::string type) {
  return with_batch_norm_attrs(OpDef(std::move(type)))
      .input("X", "[N, C, ...] or [N, ..., C], rank 2 to 5, floating")
      .input("Scale", "[C], dtype of X, or float32 where X has 16 bits", {.may_be_float32 = true})
      .input("Bias", "[C], dtype of Scale", {.may_be_float32 = true})
      .input("Mean", "[C], the running mean, dtype of Scale",
             {.no_gradient = true, .may_be_float32 = true})
      .input("Variance", "[C], the running variance, dtype of Scale",
             {.no_gradient = true, .may_be_float32 = true})
      .output("Y", "shape and dtype of X")
      .output("MeanOut", "[C], usually the same variable as Mean",
              {.no_gradient = true, .may_be_float32 = true})
      .output("VarianceOut", "[C], usually the same variable as Variance",
              {.no_gradient = true, .may_be_float32 = true})
      .output("SavedMean", "[C], the mean that was used",
              {.intermediate = true, .no_gradient = true, .may_be_float32 = true})
      .output("SavedVariance", "[C], 1 / sqrt(variance + epsilon) as it was used",
              {.intermediate = true, .no_gradient = true, .may_be_float32 = true})
      .images({"data_layout", "NHWC", {"X", "Y"}})
      .infer(infer_batch_norm)
      .in_place("X", "Y")
      .in_place("Mean", "MeanOut")
      .in_place("Variance", "VarianceOut")
      .grad(batch_norm_grad_ops);
}

OpDef batch_norm_grad_def(std::string type) {
  return with_batch_norm_attrs(OpDef(std::move(type)))
      .input("X", "input of the forward operator")
      .input("Scale", "input of the forward operator", {.may_be_float32 = true})
      .input("SavedMean", "output of the forward operator",
             {.needs_no_gradient = true, .may_be_float32 = true})
      .input("SavedVariance", "output of the forward operator",
             {.needs_no_gradient = true, .may_be_float32 = true})
      .input("Y@GRAD", "gradient of Y, shape of Y")
      .output("X@GRAD", "gradient of X, shape of X")
      .output("Scale@GRAD", "gradient of Scale, [C]", {.may_be_float32 = true})
      .output("Bias@GRAD", "gradient of Bias, [C]", {.may_be_float32 = true})
      .images({"data_layout", "NHWC", {"X", "Y@GRAD", "X@GRAD"}})
      .infer(infer_batch_norm_grad)
      .in_place("Y@GRAD", "X@GRAD");
}

}  // namespace

void register_norm_ops(OpRegistry& registry) {
  registry.add(batch_norm_def("batch_norm")
                   .doc("Y = (X - mean) / sqrt(variance + epsilon) Scale + Bias, channel by "
                        "channel, with the mean and the (biased) variance of the batch. MeanOut = "
                        "Mean momentum + mean (1 - momentum), VarianceOut likewise.")
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return batch_norm<ComputeType<typename decltype(tag)::type>, OwnBatch>;
                   })));
  registry.add(batch_norm_grad_def("batch_norm_grad")
                   .doc("The gradients of batch_norm: Bias@GRAD = sum of Y@GRAD, Scale@GRAD = sum "
                        "of Y@GRAD xhat, X@GRAD = Scale / std (Y@GRAD - (Bias@GRAD + xhat "
                        "Scale@GRAD) / count), where xhat is the normalized X; with is_test X@GRAD "
                        "= Scale / std Y@GRAD.")
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return batch_norm_grad<ComputeType<typename decltype(tag)::type>, OwnBatch>;
                   }))
                   .decompose([](Decomposition& d) { decompose_batch_norm_grad(d, false); }));
  registry.add(with_samples(batch_norm_def("c_batch_norm"))
                   .doc("batch_norm with the mean and the variance of the batches of all ranks.")
                   .infer([](InferContext& context) {
                     check_samples(context);
                     infer_batch_norm(context);
                   })
                   .kernels(kernels_everywhere<float, double, Float16, BFloat16>(
                       [](auto tag) -> KernelFactory {
                         return batch_norm<ComputeType<typename decltype(tag)::type>, WholeBatch>;
                       }))
                   .checks_data());
  registry.add(
      with_samples(batch_norm_grad_def("c_batch_norm_grad"))
          .doc("The gradients of c_batch_norm: as of batch_norm, Scale@GRAD and Bias@GRAD of this "
               "rank, and X@GRAD with the means of both over the ranks.")
          .infer([](InferContext& context) {
            check_samples(context);
            infer_batch_norm_grad(context);
          })
          .kernels(
              kernels_everywhere<float, double, Float16, BFloat16>([](auto tag) -> KernelFactory {
                return batch_norm_grad<ComputeType<typename decltype(tag)::type>, WholeBatch>;
              }))
          .decompose([](Decomposition& d) { decompose_batch_norm_grad(d, true); })
          .checks_data());
}

}  // namespace fluidcore
