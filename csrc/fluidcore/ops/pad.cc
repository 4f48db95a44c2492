#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/base/bytes.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/cuda/copy.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/shape_attr.h"
#include "fluidcore/ops/strided_kernels.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;

// Where one dimension of Out, `before` and `after` longer than that of X, has its elements from.
cpu::Segments padded_axis(const std::string& mode,
                          std::int64_t extent,
                          std::int64_t before,
                          std::int64_t after) {
  const cpu::Segment inside{.to = before, .from = 0, .count = extent};
  if (mode == "constant" || extent == 0) return {inside};
  if (mode == "edge" || extent == 1) {
    const cpu::Segment front{.to = 0, .from = 0, .count = before, .step = 0};
    const cpu::Segment behind{.to = before + extent, .from = extent - 1, .count = after, .step = 0};
    return {front, inside, behind};
  }
  cpu::Segments segments;
  const bool wraps = mode == "wrap";
  const std::int64_t period = wraps ? extent : 2 * (extent - 1);
  const cpu::Segment forth{.to = 0, .from = 0, .count = extent};
  cpu::add_periodic(segments, forth, period, -before, extent + after);
  if (!wraps && extent > 2) {
    const cpu::Segment back{.to = extent, .from = extent - 2, .count = extent - 2, .step = -1};
    cpu::add_periodic(segments, back, period, -before, extent + after);
  }
  return segments;
}

std::vector<cpu::Segments> padded(const KernelContext& context,
                                  const Shape& x,
                                  const Shape& /*out*/) {
  const auto& paddings = context.attr<Ints>("paddings");
  const auto& mode = context.attr<std::string>("mode");
  std::vector<cpu::Segments> segments(x.rank());
  for (std::size_t d = 0; d < x.rank(); ++d) {
    segments[d] = padded_axis(mode, x[d], paddings[2 * d], paddings[2 * d + 1]);
  }
  return segments;
}

// The bytes of one element.
std::array<std::byte, 8> element_of(double value, DType dtype) {
  std::array<std::byte, 8> element{};
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T converted = static_cast<T>(convert<ComputeType<T>>(value));
    std::memcpy(element.data(), &converted, sizeof(T));
  });
  return element;
}

bool is_constant(const KernelContext& context) {
  return context.attr<std::string>("mode") == "constant";
}

Kernel pad(const KernelContext& context) {
  Kernel inside = take<padded>(context);
  if (!is_constant(context)) return inside;
  const auto out = context.raw_output("Out");
  const DType dtype = out.spec().dtype;
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return visit_dtype(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const cuda::SetAll<T> fill{
            static_cast<T>(convert<ComputeType<T>>(context.attr<double>("pad_value")))};
        return Kernel::enqueued([=, &device = context.device()] {
          cuda::for_each(device, out.size(), fill, static_cast<T*>(out.data()));
          inside();
        });
      });
    }
  }
  const cpu::StridedPair all({{out.size(), 1, 0}}, 0, 0);
  return [=, inside = std::move(inside),
          value = element_of(context.attr<double>("pad_value"), dtype)] {
    all.copy(out.data(), value.data(), size_of(dtype));
    inside();
  };
}

