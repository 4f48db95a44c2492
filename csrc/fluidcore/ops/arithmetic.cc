#include <algorithm>
#include <array>
#include <cmath>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/cpu/streams.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/selected_rows.h"

namespace fluidcore {

namespace {

Scale scale_from(const KernelContext& context) {
  return {context.attr<double>("scale")};
}

ScaleWhole whole_scale_from(const KernelContext& context) {
  return {convert<std::int64_t>(context.attr<double>("scale"))};
}

ScaleRounding rounding_scale_from(const KernelContext& context) {
  return {context.attr<double>("scale")};
}

template <class T>
Kernel scale_integer(const KernelContext& context) {
  const double factor = context.attr<double>("scale");
  // A whole factor within int64 multiplies exactly; others go through float64.
  const bool is_whole = factor == std::trunc(factor) && std::abs(factor) < 0x1p63;
  return is_whole ? cpu_unary<ScaleWhole, T, whole_scale_from>(context)
                  : cpu_unary<ScaleRounding, T, rounding_scale_from>(context);
}

void add_scale(OpRegistry& registry) {
  registry.add(
      OpDef("scale")
          .doc("Out = scale * X, element by element; of integers rounded toward zero.")
          .input("X", "any shape")
          .output("Out", "shape and dtype of X")
          .attr("scale", 1.0, "the factor")
          .elementwise()
          .infer(same_as("X"))
          .in_place("X", "Out")
          .kernels(unary_kernels<Scale, scale_from>())
          .kernels(kernels_everywhere<std::int32_t, std::int64_t>([](auto tag) -> KernelFactory {
            return scale_integer<typename decltype(tag)::type>;
          }))
          .grad([](GradContext& context) -> std::vector<OpDesc> {
            const std::vector<std::string> grads = context.input_grad("X");
            if (grads[0] == kEmptyName) return {};
            return {OpDesc("scale", {{"X", context.output_grad("Out")}}, {{"Out", grads}},
                           context.forward().attrs())};
          }));
}

// out[i] = the sum of input(k)[i] for k in [0, count): tile by tile, so that `out` may be any of
// the inputs and 16-bit sums are rounded once.
template <class T, class Input>
void add_up(std::int64_t size, T* out, std::size_t count, const Input& input) {
  using C = ComputeType<T>;
  constexpr std::int64_t kTotals = 1024;
  const cpu::Isa isa = cpu::cpu_isa();
  if (count == 2) {  // in one pass
    const std::array<cpu::Stream, 2> both{{{input(0)}, {input(1)}}};
    return cpu::calculate_row(isa, cpu::stream_formula<T, T, T>(Add()), size, out, both.data());
  }
  const auto add = cpu::stream_formula<C, C, T>(Add());
  alignas(64) std::array<C, kTotals> total;
  for (std::int64_t begin = 0; begin < size; begin += kTotals) {
    const std::int64_t part = std::min(kTotals, size - begin);
    cpu::convert_row(isa, part, total.data(), input(0) + begin);
    for (std::size_t k = 1; k < count; ++k) {
      const std::array<cpu::Stream, 2> both{{{total.data()}, {input(k) + begin}}};
      cpu::calculate_row(isa, add, part, total.data(), both.data());
    }
    cpu::convert_row(isa, part, out + begin, total.data());
  }
}

// The same for all elements, on a CUDA device.
template <class T>
struct AddUp {
  int count;
  const T* in[RowPart::kMostInputs];

