#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/resample.h"
#include "fluidcore/kernels/cuda/resample.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/window_attrs.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

struct Mode {
  std::string_view name;
  cpu::Resampling resampling;
  std::size_t axes;  // 0: any number
};

constexpr Mode kModes[] = {
    {"nearest", cpu::Resampling::kNearest, 0}, {"linear", cpu::Resampling::kLinear, 1},
    {"bilinear", cpu::Resampling::kLinear, 2}, {"trilinear", cpu::Resampling::kLinear, 3},
    {"bicubic", cpu::Resampling::kCubic, 2},
};

template <class Context>
const Mode& mode_of(const Context& context) {
  const auto& name = context.template attr<std::string>("mode");
  return *std::ranges::find(kModes, std::string_view(name), &Mode::name);
}

// The extent of Out along a spatial axis.
std::int64_t out_extent(const InferContext& context, std::size_t axis, std::int64_t in) {
  const auto& size = context.attr<Ints>("size");
  if (!size.empty()) return size[axis];
  const double extent = std::floor(static_cast<double>(in) * context.attr<Doubles>("scale")[axis]);
  require(in == -1 || (extent >= 1 && extent <= kMostOfWindow), context.type(),
          ": Out must have extents of at least 1 and at most ", kMostOfWindow, ", got X ",
          context.input("X").shape, ", scale ", context.attr<Doubles>("scale")[axis]);
  return in == -1 ? -1 : static_cast<std::int64_t>(extent);
}

TensorSpec interpolated(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const std::size_t rank = x.shape.rank();
  const Mode& mode = mode_of(context);
  require(mode.axes == 0 ? rank >= 3 && rank <= 5 : rank == mode.axes + 2, context.type(),
          ": X must have ",
          mode.axes == 0 ? std::string("one to three spatial axes") : layout_doc(mode.axes),
          " for mode '", mode.name, "', got ", x.shape);
  require(mode.resampling != cpu::Resampling::kNearest || !context.attr<bool>("align_corners"),
          context.type(), ": align_corners must be false for mode 'nearest', got true");
  const auto& size = context.attr<Ints>("size");
  const auto& scale = context.attr<Doubles>("scale");
  require(size.empty() != scale.empty(), context.type(),
          ": one of size and scale must be given, got ", size.empty() ? "none" : "both");
  require((size.empty() ? scale.size() : size.size()) == rank - 2, context.type(),
          ": size or scale must be a list of ", number_word(rank - 2), ", got ",
          size.empty() ? scale.size() : size.size());
  check_extents(context, "X", x.shape);
  Ints extents{x.shape[0], x.shape[1]};
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    require(x.shape[i + 2] != 0, context.type(), ": X must have ", axes_phrase(rank - 2),
            " of at least 1, got ", x.shape);
    require(size.empty() || (size[i] >= 1 && size[i] <= kMostOfWindow), context.type(),
            ": size must be at least 1 and at most ", kMostOfWindow, ", got ", Shape(size));
    require(scale.empty() || (scale[i] > 0 && std::isfinite(scale[i])), context.type(),
            ": scale must be above 0 and finite, got ", scale.empty() ? 0.0 : scale[i]);
    extents.push_back(out_extent(context, i, x.shape[i + 2]));
  }
  const Shape out(std::move(extents));
  check_extents(context, "Out", out);
  return {out, x.dtype};
}

// What takes the elements of `from` to those of `to`, axis by axis.
// One axis after the other: run(table, outer, inner, from, to) for each.
template <class T, class Table, class Run>
std::function<void()> resample_axes(const KernelContext& context,
                                    Arg<const T> from,
                                    Arg<T> to,
                                    std::vector<Table> tables,
                                    const std::vector<std::int64_t>& outputs,
                                    const Run& run) {
  struct Step {
    Table table;
    std::int64_t outer;
    std::int64_t inner;
  };
  std::vector<Step> steps;
  Shape shape = from.shape();
  std::int64_t most = 0;  // elements between two steps
  for (std::size_t i = 0; i < tables.size(); ++i) {
    steps.push_back(
        {std::move(tables[i]), shape.product(0, i + 2), shape.product(i + 3, shape.rank())});
    shape[i + 2] = outputs[i];
    if (i + 1 < tables.size()) most = std::max(most, shape.num_elements());
  }
  context.scratch()->reserve(2 * static_cast<std::size_t>(most) * sizeof(T));
  return [=, steps = std::move(steps), scratch = context.scratch()] {
    T* const memory = most == 0 ? nullptr : reinterpret_cast<T*>(scratch->data());
    const T* values = from.data();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      T* const next =
          i + 1 == steps.size() ? to.data() : memory + static_cast<std::int64_t>(i % 2) * most;
      run(steps[i].table, steps[i].outer, steps[i].inner, values, next);
      values = next;
    }
  };
}

