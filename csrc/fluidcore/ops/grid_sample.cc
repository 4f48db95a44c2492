#include "fluidcore/kernels/cpu/grid_sample.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;

template <class Value>
struct Choice {
  const char* name;
  Value value;
};

constexpr Choice<cpu::Resampling> kSamplings[] = {{"bilinear", cpu::Resampling::kLinear},
                                                  {"nearest", cpu::Resampling::kNearest},
                                                  {"bicubic", cpu::Resampling::kCubic}};
constexpr Choice<cpu::Beyond> kPaddings[] = {{"zeros", cpu::Beyond::kZeros},
                                             {"border", cpu::Beyond::kBorder},
                                             {"reflection", cpu::Beyond::kReflection}};

template <class Choices>
auto chosen(const KernelContext& context, std::string_view attr, const Choices& choices) {
  const auto& name = context.attr<std::string>(attr);
  return std::ranges::find_if(choices, [&](const auto& choice) { return choice.name == name; })
      ->value;
}

template <class Choices>
std::vector<std::string> names_of(const Choices& choices) {
  std::vector<std::string> names;
  for (const auto& choice : choices) names.emplace_back(choice.name);
  return names;
}

cpu::GridSample sample_of(const KernelContext& context, const Shape& x) {
  const Shape& grid = context.raw_input("Grid").shape();
  const auto& derivative = context.attr<Ints>("derivative");
  return {.images = x[0],
          .channels = x[1],
          .height = x[2],
          .width = x[3],
          .points = grid[1] * grid[2],
          .resampling = chosen(context, "mode", kSamplings),
          .beyond = chosen(context, "padding_mode", kPaddings),
          .align_corners = context.attr<bool>("align_corners"),
          .derivative = {derivative[0], derivative[1]}};
}

template <class T>
Kernel grid_sample(const KernelContext& context) {
  const auto x = context.input<T>("X");
  return [=, sample = sample_of(context, x.shape()), grid = context.input<T>("Grid"),
          out = context.output<T>("Out")] {
    cpu::grid_sample(sample, x.data(), grid.data(), out.data());
  };
}

template <class T>
void add_up(const cpu::GridSample& sample, const T* grid, const T* y, const Arg<T>& out) {
  std::fill_n(out.data(), out.size(), T(0));
  cpu::grid_sample_adjoint(sample, grid, y, out.data());
}

template <class T>
Kernel grid_sample_adjoint(const KernelContext& context) {
  const auto out = context.output<T>("Out");
  return [=, sample = sample_of(context, out.shape()), grid = context.input<T>("Grid"),
          y = context.input<T>("Y")] { add_up(sample, grid.data(), y.data(), out); };
}

template <class T>
Kernel grid_sample_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  return [=, sample = sample_of(context, x.shape()), grid = context.input<T>("Grid"),
          dout = context.input<T>("Out@GRAD"), dx = context.optional_output<T>("X@GRAD"),
          dgrid = context.optional_output<T>("Grid@GRAD")] {
    if (dx) add_up(sample, grid.data(), dout.data(), dx);
    if (!dgrid) return;
    cpu::grid_sample_grid_grad(sample, x.data(), grid.data(), dout.data(), dgrid.data());
  };
}

// From this order on, a derivative of a cubic is 0.
constexpr std::int64_t kNoDerivative = 4;

TensorSpec sampled(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  require(x.shape.rank() == 4, context.type(), ": X must have shape [N, C, H, W], got ", x.shape);
  const Shape& grid = context.input("Grid").shape;
  require(grid.rank() == 4 && compatible(grid[0], x.shape[0]) && compatible(grid[3], 2),
          context.type(), ": Grid must have shape [N, H out, W out, 2], where X is ", x.shape,
          ", got ", grid);
  require_dtype(context, "Grid", x.dtype);
  require(x.shape[2] != 0 && x.shape[3] != 0, context.type(),
          ": X must have a height and a width of at least 1, got ", x.shape);
  const auto& derivative = context.attr<Ints>("derivative");
  require(derivative.size() == 2 && std::ranges::min(derivative) >= 0 &&
              std::ranges::max(derivative) <= kNoDerivative,
          context.type(), ": derivative must be two numbers in [0, ", kNoDerivative,
          "], for x and y, got ", Shape(derivative));
  return {{x.shape[0], x.shape[1], grid[1], grid[2]}, x.dtype};
}

void infer_grad(InferContext& context) {
  require_spec(context, "Out@GRAD", sampled(context));
  infer_grads_like_inputs(context);
}

void infer_adjoint(InferContext& context) {
  require_spec(context, "Y", sampled(context));
  context.set_output("Out", context.input("X"));
}