  template <class Index>
  FC_HOST_DEVICE void operator()(Index i, T* out) const {
    auto total = static_cast<ComputeType<T>>(in[0][i]);
    for (int k = 1; k < count; ++k) total = Add()(total, static_cast<ComputeType<T>>(in[k][i]));
    out[i] = static_cast<T>(total);
  }
};

template <class T>
Kernel sum_of(const std::vector<Arg<const T>>& inputs, Arg<T> out) {
  if (inputs.size() > RowPart::kMostInputs) {
    return [=] {
      parallel_for(out.size(), cpu::kGrain, [&](std::int64_t begin, std::int64_t end) {
        add_up(end - begin, out.data() + begin, inputs.size(),
               [&](std::size_t k) { return inputs[k].data() + begin; });
      });
    };
  }
  RowPart part{.out = by_element(out.cell())};
  for (const Arg<const T>& input : inputs) part.in.push_back(by_element(input.cell()));
  part.run = [count = inputs.size()](std::int64_t begin, std::int64_t size, const RowSlice& to,
                                     const RowSlice* from) {
    add_up(size, at<T>(to, begin), count,
           [=](std::size_t k) { return at<const T>(from[k], begin); });
  };
  if constexpr (kHasCuda) {
    part.launch = [count = inputs.size()](DeviceContext& device, std::int64_t size, void* to,
                                          const void* const* from) {
      AddUp<T> add_all{static_cast<int>(count), {}};
      std::transform(from, from + count, add_all.in,
                     [](const void* in) { return static_cast<const T*>(in); });
      cuda::for_each(device, size, add_all, static_cast<T*>(to));
    };
  }
  return RowKernel(std::move(part));
}

template <class T>
Kernel sum(const KernelContext& context) {
  std::vector<Arg<const T>> inputs;
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    const auto x = context.input<T>("X", i);
    if (!x.has_rows()) inputs.push_back(x);
  }
  if (inputs.empty()) return joined_rows(context);
  return both(sum_of(inputs, context.output<T>("Out")), rows_added_to_out(context));
}

void infer_sum(InferContext& context) {
  require(context.input_count("X") > 0, "sum: X must hold at least one variable, got none");
  TensorSpec out = context.input("X");
  for (std::size_t i = 1; i < context.input_count("X"); ++i) {
    const TensorSpec& x = context.input("X", i);
    require(x.dtype == out.dtype && compatible(x.shape, out.shape),
            "sum: all of X must have one shape and dtype, got ", out, " and, at position ", i, ", ",
            x);
    for (std::size_t axis = 0; axis < out.shape.rank(); ++axis) {
      if (out.shape[axis] == -1) out.shape[axis] = x.shape[axis];
    }
    if (out.rows && x.rows) {
      out.rows = is_known(out) && is_known(x) ? *out.rows + *x.rows : -1;
    } else {
      out.rows = std::nullopt;
    }
  }
  context.set_output("Out", out);
}

std::vector<OpDesc> sum_grad(GradContext& context) {
  std::vector<OpDesc> ops;
  for (const std::string& grad : context.input_grad("X")) {
    if (grad == kEmptyName) continue;
    ops.emplace_back("assign", SlotMap{{"X", context.output_grad("Out")}},
                     SlotMap{{"Out", {grad}}});
  }
  return ops;
}

void add_sum(OpRegistry& registry) {
  registry.add(
      OpDef("sum")
          .doc("Out = the sum of all X, element by element. Selected rows are added to the rows "
               "of the tensors; where there is no tensor, Out is the rows of all X.")
          .input("X", "one or more tensors, or selected rows, of one shape and dtype",
                 {.list = true, .rows = true})
          .output("Out", "shape and dtype of X", {.rows = true})
          .elementwise()
          .infer(infer_sum)
          .in_place("X", "Out")
          .kernels(kernels_everywhere<float, double, BFloat16, std::int32_t, std::int64_t>(
              [](auto tag) -> KernelFactory { return sum<typename decltype(tag)::type>; }))
          .grad(sum_grad));
}

template <class T>
Kernel minus(const KernelContext& context) {
  return stream_kernel(context, streams<T, 2>(context, Sub()), {"X", "Y"}, "Out");
}

void infer_minus(InferContext& context) {
  const TensorSpec& x = context.input("X");
  require_spec(context, "Y", x);
  context.set_output("Out", x);
}

std::vector<OpDesc> minus_grad(GradContext& context) {
  const std::string dout = context.output_grad("Out").at(0);
  const std::vector<std::string> of_x = context.input_grad("X");
  const std::vector<std::string> of_y = context.input_grad("Y");
  std::vector<OpDesc> ops;
  if (of_x[0] != kEmptyName)
    ops.emplace_back("assign", SlotMap{{"X", {dout}}}, SlotMap{{"Out", of_x}});
  if (of_y[0] != kEmptyName) {
    ops.emplace_back("scale", SlotMap{{"X", {dout}}}, SlotMap{{"Out", of_y}},
                     AttributeMap{{"scale", -1.0}});
  }
  return ops;
}

void add_minus(OpRegistry& registry) {
  registry.add(OpDef("minus")
                   .doc("Out = X - Y, element by element, without broadcasting.")
                   .input("X", "any shape")
                   .input("Y", "shape and dtype of X")
                   .output("Out", "shape and dtype of X")
                   .elementwise()
                   .infer(infer_minus)
                   .in_place("X", "Out")
                   .in_place("Y", "Out")
                   .kernels(kernels_everywhere<float, double, BFloat16, std::int32_t, std::int64_t>(
                       [](auto tag) -> KernelFactory {
                         return minus<ComputeType<typename decltype(tag)::type>>;
                       }))
                   .grad(minus_grad));
}

template <class C>
struct AddStep {
  C step;
  FC_HOST_DEVICE C operator()(C x) const { return Add()(x, step); }
};

template <class T>
Kernel increment(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  using C = ComputeType<T>;
  const C step = convert<C>(context.attr<double>("step"));
  const AddStep<C> add{step};
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued(
          [=, &device = context.device()] { cuda::map(device, add, 1, out.data(), x.data()); });
    }
  }
  return [=] { *out.data() = static_cast<T>(add(static_cast<C>(*x.data()))); };
}

void infer_increment(InferContext& context) {
  const TensorSpec& x = context.input("X");
  const std::int64_t size = x.shape.num_elements();
  require(size == 1 || size == -1, "increment: X must have one element, got ", x.shape,
          "; write scale or elementwise_add for more");
  const double step = context.attr<double>("step");
  require(is_floating(x.dtype) || step == std::trunc(step),
          "increment: step must be a whole number for ", x.dtype, ", got ", step);
  context.set_output("Out", x);
}

void add_increment(OpRegistry& registry) {
  registry.add(
      OpDef("increment")
          .doc("Out = X + step, for counters.")
          .input("X", "one element")
          .output("Out", "shape and dtype of X; may be the variable X")
          .attr("step", 1.0, "what is added; a whole number for an integer X")
          .infer(infer_increment)
          .in_place("X", "Out")
          .kernels(
              kernels_everywhere<std::int16_t, std::int32_t, std::int64_t, float, double, BFloat16>(
                  [](auto tag) -> KernelFactory {
                    return increment<typename decltype(tag)::type>;
                  }))
          .grad([](GradContext& context) -> std::vector<OpDesc> {
            const std::vector<std::string> grads = context.input_grad("X");
            if (grads[0] == kEmptyName) return {};
            return {OpDesc("assign", {{"X", context.output_grad("Out")}}, {{"Out", grads}})};
          }));
}

}  // namespace

void register_arithmetic_ops(OpRegistry& registry) {
  add_scale(registry);
  add_sum(registry);
  add_minus(registry);
  add_increment(registry);
}

}  // namespace fluidcore