template <class T>
Kernel resample(const KernelContext& context,
                Arg<const T> from,
                Arg<T> to,
                const std::vector<cpu::AxisTable>& tables) {
  std::vector<std::int64_t> outputs;
  outputs.reserve(tables.size());
  for (const cpu::AxisTable& table : tables) outputs.push_back(table.outputs());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      std::vector<cuda::AxisTable> there;
      there.reserve(tables.size());
      for (const cpu::AxisTable& table : tables) {
        there.emplace_back(table, context.device().device());
      }
      return Kernel::enqueued(resample_axes(
          context, from, to, std::move(there), outputs,
          [&device = context.device()](const cuda::AxisTable& table, std::int64_t outer,
                                       std::int64_t inner, const T* values, T* result) {
            table.resample(device, outer, inner, values, result);
          }));
    }
  }
  return resample_axes(context, from, to, tables, outputs, cpu::resample_axis<T>);
}

std::vector<cpu::AxisTable> tables_of(const KernelContext& context,
                                      const Shape& x,
                                      const Shape& out) {
  std::vector<cpu::AxisTable> tables;
  for (std::size_t i = 2; i < x.rank(); ++i) {
    tables.push_back(cpu::axis_table(mode_of(context).resampling, x[i], out[i],
                                     context.attr<bool>("align_corners")));
  }
  return tables;
}

template <class T>
Kernel interpolate(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  return resample<T>(context, x, out, tables_of(context, x.shape(), out.shape()));
}

template <class T>
Kernel interpolate_grad(const KernelContext& context) {
  if (!context.has_output("X@GRAD")) return nothing_to_do();
  const auto dout = context.input<T>("Out@GRAD");
  const auto dx = context.output<T>("X@GRAD");
  std::vector<cpu::AxisTable> tables = tables_of(context, dx.shape(), dout.shape());
  for (cpu::AxisTable& table : tables) table = cpu::transposed(table);
  return resample<T>(context, dout, dx, tables);
}

OpDef with_interpolate_attrs(OpDef def) {
  std::vector<std::string> names;
  for (const Mode& mode : kModes) names.emplace_back(mode.name);
  return std::move(def)
      .attr("size", Ints{}, "the spatial extents of Out; empty: scale says them")
      .attr("scale", Doubles{}, "for each spatial axis, the extent of Out is floor(in scale)")
      .attr("mode", std::string("nearest"),
            "'linear' for one spatial axis, 'bilinear' and 'bicubic' for two, 'trilinear' for "
            "three, 'nearest' for any",
            std::move(names))
      .attr("align_corners", false,
            "element i of Out lies at i (in - 1) / (out - 1) of X; else at (i + 0.5) in / out - "
            "0.5, and the nearest is floor(i in / out)");
}

}  // namespace

void register_interpolate_ops(OpRegistry& registry) {
  registry.add(with_interpolate_attrs(OpDef("interpolate"))
                   .doc("Out = X at other points of its spatial axes, interpolated along one axis "
                        "after the other. Cubic: convolution with a = -0.75 (Keys 1981). Elements "
                        "beyond the ends of X are those at the ends.")
                   .input("X", "[N, C, ...], one to three spatial axes, floating")
                   .output("Out", "[N, C, the spatial extents], dtype of X")
                   .infer(infer_as<interpolated>)
                   .row_dims([](const InferContext&, std::string_view) { return std::size_t{2}; })
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return interpolate<typename decltype(tag)::type>;
                   }))
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(
      with_interpolate_attrs(declare_adjoint("interpolate",
                                             "X@GRAD = the sum of Out@GRAD with the weights that "
                                             "each element of X had."))
          .infer(infer_as<interpolated>)
          .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
            return interpolate_grad<typename decltype(tag)::type>;
          })));
}

}  // namespace fluidcore
