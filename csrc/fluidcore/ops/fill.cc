#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cuda/copy.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/same_elements.h"
#include "fluidcore/ops/shape_attr.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

template <class T>
void fill(Arg<T> out, std::int64_t size, T value) {
  parallel_for(size, cpu::kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::fill(out.data() + begin, out.data() + end, value);
  });
}

template <class T>
Kernel fill_constant(const KernelContext& context) {
  const auto out = context.output<T>("Out");
  const T value = static_cast<T>(convert<ComputeType<T>>(context.attr<double>("value")));
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([out, value, size = out.size(), &device = context.device()] {
        cuda::for_each(device, size, cuda::SetAll<T>{value}, out.data());
      });
    }
  }
  return [out, value, size = out.size()] { fill(out, size, value); };
}

KernelTable fill_constant_kernels() {
  return all_kernels_everywhere(
      [](auto tag) -> KernelFactory { return fill_constant<typename decltype(tag)::type>; });
}

// The attribute that holds the values of assign_value.
const char* values_attr(DType dtype) {
  return is_floating(dtype) ? "fp32_values" : "int32_values";
}

template <class T>
Kernel assign_value(const KernelContext& context) {
  using Given = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  const auto out = context.output<T>("Out");
  const auto& given = context.attr<std::vector<Given>>(values_attr(dtype_of<T>));
  const Tensor values(out.spec());
  std::transform(given.begin(), given.end(), static_cast<T*>(values.raw()),
                 [](Given value) { return static_cast<T>(static_cast<ComputeType<T>>(value)); });
  const Tensor there = values.to(context.device().device());
  return work_kernel(context, [=, &device = context.device()] {
    device.copy(out.data(), there.raw(), byte_size(there.spec()));
  });
}

void infer_assign_value(InferContext& context) {
  const TensorSpec out = spec_from_attrs(context);
  const std::string name = values_attr(out.dtype);
  const std::string other = is_floating(out.dtype) ? "int32_values" : "fp32_values";
  const auto& floats = context.attr<std::vector<double>>("fp32_values");
  const auto& ints = context.attr<std::vector<std::int64_t>>("int32_values");
  const std::size_t count = is_floating(out.dtype) ? floats.size() : ints.size();
  require(floats.empty() || ints.empty(), "assign_value: ", out.dtype, " values must be in ", name,
          ", got some in ", other);
  require(static_cast<std::int64_t>(count) == out.shape.num_elements(), "assign_value: ", name,
          " must hold a value for each element of ", out, ", got ", count);
  visit_dtype(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      for (const std::int64_t value : ints) {
        require(value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max(),
                "assign_value: int32_values must be in the range of ", out.dtype, ", got ", value);
      }
    }
  });
  context.set_output("Out", out);
}

void infer_fill_constant(InferContext& context) {
  const TensorSpec out = spec_from_attrs(context);
  require_value(context, "value", out.dtype);
  context.set_output("Out", out);
}

void infer_fill_any_like(InferContext& context) {
  const TensorSpec& out = context.input("X");
  require_value(context, "value", out.dtype);
  context.set_output("Out", out);
}

Kernel fill_zeros_like(const KernelContext& context) {
  const auto out = context.raw_output("Out");
  return work_kernel(context, [out, bytes = byte_size(out.spec()), &device = context.device()] {
    device.zero(out.data(), bytes);
  });
}

Kernel assign(const KernelContext& context) {
  return copy_elements(context.raw_input("X"), context.raw_output("Out"));
}

template <class To>
struct ConvertTo {
  template <class From>
  FC_HOST_DEVICE auto operator()(From x) const {
    return convert<ComputeType<To>>(x);
  }
};

template <class To, class From>
void convert_elements(std::int64_t size, void* out, const void* in) {
  auto* const to = static_cast<To*>(out);
  const auto* const from = static_cast<const From*>(in);
  if constexpr (!std::is_integral_v<From> && !std::is_integral_v<To>) {
    cpu::convert_row(cpu::cpu_isa(), size, to, from);
  } else {
    for (std::int64_t i = 0; i < size; ++i) {
      to[i] = static_cast<To>(convert<ComputeType<To>>(static_cast<ComputeType<From>>(from[i])));
    }
  }
}

Kernel cast_kernel(const KernelContext& context,
                   void (*convert)(std::int64_t size, void* out, const void* in),
                   RowPart::Launch launch) {
  const auto x = context.raw_input("X");
  const auto out = context.raw_output("Out");
  RowPart part{.out = by_element(out.cell()), .in = {by_element(x.cell())}};
  const auto bytes = static_cast<std::int64_t>(size_of(out.spec().dtype));
  const auto x_bytes = static_cast<std::int64_t>(size_of(x.spec().dtype));
  part.run = [=](std::int64_t begin, std::int64_t size, const RowSlice& to, const RowSlice* from) {
    convert(size, at_bytes(to, begin, bytes), at_bytes(from[0], begin, x_bytes));
  };
  part.launch = std::move(launch);
  return RowKernel(std::move(part));
}