// Every element of X gets the sum over its places in Out.
template <class T>
Kernel pad_grad(const KernelContext& context) {
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx || dx.size() == 0) return nothing_to_do();
  if (is_constant(context)) return take_grad<padded>(context);
  using Total = ComputeType<T>;
  const auto dout = context.input<T>("Out@GRAD");
  const auto pairs = std::make_shared<std::vector<cpu::StridedPair>>();
  for (const cpu::StridedPair& pair :
       cpu::strided_pairs(dout.shape(), dx.shape(), padded(context, dx.shape(), dout.shape()))) {
    pairs->push_back(pair.reversed());
  }
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const std::vector<cuda::StridedAdd> parts(pairs->begin(), pairs->end());
      const auto size = static_cast<std::size_t>(dx.size()) * sizeof(Total);
      if constexpr (!std::is_same_v<Total, T>) context.scratch()->reserve(size);
      return Kernel::enqueued([=, &device = context.device(), scratch = context.scratch()] {
        Total* totals = nullptr;
        if constexpr (std::is_same_v<Total, T>) {
          totals = dx.data();
        } else {
          totals = reinterpret_cast<Total*>(scratch->data());
        }
        device.zero(totals, size);
        for (const cuda::StridedAdd& part : parts) {
          cuda::for_each(device, part.size(), part, totals, dout.data());
        }
        if constexpr (!std::is_same_v<Total, T>) {
          cuda::map(device, Identity(), dx.size(), dx.data(), static_cast<const Total*>(totals));
        }
      });
    }
  }
  const auto sum = [=](Total* totals) {
    zero_bytes(totals, dx.size() * static_cast<std::int64_t>(sizeof(Total)));
    for (const cpu::StridedPair& pair : *pairs) pair.add(totals, dout.data());
  };
  if constexpr (std::is_same_v<Total, T>) {
    return [=] { sum(dx.data()); };
  } else {
    context.scratch()->reserve(static_cast<std::size_t>(dx.size()) * sizeof(Total));
    return [=, scratch = context.scratch()] {
      auto* const totals = reinterpret_cast<Total*>(scratch->data());
      sum(totals);
      cpu::convert_row(cpu::cpu_isa(), dx.size(), dx.data(), totals);
    };
  }
}

TensorSpec padded_spec(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const Shape paddings(context.attr<Ints>("paddings"));
  require(paddings.rank() == 2 * x.shape.rank(), context.type(),
          ": paddings must hold two numbers for each dimension of X, got X ", x.shape,
          ", paddings ", paddings);
  require(std::all_of(paddings.begin(), paddings.end(), [](std::int64_t p) { return p >= 0; }),
          context.type(), ": paddings must be at least 0, got ", paddings);
  require_value(context, "pad_value", x.dtype);
  const auto& mode = context.attr<std::string>("mode");
  TensorSpec out = x;
  for (std::size_t d = 0; d < x.shape.rank(); ++d) {
    std::int64_t added = 0;
    const bool counts =
        !__builtin_add_overflow(paddings[2 * d], paddings[2 * d + 1], &added) &&
        !__builtin_add_overflow(std::max<std::int64_t>(x.shape[d], 0), added, &out.shape[d]);
    require(counts, context.type(), ": extents must have a sum that can be counted, got X ",
            x.shape, ", paddings ", paddings);
    require(mode == "constant" || x.shape[d] != 0 || added == 0, context.type(),
            ": X must have an element to repeat along axis ", d, ", got X ", x.shape, ", paddings ",
            paddings, ", mode '", mode, "'");
    if (x.shape[d] == -1) out.shape[d] = -1;
  }
  return out;
}

OpDef with_pad_attrs(OpDef&& def) {
  return std::move(def)
      .required_attr("paddings", Ints{},
                     "for each dimension of X two numbers: how many elements come in front of it "
                     "and how many behind")
      .attr("pad_value", 0.0, "what is added, in mode 'constant'")
      .attr("mode", std::string("constant"),
            "'constant'; 'edge': the outermost element again; 'reflect': X backwards and forwards "
            "again, without its outermost element; 'wrap': X again",
            {"constant", "edge", "reflect", "wrap"})
      .infer(infer_as<padded_spec>);
}

}  // namespace

void register_pad_ops(OpRegistry& registry) {
  registry.add(with_pad_attrs(OpDef("pad"))
                   .doc("Out = X with elements added around it.")
                   .input("X", "any shape")
                   .output("Out", "the extents of X and its paddings")
                   .kernels(byte_kernels_everywhere(pad))
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  const GradMaker adjoint = adjoint_grad({.type = "pad"});
  registry.add(
      with_pad_attrs(
          declare_adjoint("pad", "X@GRAD = the sum of Out@GRAD over the places of each element."))
          .kernels(floating_kernels_everywhere(
              [](auto tag) -> KernelFactory { return pad_grad<typename decltype(tag)::type>; }))
          .grad([adjoint](GradContext& context) {
            std::vector<OpDesc> ops = adjoint(context);
            for (OpDesc& op : ops) op.set_attr("pad_value", 0.0);
            return ops;
          }));
}

}  // namespace fluidcore
