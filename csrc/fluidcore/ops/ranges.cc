#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

DType dtype_of_out(const InferContext& context) {
  return dtype_from_number(context.attr<std::int64_t>("dtype"));
}

// Element i of `size`: first + i step, and `last` at the end.
struct Steps {
  double first;
  double step;
  double last;
  std::int64_t size;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, T* out) const {
    const double value = i + 1 < size ? first + static_cast<double>(i) * step : last;
    out[i] = static_cast<T>(static_cast<ComputeType<T>>(value));
  }
};

// 1 on the main diagonal, else 0.
struct Diagonal {
  std::int64_t width;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, T* out) const {
    const std::int64_t row = i / width;
    out[i] = static_cast<T>(ComputeType<T>(i - row * width == row ? 1 : 0));
  }
};

template <class Body, class T>
Kernel fill_each(const KernelContext& context, const Body& body, Arg<T> out) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each(device, out.size(), body, out.data());
      });
    }
  }
  return [=] {
    parallel_for(out.size(), cpu::kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(i, out.data());
    });
  };
}

template <class T>
Kernel arange(const KernelContext& context) {
  const auto out = context.output<T>("Out");
  const double start = context.attr<double>("start");
  const double step = context.attr<double>("step");
  const double last = start + static_cast<double>(out.size() - 1) * step;
  return fill_each(context, Steps{start, step, last, out.size()}, out);
}

// Checks that an integer dtype holds a number of the attribute `name`.
void check_fits(const InferContext& context, const char* name, double value, DType dtype) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
      require(value == std::trunc(value) && value >= -above && value < above, context.type(), ": ",
              name, " must be a whole number in the range of ", dtype, ", got ", value);
    }
  });
}

void infer_arange(InferContext& context) {
  const double start = context.attr<double>("start");
  const double end = context.attr<double>("end");
  const double step = context.attr<double>("step");
  const DType dtype = dtype_of_out(context);
  require(dtype != DType::kBool, "arange: dtype must be a number's, got ", dtype);
  require(std::isfinite(start) && std::isfinite(end) && std::isfinite(step) && step != 0,
          "arange: ", "start, end and step must be finite and step not 0, got start ", start,
          ", end ", end, ", step ", step);
  const double count = std::max(0.0, std::ceil((end - start) / step));
  require(count <= 0x1p40, "arange: there must be at most 2^40 numbers, got ", count);
  check_fits(context, "start", start, dtype);
  check_fits(context, "step", step, dtype);
  if (count > 0) check_fits(context, "the last number", start + (count - 1) * step, dtype);
  context.set_output("Out", {Shape{static_cast<std::int64_t>(count)}, dtype});
}

template <class T>
Kernel linspace(const KernelContext& context) {
  const auto out = context.output<T>("Out");
  const double start = context.attr<double>("start");
  const double stop = context.attr<double>("stop");
  const std::int64_t num = out.size();
  if (num == 1) return fill_each(context, Steps{start, 0.0, start, num}, out);
  const double step = (stop - start) / static_cast<double>(num - 1);
  return fill_each(context, Steps{start, step, stop, num}, out);
}

void infer_linspace(InferContext& context) {
  const std::int64_t num = context.attr<std::int64_t>("num");
  const DType dtype = dtype_of_out(context);
  require(num >= 0, "linspace: num must be at least 0, got ", num);
  require(is_floating(dtype), "linspace: dtype must be floating, got ", dtype);
  context.set_output("Out", {Shape{num}, dtype});
}

template <class T>
Kernel eye(const KernelContext& context) {
  const auto out = context.output<T>("Out");
  return fill_each(context, Diagonal{out.shape()[1]}, out);
}

void infer_eye(InferContext& context) {
  const std::int64_t rows = context.attr<std::int64_t>("num_rows");
  const std::int64_t columns = context.attr<std::int64_t>("num_columns");
  require(rows >= 0 && columns >= -1, "eye: num_rows must be at least 0 and num_columns at least ",
          "-1, got num_rows ", rows, ", num_columns ", columns);
  const Shape out{rows, columns == -1 ? rows : columns};
  out.num_elements();  // throws if there are too many to count
  context.set_output("Out", {out, dtype_of_out(context)});
}

OpDef made_of_attrs(const char* type, const char* doc, const char* out_doc, InferFn infer) {
  return OpDef(type)
      .doc(doc)
      .output("Out", out_doc)
      .attr("dtype", static_cast<std::int64_t>(DType::kFloat32), "number of Out's dtype")
      .infer(std::move(infer))
      .not_differentiable();
}

}  // namespace

void register_ranges_ops(OpRegistry& registry) {
  registry.add(
      made_of_attrs("arange", "Out[i] = start + i step, as long as that is before end.", "[count]",
                    infer_arange)
          .attr("start", 0.0, "the first number; whole for an integer dtype, as step")
          .required_attr("end", 0.0, "where the numbers end, without it")
          .attr("step", 1.0, "from one number to the next, not 0")
          .kernels(kernels_everywhere<std::int16_t, std::int32_t, std::int64_t, float, double,
                                      Float16, BFloat16>(
              [](auto tag) -> KernelFactory { return arange<typename decltype(tag)::type>; })));
  registry.add(made_of_attrs("linspace", "Out = num numbers from start to stop, evenly spaced.",
                             "[num]", infer_linspace)
                   .required_attr("start", 0.0, "the first number")
                   .required_attr("stop", 0.0, "the last number, where there is more than one")
                   .required_attr("num", std::int64_t{0}, "how many")
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return linspace<typename decltype(tag)::type>;
                   })));
  registry.add(made_of_attrs("eye", "Out = 1 on the main diagonal, 0 elsewhere.",
                             "[num_rows, num_columns]", infer_eye)
                   .required_attr("num_rows", std::int64_t{0}, "how many rows")
                   .attr("num_columns", std::int64_t{-1}, "how many columns; -1: as many as rows")
                   .kernels(all_kernels_everywhere([](auto tag) -> KernelFactory {
                     return eye<typename decltype(tag)::type>;
                   })));
}

}  // namespace fluidcore