template <class To, class From>
Kernel cast_between(const KernelContext& context) {
  RowPart::Launch launch;
  if constexpr (kHasCuda) launch = launch_map<ConvertTo<To>, To, const From>({});
  return cast_kernel(context, convert_elements<To, From>, std::move(launch));
}

template <class From>
Kernel cast(const KernelContext& context) {
  const DType to = context.raw_output("Out").spec().dtype;
  return visit_dtype(
      to, [&](auto tag) { return cast_between<typename decltype(tag)::type, From>(context); });
}

void infer_cast(InferContext& context) {
  const TensorSpec& x = context.input("X");
  const DType from = dtype_from_number(context.attr<std::int64_t>("in_dtype"));
  const DType to = dtype_from_number(context.attr<std::int64_t>("out_dtype"));
  require(x.dtype == from, "cast: in_dtype must be the dtype of X, got in_dtype ", from, ", X ", x);
  context.set_output("Out", {x.shape, to});
}

std::vector<OpDesc> cast_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  const OpDesc& forward = context.forward();
  return {
      OpDesc("cast", {{"X", context.output_grad("Out")}}, {{"Out", grads}},
             {{"in_dtype", forward.attr("out_dtype")}, {"out_dtype", forward.attr("in_dtype")}})};
}

std::vector<OpDesc> assign_grad(GradContext& context) {
  if (context.input("X").empty()) return {};
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  return {OpDesc("assign", {{"X", context.output_grad("Out")}}, {{"Out", grads}})};
}

OpDef fill_constant_op(std::string type, std::string shape_doc) {
  return OpDef(std::move(type))
      .doc("Out = value everywhere.")
      .output("Out", "the shape and dtype of the attributes")
      .required_attr("shape", std::vector<std::int64_t>{}, std::move(shape_doc))
      .attr("dtype", static_cast<std::int64_t>(DType::kFloat32), "number of Out's dtype")
      .attr("value", 0.0, "a whole number in range for an integer dtype")
      .infer(infer_fill_constant)
      .not_differentiable();
}

}  // namespace

void register_fill_ops(OpRegistry& registry) {
  registry.add(fill_constant_op("fill_constant", kShapeDoc)
                   .attr("force_cpu", false, "whether Out is on the CPU even where others are not")
                   .kernels(fill_constant_kernels()));
  registry.add(
      with_batch_size_like(fill_constant_op("fill_constant_batch_size_like", kShapeLikeDoc))
          .kernels(byte_kernels_everywhere(kernel_for_output<fill_constant_kernels>)));
  registry.add(OpDef("assign_value")
                   .doc("Out = the values given, row by row.")
                   .output("Out", "the shape and dtype of the attributes")
                   .required_attr("shape", std::vector<std::int64_t>{}, kShapeDoc)
                   .required_attr("dtype", static_cast<std::int64_t>(DType::kFloat32),
                                  "number of Out's dtype")
                   .attr("fp32_values", std::vector<double>{}, "the values, for a floating dtype")
                   .attr("int32_values", std::vector<std::int64_t>{},
                         "the values, for an integer dtype; 0 and 1 for bool")
                   .infer(infer_assign_value)
                   .kernels(all_kernels_everywhere([](auto tag) -> KernelFactory {
                     return assign_value<typename decltype(tag)::type>;
                   }))
                   .not_differentiable());
  registry.add(OpDef("fill_zeros_like")
                   .doc("Out = 0 everywhere.")
                   .input("X", "any shape", {.shape_only = true})
                   .output("Out", "shape and dtype of X")
                   .infer(same_as("X"))
                   .in_place("X", "Out")
                   .kernels(byte_kernels_everywhere(fill_zeros_like))
                   .not_differentiable());
  registry.add(OpDef("fill_any_like")
                   .doc("Out = value everywhere.")
                   .input("X", "any shape", {.shape_only = true})
                   .output("Out", "shape and dtype of X")
                   .attr("value", 0.0, "a whole number in range for an integer dtype")
                   .infer(infer_fill_any_like)
                   .in_place("X", "Out")
                   .kernels(fill_constant_kernels())
                   .not_differentiable());
  registry.add(OpDef("assign")
                   .doc("Out = X, a copy.")
                   .input("X", "any shape")
                   .output("Out", "shape and dtype of X")
                   .infer(same_as("X"))
                   .in_place("X", "Out")
                   .view("X", "Out")
                   .elementwise()
                   .kernels(byte_kernels_everywhere(assign))
                   .grad(assign_grad));
  registry.add(
      OpDef("cast")
          .doc("Out = X as another dtype. Floating to integer: toward zero, the nearest limit when "
               "out of range, 0 for NaN. To bool: whether X is not 0.")
          .input("X", "any shape")
          .output("Out", "shape of X, dtype out_dtype")
          .required_attr("in_dtype", std::int64_t{5}, "number of X's dtype")
          .required_attr("out_dtype", std::int64_t{5}, "number of Out's dtype")
          .elementwise()
          .infer(infer_cast)
          .kernels(all_kernels_everywhere(
              [](auto tag) -> KernelFactory { return cast<typename decltype(tag)::type>; }))
          .grad(cast_grad));
}

}  // namespace fluidcore