// Out is linear in Y, as the adjoint of what grid_sample sees.
std::vector<OpDesc> make_grad_of_adjoint(GradContext& context) {
  const SlotMap inputs{{"X", context.output_grad("Out")}, {"Grid", context.input("Grid")}};
  const AttributeMap& attrs = context.forward().attrs();
  std::vector<OpDesc> ops;
  const std::vector<std::string> dy = context.input_grad("Y");
  if (dy[0] != kEmptyName) ops.emplace_back("grid_sample", inputs, SlotMap{{"Out", dy}}, attrs);
  const std::vector<std::string> dgrid = context.input_grad("Grid");
  if (dgrid[0] != kEmptyName) {
    SlotMap more = inputs;
    more.emplace("Out@GRAD", context.input("Y"));
    ops.emplace_back("grid_sample_grad", more,
                     SlotMap{{"X@GRAD", {std::string(kEmptyName)}}, {"Grid@GRAD", dgrid}}, attrs);
  }
  return ops;
}

void decompose_grid_sample_grad(Decomposition& d) {
  const Decomposition::Inputs inputs{
      {"X", d.input("X")}, {"Grid", d.input("Grid")}, {"Y", d.input("Out@GRAD")}};
  d.set("X@GRAD", d.op("grid_sample_adjoint", inputs, d.attrs()));
  Decomposition::Inputs parts;
  for (const std::size_t axis : {0, 1}) {
    AttributeMap attrs = d.attrs();
    Ints derivative = d.attr<Ints>("derivative");
    derivative[axis] = std::min(derivative[axis] + 1, kNoDerivative);
    attrs["derivative"] = derivative;
    const Expr slope =
        d.op("grid_sample", {{"X", d.input("X")}, {"Grid", d.input("Grid")}}, std::move(attrs));
    parts.emplace_back(
        "X", d.op("reduce_sum", {{"X", d.input("Out@GRAD") * slope}}, {{"dim", std::int64_t{1}}}));
  }
  d.set("Grid@GRAD", d.op("stack", parts, {{"axis", std::int64_t{-1}}}, "Y"));
}

OpDef with_grid_sample_attrs(OpDef def) {
  return std::move(def)
      .attr("mode", std::string("bilinear"), "how X is interpolated", names_of(kSamplings))
      .attr("padding_mode", std::string("zeros"),
            "what elements outside of X are: 0, those at its border, or those that a mirror there "
            "shows",
            names_of(kPaddings))
      .attr("align_corners", false,
            "-1 and 1 are the centres of the first and the last element; else their outer edges")
      .attr("derivative", Ints{0, 0},
            "how often Out is differentiated by the x and by the y of its point");
}

}  // namespace

void register_grid_sample_ops(OpRegistry& registry) {
  registry.add(
      with_grid_sample_attrs(OpDef("grid_sample"))
          .doc("Out[n, :, i, j] = image n of X, seen at the point (x, y) = Grid[n, i, j], where X "
               "reaches from -1 to 1 (Jaderberg et al. 2015). Cubic: convolution with a = -0.75 "
               "(Keys 1981).")
          .input("X", "[N, C, H, W], floating")
          .input("Grid", "[N, H out, W out, 2], dtype of X: (x, y) along the width and the height")
          .output("Out", "[N, C, H out, W out], dtype of X")
          .infer([](InferContext& context) { context.set_output("Out", sampled(context)); })
          .row_dims([](const InferContext&, std::string_view slot) {
            return slot == "X" ? std::size_t{2} : std::size_t{1};
          })
          .kernels(cpu_kernels<float, double>(
              [](auto tag) -> KernelFactory { return grid_sample<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X", "Grid"}, .differentiable = {"X", "Grid"}})));
  registry.add(
      with_grid_sample_attrs(OpDef("grid_sample_adjoint"))
          .doc("The adjoint of grid_sample: Out[n] = the sum of Y[n, :, i, j], spread over the "
               "elements that grid_sample would see at Grid[n, i, j], with their weights.")
          .input("X", "[N, C, H, W], floating", kShapeOnly)
          .input("Grid", "[N, H out, W out, 2], dtype of X: (x, y) along the width and the height")
          .input("Y", "[N, C, H out, W out], dtype of X")
          .output("Out", "shape and dtype of X")
          .infer(infer_adjoint)
          .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
            return grid_sample_adjoint<typename decltype(tag)::type>;
          }))
          .grad(make_grad_of_adjoint));
  registry.add(with_grid_sample_attrs(OpDef("grid_sample_grad"))
                   .doc("X@GRAD = the sum of Out@GRAD with the weights that each element of X had; "
                        "Grid@GRAD = the sum of Out@GRAD with the slopes at the points.")
                   .input("X", "input of the forward operator", {.read_for = "Grid@GRAD"})
                   .input("Grid", "input of the forward operator")
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .output("Grid@GRAD", "gradient of Grid, shape of Grid")
                   .infer(infer_grad)
                   .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
                     return grid_sample_grad<typename decltype(tag)::type>;
                   }))
                   .decompose(decompose_grid_sample_grad));
}

}  // namespace fluidcore
